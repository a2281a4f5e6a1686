"""Objects that are named with the point of the image where they stand: "the lemon at (0.480, 0.420)"."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray

AT_POINT = 0.06
"""An object is at a point that is said, and that no outline holds, if its middle is seen no further than this from it,
as a share of the image: 38 px, 6 cm on the table, which is more than a look again moves a point (0.03) and less than
what lies between the middles of two objects side by side."""
BESIDE_OUTLINE = 0.0125
"""A point no further than this beside the outline of an object is on it, as a share of the image's width: 8 px of
640, as much as outlining an object at a point forgives."""


def at_point(phrase: NounPhrase, points: Sequence[tuple[float, float]], masks: Sequence[BoolArray | None] = ()) -> int:
    """The one of some objects that a point means: whose outline holds it, else whose middle is nearest to it.

    Args:
        phrase: With a point.
        points: Normalized (x, y) of each object that it would fit without the point, at least one.
        masks: Visible pixels (H, W) of each of them, None where they are not known; empty where none are.

    Raises:
        ToolError: OBJECT_NOT_FOUND where no outline is within `BESIDE_OUTLINE` of it, and no middle within `AT_POINT`.
    """
    assert phrase.point is not None
    x, y = phrase.point
    away = [math.dist(point, phrase.point) for point in points]
    nearest = min(range(len(points)), key=lambda i: away[i])
    beside = [math.inf if mask is None else _beside(mask, phrase.point) for mask in masks]
    if beside and min(beside) <= BESIDE_OUTLINE:
        return min(range(len(beside)), key=lambda i: (beside[i], away[i]))
    if away[nearest] > AT_POINT:
        (other_x, other_y), name = points[nearest], phrase.plain[:80]
        raise ToolError(
            ErrorCode.OBJECT_NOT_FOUND,
            f"no '{name}' stands at ({x:.2f}, {y:.2f}); the nearest one is at ({other_x:.2f}, {other_y:.2f}).",
        )
    return nearest


def _beside(mask: BoolArray, point: tuple[float, float]) -> float:
    """How far a point is from the nearest pixel of a mask (H, W), as a share of its width; inf far beside it."""
    height, width = mask.shape
    u, v = min(int(point[0] * width), width - 1), min(int(point[1] * height), height - 1)
    reach = math.ceil(BESIDE_OUTLINE * width)
    top, left = max(v - reach, 0), max(u - reach, 0)
    rows, columns = np.nonzero(mask[top : v + reach + 1, left : u + reach + 1])
    if not len(rows):
        return math.inf
    return float(np.hypot(rows + top - v, columns + left - u).min()) / width
