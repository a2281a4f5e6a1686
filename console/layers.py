"""What is drawn over an image for whoever watches: the object, the grasp and the place of the motion that is planned,
what the motion tools avoid, where there is room, and depth.

Each is made of one frame of a camera by the functions that the tools use, and of what the motion node says of its
motion; nothing of the simulator's truth is in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import ndimage

from toolhand.console.robot import MotionMark
from toolhand.tool_nodes.drawing import WHITE, colourize_depth, draw_mask
from toolhand.tool_nodes.geometry import invert, project, transform
from toolhand.tool_nodes.perception.free_space import free_cells
from toolhand.tool_nodes.perception.obstacles import fit_obstacles
from toolhand.tool_nodes.types import BoolArray, Box, FloatArray, Frame

MARKED = {"target": "thing", "gripper": "grasp", "path": "path", "place": "place"}
"""Layers of the motion that is planned, which are empty while none is, and their names on a page."""
LAYERS = {**MARKED, "obstacles": "obstacles", "free": "free space", "depth": "depth"}
"""All layers and their names on a page."""

CLEARANCE_M = 0.03
"""Free radius of a place that is shown as free [m]: the least that placing takes."""

COLOURS = {"gripper": (255, 200, 0), "path": (255, 60, 200), "place": (40, 140, 255), "obstacles": (255, 140, 0)}
"""Colours of lines by layer, sRGB."""
_GREEN = (40, 220, 110)
"""Colour of free cells, sRGB."""
_FREE_SHARE = 0.35
"""Opacity of the colour of free cells [-]: what stands beside them, and the table's own colour, stay visible."""
_JOINED_PX = 4
"""Points of an object, or free cells, are joined over as many pixels on each side [px]."""
_FAR_PX = 4000.0
"""Nothing is drawn further away than this from the image's corner [px]."""
_EDGES = [(a, b) for a in range(8) for b in range(a + 1, 8) if (a ^ b).bit_count() == 1]
"""Pairs of corners of a box that an edge joins, by their bits."""


def layer_image(frame: Frame, layers: Collection[str], marks: Sequence[MotionMark] = ()) -> NDArray[np.uint8]:
    """The image of a frame with some of LAYERS, uint8 RGB (H, W, 3).

    Args:
        frame: An image with depth.
        layers: Keys of LAYERS.
        marks: Marks of the motion that is planned.

    Raises:
        ToolError: NO_DEPTH.
    """
    rgb = colourize_depth(frame.depth, bar=False) if "depth" in layers else frame.rgb
    if "target" in layers:
        for mark in marks:
            if mark.name == "target":
                rgb = draw_mask(rgb, _outline(frame, mark.points))
    if "free" in layers:
        free = _outline(frame, free_cells(frame, CLEARANCE_M))
        rgb = rgb.copy()
        rgb[free] = ((1.0 - _FREE_SHARE) * rgb[free] + _FREE_SHARE * np.array(_GREEN)).astype(np.uint8)
    image = Image.fromarray(rgb)
    draw = ImageDraw.Draw(image)
    for name in ("obstacles", "place", "path", "gripper"):
        if name in layers:
            _draw_lines(draw, _pixels(frame, _segments(frame, name, marks).reshape(-1, 3)), COLOURS[name])
    return np.asarray(image)


def box_corners(box: Box) -> FloatArray:
    """The corners (8, 3) of a box in the frame that its pose is in [m]."""
    signs = np.array([[1.0 if corner >> axis & 1 else -1.0 for axis in range(3)] for corner in range(8)])
    return transform(box.T_parent_box, signs * box.half_extents)


def box_edges(box: Box) -> FloatArray:
    """The edges (12, 2, 3) of a box in the frame that its pose is in [m]."""
    edges: FloatArray = box_corners(box)[np.array(_EDGES)]
    return edges


def obstacle_edges(frame: Frame, marks: Sequence[MotionMark]) -> FloatArray:
    """Edges (M, 2, 3) of what the motion that is planned avoids, else of what one would avoid by a frame [m]."""
    known = [mark.segments for mark in marks if mark.name == "obstacles"]
    found = known or [box_edges(box) for box in fit_obstacles(frame)]
    return np.concatenate(found) if found else np.zeros((0, 2, 3))


def _segments(frame: Frame, name: str, marks: Sequence[MotionMark]) -> FloatArray:
    """Lines (M, 2, 3) of a layer, base frame [m]."""
    if name == "obstacles":
        return obstacle_edges(frame, marks)
    return np.concatenate([np.zeros((0, 2, 3)), *(mark.segments for mark in marks if mark.name == name)])


def _pixels(frame: Frame, points: FloatArray) -> FloatArray:
    """Pixels (N, 2) of points (N, 3) of the base frame; NaN behind the camera."""
    return project(transform(invert(frame.T_base_camera), points), frame.K)


def _outline(frame: Frame, points: FloatArray) -> BoolArray:
    """Pixels (H, W) between points (N, 3) that stand close together."""
    width, height = frame.size
    mask = np.zeros((height, width), bool)
    u, v = _pixels(frame, points).T
    with np.errstate(invalid="ignore"):
        inside = (u >= 0) & (u < width) & (v >= 0) & (v < height)
    mask[v[inside].astype(int), u[inside].astype(int)] = True
    return np.asarray(ndimage.binary_closing(np.pad(mask, _JOINED_PX), iterations=_JOINED_PX))[
        _JOINED_PX:-_JOINED_PX, _JOINED_PX:-_JOINED_PX
    ]


def _lines(pixels: FloatArray) -> Iterator[tuple[float, float, float, float]]:
    for line in pixels.reshape(-1, 4):
        if np.isfinite(line).all() and np.abs(line).max() < _FAR_PX:
            a, b, c, d = (float(value) for value in line)
            yield a, b, c, d


def _draw_lines(draw: ImageDraw.ImageDraw, pixels: FloatArray, colour: tuple[int, int, int]) -> None:
    """Lines between each two pixels (2 M, 2), with a white rim."""
    for shade, width in ((WHITE, 4), (colour, 2)):
        for line in _lines(pixels):
            draw.line(line, fill=shade, width=width)
