"""Points in what a model writes. Each family has its own form and its own coordinates; all become normalized (x, y).

| family | form | coordinates |
|---|---|---|
| Molmo 2 | `<points coords="1 1 350 412 2 388 610">cans</points>`: image, then number, x, y of each | 0..1000 |
| Molmo | `<point x="35.0" y="41.2" alt="can">can</point>`, `<points x1=".." y1=".." x2=".." y2="..">` | percent |
| Qwen2-VL, 2.5-VL | `[{"point_2d": [224, 198], "label": "can"}]`, or `bbox_2d` | px of the image as shown to it |
| Qwen3-VL | the same | 0..1000 |
| RoboRefer, RoboPoint | `[(0.35, 0.412), (0.39, 0.61)]` | 0..1 |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolhand.tool_nodes.results import ErrorCode, ToolError

ModelPoint = tuple[float, float]
"""Normalized (x, y)."""

ModelPoints = list[ModelPoint]
"""Best first, as the model has written them."""

THOUSAND = 1000.0
"""Coordinates of Molmo 2 and Qwen3-VL go from 0 to this along either side."""
PERCENT = 100.0
"""Those of the first Molmo."""
MAX_TEXT = 100_000
"""Characters of an answer that are read: far more than any model writes."""
SAME = 1e-4
"""Two points that are nearer than this are one [share of the image]: models write three digits."""

_SHOWN = 80
"""Characters of an answer without a point that a message repeats."""

_NONE = re.compile(
    r"\s*(?:```(?:json)?)?\s*\[\s*\]\s*(?:```)?\s*|\s*there (?:are|is) (?:none|no)\b.{0,200}", re.IGNORECASE
)
"""How models say that there is nothing to point at: an empty list, or Molmo's "There are none."."""
_NUMBER = r"-?\d{1,7}(?:\.\d{1,12})?"
_COORDS = re.compile(r"<(?:points|tracks)[^<>]{0,200}?\scoords=\"([0-9\t:;, .]{0,20000})\"")
_GROUP = re.compile(r"(?:^|[\t:,;])\s*[0-9.]+((?: [0-9]+ [0-9]{1,4} [0-9]{1,4})+)")
_NUMBERED = re.compile(r" [0-9]+ ([0-9]{1,4}) ([0-9]{1,4})")
_TAG = re.compile(r"<points?\s[^<>]{0,20000}>")
_ATTRIBUTE = re.compile(rf"\b([xy])(\d*)\s*=\s*[\"']\s*({_NUMBER})\s*[\"']")
_JSON_POINT = re.compile(rf"[\"']point(?:_2d)?[\"']\s*:\s*\[\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\]")
_JSON_BOX = re.compile(
    rf"[\"']bbox(?:_2d)?[\"']\s*:\s*\[\s*({_NUMBER})\s*,\s*({_NUMBER})\s*,\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\]"
)
_TUPLE = re.compile(rf"[(\[]\s*({_NUMBER})\s*,\s*({_NUMBER})\s*[)\]]")


def molmo_points(text: str) -> ModelPoints:
    """Points of Molmo 2's form, or else of Molmo's, in the order in which they are written."""
    text = text[:MAX_TEXT]
    found = [
        (float(x) / THOUSAND, float(y) / THOUSAND)
        for coords in _COORDS.findall(text)
        for group in _GROUP.findall(coords)
        for x, y in _NUMBERED.findall(group)
    ]
    return distinct_points(found or list(_tagged(text)))


def json_points(text: str, width: float, height: float) -> ModelPoints:
    """Points, and middles of boxes, of Qwen's form.

    Args:
        text: Output of the model; truncated or fenced JSON is accepted.
        width, height: Upper ends of its x and y coordinates.
    """
    text = text[:MAX_TEXT]
    found = [(float(x), float(y)) for x, y in _JSON_POINT.findall(text)]
    for box in _JSON_BOX.findall(text):
        left, top, right, bottom = map(float, box)
        found.append(((left + right) / 2.0, (top + bottom) / 2.0))
    return distinct_points((x / width, y / height) for x, y in found)


def tuple_points(text: str, width: float = 1.0, height: float = 1.0) -> ModelPoints:
    """Points written as a list of pairs, whose coordinates go up to width and height."""
    text = text[:MAX_TEXT]
    return distinct_points((float(x) / width, float(y) / height) for x, y in _TUPLE.findall(text))


def any_points(text: str, scale: float) -> ModelPoints:
    """Points of whichever form a model behind a server writes.

    Args:
        text: Output of the model.
        scale: Upper end of the coordinates of pairs and of JSON along either side; tags have their own.
    """
    return molmo_points(text) or json_points(text, scale, scale) or tuple_points(text, scale, scale)


def distinct_points(found: Iterator[ModelPoint] | ModelPoints) -> ModelPoints:
    """Those inside the image, each once."""
    kept: ModelPoints = []
    for x, y in found:
        inside = 0.0 <= x <= 1.0 and 0.0 <= y <= 1.0
        if inside and not any(abs(x - a) < SAME and abs(y - b) < SAME for a, b in kept):
            kept.append((x, y))
    return kept


def no_points(asked: str, written: str) -> ToolError:
    """The error for an answer without a point: the model says that there is none, or did not answer in its form."""
    if _NONE.fullmatch(written):
        return ToolError(ErrorCode.OBJECT_NOT_FOUND, f"{asked[:60]!r} is not in this picture, says the model.")
    said = " ".join(written.split())[:_SHOWN]
    return ToolError(ErrorCode.NOT_RECOGNISED, f"The model gave no point for {asked[:60]!r}; it wrote {said!r}.")


def _tagged(text: str) -> Iterator[ModelPoint]:
    """Points of Molmo's tags: x and y of the same number belong together."""
    for tag in _TAG.findall(text):
        sides: dict[str, dict[str, float]] = {}
        for axis, number, value in _ATTRIBUTE.findall(tag):
            sides.setdefault(number, {})[axis] = float(value) / PERCENT
        yield from ((pair["x"], pair["y"]) for pair in sides.values() if len(pair) == 2)
