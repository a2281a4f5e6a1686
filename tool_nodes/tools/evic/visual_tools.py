"""E-ViC's five visual tools (appendix E; texts of figure 8): zooming into an image and drawing on it, in pixels.

Coordinates are pixels of the image that is named, origin (0, 0) at the top-left corner, valid in [0, W] x [0, H],
both ends included (E.1, E.7). Each call is checked in E.7's order, and only the first level that fails is reported:
index, type, cardinality, bounds, geometry. The original image is not changed; crops, which are enlarged where they
are small, and drawings keep the link to the camera frame that they show.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from PIL import Image, ImageDraw

from toolhand.tool_nodes.results import ToolResult, invalid
from toolhand.tool_nodes.toolbox.arguments import (
    CallingSession,
    InvalidValue,
    Level,
    Lookup,
    Text,
    are_shares,
    finite_number,
    image_at,
    show,
    whole_number,
)
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import tool
from toolhand.tool_nodes.types import FloatArray

MIN_SIDE = 28
"""d_min: the shortest side of a zoomed region [px] (E.2)."""

SHOWN_SIDE = 112
"""A crop with a shorter side is shown enlarged [px]. E.2 and figure 8 say "enlarge", algorithm 3 only crops, as B.3
does with 230x160 px; so only small ones are. 28 px are one visual token of Qwen2.5-VL, 112 px are 4."""

MAX_ASPECT = 100
"""rho_max: the largest ratio of a zoomed region's sides (E.2)."""

MAX_POINTS = 500
"""Points, or corners of boxes, that one call may draw."""

POINT_RADIUS = 5
"""r: radius of a drawn point [px] (E.3)."""

STROKE = 3
"""Width of drawn lines [px] (E.4, algorithm 6)."""

PALETTE = ("red", "blue", "green", "yellow", "orange", "purple", "cyan", "magenta")
"""C of algorithm 6, as CSS names; the first trajectory is red, the ninth is red again.

The algorithm writes C[j mod |C|] with j from 1, and counts waypoints from 1: read so, its first entry is the first
trajectory's (and C[0], the eighth's, does not exist). `BLUE_FIRST` is the other reading.
"""

BLUE_FIRST = (*PALETTE[1:], PALETTE[0])
"""C as a list that is counted from 0: the first trajectory is C[1], blue, and the eighth C[0], red."""

_SHOWN = 20
"""Most drawn points or boxes that a text lists."""


@dataclass(frozen=True)
class ImageNumberArgument:
    """The index of an image of the conversation, checked before anything else (E.7, step 1)."""

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        return {"type": "integer", "minimum": 0}

    def parse(self, value: Any, lookup: Lookup) -> int:
        """The index."""
        known, value = len(lookup.images), whole_number(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidValue(f"must be the integer index of an image, got {show(value)}", Level.INDEX)
        if not 0 <= value < known:
            allowed = f"the valid range is [0, {known - 1}]" if known else "there is no image yet"
            raise InvalidValue(f"is out of bounds: {allowed}, got {show(value)}", Level.INDEX)
        image_at(lookup, value)  # which may have been dropped
        return value


@dataclass(frozen=True)
class PixelsArgument:
    """Numbers in nested lists: one row such as [x1, y1, x2, y2], a list of rows, or a list of lists of points.

    Attributes:
        form: Description of the expected lists, e.g. "a list of points, each [x, y]".
        width: Numbers in each row.
        depth: Lists around a row: 0, 1 or 2.
        rows: (fewest, most) rows in each inner list, where depth is 2.
        rule: Sentence for an inner list of another length.
    """

    form: str
    width: int
    depth: int
    rows: tuple[int, int] = (1, MAX_POINTS)
    rule: str = ""

    unit = "pixels"
    """Short schemas say it; figure 8 does not."""

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        row = {"type": "array", "items": {"type": "number"}, "minItems": self.width, "maxItems": self.width}
        if self.depth == 2:
            row = {"type": "array", "items": row, "minItems": self.rows[0], "maxItems": self.rows[1]}
        return {"type": "array", "items": row, "minItems": 1, "maxItems": MAX_POINTS} if self.depth else row

    def parse(self, value: Any, lookup: Lookup) -> list[FloatArray]:
        """Arrays (N, width), one for each inner list; types are checked in all of them before any count."""
        inner = self._list(value) if self.depth == 2 else [value if self.depth else [value]]
        found = [[self._row(row) for row in self._list(rows)] for rows in inner]
        if not found or (self.depth == 1 and not found[0]):
            raise InvalidValue(f"is empty; it must be {self.form}", Level.CARDINALITY)
        for index, rows in enumerate(found):
            if self.depth == 2 and not self.rows[0] <= len(rows) <= self.rows[1]:
                raise InvalidValue(f"is invalid: {self.rule}, got {len(rows)} in number {index}", Level.CARDINALITY)
        total = sum(map(len, found))
        if total > MAX_POINTS:
            raise InvalidValue(f"may hold at most {MAX_POINTS} rows of numbers in all, got {total}", Level.CARDINALITY)
        if are_shares(number for rows in found for row in rows for number in row):
            raise InvalidValue("is in pixels: multiply shares by the picture's width and height", Level.BOUNDS)
        return [np.array(rows, float) for rows in found]

    def _list(self, value: Any) -> Sequence[Any]:
        if not isinstance(value, (list, tuple)):
            raise InvalidValue(f"must be {self.form}, got {show(value)}")
        return value

    def _row(self, value: Any) -> list[float]:
        if len(self._list(value)) != self.width:
            raise InvalidValue(f"must be {self.form}, got {show(value)}")
        return [finite_number(number) for number in value]


ImageNumber = Annotated[int, ImageNumberArgument()]
PixelRegion = Annotated[list[FloatArray], PixelsArgument("[x1, y1, x2, y2]", 4, 0)]
PixelPoints = Annotated[list[FloatArray], PixelsArgument("a list of points, each [x, y]", 2, 1)]
Boxes = Annotated[list[FloatArray], PixelsArgument("a list of boxes, each [x1, y1, x2, y2]", 4, 1)]
Trajectories = Annotated[
    list[FloatArray],
    PixelsArgument("a list of lists of [x, y]", 2, 2, (2, MAX_POINTS), "Trajectory requires >= 2 waypoints"),
]
Boxes3D = Annotated[
    list[FloatArray], PixelsArgument("a list of lists of [x, y]", 2, 2, (8, 8), "3D box requires exactly 8 corners")
]


def zoom_region(box: Sequence[float], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The part of an image that algorithm 3 cuts out.

    The box is clamped to the image and rounded outward to whole pixels; a side shorter than MIN_SIDE is widened
    about its centre and then shifted inside (EXPANDTOMINIMUM).

    Args:
        box: (x1, y1, x2, y2) [px].
        size: (width, height) of the image [px].

    Returns:
        (left, top, right, bottom) [px], right and bottom exclusive.

    Raises:
        ValueError: One sentence without its full stop: the box has no area in the image, the image is smaller than
            MIN_SIDE, or the region's sides differ by more than MAX_ASPECT.
    """
    spans = []
    for low, high, side in zip(box[:2], box[2:], size, strict=True):
        low, high = max(0.0, low), min(float(side), high)
        if low >= high:
            raise ValueError(
                f"Invalid bounding box: requires x1 < x2 and y1 < y2 within [0, {size[0]}] x [0, {size[1]}], "
                f"got {_numbers(box)}"
            )
        spans.append(_at_least(math.floor(low), math.ceil(high), side))
    sides = [high - low for low, high in spans]
    if min(sides) < MIN_SIDE:
        raise ValueError(f"An image of {size[0]}x{size[1]} px is too small; a region has at least {MIN_SIDE} px a side")
    if max(sides) > MAX_ASPECT * min(sides):
        raise ValueError(f"Aspect ratio exceeds maximum threshold {MAX_ASPECT}: the region is {sides[0]}x{sides[1]} px")
    (left, right), (top, bottom) = spans
    return left, top, right, bottom


def _enlarged(crop: SessionImage, longest: int) -> SessionImage:
    """A small crop enlarged by the whole number at which it is seen well; no side gets longer than `longest` [px]."""
    width, height = crop.size
    factor = max(min(math.ceil(SHOWN_SIDE / min(width, height)), longest // max(width, height)), 1)
    return crop.resized(factor * width, factor * height)


def _at_least(low: int, high: int, side: int) -> tuple[int, int]:
    if high - low >= MIN_SIDE:
        return low, high
    start = max(0, min(low - (MIN_SIDE - (high - low)) // 2, side - MIN_SIDE))
    return start, min(start + MIN_SIDE, side)


def _numbers(row: Sequence[float]) -> str:
    return f"[{','.join(f'{number:g}' for number in row)}]"


def _listed(items: Sequence[str]) -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return ", ".join(items[:_SHOWN]) + more


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _check_bounds(shapes: Sequence[FloatArray], image: SessionImage) -> None:
    """E.7, step 4: every point inside [0, W] x [0, H]."""
    width, height = image.size
    for x, y in np.concatenate(shapes):
        if not (0 <= x <= width and 0 <= y <= height):
            raise invalid(f"Point ({x:g}, {y:g}) exceeds image bounds [0, {width}] x [0, {height}].")


def _check_boxes(boxes: FloatArray, image: SessionImage) -> None:
    """ISVALIDBBOX of algorithm 5: all bounds (E.7, step 4) before the order of any corners (step 5)."""
    width, height = image.size
    outside = ((boxes < 0) | (boxes > (width, height, width, height))).any(axis=1)
    if outside.any():
        wrong, rule = boxes[outside][0], f"must lie within [0, {width}] x [0, {height}]"
        raise invalid(f"Invalid bounding box coordinates: {_numbers(wrong)} {rule}.")
    flat = (boxes[:, :2] >= boxes[:, 2:]).any(axis=1)
    if flat.any():
        raise invalid(f"Invalid bounding box coordinates: {_numbers(boxes[flat][0])} requires x1 < x2 and y1 < y2.")


def _line(draw: ImageDraw.ImageDraw, start: FloatArray, end: FloatArray, colour: str) -> None:
    draw.line((*map(float, start), *map(float, end)), fill=colour, width=STROKE)


def _result(image: SessionImage, drawing: Image.Image, text: str, value: Any) -> ToolResult:
    rgb = np.asarray(drawing)
    return ToolResult(value=value, text=text, image=rgb, source=image.redrawn(rgb))


class EvicTools:
    """The visual tool suite of E-ViC, table 4. The docstrings of the tools are the texts of figure 8.

    Args:
        palette: Colours of the trajectories of one call, by CSS name, in turn: PALETTE or BLUE_FIRST.
    """

    suite = "evic"

    def __init__(self, palette: Sequence[str] = PALETTE) -> None:
        self._palette = palette

    @tool(
        "image_zoom_in",
        stepwise=True,
        example=Example({"image_idx": 0, "bbox_2d": [180, 200, 270, 320], "label": "carton"}),
    )
    def image_zoom_in(
        self, *, image_idx: ImageNumber = 0, bbox_2d: PixelRegion, label: Text = "", session: CallingSession
    ) -> ToolResult:
        """Crop and enlarge a specified rectangular region of the image for detailed inspection. The coordinate origin
        (0,0) is at the top-left corner.

        Args:
            image_idx: Index of the target image (starting from 0)
            bbox_2d: Region coordinates as [x1, y1, x2, y2], where (x1, y1) is the top-left corner and (x2, y2) is the
                bottom-right corner. Requires x1 < x2 and y1 < y2.
            label: Optional descriptive annotation for the cropped region
        """
        image = _image(session, image_idx)
        try:
            region = zoom_region(bbox_2d[0][0].tolist(), image.size)
        except ValueError as problem:
            raise invalid(f"{problem}.") from None
        crop = _enlarged(image.cropped(*region), max(image.size))
        named = f" Label: {label}." if label else ""
        text = f"Zoomed in on image {image_idx} to region {_numbers(region)}.{named}"
        return ToolResult(value={"region": list(region)}, text=text, image=crop.rgb, source=crop)

    @tool("draw_point", stepwise=True, example=Example({"image_idx": 0, "points": [[224, 258], [392, 264]]}))
    def draw_point(self, *, image_idx: ImageNumber = 0, points: PixelPoints, session: CallingSession) -> ToolResult:
        """Place visible point markers at specified locations on the image to indicate positions, objects, or areas of
        interest.

        Args:
            image_idx: Index of the target image (starting from 0)
            points: List of point coordinates, each formatted as [x, y]
        """
        image = _image(session, image_idx)
        _check_bounds(points, image)
        drawing = Image.fromarray(image.rgb)
        draw = ImageDraw.Draw(drawing)
        for x, y in points[0].tolist():
            draw.ellipse((x - POINT_RADIUS, y - POINT_RADIUS, x + POINT_RADIUS, y + POINT_RADIUS), fill="#FF0000")
        shown = _listed([f"({x:g}, {y:g})" for x, y in points[0]])
        text = f"Drew {_count(len(points[0]), 'point', 'points')} on image {image_idx}: {shown}."
        return _result(image, drawing, text, {"points": points[0].tolist()})

    @tool(
        "draw_box",
        stepwise=True,
        example=Example({"image_idx": 0, "boxes": [[196, 221, 252, 300], [373, 240, 410, 296]]}),
    )
    def draw_box(self, *, image_idx: ImageNumber = 0, boxes: Boxes, session: CallingSession) -> ToolResult:
        """Render rectangular bounding boxes on the image to highlight, localize, or annotate specific regions or
        objects.

        Args:
            image_idx: Index of the target image (starting from 0)
            boxes: List of bounding boxes, each formatted as [x1, y1, x2, y2] where (x1, y1) is the top-left corner and
                (x2, y2) is the bottom-right corner
        """
        image = _image(session, image_idx)
        _check_boxes(boxes[0], image)
        drawing = Image.fromarray(image.rgb)
        draw = ImageDraw.Draw(drawing)
        for box in boxes[0].tolist():
            draw.rectangle(box, outline="red", width=STROKE)
        shown = _listed([_numbers(box) for box in boxes[0]])
        text = f"Drew {_count(len(boxes[0]), 'box', 'boxes')} on image {image_idx}: {shown}."
        return _result(image, drawing, text, {"boxes": boxes[0].tolist()})

    @tool(
        "draw_trajectory",
        stepwise=True,
        example=Example({"image_idx": 0, "trajectories": [[[224, 258], [300, 310], [392, 264]]]}),
    )
    def draw_trajectory(
        self, *, image_idx: ImageNumber = 0, trajectories: Trajectories, session: CallingSession
    ) -> ToolResult:
        """Draw connected paths on the image by linking sequential waypoints with lines. Suitable for visualizing
        motion, flow, or ordered spatial relationships.

        Args:
            image_idx: Index of the target image (starting from 0)
            trajectories: List of trajectories, where each trajectory is an ordered sequence of at least 2 waypoints
                formatted as [x, y]
        """
        image = _image(session, image_idx)
        _check_bounds(trajectories, image)
        drawing = Image.fromarray(image.rgb)
        draw = ImageDraw.Draw(drawing)
        shown = []
        for number, waypoints in enumerate(trajectories):
            colour = self._palette[number % len(self._palette)]
            for start, end in itertools.pairwise(waypoints):
                _line(draw, start, end, colour)
            shown.append(f"{colour} with {len(waypoints)} waypoints")
        count = _count(len(trajectories), "trajectory", "trajectories")
        text = f"Drew {count} on image {image_idx}: {_listed(shown)}."
        return _result(image, drawing, text, {"trajectories": [waypoints.tolist() for waypoints in trajectories]})

    @tool(
        "draw_3d_bbox",
        stepwise=True,
        example=Example(
            {
                "image_idx": 0,
                "boxes_3d": [
                    [[194, 260], [240, 260], [250, 300], [210, 300], [198, 220], [243, 220], [252, 264], [213, 264]]
                ],
            }
        ),
    )
    def draw_3d_bbox(self, *, image_idx: ImageNumber = 0, boxes_3d: Boxes3D, session: CallingSession) -> ToolResult:
        """Render 3D bounding boxes on the image using 8 projected corner points per box. Front face edges are drawn in
        red, back face in blue, and connecting edges in green.

        Args:
            image_idx: Index of the target image (starting from 0)
            boxes_3d: List of 3D boxes, each defined by 8 corner points as [x, y]. Corners 0-3 define the front face,
                corners 4-7 define the back face. Corner order per face: top-left, top-right, bottom-right, bottom-left.
        """
        image = _image(session, image_idx)
        _check_bounds(boxes_3d, image)
        drawing = Image.fromarray(image.rgb)
        draw = ImageDraw.Draw(drawing)
        for corners in boxes_3d:
            for i in range(4):
                _line(draw, corners[i], corners[(i + 1) % 4], "red")
            for i in range(4):
                _line(draw, corners[4 + i], corners[4 + (i + 1) % 4], "blue")
            for i in range(4):
                _line(draw, corners[i], corners[i + 4], "green")
        count = _count(len(boxes_3d), "3D box", "3D boxes")
        text = f"Drew {count} on image {image_idx}: front face red, back face blue, connecting edges green."
        return _result(image, drawing, text, {"boxes_3d": [corners.tolist() for corners in boxes_3d]})


def _image(session: Lookup, index: int) -> SessionImage:
    """The target; an index left out is 0 (E.1), which no kind has checked."""
    if not session.images:
        raise invalid("No image was taken or shown yet.")
    return session.images[index]
