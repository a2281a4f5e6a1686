"""Analytic grasp sampling: 6-DoF candidates over the thing's points, checked against all that the camera saw.

In the gripper's frame +Z approaches and the fingers close along X. Every candidate
is judged at the pose where the jaws meet the object, and with the jaws open on the way there.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from tool_nodes import geometry, workspace
from tool_nodes.grasp.candidates import candidates
from tool_nodes.grasp.chances import chances
from tool_nodes.grasp.clearance import SceneHeights
from tool_nodes.grasp.hand import TIP_GAP, Hand
from tool_nodes.grasp.jaws import LEAST_CONTACT, Grasps, place_jaws
from tool_nodes.grasp.seen import checked_mask, object_points, raised_points
from tool_nodes.grasp.seen_depth import SeenDepth
from tool_nodes.motion.gripper import GripperModel
from tool_nodes.motion.robot_model import RobotModel, load_robot
from tool_nodes.perception.shape_completion import complete_shape
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import BoolArray, FloatArray, GraspSet

_CELL = 0.005
"""Side of the cells whose mean is the middle of the footprint, however unevenly it was seen [m]; a round figure."""
_MAX_SEEN, _MAX_GUESSED = 600, 400
"""Points of the object that candidates are compared with [-]; they bound the time."""
_MAX_CHECKED = 240
"""Candidates that are checked against the scene, the best by their contact [-]; they bound the time."""


class AnalyticGraspGenerator:
    """Proposes grasps from above, tilted, from the side and on single parts of a thing, without any learned model.

    Args:
        seed: Turns the sweep of closing directions by a fraction of its step.
        robot: Robot with the gripper; the default robot where None.
    """

    backend = "analytic"

    def __init__(self, seed: int = 0, robot: RobotModel | None = None) -> None:
        self._seed = seed
        self.gripper = (robot or load_robot()).gripper
        self._hand = Hand(self.gripper)

    def seeded(self, seed: int) -> AnalyticGraspGenerator:
        """See `ports.Seeded`."""
        other = copy.copy(self)
        other._seed = seed
        return other

    def generate(self, cloud: NDArray[np.float32], mask: BoolArray, T_base_camera: FloatArray) -> GraspSet:
        """Collision-free grasps of the masked object, best first.

        Args:
            cloud: (H*W, 3) points in the camera frame [m], NaN where unknown.
            mask: (H*W,) or (H, W), true on the object.
            T_base_camera: (4, 4) pose of the camera; the base frame has z up and the table at z = 0.

        Returns:
            Grasps in the camera frame; the same input gives the same bytes.

        Raises:
            ToolError: INVALID_ARGUMENT for wrong shapes, EMPTY_MASK, NO_DEPTH when the object has no
                known points, NO_GRASP when it is too wide, too flat or hemmed in.
        """
        mask = checked_mask(cloud, mask, T_base_camera)
        T = np.asarray(T_base_camera, dtype=float)
        cloud = np.asarray(cloud, dtype=np.float32)
        raised_points(geometry.transform(T, cloud[mask]))
        view, kept = SeenDepth.of(cloud, mask, T)
        points = geometry.transform(T, cloud[view.rows])
        seen = object_points(points[kept[view.rows]])
        support = min(view.support_height(), float(seen[:, 2].min()))
        guessed = complete_shape(seen, support, view.seen_free)[len(seen) :]
        centre = _centre(np.vstack([seen, guessed]), support)
        seen, guessed = self._thinned(seen, _MAX_SEEN), self._thinned(guessed, _MAX_GUESSED)
        shape = np.vstack([seen, guessed]).astype(np.float32)
        phase = float(np.random.default_rng(self._seed).uniform(0.0, np.pi / 24.0))
        tried = candidates(shape, shape[: len(seen)], centre, float(shape[:, 2].max()) - support, phase)
        grasps = place_jaws(shape, len(seen), centre, tried, self._hand)
        quality = chances(grasps, tried, self.gripper)
        rows = np.argsort(-quality, kind="stable")[: min(int(grasps.usable.sum()), _MAX_CHECKED)]
        scene = SceneHeights(points, mask[view.rows], shape, self.gripper)
        T_base_gripper, clear, roomy = _roomier_side(scene, grasps.T_base_gripper[rows], tried.tilt[rows] > 0.0)
        if not clear.any():
            raise _no_grasp(grasps, tried.central, shape, self.gripper)
        score = np.where(clear, quality[rows] * roomy**2, -1.0)
        order = np.argsort(-score, kind="stable")[: int(clear.sum())]
        return GraspSet(
            T_camera_gripper=geometry.invert(T) @ T_base_gripper[order],
            widths_m=grasps.width[rows][order],
            scores=score[order],
            sampled=len(tried),
        )

    def _thinned(self, points: FloatArray, count: int) -> FloatArray:
        """At most `count` of the points (N, 3), so that the time does not grow with the object."""
        if len(points) <= count:
            return points
        rng = np.random.default_rng(self._seed)
        return points[np.sort(rng.permutation(len(points))[:count])]


def _centre(shape: FloatArray, support: float) -> FloatArray:
    """Middle (3,) of the thing: the centroid of the columns over its footprint, at half its height."""
    cells, column = np.unique(np.floor(shape[:, :2] / _CELL).astype(np.int64), axis=0, return_inverse=True)
    top = np.full(len(cells), support)
    np.maximum.at(top, column.reshape(-1), shape[:, 2])
    weight = np.maximum(top - support, _CELL)
    xy = weight @ ((cells + 0.5) * _CELL) / weight.sum()
    return np.array([*xy, (support + float(shape[:, 2].max())) / 2.0])


def _roomier_side(
    scene: SceneHeights, T_base_gripper: FloatArray, tilted: BoolArray
) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Poses (N, 4, 4) turned by half a turn where the camera on the wrist then has more room; clear and roomy (N,)."""
    turned = T_base_gripper.copy()
    turned[:, :3, :2] *= -1.0
    (clear, roomy), (clear_turned, roomy_turned) = (scene.clear(T, tilted) for T in (T_base_gripper, turned))
    better = clear_turned & (~clear | (roomy_turned > roomy))
    T = np.where(better[:, None, None], turned, T_base_gripper)
    return T, clear | clear_turned, np.where(better, roomy_turned, roomy)


def _no_grasp(grasps: Grasps, central: BoolArray, shape: NDArray[np.float32], gripper: GripperModel) -> ToolError:
    """Why nothing is left; central (N,) marks the candidates straight down on the object's middle."""
    if grasps.usable.any():
        return ToolError(
            ErrorCode.NO_GRASP,
            f"Every one of the {int(grasps.usable.sum())} grasps that fit the object collides with a neighbour.",
            "Move a neighbour away first.",
        )
    yaws = np.radians(np.arange(0.0, 180.0, 3.0))
    width = float(np.ptp(shape[:, :2] @ np.array([np.cos(yaws), np.sin(yaws)]), axis=0).min())
    if width > gripper.max_width:
        return ToolError(
            ErrorCode.NO_GRASP,
            f"The object is {1000 * width:.0f} mm wide at its narrowest, too wide for the gripper, which holds what is "
            f"up to {1000 * gripper.max_width:.0f} mm wide.",
            "Grasp a smaller object.",
        )
    if not (central & (grasps.overlap > LEAST_CONTACT)).any():
        height = 1000.0 * float(shape[:, 2].max() - workspace.TABLE_Z)
        return ToolError(
            ErrorCode.NO_GRASP,
            f"The object is only {height:.0f} mm high; the fingers stay {1000 * TIP_GAP:.0f} mm above the table and "
            "cannot hold it.",
        )
    return ToolError(
        ErrorCode.NO_GRASP,
        f"None of the {len(grasps.usable)} grasps that were tried closes on two faces of the object.",
        "Look from elsewhere.",
    )
