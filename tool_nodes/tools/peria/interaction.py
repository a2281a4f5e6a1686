r"""PERIA's interaction tools: deterministic operations on pictures (appendix C.1, table 7).

The tools give a picture and one line that says what was done and where. Coordinates are those of `peria_boxes`: 0..1000
over the width and over the height of any picture.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from tool_nodes.results import ErrorCode, ToolError, ToolResult
from tool_nodes.toolbox.arguments import ImageIndex, TextArgument
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.toolbox import tool
from tool_nodes.tools.peria.boxes import (
    LineEnds,
    SpaceBox,
    SpacePlace,
    Waypoints,
    box_pixels,
    boxed,
    point_pixels,
    show_box,
)
from tool_nodes.types import FloatArray

SUCCESS = "Tool executed successfully."

MIN_CROP_PX = 8
"""A part of a picture below this width or height shows nothing [px]."""

_RED, _WHITE, _YELLOW = (230, 30, 30), (255, 255, 255), (255, 220, 0)
_VEIL = 0.35
"""Opacity of the overlay of `image_highlight`."""
_FONT_PX = (10, 40)
"""Heights of a label's font: at least, and at most [px]."""
_LEAST_MARGIN_PX = 4
"""Blank between a label's letters and its border [px], half the font where that is more: a border close to them is read
as part of a letter."""

LabelText = Annotated[str, TextArgument(max_length=100)]


class PeriaInteractionTools:
    """Cropping, labelling, drawing and highlighting."""

    suite = "peria"

    @tool("image_crop")
    def image_crop(self, image_index: ImageIndex, bounding_box: SpaceBox) -> ToolResult:
        r"""Crop a specified region for fine-grained inspection, such as verifying small text, landmarks, or local
        route details.

        Args:
            image_index: Index of the input image.
            bounding_box: Region to keep as \boxed{x1,y1,x2,y2}, top left and bottom right corner in 0..1000.
        """
        left, top, right, bottom = box_pixels(bounding_box, image_index.size)
        width, height = right - left, bottom - top
        if min(width, height) < MIN_CROP_PX:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENT,
                f"image_crop: the region is {width}x{height} px of a picture of "
                f"{image_index.size[0]}x{image_index.size[1]} px; a side must have at least {MIN_CROP_PX} px.",
                "Choose a larger bounding_box.",
            )
        part = image_index.cropped(left, top, right, bottom)
        where = boxed(left, top, right, bottom, image_index.size)
        return ToolResult(
            value={"box_px": (left, top, right, bottom)},
            text=f"{SUCCESS}\nCropped the region {where}: {width}x{height} px.",
            image=part.rgb,
            source=part,
        )

    @tool("image_label")
    def image_label(self, image_index: ImageIndex, text: LabelText, position: SpacePlace) -> ToolResult:
        r"""Add a text label at a specified position, helping annotate landmarks, objects, or intermediate reasoning
        results.

        Args:
            image_index: Index of the input image.
            text: The label.
            position: Where its top left corner goes, as [x, y] or \boxed{x,y} in 0..1000; it is moved to stay inside.
        """
        ((x, y),) = point_pixels(position, image_index.size)
        picture = Image.fromarray(image_index.rgb)
        draw = ImageDraw.Draw(picture)
        font, (width, height), (dx, dy) = _fitting_font(draw, text, image_index.size)
        left, top = min(x, image_index.size[0] - width), min(y, image_index.size[1] - height)
        draw.rectangle((left, top, left + width - 1, top + height - 1), fill=_WHITE, outline=_RED)
        draw.text((left + dx, top + dy), text, fill=_RED, font=font)
        where = boxed(left, top, left + width, top + height, image_index.size)
        moved = "" if (left, top) == (x, y) else ", moved to stay inside the picture"
        return _drawn(image_index, np.asarray(picture), f"Added the label {text!r} at {where}{moved}.")

    @tool("draw_line")
    def draw_line(self, image_index: ImageIndex, coordinates: LineEnds) -> ToolResult:
        r"""Draw a single line between two points, which is useful for marking road segments, boundaries, crossings, or
        direct spatial relations.

        Args:
            image_index: Index of the input image.
            coordinates: Both ends, as \boxed{x1,y1,x2,y2} or [[x1, y1], [x2, y2]] in 0..1000.
        """
        rgb = _polyline(image_index, coordinates)
        return _drawn(image_index, rgb, f"Drew a line {_shown(coordinates)}.")

    @tool("draw_path")
    def draw_path(self, image_index: ImageIndex, points: Waypoints) -> ToolResult:
        r"""Draw a connected path through multiple waypoints, supporting route tracing, maze solving, and multi-step
        path verification.

        Args:
            image_index: Index of the input image.
            points: Two or more waypoints in order, as [[x, y], ...] or \boxed{x1,y1,x2,y2,...} in 0..1000.
        """
        rgb = _polyline(image_index, points)
        return _drawn(image_index, rgb, f"Drew a path through {len(points)} points {_shown(points)}.")

    @tool("bounding_box")
    def bounding_box(self, image_index: ImageIndex, bounding_box: SpaceBox) -> ToolResult:
        r"""Draw a bounding box around a target region, providing explicit localization of objects, landmarks, or
        regions of interest.

        Args:
            image_index: Index of the input image.
            bounding_box: Region to frame as \boxed{x1,y1,x2,y2}, top left and bottom right corner in 0..1000.
        """
        part, rgb = _region(image_index, bounding_box)
        width = _stroke_px(image_index.size)
        inner = part[width:-width, width:-width].copy()
        part[...] = _RED
        part[width:-width, width:-width] = inner
        return _drawn(image_index, rgb, f"Drew a box around {show_box(bounding_box)}.")

    @tool("image_highlight")
    def image_highlight(self, image_index: ImageIndex, bounding_box: SpaceBox) -> ToolResult:
        r"""Highlight a specified region with a translucent overlay, helping focus attention on relevant areas while
        preserving surrounding context.

        Args:
            image_index: Index of the input image.
            bounding_box: Region to highlight as \boxed{x1,y1,x2,y2}, top left and bottom right corner in 0..1000.
        """
        part, rgb = _region(image_index, bounding_box)
        part[...] = np.round((1.0 - _VEIL) * part + _VEIL * np.array(_YELLOW))
        return _drawn(image_index, rgb, f"Highlighted {show_box(bounding_box)}.")


def _region(image: SessionImage, box: FloatArray) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A view of a region's pixels in a copy of the picture, and that copy."""
    left, top, right, bottom = box_pixels(box, image.size)
    rgb = image.rgb.copy()
    return rgb[top:bottom, left:right], rgb


def _drawn(image: SessionImage, rgb: NDArray[np.uint8], said: str) -> ToolResult:
    return ToolResult(text=f"{SUCCESS}\n{said}", image=rgb, source=image.redrawn(rgb))


def _stroke_px(size: tuple[int, int]) -> int:
    """Width of a line that is seen in a picture of size (width, height) without hiding it [px]."""
    return max(2, round(max(size) / 240))


def _polyline(image: SessionImage, points: FloatArray) -> NDArray[np.uint8]:
    """The picture with a red line through points (N, 2) in 0..1000, and a dot on each of them."""
    picture = Image.fromarray(image.rgb)
    draw = ImageDraw.Draw(picture)
    pixels = point_pixels(points, image.size)
    width = _stroke_px(image.size)
    draw.line(pixels, fill=_RED, width=width, joint="curve")
    for x, y in pixels:
        draw.ellipse((x - width, y - width, x + width, y + width), fill=_RED)
    return np.asarray(picture)


def _shown(points: FloatArray) -> str:
    """Where a line goes, for a sentence; of a long one, its ends."""
    shown = [f"({x:g}, {y:g})" for x, y in points]
    return "from " + " to ".join(shown if len(shown) <= 6 else [*shown[:2], "...", *shown[-2:]])


_Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def _fitting_font(
    draw: ImageDraw.ImageDraw, text: str, size: tuple[int, int]
) -> tuple[_Font, tuple[int, int], tuple[int, int]]:
    """The font of a label, the label's size and the place of the text in it [px], so that it fits into the picture.

    Raises:
        ToolError: INVALID_ARGUMENT where even the smallest font is too large.
    """
    _require_printable(text)
    wanted = int(np.clip(min(size) // 20, *_FONT_PX))
    for height in range(wanted, _FONT_PX[0] - 1, -1):
        font = ImageFont.load_default(size=height)
        left, top, right, bottom = draw.multiline_textbbox((0, 0), text, font=font)
        margin = max(_LEAST_MARGIN_PX, height // 2)
        label = (int(right - left) + 2 * margin, int(bottom - top) + 2 * margin)
        if label[0] <= size[0] and label[1] <= size[1]:
            return font, label, (margin - int(left), margin - int(top))
    raise ToolError(
        ErrorCode.INVALID_ARGUMENT,
        f"image_label: the label needs {label[0]}x{label[1]} px, but the picture has {size[0]}x{size[1]} px.",
        "Use a shorter text or a larger picture.",
    )


def _require_printable(text: str) -> None:
    """Refuse what the bundled font has no glyphs for. Raises ToolError INVALID_ARGUMENT."""
    font = ImageFont.load_default(size=_FONT_PX[0])
    missing = bytes(font.getmask("\uffff"))
    unknown = [c for c in dict.fromkeys(text) if c not in " \n" and bytes(font.getmask(c)) == missing]
    if unknown:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT,
            f"image_label: the font has no glyphs for {''.join(unknown)[:10]!r}.",
            "Use letters from a to z, digits and ASCII signs.",
        )
