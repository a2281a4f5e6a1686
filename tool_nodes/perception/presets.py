"""The entries of this room in the registry: pixels alone, whatever took the image."""

from __future__ import annotations

from toolhand.tool_nodes.perception.pixels import PixelPerception
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.registry import Shared

PIXELS = PortNames(
    pointer="pixels",
    detector="pixels+drawings",
    segmenter="pixels+drawings",
    depth="pixels",
    reader="rapidocr",
    grasps="analytic",
)
"""Colour and depth of the image, and what products look like."""


def pixels(shared: Shared) -> PixelPerception:
    """Colour and geometry of camera frames; the ports share what was found in one."""
    return shared.once(pixels, PixelPerception)
