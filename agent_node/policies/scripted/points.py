"""Points of the image: compared, varied and put in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.sides import on_side, select_points, table_points
from toolhand.tool_nodes.types import ImagePoint

SAME_POINT = 0.03
"""Normalized distance below which two detections are of the same object."""


def near(a: ImagePoint, b: ImagePoint, distance: float = SAME_POINT) -> bool:
    """True if two normalized points are at most a distance apart."""
    return math.dist(a, b) <= distance


def nearest(points: Sequence[ImagePoint], to: ImagePoint) -> ImagePoint:
    """The point that is closest to another one."""
    return min(points, key=lambda point: math.dist(point, to))


def middle(points: Sequence[ImagePoint]) -> ImagePoint | None:
    """The middle of some points; None of none."""
    return (sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)) if points else None


def moved_to(points: Sequence[ImagePoint], before: Sequence[ImagePoint], at: ImagePoint) -> ImagePoint | None:
    """The only one of some points at which none of those before was, but for one that may have moved; None for more."""
    stayed = [point for point in before if not near(point, at)]
    left = [point for point in points if not any(near(point, other) for other in stayed)]
    return left[0] if len(left) == 1 else None


def by_side(phrase: NounPhrase, points: Sequence[ImagePoint], seen: bool) -> ImagePoint | None:
    """The one of all that a name fits that a phrase means by its side alone; None where that does not tell.

    Args:
        phrase: The phrase.
        points: Where the name fits.
        seen: A pointer has found the whole phrase.
    """
    sides = phrase.selectors
    if phrase.point is not None or phrase.relation or phrase.excluded or not all(s.positional for s in sides):
        return None
    if len(points) > 1:
        picked = select_points(sides, points)
        return points[picked[0]] if len(picked) == 1 else None
    first = not seen and len(points) == 1 and all(s.rank in (1, -1) for s in sides)
    return points[0] if first and on_side(sides, points[0]) else None


def at(point: ImagePoint) -> str:
    """ "(0.41, 0.22)"."""
    return f"({point[0]:.2f}, {point[1]:.2f})"


_COUNTED = ("second", "third", "fourth", "fifth", "sixth", "seventh")


def _sides(points: Sequence[ImagePoint]) -> tuple[list[int], list[str]]:
    """The points from left to right, and for each the words that tell it from the others."""
    order = sorted(range(len(points)), key=lambda i: points[i][0])
    if len(points) == 2:
        (x1, y1), (x2, y2) = (points[i] for i in order)
        if abs(x2 - x1) >= abs(y2 - y1):
            return order, ["left", "right"]
        return order, ["near", "far"] if y1 > y2 else ["far", "near"]
    middle = [_COUNTED[k] if k < len(_COUNTED) else "" for k in range(len(points) - 2)]
    return order, ["leftmost", *middle, "rightmost"]


def side_of_first(points: Sequence[ImagePoint]) -> str:
    """The word for the leftmost of some points, "left" or "leftmost", which a command may put before a noun."""
    return _sides(points)[1][0]


def side_of(points: Sequence[ImagePoint], index: int) -> str:
    """The word for one of some points that a command may put before a noun, such as "left", "rightmost" or "second"."""
    order, names = _sides(points)
    return names[order.index(index)]


def describe(points: Sequence[ImagePoint]) -> str:
    """ "the left one at (0.21, 0.53) or the right one at (0.48, 0.42)": words that also work in a command."""
    order, names = _sides(points)
    shown = [
        f"the {name} one{' from the left' if name in _COUNTED else ''}" if name else "one further to the right"
        for name in names
    ]
    listed = [f"{words} at {at(points[i])}" for words, i in zip(shown, order, strict=True)]
    return ", ".join(listed[:-1]) + " or " + listed[-1]


_DIRECTIONS = {"left_of": (-1, 0), "right_of": (1, 0), "in_front_of": (0, 1), "behind": (0, -1)}
"""Directions of the relations in an image: x to the right, y down."""
_WIDEST = math.radians(35.0)
"""A place this far off a direction is still in it, although both ends were only seen as points [rad]."""


def still_there(relation: str | None, spot: ImagePoint, references: Sequence[ImagePoint]) -> bool:
    """True if a spot of the table is in a relation to the middle of the references, as far as points show."""
    if relation == "on":
        return False
    if not references or relation not in (*_DIRECTIONS, "between"):
        return True
    (at_spot,), objects = table_points([spot], 0.0), table_points(references)
    offset = at_spot - objects.mean(axis=0)
    if relation == "between":
        half = np.ptp(objects, axis=0) / 2
        return float(np.hypot(*offset)) <= 0.4 * float(np.hypot(*half))
    along = float(offset @ _DIRECTIONS[relation])
    across = math.sqrt(max(float(offset @ offset) - along**2, 0.0))
    return along > 0 and math.atan2(across, along) <= _WIDEST


def untried(
    spot: ImagePoint,
    anchor: ImagePoint,
    failed: Sequence[ImagePoint],
    offered: ImagePoint | None = None,
    allowed: Callable[[ImagePoint], bool] = lambda point: True,
) -> ImagePoint | None:
    """A spot for placing, or one beside it that is not among the failed ones; None when there is none left.

    Args:
        spot: The best place.
        anchor: The object that the place is relative to; the spot is moved away from it and turned about it.
        failed: Places where placing has failed.
        offered: The place that was offered when it failed last.
        allowed: Which other spots would still be right.
    """
    dx, dy = spot[0] - anchor[0], spot[1] - anchor[1]
    options = [spot, *([offered] if offered else []), (anchor[0] + 1.2 * dx, anchor[1] + 1.2 * dy)]
    for angle in (0.3, -0.3, 0.55, -0.55):
        c, s = math.cos(angle), math.sin(angle)
        options.append((anchor[0] + c * dx - s * dy, anchor[1] + s * dx + c * dy))
    options += [(spot[0] + sx, spot[1] + sy) for sx, sy in ((0.02, 0.0), (-0.02, 0.0), (0.0, 0.02), (0.0, -0.02))]
    inside = [p for p in options if min(p) >= 0.0 and max(p) <= 1.0 and (p == spot or allowed(p))]
    return next((point for point in inside if not any(near(point, f, 0.012) for f in failed)), None)
