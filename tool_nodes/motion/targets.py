"""The target of a grasp or placement, from the camera's cloud: jaw opening, held object, point in the base frame."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import backproject, invert, pose, project, rotation_z, shifted, transform
from toolhand.tool_nodes.motion.gripper import GripperModel
from toolhand.tool_nodes.perception.masks import window_of
from toolhand.tool_nodes.perception.surface import find_surface, firm_pixels
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, Box, FloatArray, Frame

ELEVATED = 0.008
"""Points higher than this above the table belong to an object [m]."""

_HIGHEST = 0.4
"""Points higher than this above the base belong to the robot or the room [m]."""
_RIM_PX = 3
"""Pixels that an object may reach beyond its mask."""
_CELL = 0.01
"""Side of the cells by which what touches between the fingers is joined [m]; a round figure."""

_ENCLOSED_M = 0.17
"""What the fingers enclose reaches so far from the gripper's axis [m]; farther away is another object that touches."""
_PATCH_PX = 2
"""The depth at a point is that of the pixels so far around it [px]: the point itself may show none."""
_OPENING_STEP_M = 0.004
"""Jaw openings for the way in are multiples of this [m], so that grasps of one object share models of the open hand."""
_FEW = 10
"""Fewer points than this say nothing about what is held [-]; a round figure."""
_LEAST_HEIGHT = 0.02
"""Height that a held object has at the least [m]: that of the flattest that the jaws can close on."""
_HIDDEN_SHARE = 0.3
"""Share of its height that an object may reach further back than what is seen of it [-]: a ball that a camera sees from
60 degrees above the horizon hides 0.07 of its diameter, a cone that widens downwards more."""
_BEHIND_SHARE = 0.07
"""Share of its height by which objects reach further back than what is seen of them, mostly [-]: a ball's. Of 0.03,
0.05, 0.07 and 0.1 the one by which the middles of 52 objects were found best."""


def cloud_in_base(frame: Frame) -> NDArray[np.float32]:
    """Points (H*W, 3) in the base frame, float32, NaN where unknown."""
    return transform(frame.T_base_camera, backproject(frame.depth, frame.K))


def firm_points(frame: Frame, mask: BoolArray) -> NDArray[np.float32]:
    """Points (N, 3) in the base frame of what a mask (H, W) shows, without those in the air beside its edges."""
    if not mask.any():
        return np.empty((0, 3), np.float32)
    window = window_of(mask)
    firm = firm_pixels(find_surface(frame), window, mask[window])
    return cloud_in_base(frame).reshape(*mask.shape, 3)[window][firm]


def target_mask(cloud: NDArray[np.float32], T_base_gripper: FloatArray, gripper: GripperModel) -> BoolArray:
    """Which points (N,) belong to the object that the open fingers enclose at T_base_gripper.

    Elevated points are joined over 1 cm table cells; the components that reach between the fingers are
    taken, up to `_ENCLOSED_M` from the gripper's axis.
    """
    mask = np.zeros(len(cloud), bool)
    with np.errstate(invalid="ignore"):
        elevated = np.flatnonzero((cloud[:, 2] > workspace.TABLE_Z + ELEVATED) & (cloud[:, 2] < _HIGHEST))
    if not elevated.size:
        return mask
    points = cloud[elevated]
    local = transform(invert(T_base_gripper), points)
    (half_x, half_y), (low, high) = gripper.grasp_zone.half_size, gripper.grasp_zone.depth
    between = (np.abs(local[:, 0]) < half_x) & (np.abs(local[:, 1]) < half_y)
    between &= (local[:, 2] > low) & (local[:, 2] < high)
    if not between.any():
        return mask
    cells = np.floor((points[:, :2] - points[:, :2].min(axis=0)) / _CELL).astype(int)
    grid = np.zeros(cells.max(axis=0) + 1, bool)
    grid[cells[:, 0], cells[:, 1]] = True
    labels, _ = ndimage.label(grid, structure=np.ones((3, 3)))
    of_point = labels[cells[:, 0], cells[:, 1]]
    near = np.hypot(local[:, 0], local[:, 1]) < _ENCLOSED_M
    mask[elevated[np.isin(of_point, np.unique(of_point[between])) & near]] = True
    return mask


def meant_mask(cloud: NDArray[np.float32], mask: BoolArray) -> BoolArray:
    """Which pixels (H, W) show the object that a mask (H, W) outlines: what stands out of the table, and its rim.

    A mask often ends a few pixels before its object does; what is left would be an obstacle that cannot be grasped.

    Args:
        cloud: (H*W, 3) points in the base frame [m].
        mask: True on the object.
    """
    meant = np.zeros(mask.shape, bool)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return meant
    part = tuple(slice(max(at[0] - _RIM_PX, 0), at[-1] + _RIM_PX + 1) for at in (rows, columns))
    z = cloud[:, 2].reshape(mask.shape)[part]
    with np.errstate(invalid="ignore"):
        stands_out = (z > workspace.TABLE_Z + ELEVATED) & (z < _HIGHEST)
    meant[part] = ndimage.binary_dilation(mask[part] & stands_out, iterations=_RIM_PX) & stands_out
    return meant


def jaw_opening_for(target: NDArray[np.floating], T_base_gripper: FloatArray, gripper: GripperModel) -> float:
    """The smallest jaw opening [m] that clears an object (N, 3) on the way to a grasp, unseen back allowed for."""
    widest = gripper.max_opening
    if not len(target):
        return widest
    local = transform(invert(T_base_gripper), np.asarray(target, float))
    between = local[(np.abs(local[:, 1]) < gripper.grasp_zone.half_size[1]) & (np.abs(local[:, 0]) < widest / 2)]
    if not len(between):
        return widest
    half = float(np.abs(np.percentile(between[:, 0], (1, 99))).max())
    least = _OPENING_STEP_M * float(np.ceil((2 * half + 0.024) / _OPENING_STEP_M))
    return float(np.clip(least, 0.03, widest))


@dataclass(frozen=True)
class HeldObject:
    """The grasped object, in the frame of the gripper.

    Attributes:
        box: Its bounding box, which stood upright when it was grasped, whatever the hand's orientation; the unseen part
            down to its support is included.
        R_base_gripper: (3, 3) orientation of the gripper when it was grasped.
        middle: (3,) middle of its base, in the frame of the gripper [m]: what is set down has it on the place.
        opening_m: Measured jaw opening after closing [m].
        called: The words that it was pointed at by; "" where there were none.
    """

    box: Box
    R_base_gripper: FloatArray
    middle: FloatArray
    opening_m: float
    called: str = ""


def held_object(
    target: NDArray[np.floating],
    T_base_gripper: FloatArray,
    opening_m: float,
    gripper: GripperModel,
    eye: FloatArray | None = None,
) -> HeldObject:
    """Box of the grasped object from its seen points in the base frame.

    Seen points are extruded down to the object's support. An object that is held at a handle, at a rim or at its end
    reaches to one side; its unseen back is taken to mirror the seen front about the pads, as far as its height hides.

    Args:
        target: (N, 3) points of the object [m]; those of pixels without depth are NaN, and count as not seen.
        T_base_gripper: (4, 4) the gripper when it closed.
        opening_m: Measured jaw opening after closing [m].
        gripper: Model of the gripper.
        eye: (3,) where the camera is, base frame [m]; every side may have a hidden part where None.
    """
    target = np.asarray(target, float)
    target = target[np.isfinite(target).all(axis=1)]
    R, origin = T_base_gripper[:3, :3], T_base_gripper[:3, 3]
    pads = origin + R @ np.array([0.0, 0.0, gripper.pad_depth(gripper.clipped(opening_m))])
    if len(target) < _FEW:
        target = (origin + R @ np.array([0.0, 0.0, gripper.hold_depth]))[None]
    lowest, top = np.percentile(target[:, 2], (2, 99))
    support = workspace.TABLE_Z if lowest < workspace.TABLE_Z + 0.035 else float(lowest)
    level = R[:, 0] if np.hypot(*R[:2, 0]) > np.hypot(*R[:2, 1]) else R[:, 1]
    R_base_box = rotation_z(float(np.arctan2(level[1], level[0])))
    local, held_at = (target - origin) @ R_base_box, (pads - origin) @ R_base_box
    low, high = np.percentile(local, (1, 99), axis=0)
    away = np.zeros(3) if eye is None else R_base_box.T @ (pads - eye)
    base = _base_middle(low, high, away, max(float(top) - support, 0.0))
    base[2] = support - origin[2]
    jaws = np.abs(R_base_box.T @ R[:, 0]) * opening_m / 2.0
    least = np.maximum(np.abs(R_base_box.T @ R[:, 1]) * gripper.pad_half_size[0], jaws)
    behind = _HIDDEN_SHARE * max(float(top) - support, 0.0)
    for axis in range(2):
        mirror = 2.0 * held_at[axis] - np.array([high[axis], low[axis]])
        if away[axis] <= 0.0:
            low[axis] = min(low[axis], max(mirror[0], low[axis] - behind))
        if away[axis] >= 0.0:
            high[axis] = max(high[axis], min(mirror[1], high[axis] + behind))
    low, high = np.minimum(low, held_at - least), np.maximum(high, held_at + least)
    low[2], high[2] = support - origin[2], max(float(top), support + _LEAST_HEIGHT) - origin[2]
    middle = R_base_box @ ((low + high) / 2.0)
    return HeldObject(
        box=Box(pose(R.T @ R_base_box, R.T @ middle), (high - low) / 2.0),
        R_base_gripper=R.copy(),
        middle=R.T @ (R_base_box @ base),
        opening_m=opening_m,
    )


def lowered(held: HeldObject, by: float) -> HeldObject:
    """A held object that reaches lower than was seen, by so much [m]."""
    down = -by * held.R_base_gripper.T[:, 2]
    T = shifted(held.box.T_parent_box, down / 2.0)
    box = Box(T, held.box.half_extents + np.array([0.0, 0.0, by / 2.0]))
    return replace(held, box=box, middle=held.middle + down)


def _base_middle(low: FloatArray, high: FloatArray, away: FloatArray, height: float) -> FloatArray:
    """Middle (3,) of an object of which a box from low (3,) to high (3,) is seen, in the frame of the box [m].

    Args:
        low, high: Corners [m].
        away: (3,) direction from the camera, of any length; 0 where it is not known.
        height: Height of the object [m].
    """
    level = np.array([away[0], away[1], 0.0])
    hidden = _BEHIND_SHARE * height * level / max(float(np.linalg.norm(level)), 1e-9)
    return (low + high + hidden) / 2.0


def ray_to_base(frame: Frame, point: FloatArray) -> FloatArray:
    """The 3D point (3,) in the base frame that a normalized image point (2,) shows.

    Raises:
        ToolError: NO_DEPTH when the depth around the pixel is unknown.
    """
    w, h = frame.size
    u, v = min(int(point[0] * w), w - 1), min(int(point[1] * h), h - 1)
    patch = frame.depth[max(v - _PATCH_PX, 0) : v + _PATCH_PX + 1, max(u - _PATCH_PX, 0) : u + _PATCH_PX + 1]
    known = patch[np.isfinite(patch)]
    if not known.size:
        raise ToolError(
            ErrorCode.NO_DEPTH, f"No depth is known at image point ({point[0]:.3f}, {point[1]:.3f}).", "Choose another."
        )
    z = float(np.median(known))
    camera = np.array([(u - frame.K[0, 2]) / frame.K[0, 0], (v - frame.K[1, 2]) / frame.K[1, 1], 1.0]) * z
    return transform(frame.T_base_camera, camera[None])[0]


def shown_at(frame: Frame, point: FloatArray) -> tuple[float, float]:
    """The normalized point (x, y) at which an image shows a point (3,) of the base frame [m]; see `ray_to_base`."""
    u, v = project(transform(invert(frame.T_base_camera), point[None]), frame.K)[0] / frame.size
    return float(u), float(v)
