"""Places that are not on the table: in a container, on top of an object; and whether one point of either is free."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.perception.extents import area, distance_to_outline, outline, rectangle
from toolhand.tool_nodes.perception.free_wishes import DIRECTIONS, WAYS, on_table
from toolhand.tool_nodes.perception.masks import window_of
from toolhand.tool_nodes.perception.surface import Surface, firm_pixels, solid_pixels
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

_OFF_MIDDLE_M = 0.015
"""A part of a container begins so far from its middle [m]: more than placing is uncertain."""
_PATCH_M = 0.02
"""What an object is to stand on is level this far around the point [m]: half of the narrowest face that carries one."""
_LEVEL_M = 0.01
"""So level [m]: the noise of the depth and the curve of a bowl's floor."""
_LEVEL_SHARE = 0.8
"""Share of the patch that has to be level [-]; a round figure."""


_SPARE_M = 0.008
"""What is put beside a wall or another object in a container keeps this away [m]: placing is uncertain by so much."""
_GIVES_M = 0.004
"""An object in a container may be so much wider than the room that is seen [m]: it is let go of from above, and what
stands there gives way."""
_SOMETHING_PX = 30
"""Pixels on the floor of a container that are an object, and no noise at its walls [-]: a tenth of the smallest
one's."""
_SQUARE = 0.88
"""A container whose outline fills this share of its rectangle has straight walls [-]: a disc fills 0.79."""


def corners(surface: Surface, mask: BoolArray) -> FloatArray:
    """Convex outline (K, 2) of what pixels (H, W) show, from above [m]; fewer than three corners if nothing."""
    solid = solid_pixels(surface, mask)
    if np.count_nonzero(solid) < 3:
        return np.empty((0, 2))
    window = window_of(solid)
    # A point in the air behind an object would take the place that is beside it along.
    return outline(surface.points[window][firm_pixels(surface, window, solid[window])][:, :2])


def inside(
    surface: Surface,
    mask: BoolArray,
    name: str,
    region: str,
    frame: Frame,
    item: FloatArray | None,
    own: BoolArray | None,
) -> FloatArray:
    """The point (3,) of a container's seen floor where an object has most room, or leaves most for another one; above
    what lies in it, where no floor is left and the object would not stand out.

    Args:
        surface: Surface that the image shows.
        mask: Pixels (H, W) of the container.
        name: How it is called.
        region: Part of it, see FreeSpaceRequest; empty for any.
        frame: Says how the camera stands.
        item: Outline (K, 2) of what is to go there, while it stands on the table [m]; None where that is not seen.
        own: Its pixels (H, W).

    Raises:
        ToolError: NO_DEPTH where it is not seen; OUT_OF_WORKSPACE where the arm does not reach it; PLACE_BLOCKED for
            what is no container, is full or too narrow, or has no room in that part.
    """
    # A rim is so thin that most of its pixels are at an edge: all of them count here.
    rim_points = surface.points[solid_pixels(surface, mask)]
    rim_outline = outline(rim_points[:, :2]) if len(rim_points) >= 3 else np.empty((0, 2))
    if len(rim_outline) < 3:
        raise ToolError(
            ErrorCode.NO_DEPTH, f"There is no depth on the {name}, so its inside is unknown.", "Look again."
        )
    window = window_of(mask)
    points, solid = surface.points[window], solid_pixels(surface, mask)[window]
    depth = -distance_to_outline(points[:, :, :2], rim_outline)
    interior = (depth > 0.015) & np.isfinite(points[:, :, 2])
    if own is not None:
        interior &= ~own[window]
    heights = points[:, :, 2]
    floor = float(np.quantile(heights[interior], 0.1)) if interior.any() else np.inf
    rim = float(np.quantile(heights[solid], 0.9))
    if not rim - floor > 0.02:
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"The {name} is not open at the top, so nothing fits in it.")
    bare = interior & mask[window] & (heights < floor + 0.012)
    taken = points[interior & (heights > floor + 0.012)][:, :2]
    stands = points[interior & ~mask[window] & (heights > floor + 0.012)]
    if not bare.any():
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"The floor of the {name} cannot be seen, it is full or hidden.")
    candidates = points[bare][::3]
    candidates = candidates[workspace.reachable(candidates[:, :2].astype(float))]
    if not len(candidates):
        raise ToolError(ErrorCode.OUT_OF_WORKSPACE, f"The inside of the {name} is beyond the arm's reach.")
    room = _free(candidates, rim_outline, taken[:0])
    centre, sides, yaw = rectangle(rim_outline)
    crowd = cKDTree(taken).query(candidates[:, :2])[0] if len(taken) else np.full(len(candidates), np.inf)
    if room.max() < 0.03:
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"The {name} is too narrow for the gripper to put something in.")
    offset = np.linalg.norm(candidates[:, :2] - centre, axis=1)
    score = np.minimum(room, 0.06) + np.minimum(crowd, 0.05) - 0.5 * offset
    for side in region.replace("middle", "").split():
        beyond = (candidates[:, :2] - centre) @ on_table(frame, DIRECTIONS[WAYS[side]])
        score = np.where(beyond >= _OFF_MIDDLE_M, score + 2.0 * np.minimum(beyond, 2 * _OFF_MIDDLE_M), -np.inf)
    if not np.isfinite(score).any():
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"There is no room in the {region} of the {name}.")
    if item is not None and len(item) >= 3:
        width, length = (float(side) for side in rectangle(item)[1][::-1])
        if len(stands) >= _SOMETHING_PX:
            free = _free(candidates, rim_outline, stands)
            if np.where(np.isfinite(score), free, 0.0).max() < width / 2 - _GIVES_M:
                # Above what lies there, as long as its own middle comes to lie below the rim.
                tall = 0.0 if own is None else float(np.quantile(surface.points[solid_pixels(surface, own)][:, 2], 0.9))
                high = heights > rim - tall / 2 - _SPARE_M
                candidates = points[interior & ~high]
                candidates = candidates[workspace.reachable(candidates[:, :2].astype(float))]
                free = _free(candidates, rim_outline, points[interior & high])
                if not len(free) or free.max() < width / 2 - _GIVES_M:
                    raise ToolError(ErrorCode.PLACE_BLOCKED, f"There is no room left in the {name} for that.")
                offset = np.linalg.norm(candidates[:, :2] - centre, axis=1)
                score = np.zeros(len(candidates))
            score = np.where(np.isfinite(score), np.minimum(free, length / 2 + _SPARE_M) - 0.1 * offset, -np.inf)
        elif not region and area(rim_outline) > _SQUARE * sides[0] * sides[1]:
            fits = (each for each in (length, width) if 2 * (each + _SPARE_M) <= sides[0])
            score = _leaving_room(
                score,
                candidates[:, :2] - centre,
                np.minimum(room, crowd + _SPARE_M),
                next(fits, np.inf),
                yaw,
                frame,
            )
    best = candidates[int(np.argmax(score))].astype(float)
    best[2] += surface.table_z(best[0], best[1])
    return best


def _free(places: NDArray[np.floating], rim: FloatArray, others: NDArray[np.floating]) -> FloatArray:
    """How far places (N, 3) inside an outline (K, 2) are from it and from other points (M, 3) [m]."""
    if not len(places):
        return np.zeros(0)
    room = -distance_to_outline(places[None, :, :2], rim)[0] - 0.005
    return np.asarray(np.minimum(room, cKDTree(others[:, :2]).query(places[:, :2])[0]) if len(others) else room, float)


def _leaving_room(
    score: FloatArray, offsets: FloatArray, room: FloatArray, side: float, yaw: float, frame: Frame
) -> FloatArray:
    """The scores (N,) of an empty bin's floor by which one more object of a kind fits beside the first, where it can.

    Args:
        score: Scores (N,) without that.
        offsets: Cells (N, 2) from the middle of the bin [m].
        room: Their distances (N,) from its walls and from what may be noise at them [m].
        side: Side of the object that fits twice along the bin [m]; inf for none.
        yaw: Direction of the bin's longer side [rad].
        frame: Says how the camera stands.
    """
    spared = room >= side / 2 + _SPARE_M
    if not spared.any():
        return score
    along = np.array([np.cos(yaw), np.sin(yaw)])
    # At the near end it hides the least of the floor that is left.
    along = along if along @ on_table(frame, DIRECTIONS["in_front_of"]) >= 0.0 else -along
    across = np.abs(offsets @ np.array([-along[1], along[0]]))
    return np.where(spared, offsets @ along - across, -np.inf)


def on_top(surface: Surface, mask: BoolArray, name: str) -> FloatArray:
    """The centre (3,) of an object's top face. Raises ToolError NO_DEPTH, and PLACE_BLOCKED where nothing stays on
    it."""
    points = surface.points[solid_pixels(surface, mask)]
    if len(points) < 10:
        raise ToolError(ErrorCode.NO_DEPTH, f"There is no depth on the {name}, so its top is unknown.", "Look again.")
    top = float(np.quantile(points[:, 2], 0.985))
    face, cap = points[points[:, 2] > top - 0.004], points[points[:, 2] > top - 0.012]
    centre, sides, _ = rectangle(outline(face[:, :2])) if len(face) >= 3 else (None, np.zeros(2), 0.0)
    if len(face) < 0.5 * len(cap):
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"The top of the {name} is not level, so nothing stays on it.")
    if centre is None or sides[1] < 0.035:
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"The top of the {name} is too small to carry anything.")
    if np.min(np.hypot(*(face[:, :2] - centre).T)) > 0.01:
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"The {name} is open at the top, so nothing stands on it.")
    return np.array([*centre, top + surface.table_z(*centre)])


def check_spot(surface: Surface, pixel: tuple[int, int], named: Sequence[tuple[str, BoolArray]]) -> None:
    """Whether an object can stand on what a pixel (u, v) shows over the table, in a container or on top of an object.

    Raises:
        ToolError: PLACE_BLOCKED where it cannot, and by what.
    """
    u, v = pixel
    point = surface.points[v, u]
    near = np.hypot(surface.points[:, :, 0] - point[0], surface.points[:, :, 1] - point[1]) <= _PATCH_M
    level = np.abs(surface.height[near] - point[2]) <= _LEVEL_M
    there = next((f"the {name}" for name, mask in named if mask[v, u]), "something")
    if not len(level) or np.count_nonzero(level) < _LEVEL_SHARE * len(level):
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"That spot is not free: {there} is there, and its top is not level.")
