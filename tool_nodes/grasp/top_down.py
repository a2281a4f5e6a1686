"""The control of every comparison of grasp generators: straight down at the middle of the mask, whatever stands around.

It checks no collision and completes no shape. A generator that does no better than this one knows nothing of grasping.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import geometry, workspace
from toolhand.tool_nodes.grasp.seen import checked_mask, raised_points
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.types import BoolArray, FloatArray, GraspSet

_TIP_GAP = 0.004
"""Gap between the fingertips and the table [m]; as the analytic generator keeps it."""
_SCORE = 0.5
"""Score of its only grasp [-]: it knows nothing of its chances."""


class TopDownGraspGenerator:
    """Proposes one grasp: straight down at the centroid of the masked points, closing along their minor axis.

    Args:
        robot: Robot with the gripper; the default robot where None.
    """

    backend = "top_down"

    def __init__(self, robot: RobotModel | None = None) -> None:
        self.gripper = (robot or load_robot()).gripper

    def generate(self, cloud: NDArray[np.float32], mask: BoolArray, T_base_camera: FloatArray) -> GraspSet:
        """One grasp, see `ports.GraspGenerator`.

        Raises:
            ToolError: INVALID_ARGUMENT for wrong shapes, EMPTY_MASK, NO_DEPTH when the object has no known points,
                NO_GRASP when nothing of it stands out of the table.
        """
        mask = checked_mask(cloud, mask, T_base_camera)
        T = np.asarray(T_base_camera, float)
        own = np.asarray(cloud, np.float32)[mask]
        points = raised_points(geometry.transform(T, own[np.isfinite(own).all(axis=1)]))
        middle = points[:, :2].mean(axis=0)
        _, axes = np.linalg.eigh(np.cov((points[:, :2] - middle).T))
        yaw = float(np.arctan2(axes[1, 0], axes[0, 0]))
        across = (points[:, :2] - middle) @ axes[:, 0]
        width = self.gripper.clipped(float(np.diff(np.percentile(across, (2.0, 98.0)))[0]))
        lowest = workspace.TABLE_Z + _TIP_GAP + self.gripper.fingertip_depth(width)
        half_height = (workspace.TABLE_Z + float(np.percentile(points[:, 2], 98.0))) / 2.0
        pose = geometry.pose(
            geometry.rotation_z(yaw) @ np.diag([1.0, -1.0, -1.0]),
            [*middle, max(half_height + self.gripper.pad_depth(width), lowest)],
        )
        return GraspSet(
            T_camera_gripper=(geometry.invert(T) @ pose)[None],
            widths_m=np.array([width]),
            scores=np.array([_SCORE]),
            sampled=1,
        )
