"""Analytic grasp sampling: a sweep of closing directions over the object's points, checked against the scene.

In the gripper's frame +Z approaches and the fingers close along X. Every candidate
is judged at the pose where the jaws meet the object, and with the jaws open on the way there.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tool_nodes import geometry, workspace
from tool_nodes.grasp.clearance import SceneHeights
from tool_nodes.grasp.seen import checked_mask, object_points
from tool_nodes.motion.gripper import GripperModel
from tool_nodes.motion.robot_model import RobotModel, load_robot
from tool_nodes.perception.shape_completion import complete_shape, tightest_yaw
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import BoolArray, FloatArray, GraspSet

_YAWS = 24
"""Even orientations of the jaws over half a turn, 7.5 degrees apart."""
_PALM_GAP = 0.005
"""Least gap between the palm and the object [m]; a round figure."""
_TIP_GAP = 0.004
"""Least gap between a fingertip and the table [m]; a round figure."""
_JAW_GAP = 0.0025
"""Least gap on either side between the open jaws and what passes between them [m]; a round figure."""
_CELL = 0.005
"""Side of the cells whose mean is the middle of the footprint, however unevenly it was seen [m]; a round figure."""
_MAX_POINTS = 1000
"""Points of the object that candidates are compared with; bounds the time."""


class _Hand:
    """A gripper, and how deep its pads and tips are."""

    def __init__(self, gripper: GripperModel) -> None:
        self.gripper = gripper
        self.max_opening = gripper.max_opening
        self.openings = np.linspace(0.0, gripper.max_opening, 35)
        self.pad_depths = np.array([gripper.pad_depth(opening) for opening in self.openings])
        self.tip_beyond_pad = gripper.fingertip_depth(self.max_opening) - gripper.pad_depth(self.max_opening)

    def pad_depth(self, opening: FloatArray) -> FloatArray:
        """Distance (N,) along +Z from the gripper's origin to the centre of the pads at openings (N,) [m]."""
        return np.interp(opening, self.openings, self.pad_depths)


class AnalyticGraspGenerator:
    """Proposes top-down and slightly tilted grasps without any learned model.

    Args:
        seed: Turns the sweep of closing directions by a fraction of its step.
        robot: Robot with the gripper; the default robot where None.
    """

    backend = "analytic"

    def __init__(self, seed: int = 0, robot: RobotModel | None = None) -> None:
        self._seed = seed
        self.gripper = (robot or load_robot()).gripper
        self._hand = _Hand(self.gripper)

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
        points = geometry.transform(np.asarray(T_base_camera, dtype=float), np.asarray(cloud, dtype=np.float32))
        seen = object_points(points[mask])
        completed = complete_shape(seen)
        centre, shape = _centre(completed), self._thinned(completed)
        phase = float(np.random.default_rng(self._seed).uniform(0.0, np.pi / _YAWS))
        candidates = _sweep(shape, phase)
        grasps = _place_jaws(shape, centre, candidates, self._hand)
        scene = SceneHeights(points, mask, shape, self.gripper)
        T_base_gripper, clear, roomy = _roomier_side(scene, grasps.T_base_gripper, candidates.tilt > 0.0)
        central = (candidates.slide == 0.0) & (candidates.tilt == 0.0)
        usable = grasps.usable & clear
        # Only the rim or a corner of something too wide would fit between the jaws; that holds nothing for sure.
        if not usable.any() or not (grasps.narrow & central).any():
            raise _no_grasp(grasps, central, shape, self.gripper)
        score = np.where(usable, grasps.quality * roomy**2, -1.0)
        order = np.argsort(-score, kind="stable")[: int(usable.sum())]
        return GraspSet(
            T_camera_gripper=geometry.invert(T_base_camera) @ T_base_gripper[order],
            widths_m=grasps.width[order],
            scores=score[order],
            sampled=len(score),
        )

    def _thinned(self, shape: FloatArray) -> NDArray[np.float32]:
        """At most `_MAX_POINTS` of the points, so that the time does not grow with the object."""
        if len(shape) > _MAX_POINTS:
            rng = np.random.default_rng(self._seed)
            shape = shape[np.sort(rng.permutation(len(shape))[:_MAX_POINTS])]
        return shape.astype(np.float32)


@dataclass(frozen=True)
class _Candidates:
    """What is tried: orientations and offsets.

    Attributes:
        R: (N, 3, 3) in the base frame.
        slide: (N,) offset from the object's middle along the gripper's y [m].
        lift: (N,) retreat from the deepest pose [m].
        tilt: (N,) angle between the approach and straight down [rad].
    """

    R: NDArray[np.float32]
    slide: FloatArray
    lift: FloatArray
    tilt: FloatArray


@dataclass(frozen=True)
class _Grasps:
    """Candidates with the jaws placed.

    Attributes:
        T_base_gripper: (N, 4, 4).
        width: (N,) jaw opening at contact [m].
        free_width: (N,) extent of what the open fingers must pass [m].
        overlap: (N,) height of the contact on the pads [m].
        quality: (N,) in [0, 1], collisions aside.
        narrow: (N,) True if what is between the fingers is no wider than the open jaws.
        usable: (N,) True if the jaws can close on the object.
    """

    T_base_gripper: FloatArray
    width: FloatArray
    free_width: FloatArray
    overlap: FloatArray
    quality: FloatArray
    narrow: BoolArray
    usable: BoolArray


def _sweep(shape: NDArray[np.float32], phase: float) -> _Candidates:
    """All candidate orientations and offsets; the footprint's own directions join the even sweep."""
    xy = shape[:, :2].astype(float)
    own = tightest_yaw(xy)
    even = phase + np.arange(_YAWS) * np.pi / _YAWS
    yaws = np.concatenate([[own, own + np.pi / 2.0], even])
    columns: list[tuple[FloatArray, float, float, float]] = []
    for number, yaw in enumerate(yaws):
        down = geometry.rotation_z(yaw) @ np.diag([1.0, -1.0, -1.0])
        length = float(np.ptp(xy @ down[:2, 1]))
        columns += [(down, 0.0, lift, 0.0) for lift in (0.0, 0.008, 0.016)]
        if length > 0.04:
            columns += [(down, share * length, 0.0, 0.0) for share in (-0.3, -0.15, 0.15, 0.3)]
        if number < 2 or number % 3 == 0:
            for angle in np.radians([12.0, 24.0]):
                for sign in (-1.0, 1.0):
                    columns.append((down @ _rotation_x(sign * angle), 0.0, 0.0, angle))
                    columns.append((down @ _rotation_y(sign * angle), 0.0, 0.0, angle))
    R, slide, lift, tilt = (np.array(column) for column in zip(*columns, strict=True))
    return _Candidates(R.astype(np.float32), slide, lift, tilt)


def _rotation_x(angle: float) -> FloatArray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def _rotation_y(angle: float) -> FloatArray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def _place_jaws(shape: NDArray[np.float32], centre: FloatArray, candidates: _Candidates, hand: _Hand) -> _Grasps:
    """Puts the pads of every candidate at the object's middle height, as deep as palm and table allow."""
    gripper = hand.gripper
    R = candidates.R.astype(float)
    x, y, z = np.moveaxis((shape - centre.astype(np.float32)) @ candidates.R, 2, 0)
    off_y = np.abs(y - candidates.slide.astype(np.float32)[:, None])

    finger_band = off_y < gripper.finger_half_width + 0.001
    left, right = _extent(x, finger_band)
    width = np.clip(right - left, 0.0, hand.max_opening)
    under_palm = (off_y < gripper.palm_half_size[1]) & (np.abs(x) < gripper.palm_half_size[0])
    top = np.where(under_palm, z, np.inf).min(axis=1)
    by_palm = top + hand.pad_depth(width) - gripper.palm_depth - _PALM_GAP
    grip_z = np.minimum(0.0, np.minimum(by_palm, _table_limit(R, centre, candidates.slide, width, hand)))
    grip_z = grip_z - candidates.lift

    half_width, half_height = gripper.pad_half_size
    in_pads = (off_y < half_width + 0.0005) & (np.abs(z - grip_z.astype(np.float32)[:, None]) < half_height)
    left, right = _extent(x, in_pads)
    width, middle = right - left, (left + right) / 2.0
    z_low, z_high = _extent(z, in_pads)
    overlap = z_high - z_low

    passing = finger_band & (z < (grip_z + hand.tip_beyond_pad).astype(np.float32)[:, None])
    outer_left, outer_right = _extent(x, passing)
    free_width = 2.0 * np.maximum(outer_right - middle, middle - outer_left)

    origin = np.column_stack([middle, candidates.slide, grip_z - hand.pad_depth(width)])
    T = np.tile(np.eye(4), (len(R), 1, 1))
    T[:, :3, :3] = R
    T[:, :3, 3] = centre + np.einsum("nij,nj->ni", R, origin)

    fits = (width > 0.0) & (width <= gripper.max_width) & (free_width <= hand.max_opening - 2.0 * _JAW_GAP)
    usable = fits & (overlap > 0.003) & (_lowest_tip(T, width, hand) > workspace.TABLE_Z + 0.9 * _TIP_GAP)
    slope = np.hypot(
        _slope(x, y - candidates.slide.astype(np.float32)[:, None], in_pads, left, right),
        _slope(x, z - grip_z.astype(np.float32)[:, None], in_pads, left, right),
    )
    quality = (
        np.exp(-((slope / 0.45) ** 2))
        * np.exp(-((np.hypot(candidates.slide, 0.6 * grip_z) / 0.05) ** 2))
        * (1.0 - 0.35 * (width / hand.max_opening) ** 2)
        * np.clip(overlap / 0.012, 0.2, 1.0)
        * np.where(candidates.tilt > 0.0, 0.85 * np.cos(candidates.tilt) ** 2, 1.0)
    )
    return _Grasps(T, width, free_width, overlap, np.where(usable, quality, 0.0), fits, usable)


def _centre(shape: FloatArray) -> FloatArray:
    """Middle (3,) of the object: the centroid of its footprint, at half its height."""
    cells = np.unique(np.floor(shape[:, :2] / _CELL).astype(np.int32), axis=0)
    xy = (cells.mean(axis=0) + 0.5) * _CELL
    return np.array([*xy, (workspace.TABLE_Z + float(shape[:, 2].max())) / 2.0])


def _extent(values: NDArray[np.float32], where: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Least and greatest value (N,) of each row where asked; (0, 0) for a row with none."""
    low = np.where(where, values, np.inf).min(axis=1)
    high = np.where(where, values, -np.inf).max(axis=1)
    empty = low > high
    return np.where(empty, 0.0, low).astype(float), np.where(empty, 0.0, high).astype(float)


def _table_limit(R: FloatArray, centre: FloatArray, slide: FloatArray, width: FloatArray, hand: _Hand) -> FloatArray:
    """Greatest depth (N,) of the pads along the approach at which no fingertip comes near the table.

    The fingertips are lowest either closed on the object, when they have moved forward, or open
    and tilted, when they are farther out.
    """
    up = R[:, 2]
    across = np.abs(up[:, 1]) * hand.gripper.finger_half_width - up[:, 1] * slide
    back = hand.pad_depth(width) - hand.pad_depths[-1]
    limits = []
    for half, behind in ((width / 2.0, 0.0), (hand.max_opening / 2.0, back)):
        sideways = np.abs(up[:, 0]) * (half + hand.gripper.finger_thickness)
        room = centre[2] - workspace.TABLE_Z - _TIP_GAP - sideways - across
        limits.append(room / -up[:, 2] - hand.tip_beyond_pad + behind)
    return np.minimum(*limits)


def _lowest_tip(T_base_gripper: FloatArray, width: FloatArray, hand: _Hand) -> FloatArray:
    """Height (N,) of the lowest corner of the fingertips [m], open or closed on the object."""
    up = T_base_gripper[:, 2, :3]
    lowest = np.full(len(width), np.inf)
    for opening in (width, np.full(len(width), hand.max_opening)):
        tip = hand.pad_depth(opening) + hand.tip_beyond_pad
        outside = opening / 2.0 + hand.gripper.finger_thickness
        sideways = np.abs(up[:, 0]) * outside + np.abs(up[:, 1]) * hand.gripper.finger_half_width
        lowest = np.minimum(lowest, T_base_gripper[:, 2, 3] + up[:, 2] * tip - sideways)
    return lowest


def _slope(
    x: NDArray[np.float32], along: NDArray[np.float32], in_pads: BoolArray, left: FloatArray, right: FloatArray
) -> FloatArray:
    """How much (N,) the steeper of the two gripped faces leans along a direction of the pads; 0 is parallel."""
    lower, upper = in_pads & (along < 0.0), in_pads & (along >= 0.0)
    (left_a, right_a), (left_b, right_b) = _extent(x, lower), _extent(x, upper)
    known = lower.any(axis=1) & upper.any(axis=1)
    change = np.maximum(np.abs(left_a - left_b), np.abs(right_a - right_b))
    # Faces of a thing thinner than the pads are judged over what there is of them.
    run = np.maximum(0.5 * (_extent(along, in_pads)[1] - _extent(along, in_pads)[0]), 0.004)
    return np.where(known, change / run, 0.3)


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


def _no_grasp(grasps: _Grasps, central: BoolArray, shape: NDArray[np.float32], gripper: GripperModel) -> ToolError:
    """Why nothing is left; central (N,) marks the candidates straight down on the object's middle."""
    if (grasps.narrow & central).any() and grasps.usable.any():
        return ToolError(
            ErrorCode.NO_GRASP,
            f"Every one of the {int(grasps.usable.sum())} grasps that fit the object collides with a neighbour.",
            "Move a neighbour away first.",
        )
    reached = central & (grasps.overlap > 0.003)
    if not reached.any():
        height = 1000.0 * float(shape[:, 2].max() - workspace.TABLE_Z)
        return ToolError(
            ErrorCode.NO_GRASP,
            f"The object is only {height:.0f} mm high; the fingers stay {1000 * _TIP_GAP:.0f} mm above the table and "
            "cannot hold it.",
        )
    width = 1000.0 * float(np.maximum(grasps.width, grasps.free_width)[reached].min())
    return ToolError(
        ErrorCode.NO_GRASP,
        f"The object is {width:.0f} mm wide at its narrowest, too wide for the gripper, which opens "
        f"{1000 * gripper.max_opening:.0f} mm.",
        "Grasp a smaller object.",
    )
