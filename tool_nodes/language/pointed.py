"""Things that are named with the point of the picture where they stand: "the lemon at (0.480, 0.420)"."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tool_nodes.language.phrases import NounPhrase
from tool_nodes.results import ErrorCode, ToolError

AT_POINT = 0.06
"""A thing is at a point that is said if it is seen no further than this from it, as a share of the picture: 38 px, 6 cm
on the table, which is more than a look again moves a point (0.03) and less than what lies between the middles of two
things side by side."""


def at_point(phrase: NounPhrase, points: Sequence[tuple[float, float]]) -> int:
    """The one of some things that is nearest to the point that a phrase says.

    Args:
        phrase: With a point.
        points: Normalized (x, y) of each thing that it would fit without the point, at least one.

    Raises:
        ToolError: OBJECT_NOT_FOUND where none is within `AT_POINT` of it.
    """
    assert phrase.point is not None
    x, y = phrase.point
    away = [math.dist(point, phrase.point) for point in points]
    nearest = min(range(len(points)), key=lambda i: away[i])
    if away[nearest] > AT_POINT:
        (other_x, other_y), name = points[nearest], phrase.plain[:80]
        raise ToolError(
            ErrorCode.OBJECT_NOT_FOUND,
            f"no '{name}' stands at ({x:.2f}, {y:.2f}); the nearest one is at ({other_x:.2f}, {other_y:.2f}).",
        )
    return nearest
