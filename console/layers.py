"""What is drawn over a picture for whoever watches: what the motion tools would avoid, where there is room, and depth.

Each is made of one frame of a camera by the functions that the tools use; nothing of the simulator's truth is in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from tool_nodes.drawing import WHITE, colourize_depth
from tool_nodes.geometry import invert, project, transform
from tool_nodes.perception.free_space import free_cells
from tool_nodes.perception.obstacles import fit_obstacles
from tool_nodes.types import Box, FloatArray, Frame

LAYERS = {"obstacles": "Obstacles", "free": "Free space", "depth": "Depth"}
"""Layers and their names on a page."""

CLEARANCE_M = 0.03
"""Free radius of a place that is shown as free [m]: the least that placing takes."""

_ORANGE = (255, 140, 0)
"""Colour of the obstacles, sRGB."""
_GREEN = (40, 220, 110)
"""Colour of free cells, sRGB."""
_DOT_PX = 2
"""Half the edge of the mark of a free cell [px]."""
_EDGES = [(a, b) for a in range(8) for b in range(a + 1, 8) if (a ^ b).bit_count() == 1]
"""Pairs of corners of a box that an edge joins, by their bits."""


def layer_picture(frame: Frame, layer: str) -> NDArray[np.uint8]:
    """The picture of a frame with one of LAYERS, uint8 RGB (H, W, 3). Raises ToolError NO_DEPTH."""
    if layer == "depth":
        return colourize_depth(frame.depth, bar=False)
    image = Image.fromarray(frame.rgb)
    draw = ImageDraw.Draw(image)
    if layer == "obstacles":
        for box in fit_obstacles(frame):
            _draw_edges(draw, _pixels(frame, box_corners(box)))
    else:
        for u, v in _pixels(frame, free_cells(frame, CLEARANCE_M)):
            if np.isfinite((u, v)).all():
                draw.rectangle((u - _DOT_PX, v - _DOT_PX, u + _DOT_PX, v + _DOT_PX), outline=_GREEN)
    return np.asarray(image)


def box_corners(box: Box) -> FloatArray:
    """The corners (8, 3) of a box in the frame that its pose is in [m]."""
    signs = np.array([[1.0 if corner >> axis & 1 else -1.0 for axis in range(3)] for corner in range(8)])
    return transform(box.T_parent_box, signs * box.half_extents)


def _pixels(frame: Frame, points: FloatArray) -> FloatArray:
    """Pixels (N, 2) of points (N, 3) of the base frame; NaN behind the camera."""
    return project(transform(invert(frame.T_base_camera), points), frame.K)


def _draw_edges(draw: ImageDraw.ImageDraw, corners: FloatArray) -> None:
    if not np.isfinite(corners).all():
        return
    for colour, width in ((WHITE, 4), (_ORANGE, 2)):
        for a, b in _EDGES:
            draw.line((*corners[a], *corners[b]), fill=colour, width=width)
