r"""PERIA's interaction tools: deterministic operations on images (appendix C.1, table 7).

The tools give an image and one line that says what was done and where. Coordinates are those of `boxes`: 0..1000
over the width and over the height of any image.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from toolhand.tool_nodes.results import ToolResult, invalid
from toolhand.tool_nodes.toolbox.arguments import ImageIndex, TextArgument
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import tool
from toolhand.tool_nodes.tools.peria.boxes import (
    LineEnds,
    SpaceBox,
    SpacePlace,
    Waypoints,
    box_pixels,
    boxed,
    point_pixels,
    show_box,
)
from toolhand.tool_nodes.types import FloatArray

SUCCESS = "Tool executed successfully."

MIN_CROP_PX = 8
"""A part of an image below this width or height shows nothing [px]."""

_RED, _WHITE, _YELLOW = (230, 30, 30), (255, 255, 255), (255, 220, 0)
_VEIL = 0.35
"""Opacity of the overlay of `image_highlight`."""
_FONT_PX = (10, 40)
"""Heights of a label's font: at least, and at most [px]."""
_LEAST_MARGIN_PX = 4
"""Blank between a label's letters and its border [px], half the font where that is more: a border close to them is read
as part of a letter."""
_BITMAP_PX = 11
"""Height of the bitmap font's lines [px]."""
_EVEN_SHARE = 0.9
"""Share of the letters that would fit if all were of mean width, after which lines are broken [-]; a round figure."""

LabelText = Annotated[str, TextArgument(max_length=1000)]


class PeriaInteractionTools:
    """Cropping, labelling, drawing and highlighting."""

    suite = "peria"

    @tool(
        "image_crop",
        example=Example({"image_index": 0, "bounding_box": "\\boxed{700, 300, 1000, 500}"}, image="street"),
    )
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
            raise invalid(
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

    @tool("image_label", example=Example({"image_index": 0, "text": "carton", "position": [350, 430]}))
    def image_label(self, image_index: ImageIndex, text: LabelText, position: SpacePlace) -> ToolResult:
        r"""Add a text label at a specified position, helping annotate landmarks, objects, or intermediate reasoning
        results.

        Args:
            image_index: Index of the input image.
            text: The label, in letters of western European languages; a long one shrinks, then its lines are broken.
            position: Where its top left corner goes, as [x, y] or \boxed{x,y} in 0..1000; it is moved to stay inside.
        """
        ((x, y),) = point_pixels(position, image_index.size)
        letters, margin = _fitting_letters(text, image_index.size)
        width, height = letters.width + 2 * margin, letters.height + 2 * margin
        left, top = min(x, image_index.size[0] - width), min(y, image_index.size[1] - height)
        image = Image.fromarray(image_index.rgb)
        draw = ImageDraw.Draw(image)
        draw.rectangle((left, top, left + width - 1, top + height - 1), fill=_WHITE, outline=_RED)
        draw.bitmap((left + margin, top + margin), letters, fill=_RED)
        where = boxed(left, top, left + width, top + height, image_index.size)
        moved = "" if (left, top) == (x, y) else ", moved to stay inside the picture"
        return _drawn(image_index, np.asarray(image), f"Added the label {text!r} at {where}{moved}.")

    @tool("draw_line", example=Example({"image_index": 0, "coordinates": [[350, 540], [610, 560]]}))
    def draw_line(self, image_index: ImageIndex, coordinates: LineEnds) -> ToolResult:
        r"""Draw a single line between two points, which is useful for marking road segments, boundaries, crossings, or
        direct spatial relations.

        Args:
            image_index: Index of the input image.
            coordinates: Both ends, as \boxed{x1,y1,x2,y2} or [[x1, y1], [x2, y2]] in 0..1000.
        """
        rgb = _polyline(image_index, coordinates)
        return _drawn(image_index, rgb, f"Drew a line {_shown(coordinates)}.")

    @tool("draw_path", example=Example({"image_index": 0, "points": [[350, 700], [480, 640], [610, 700], [800, 640]]}))
    def draw_path(self, image_index: ImageIndex, points: Waypoints) -> ToolResult:
        r"""Draw a connected path through multiple waypoints, supporting route tracing, maze solving, and multi-step
        path verification.

        Args:
            image_index: Index of the input image.
            points: Two or more waypoints in order, as [[x, y], ...] or \boxed{x1,y1,x2,y2,...} in 0..1000.
        """
        rgb = _polyline(image_index, points)
        return _drawn(image_index, rgb, f"Drew a path through {len(points)} points {_shown(points)}.")

    @tool("bounding_box", example=Example({"image_index": 0, "bounding_box": "\\boxed{300, 440, 400, 680}"}))
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

    @tool("image_highlight", example=Example({"image_index": 0, "bounding_box": "\\boxed{300, 440, 400, 680}"}))
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
    """A view of a region's pixels in a copy of the image, and that copy."""
    left, top, right, bottom = box_pixels(box, image.size)
    rgb = image.rgb.copy()
    return rgb[top:bottom, left:right], rgb


def _drawn(image: SessionImage, rgb: NDArray[np.uint8], said: str) -> ToolResult:
    return ToolResult(text=f"{SUCCESS}\n{said}", image=rgb, source=image.redrawn(rgb))


def _stroke_px(size: tuple[int, int]) -> int:
    """Width of a line that is seen in an image of size (width, height) without hiding it [px]."""
    return max(2, round(max(size) / 240))


def _polyline(image: SessionImage, points: FloatArray) -> NDArray[np.uint8]:
    """The image with a red line through points (N, 2) in 0..1000, and a dot on each of them."""
    shown = Image.fromarray(image.rgb)
    draw = ImageDraw.Draw(shown)
    pixels = point_pixels(points, image.size)
    width = _stroke_px(image.size)
    draw.line(pixels, fill=_RED, width=width, joint="curve")
    for x, y in pixels:
        draw.ellipse((x - width, y - width, x + width, y + width), fill=_RED)
    return np.asarray(shown)


def _shown(points: FloatArray) -> str:
    """Where a line goes, for a sentence; of a long one, its ends."""
    shown = [f"({x:g}, {y:g})" for x, y in points]
    return "from " + " to ".join(shown if len(shown) <= 6 else [*shown[:2], "...", *shown[-2:]])


def _fitting_letters(text: str, size: tuple[int, int]) -> tuple[Image.Image, int]:
    """The letters of a label as a mask, and the margin around them [px], so that it fits into an image of a size [px].

    Letters shrink first; where even the smallest are too wide, lines are broken.

    Raises:
        ToolError: INVALID_ARGUMENT where that does not help either, or the fonts lack a letter.
    """
    draw = _font_for(text)
    wanted = int(np.clip(min(size) // 20, *_FONT_PX))
    heights = range(wanted, _FONT_PX[0] - 1, -1)
    for height, broken in [*((height, False) for height in heights), (_FONT_PX[0], True)]:
        margin = max(_LEAST_MARGIN_PX, height // 2)
        letters = draw(text, height)
        if broken and letters.width + 2 * margin > size[0]:
            longest = max(map(len, text.split("\n")))
            columns = int(longest * (size[0] - 2 * margin) / letters.width * _EVEN_SHARE)
            lines = [textwrap.fill(line, max(columns, 1)) for line in text.split("\n")]
            letters = draw("\n".join(lines), height)
        if letters.width + 2 * margin <= size[0] and letters.height + 2 * margin <= size[1]:
            return letters, margin
    raise invalid(
        f"image_label: the label needs {letters.width + 2 * margin}x{letters.height + 2 * margin} px, but the picture "
        f"has {size[0]}x{size[1]} px.",
        "Use a shorter text or a larger picture.",
    )


def _font_for(text: str) -> Callable[[str, int], Image.Image]:
    """What draws lines of letters of a height [px] as a mask, by a font that has all of them.

    Pillow's scalable font has ASCII and little else; its bitmap font has the letters of western Europe too.

    Raises:
        ToolError: INVALID_ARGUMENT where neither has a letter.
    """
    font = ImageFont.load_default(size=_FONT_PX[0])
    missing = bytes(font.getmask("\uffff"))
    if all(c in " \n" or bytes(font.getmask(c)) != missing for c in set(text)):
        return lambda lines, height: _mask(lines, ImageFont.load_default(size=height))
    unknown = [c for c in dict.fromkeys(text) if c != "\n" and not (" " <= c <= "~" or "\xa0" <= c <= "\xff")]
    if unknown:
        raise invalid(
            f"image_label: the font has no glyphs for {''.join(unknown)[:10]!r}.",
            "Use letters of western European languages, digits and ASCII signs.",
        )
    return _bitmap_letters


def _bitmap_letters(lines: str, height: int) -> Image.Image:
    mask = _mask(lines, ImageFont.load_default_imagefont())
    factor = max(height // _BITMAP_PX, 1)
    return mask.resize((factor * mask.width, factor * mask.height), Image.Resampling.NEAREST)


def _mask(lines: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> Image.Image:
    """Coverage of lines of text, just as large as their ink."""
    measuring = ImageDraw.Draw(Image.new("L", (1, 1)))
    left, top, right, bottom = (int(side) for side in measuring.multiline_textbbox((0, 0), lines, font=font))
    mask = Image.new("L", (max(right - left, 1), max(bottom - top, 1)))
    ImageDraw.Draw(mask).multiline_text((-left, -top), lines, fill=255, font=font)
    return mask
