r"""Places in PERIA's tools: `\boxed{x1,y1,x2,y2}` and points, in a 1000x1000 space over any image (appendix C.1).

A box is a string with its top left and bottom right corner. JSON reads the `\b` of an unescaped `\boxed` as a
backspace; both forms are taken, and nothing else is repaired. The paper does not print the form of the places of
`image_label`, `draw_line` and `draw_path`: they are taken in the same string form, or as a JSON list of [x, y] points.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from toolhand.tool_nodes.toolbox.arguments import InvalidValue, Level, Lookup, are_shares, finite_number, show
from toolhand.tool_nodes.types import FloatArray

SPACE = 1000.0
"""Coordinates run from 0 to this, whatever size the image has."""

_BOXED = re.compile(r"\s*(?:\\boxed|\x08oxed)\{(?P<numbers>[^{}]*)\}\s*")
_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)\s*")
_PATTERN = r"^\\boxed\{[^{}]*\}$"
MAX_POINTS = 500
"""Most points of one path."""


def boxed(left: float, top: float, right: float, bottom: float, size: tuple[int, int]) -> str:
    r"""The `\boxed{...}` of whole numbers, with an area, that is nearest to a box [px] of an image (width, height).

    What lies outside the image is cut off: the tools take every box that they give.
    """
    scale = SPACE / np.array([*size, *size])
    x1, y1, x2, y2 = (round(v) for v in np.clip(np.array([left, top, right, bottom]) * scale, 0.0, SPACE))
    x1, y1 = min(x1, int(SPACE) - 1), min(y1, int(SPACE) - 1)
    return show_box([x1, y1, max(x2, x1 + 1), max(y2, y1 + 1)])


def show_box(box: ArrayLike) -> str:
    r"""A box (4,) in 0..1000 as `\boxed{...}`, with the numbers as they are."""
    return "\\boxed{" + ",".join(f"{v:g}" for v in np.asarray(box, float)) + "}"


def box_pixels(box: ArrayLike, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) [px] nearest to a box (4,) in 0..1000, right and bottom exclusive; never empty."""
    x1, y1, x2, y2 = (round(v) for v in np.asarray(box, float) / SPACE * (*size, *size))
    left, top = min(x1, size[0] - 1), min(y1, size[1] - 1)
    return left, top, max(x2, left + 1), max(y2, top + 1)


def point_pixels(points: ArrayLike, size: tuple[int, int]) -> list[tuple[int, int]]:
    """(x, y) [px] of points (N, 2) in 0..1000; the far ends of the space lie on the last pixels."""
    pixels = np.asarray(points, float).reshape(-1, 2) / SPACE * size
    return [(min(int(x), size[0] - 1), min(int(y), size[1] - 1)) for x, y in pixels]


def _parse_boxed(text: str, form: str) -> list[float]:
    r"""The numbers of a `\boxed{...}` string."""
    found = _BOXED.fullmatch(text)
    if found is None:
        raise InvalidValue(f"must be {form}, got {show(text)}")
    pieces = found["numbers"].split(",")
    bad = next((piece for piece in pieces if not _NUMBER.fullmatch(piece)), None)
    if bad is not None:
        raise InvalidValue(f"must hold numbers with commas between them, got {show(bad.strip())}; it must be {form}")
    return [float(piece) for piece in pieces]


def _in_space(numbers: Sequence[float]) -> FloatArray:
    outside = next((v for v in numbers if not 0.0 <= v <= SPACE), None)
    if outside is not None:
        raise InvalidValue(
            f"must hold numbers from 0 to 1000 (any picture is 1000 wide and 1000 high), got {outside:g}", Level.BOUNDS
        )
    if are_shares(numbers):
        raise InvalidValue("must hold numbers from 0 to 1000: multiply shares of the picture by 1000", Level.BOUNDS)
    return np.array(numbers, float)


@dataclass(frozen=True)
class BoxArgument:
    r"""A box `\boxed{x1,y1,x2,y2}`, as (4,) in 0..1000 with x1 < x2 and y1 < y2."""

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        return {"type": "string", "pattern": _PATTERN, "examples": ["\\boxed{100,200,300,400}"]}

    def parse(self, value: Any, lookup: Lookup) -> FloatArray:
        """The box."""
        form = "a string such as \\boxed{100,200,300,400}, that is \\boxed{x1,y1,x2,y2} in 0..1000"
        if not isinstance(value, str):
            raise InvalidValue(f"must be {form}, got {show(value)}")
        numbers = _parse_boxed(value, form)
        if len(numbers) != 4:
            raise InvalidValue(
                f"must hold 4 numbers x1,y1,x2,y2, got {len(numbers)}; it must be {form}", Level.CARDINALITY
            )
        box = _in_space(numbers)
        if not (box[0] < box[2] and box[1] < box[3]):
            raise InvalidValue(
                f"must have x1 < x2 and y1 < y2 (top left, then bottom right), got {show_box(box)}",
                Level.GEOMETRY,
            )
        return box


@dataclass(frozen=True)
class PlaceArgument:
    r"""Points, as (N, 2) in 0..1000.

    Attributes:
        least, most: Allowed numbers of points.
    """

    least: int
    most: int

    def schema(self) -> dict[str, Any]:
        """JSON schema of either form."""
        number = {"type": "number", "minimum": 0, "maximum": SPACE}
        point = {"type": "array", "items": number, "minItems": 2, "maxItems": 2}
        many = {"type": "array", "items": point, "minItems": self.least, "maxItems": self.most}
        return {"anyOf": [{"type": "string", "pattern": _PATTERN}, point if self.most == 1 else many]}

    def parse(self, value: Any, lookup: Lookup) -> FloatArray:
        """The points."""
        form = (
            "a point such as [500, 300] or \\boxed{500,300}, in 0..1000"
            if self.most == 1
            else "points such as [[100, 200], [300, 400]] or \\boxed{100,200,300,400}, in 0..1000"
        )
        numbers = self._numbers(value, form)
        if len(numbers) % 2:
            raise InvalidValue(f"must hold pairs of numbers x,y, got {len(numbers)} numbers", Level.CARDINALITY)
        count = len(numbers) // 2
        if not self.least <= count <= self.most:
            allowed = str(self.least) if self.least == self.most else f"{self.least} to {self.most}"
            noun = "point" if allowed == "1" else "points"
            raise InvalidValue(f"must hold {allowed} {noun}, got {count}; it must be {form}", Level.CARDINALITY)
        return _in_space(numbers).reshape(-1, 2)

    def _numbers(self, value: Any, form: str) -> list[float]:
        if isinstance(value, str):
            return _parse_boxed(value, form)
        if not isinstance(value, (list, tuple)):
            raise InvalidValue(f"must be {form}, got {show(value)}")
        points = [value] if self.most == 1 else value
        if len(points) > self.most:
            raise InvalidValue(f"must hold at most {self.most} points, got {len(points)}", Level.CARDINALITY)
        for point in points:
            if not isinstance(point, (list, tuple)) or len(point) != 2:
                raise InvalidValue(f"must be {form}, got {show(value)}")
        return [finite_number(number) for point in points for number in point]


SpaceBox = Annotated[FloatArray, BoxArgument()]
SpacePlace = Annotated[FloatArray, PlaceArgument(1, 1)]
LineEnds = Annotated[FloatArray, PlaceArgument(2, 2)]
Waypoints = Annotated[FloatArray, PlaceArgument(2, MAX_POINTS)]
