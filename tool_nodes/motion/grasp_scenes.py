"""Collision scene of a grasp: the obstacles of one image, without the object that is grasped."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import backproject, shifted, transform
from toolhand.tool_nodes.motion.gripper import GripperModel
from toolhand.tool_nodes.motion.targets import jaw_opening_for, meant_mask, target_mask
from toolhand.tool_nodes.perception.carrying import carried_target
from toolhand.tool_nodes.perception.columns import column_boxes, own_heights
from toolhand.tool_nodes.perception.heights import MIN_HEIGHT, SeenTable, SeenTwice
from toolhand.tool_nodes.perception.levelling import levelled
from toolhand.tool_nodes.perception.obstacles import OBSTACLE_CELL_M, fit_obstacles
from toolhand.tool_nodes.ports import Planner
from toolhand.tool_nodes.scene_change import changed
from toolhand.tool_nodes.types import BoolArray, Box, CollisionScene, FloatArray, Frame, GraspTarget

APPROACH = 0.10
"""Distance from the pre-grasp to the grasp [m]."""
_SHORT_APPROACH = 0.06
"""The same where the hand comes aslant or from the side and there is no room for more [m]: fingers are shorter."""
RISE = np.array([0.0, 0.0, 0.06])
"""The hand must be able to rise by this from a grasp, base frame [m]: by the least lift, and 1 cm more because closing
pushes the arm aside. Close to the robot's base its joints may come to their limits before."""
DOWNWARDS = float(np.cos(np.radians(30.0)))
"""A hand that points down by more than this, as a cosine, comes from above [-]: its fingers are beside an object then,
not below a handle or a rim."""
_CLOSE_M = 0.002
"""Clearance from what stands about the target where the usual one leaves no way [m]: the noise of the depth, averaged
over a cell, is less."""
_TABLE_NOISES = 3.0
"""Points are obstacles from so many standard deviations of the table's own on [-]: one in 700 of these is as high."""
_MIDDLE = np.array([0.45, 0.0])
"""Where the correction of a table that lies askew turns about, base frame [m]: the middle of what the arm reaches."""
_EVERY = 7
"""Every seventh point is enough to level the table [-]: some ten thousand of 640x480."""
_FEW = 10
"""Fewer points than this above the table's noise are no object [-]; a round figure."""
YIELDING = 0.8
"""What a grasp is worth whose fingers touch what stands about the target, where one that touches nothing is 1 [-]; a
round figure."""
_YIELDING_M = 0.004
"""How deep fingers may be in cells about the target where there is no other way [m]. A cell is up to its side, 5 mm,
larger than what was seen in it: of 570 grasps in piles those that are so deep in cells are 0 to 1 mm deep in an object,
seven in eight of them, and none more than 8 mm."""
_KEPT = 4
"""Targets of one image whose obstacles are remembered [-]; a round figure."""


@dataclass(frozen=True)
class _Around:
    """What one image shows of a target: its points (N, 3), base frame [m], and the obstacles without it and with it."""

    points: NDArray[np.float32]
    boxes: tuple[Box, ...]
    whole: tuple[Box, ...]


class GraspScenes:
    """Collision scenes for grasps of one image; what was fitted to the newest image is remembered.

    Where a second camera has looked, too, and nothing has changed since, obstacles are what either camera saw.

    Args:
        planner: Decides what the arm can reach.
        gripper: Model of the arm's gripper.

    Attributes:
        views: Images of the newest second view, as given to `look_also`.
    """

    def __init__(self, planner: Planner, gripper: GripperModel) -> None:
        self._planner = planner
        self._gripper = gripper
        self._newest: tuple[Frame, NDArray[np.float32], SeenTable] | None = None
        self._around: OrderedDict[bytes, _Around] = OrderedDict()
        self.views: tuple[Frame, Frame] | None = None
        self._second: tuple[Frame, NDArray[np.float32], SeenTable] | None = None

    def look_also(self, views: tuple[Frame, Frame] | None) -> None:
        """Know a second view, or none: an image by the scene camera, and another camera's of the same scene."""
        self.views, self._newest = views, None

    def _other_view(self, frame: Frame) -> Frame | None:
        """The image that the other camera took of the same scene; None where there is none."""
        if self.views is None:
            return None
        first, closer = self.views
        if frame.camera == closer.camera:
            return first if frame is closer or frame.key == closer.key else None
        return None if frame is not first and changed(first, frame) else closer

    def reachable(self, T_base_gripper: FloatArray, frame: Frame, target: GraspTarget | None = None) -> float:
        """How well the arm can be at a grasp and come to it in a straight line from its pre-grasp, in [0, 1]; see `of`.

        1 where it touches nothing, `YIELDING` where its fingers do, 0 where it cannot. A parallel gripper is symmetric:
        the mirror image of the grasp will do as well.
        """
        wide, _, close, loosest = self.of(T_base_gripper, frame, target)[0]
        ways = [(T, back) for back in ways_back(T_base_gripper) for T in (T_base_gripper, mirrored(T_base_gripper))]
        within = False
        for T, back in ways:
            # What cannot be reached with the least clearance cannot with more, unless the tips are too deep when less
            # open.
            if self._rises_from(T, loosest, back):
                within = True
                if self._planner.reachable(T, close, back):
                    return 1.0
        opening = loosest.opening_m or 0.0
        deep = transform(T_base_gripper, self._gripper.tips(opening))[:, 2].min() < loosest.table_z
        if (within or deep) and any(self._rises_from(T, wide, back) for T, back in ways):
            return 1.0
        return YIELDING if within else 0.0

    def _rises_from(self, T: FloatArray, scene: CollisionScene, back: FloatArray) -> bool:
        """True if the arm can come to T (4, 4) from T moved by `back` (3,), and the hand rise by RISE from there."""
        free = replace(scene, boxes=())
        return self._planner.reachable(T, scene, back) and self._planner.reachable(shifted(T, RISE), free, -RISE)

    def of(
        self, T: FloatArray, frame: Frame, target: GraspTarget | None = None
    ) -> tuple[tuple[CollisionScene, ...], CollisionScene, NDArray[np.float32]]:
        """Obstacles without the target, strictest first, and with it, and the target's points.

        The jaws are wide open, then just open enough, then with less clearance; at last the fingers may touch what
        stands about the target, on the straight way to it alone. Obstacles there are cells of the measured heights.

        Args:
            T: Pose (4, 4) of the gripper at the grasp, in the base frame.
            frame: The image that the grasp comes from.
            target: The object to be grasped; where None, whatever stands between the fingers and touches it.

        Returns:
            The scenes, the first with the target in it, and the points (N, 3) of the target, base frame [m].
        """
        around = self._of_target(T, frame, target)
        wide = CollisionScene(around.boxes, table_z=workspace.TABLE_Z)
        fit = replace(wide, opening_m=jaw_opening_for(around.points, T, self._gripper))
        scenes = wide, fit, replace(fit, margin=_CLOSE_M), replace(fit, margin=0.0, yielding_m=_YIELDING_M)
        return scenes, replace(wide, boxes=around.whole), around.points

    def _of_target(self, T: FloatArray, frame: Frame, target: GraspTarget | None) -> _Around:
        if self._newest is None or self._newest[0] is not frame:
            self._newest = frame, *_levelled(frame)
            other = self._other_view(frame)
            self._second = None if other is None else (other, *_levelled(other))
            self._around.clear()
        _, cloud, seen = self._newest
        shape = frame.depth.shape
        if target is None:
            mask = left_out = target_mask(cloud, T, self._gripper).reshape(shape)
        else:
            mask, left_out = target.mask, meant_mask(cloud, target.mask)
            if np.count_nonzero(mask & left_out) < _FEW:  # too flat to stand out of the table
                left_out = mask
        key = np.packbits(mask).tobytes()
        if key not in self._around:
            points = cloud[(mask & left_out).reshape(-1)]
            points = points[np.isfinite(points[:, 2])]
            boxes = fit_obstacles(seen.frame, ignore=left_out, seen=self._seen_twice(frame, mask, seen), about=points)
            self._around[key] = _Around(points, boxes, boxes + column_boxes(own_heights(seen, points), seen))
            while len(self._around) > _KEPT:
                self._around.popitem(last=False)
        return self._around[key]

    def _seen_twice(self, frame: Frame, mask: BoolArray, seen: SeenTable) -> SeenTable:
        """What is seen of the table, by the second camera, too, without the target that a mask (H, W) outlines."""
        if self._second is None:
            return seen
        other, cloud, also = self._second
        target = carried_target(frame, GraspTarget(mask), other)
        return SeenTwice(seen, also, None if target is None else meant_mask(cloud, target.mask) | target.mask)


def _levelled(frame: Frame) -> tuple[NDArray[np.float32], SeenTable]:
    """The points (H*W, 3) of an image and its cells, the table brought to its height; its noise counts as table."""
    points = backproject(frame.depth, frame.K)
    some = points[::_EVERY]
    table = levelled(some, np.isnan(some[:, 2]), _MIDDLE, frame.T_base_camera)
    frame = replace(frame, T_base_camera=table.T @ frame.T_base_camera)
    cloud = transform(frame.T_base_camera, points)
    lowest = max(MIN_HEIGHT, _TABLE_NOISES * table.noise)
    return cloud, SeenTable(frame, OBSTACLE_CELL_M, cloud=cloud, lowest=lowest)


def levelled_obstacles(frame: Frame) -> tuple[Box, ...]:
    """Boxes around all that an image shows above the table, the table brought to its height."""
    _, seen = _levelled(frame)
    return fit_obstacles(seen.frame, seen=seen)


def ways_back(T_base_gripper: FloatArray) -> tuple[FloatArray, ...]:
    """Shifts (3,) from a grasp (4, 4) back to its pre-grasp, base frame [m], in the order in which they are tried."""
    lengths = (APPROACH,) if T_base_gripper[2, 2] < -DOWNWARDS else (APPROACH, _SHORT_APPROACH)
    return tuple(-length * T_base_gripper[:3, 2] for length in lengths)


def mirrored(T_base_gripper: FloatArray) -> FloatArray:
    """The grasp (4, 4) that a parallel gripper takes by half a turn about its approach."""
    T = T_base_gripper.copy()
    T[:3, :2] *= -1.0
    return T
