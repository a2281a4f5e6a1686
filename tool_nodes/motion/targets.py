"""The target of a grasp or placement, from the camera's cloud: jaw opening, held object, point in the base frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tool_nodes import workspace
from tool_nodes.geometry import backproject, invert, transform
from tool_nodes.motion.gripper import GripperModel
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import BoolArray, Box, FloatArray, Frame

ELEVATED = 0.008
"""Points higher than this above the table belong to a thing [m]."""

_HIGHEST = 0.4
"""Points higher than this above the base belong to the robot or the room [m]."""
_RIM_PX = 3
"""Pixels that a thing may reach beyond its mask."""
_CELL = 0.01
"""Side of the cells by which what touches between the fingers is joined [m]; a round figure."""


def cloud_in_base(frame: Frame) -> NDArray[np.float32]:
    """Points (H*W, 3) in the base frame, float32, NaN where unknown."""
    return transform(frame.T_base_camera, backproject(frame.depth, frame.K))


def target_mask(
    cloud: NDArray[np.float32], T_base_gripper: FloatArray, gripper: GripperModel, reach: float = 0.17
) -> BoolArray:
    """Which points (N,) belong to the thing that the open fingers enclose at T_base_gripper.

    Elevated points are joined over 1 cm table cells; the components that reach between the fingers are
    taken, up to `reach` [m] from the gripper's axis.
    """
    mask = np.zeros(len(cloud), bool)
    with np.errstate(invalid="ignore"):
        elevated = np.flatnonzero((cloud[:, 2] > workspace.TABLE_Z + ELEVATED) & (cloud[:, 2] < _HIGHEST))
    if not elevated.size:
        return mask
    points = cloud[elevated]
    local = transform(invert(T_base_gripper), points)
    (half_x, half_y), (low, high) = gripper.zone_half_size, gripper.zone_depth
    between = (np.abs(local[:, 0]) < half_x) & (np.abs(local[:, 1]) < half_y)
    between &= (local[:, 2] > low) & (local[:, 2] < high)
    if not between.any():
        return mask
    cells = np.floor((points[:, :2] - points[:, :2].min(axis=0)) / _CELL).astype(int)
    grid = np.zeros(cells.max(axis=0) + 1, bool)
    grid[cells[:, 0], cells[:, 1]] = True
    labels, _ = ndimage.label(grid, structure=np.ones((3, 3)))
    of_point = labels[cells[:, 0], cells[:, 1]]
    near = np.hypot(local[:, 0], local[:, 1]) < reach
    mask[elevated[np.isin(of_point, np.unique(of_point[between])) & near]] = True
    return mask


def meant_mask(cloud: NDArray[np.float32], mask: BoolArray) -> BoolArray:
    """Which pixels (H, W) show the thing that a mask (H, W) outlines: what stands out of the table, and its rim.

    A mask often ends a few pixels before its thing does; what is left would be an obstacle that cannot be grasped.

    Args:
        cloud: (H*W, 3) points in the base frame [m].
        mask: True on the thing.
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
    """The smallest jaw opening [m] that clears a thing (N, 3) on the way to a grasp, unseen back allowed for."""
    widest = gripper.max_opening
    if not len(target):
        return widest
    local = transform(invert(T_base_gripper), np.asarray(target, float))
    between = local[(np.abs(local[:, 1]) < gripper.zone_half_size[1]) & (np.abs(local[:, 0]) < widest / 2)]
    if not len(between):
        return widest
    half = float(np.abs(np.percentile(between[:, 0], (1, 99))).max())
    return float(np.clip(2 * half + 0.024, 0.03, widest))


@dataclass(frozen=True)
class HeldObject:
    """The grasped thing, in the frame of the gripper.

    Attributes:
        box: Its bounding box; the unseen part down to its support is included.
        R_base_gripper: (3, 3) orientation of the gripper when it was grasped.
        bottom_m: Height of the gripper's origin above the thing's lowest point at that orientation [m].
        opening_m: Measured jaw opening after closing [m].
        called: The words that it was pointed at by; "" where there were none.
    """

    box: Box
    R_base_gripper: FloatArray
    bottom_m: float
    opening_m: float
    called: str = ""


def held_object(
    target: NDArray[np.floating], T_base_gripper: FloatArray, opening_m: float, gripper: GripperModel
) -> HeldObject:
    """Box of the grasped thing from its seen points (N, 3) in the base frame.

    Seen points are extruded down to the thing's support. The unseen back is taken to mirror the seen
    front about the closing line, where grasps are centred.
    """
    T_gripper_base = invert(T_base_gripper)
    target = np.asarray(target, float)
    if len(target) < 10:
        held_at = np.array([0.0, 0.0, gripper.hold_depth])
        target = T_base_gripper[:3, 3] + T_base_gripper[:3, :3] @ held_at + np.zeros((1, 3))
    lowest = float(np.percentile(target[:, 2], 2))
    support = workspace.TABLE_Z if lowest < workspace.TABLE_Z + 0.035 else lowest
    solid = np.vstack([target, np.column_stack([target[:, :2], np.full(len(target), support)])])
    local = transform(T_gripper_base, solid)
    low, high = np.percentile(local, (1, 99), axis=0)
    half_x = max(opening_m / 2, min(abs(low[0]), abs(high[0])))
    half_y = np.clip(max(abs(low[1]), abs(high[1])), 0.01, 0.12)
    half_z = max((high[2] - low[2]) / 2, 0.01)
    pose = np.eye(4)
    pose[2, 3] = (low[2] + high[2]) / 2
    half = np.array([half_x, half_y, half_z])
    return HeldObject(
        box=Box(pose, half),
        R_base_gripper=T_base_gripper[:3, :3].copy(),
        bottom_m=float(T_base_gripper[2, 3] - support),
        opening_m=opening_m,
    )


def ray_to_base(frame: Frame, point: FloatArray, window: int = 2) -> FloatArray:
    """The 3D point (3,) in the base frame that a normalized image point (2,) shows.

    Raises:
        ToolError: NO_DEPTH when the depth around the pixel is unknown.
    """
    w, h = frame.size
    u, v = min(int(point[0] * w), w - 1), min(int(point[1] * h), h - 1)
    patch = frame.depth[max(v - window, 0) : v + window + 1, max(u - window, 0) : u + window + 1]
    known = patch[np.isfinite(patch)]
    if not known.size:
        raise ToolError(
            ErrorCode.NO_DEPTH, f"No depth is known at image point ({point[0]:.3f}, {point[1]:.3f}).", "Choose another."
        )
    z = float(np.median(known))
    camera = np.array([(u - frame.K[0, 2]) / frame.K[0, 0], (v - frame.K[1, 2]) / frame.K[1, 1], 1.0]) * z
    return transform(frame.T_base_camera, camera[None])[0]
