"""Your own grasp generator: a cloud and a mask in, poses with scores out; `toolhand bench grasp` compares it.

    python examples/15_your_own_grasps.py

You will see:

    1 grasp of the red box at x = ... m, y = ... m, ... mm wide
    the judge: picked
"""

import numpy as np
from numpy.typing import NDArray

from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from toolhand.sim.tasks.predicates import THRESHOLDS, judge_pick
from toolhand.tool_nodes import geometry
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, FloatArray, GraspSet


class Uppermost:
    """Straight down at the middle of what is highest, closing across its narrow side."""

    backend = "uppermost"

    def __init__(self, robot: RobotModel | None = None) -> None:
        self.gripper = (robot or load_robot()).gripper

    def generate(self, cloud: NDArray[np.float32], mask: BoolArray, T_base_camera: FloatArray) -> GraspSet:
        """See ports.GraspGenerator."""
        points = geometry.transform(T_base_camera, cloud[mask & np.isfinite(cloud).all(axis=1)].astype(float))
        if len(points) < 50:
            raise ToolError(ErrorCode.NO_GRASP, "Too little of the object is seen.")
        top = float(np.percentile(points[:, 2], 98))
        points = points[points[:, 2] > top - 0.025]
        middle = points[:, :2].mean(axis=0)
        _, axes = np.linalg.eigh(np.cov((points[:, :2] - middle).T))  # the narrow side first
        width = self.gripper.clipped(float(np.ptp((points[:, :2] - middle) @ axes[:, 0])) + 0.01)
        deep = max(top - 0.025, 0.004)
        R = geometry.rotation_z(float(np.arctan2(axes[1, 0], axes[0, 0]))) @ np.diag([1.0, -1.0, -1.0])
        pose = geometry.pose(R, [*middle, deep + self.gripper.fingertip_depth(width)])
        T_camera_gripper = (geometry.invert(T_base_camera) @ pose)[None]
        return GraspSet(T_camera_gripper, np.array([width]), np.array([0.5]), sampled=1)


if __name__ == "__main__":
    station = Station(generate_scene(seed=3, required=("red box",), n_objects=1))
    frame, before = station.camera.capture(), station.world.snapshot()
    assert frame.ids is not None
    mask = (frame.ids == 0).reshape(-1)
    found = Uppermost().generate(geometry.backproject(frame.depth, frame.K).reshape(-1, 3), mask, frame.T_base_camera)
    pose = frame.T_base_camera @ found.T_camera_gripper[0]
    print(
        f"{len(found.scores)} grasp of the red box at x = {pose[0, 3]:.2f} m, y = {pose[1, 3]:.2f} m, "
        f"{1000 * found.widths_m[0]:.0f} mm wide"
    )
    station.manipulator.grasp(pose, frame)
    picked = judge_pick(before, station.world.hold(THRESHOLDS.hold_s), [station.scene.objects[0].id])
    print("the judge:", "picked" if picked else "not picked")
