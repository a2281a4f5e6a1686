"""Sorting by colour: which objects have one colour, where each goes so that it is nearer to its own than to others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from toolhand.agent_node.dialogue.measured import SeenBox
from toolhand.agent_node.dialogue.naming import called
from toolhand.agent_node.memory import at_point
from toolhand.agent_node.plan.types import PlacePart, PlanAct
from toolhand.agent_node.policies.scripted.points import SAME_POINT
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.language.sides import table_points
from toolhand.tool_nodes.language.words import COLOUR_FAMILIES, COLOURS
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray, ImagePoint

FindObjects = Callable[[Sequence[str]], Mapping[str, list[ImagePoint]]]
"""Looks for all that some phrases name: points of each, from left to right. Raises ToolError as `looking.found`."""

MeasureObjects = Callable[[Sequence[ImagePoint]], list[SeenBox | None]]
"""Measures what stands at some points: the box about each, None where it cannot."""

CHECK = PlanAct("fixed", words="check the colours")
"""The last step of the plan."""
_BASES = tuple(sorted({colour.split()[-1] for colour in COLOURS.values()}))
_SHADES = ("light", "dark")
_CONTAINERS = ("bin", "bowl", "basket")
"""What stays where it is."""
_CLEARLY_M = 0.03
"""An object is to be so much nearer to its own colour than to others [m]: points of an image are 1 cm off."""
_SURELY_M = 0.01
"""So much nearer it has to be seen afterwards [m]: the points of an image are off by so much."""
_APART_M = (0.125, 0.18)
"""Least and greatest distance of an object from the next one of its colour [m]: the open jaws fit between, and
objects are beside each other."""
_AROUND_BINS_M = 0.17
"""Least distance from the middle of a container [m]: half the diagonal of the largest bin, and half of an object."""
_STEP = 0.02
"""Normalized distance of the spots that are tried [-]: some 2 cm."""
_SLACK_M = 0.02
"""The points of an image are taken for so exact on the table [m]: the camera of a generated scene is 1 cm off."""
_FAR_M = 0.25
"""Farther from objects of other colours than this is no better [m]: twice what is left between those of one colour."""
_MIDDLE = (0.0, 0.47)
"""Of such spots the one closest to this is taken, to the right and towards the camera [m]: well within reach."""
_SPOTS = ((0.08, 0.92), (0.12, 0.90))
"""Part of the image in which they are, across and along [-]: clear of its border."""


@dataclass(frozen=True)
class _Coloured:
    """An object of a colour, and where it is seen."""

    colour: str
    point: ImagePoint


@dataclass
class _Layout:
    """Where objects are on the table [m], while a plan is made: (2,) each, to the right and towards the camera."""

    at: list[FloatArray]
    colours: list[str]
    bins: FloatArray

    def mates(self, k: int) -> list[int]:
        """The others of an object's colour."""
        return [j for j, colour in enumerate(self.colours) if colour == self.colours[k] and j != k]

    def margin_m(self, k: int) -> float:
        """How much nearer an object is to its own colour than to others; inf for one of its kind."""
        mates = self.mates(k)
        others = [j for j in range(len(self.at)) if j != k and j not in mates]
        if not mates or not others:
            return math.inf
        own = min(float(np.linalg.norm(self.at[k] - self.at[j])) for j in mates)
        return min(float(np.linalg.norm(self.at[k] - self.at[j])) for j in others) - own


def sorting(noun: str, look: FindObjects, measure: MeasureObjects) -> list[PlanAct]:
    """The single deeds that bring objects of a colour together; none where they stand so.

    Raises:
        ToolError: OBJECT_NOT_FOUND where no two objects have one colour, PLACE_BLOCKED where there is no room.
    """
    objects, bins = _seen(noun, look)
    groups = [colour for colour in dict.fromkeys(t.colour for t in objects) if _count(objects, colour) > 1]
    if not groups:
        raise ToolError(
            ErrorCode.OBJECT_NOT_FOUND, "No two things here have the same colour, so nothing is to be sorted."
        )
    layout = _Layout(_standing(objects, measure), [t.colour for t in objects], _on_table(bins))
    if min(layout.margin_m(k) for k in range(len(objects))) >= _CLEARLY_M:
        return []
    steps = []
    for colour in groups:
        members = [k for k, obj in enumerate(objects) if obj.colour == colour]
        if all(layout.margin_m(k) >= _CLEARLY_M for k in members):
            continue
        for k, spot in _gathered(layout, members):
            obj = called(f"{colour} {noun}", objects[k].point)
            steps.append(PlanAct("put", (obj,), (PlacePart("point", point=spot),)))
    return [*steps, CHECK]


def check_sorted(noun: str, look: FindObjects, measure: MeasureObjects) -> None:
    """See that each object is nearer to its own colour than to others. Raises ToolError EXECUTION_FAILED."""
    objects, bins = _seen(noun, look)
    layout = _Layout(_standing(objects, measure), [t.colour for t in objects], _on_table(bins))
    wrong = [objects[k] for k in range(len(objects)) if layout.margin_m(k) < _SURELY_M]
    if wrong:
        where = f"the {wrong[0].colour} {noun} at {at_point(wrong[0].point)}"
        raise ToolError(ErrorCode.EXECUTION_FAILED, f"They are not sorted: {where} is nearer to another colour.")


def _standing(objects: Sequence[_Coloured], measure: MeasureObjects) -> list[FloatArray]:
    """Where each object stands: the middle of the box about it, or else as its point shows."""
    points = table_points([obj.point for obj in objects])
    boxes = measure([obj.point for obj in objects])
    return [at if box is None else box.on_table for at, box in zip(points, boxes, strict=True)]


def _gathered(layout: _Layout, members: Sequence[int]) -> list[tuple[int, ImagePoint]]:
    """Which objects of a colour go to which spot of the image, in order, with the layout brought up to date.

    Raises:
        ToolError: PLACE_BLOCKED where no spots would do.
    """
    best: list[tuple[int, ImagePoint]] | None = None
    before = list(layout.at)
    for stays in (*members, None):
        layout.at = list(before)
        moves = _moved_to(layout, [k for k in members if k != stays], stays)
        if moves is not None and min(layout.margin_m(k) for k in members) >= _CLEARLY_M:
            best = moves
            break
    if best is None:
        layout.at = before
        raise ToolError(
            ErrorCode.PLACE_BLOCKED,
            f"There is no room to put the {layout.colours[members[0]]} things together, apart from the others.",
            "Clear a part of the table first.",
        )
    return best


def _moved_to(layout: _Layout, moving: Sequence[int], stays: int | None) -> list[tuple[int, ImagePoint]] | None:
    """Spots for some objects of a colour, next to the one that stays; None where there is none for one of them."""
    placed = [] if stays is None else [stays]
    moves = []
    for k in moving:
        points, spots = _spots()
        others = [j for j in range(len(layout.at)) if j != k]
        far = np.min([np.linalg.norm(spots - layout.at[j], axis=1) for j in others], axis=0) >= _APART_M[0]
        if len(layout.bins):
            clear = np.linalg.norm(spots[:, None] - layout.bins, axis=2).min(axis=1)
            far &= clear >= _AROUND_BINS_M
        if placed:
            near = np.min([np.linalg.norm(spots - layout.at[j], axis=1) for j in placed], axis=0)
            far &= near <= _APART_M[1]
        rest = [j for j in others if layout.colours[j] != layout.colours[k]]
        alone = (
            np.min([np.linalg.norm(spots - layout.at[j], axis=1) for j in rest], axis=0)
            if rest
            else np.ones(len(spots))
        )
        off = np.linalg.norm(spots - _MIDDLE, axis=1)
        order = sorted(np.flatnonzero(far), key=lambda i: (-min(alone[i], _FAR_M), off[i]))
        if not order:
            return None
        chosen = int(order[0])
        layout.at[k] = spots[chosen]
        moves.append((k, (float(points[chosen][0]), float(points[chosen][1]))))
        placed.append(k)
    return moves


@lru_cache(maxsize=1)
def _spots() -> tuple[FloatArray, FloatArray]:
    """Normalized points (N, 2) of the table within reach, and where they are on it (N, 2) [m]."""
    (u0, u1), (v0, v1) = _SPOTS
    u, v = np.meshgrid(np.arange(u0, u1, _STEP), np.arange(v0, v1, _STEP))
    points = np.column_stack([u.ravel(), v.ravel()])
    spots = table_points([(float(x), float(y)) for x, y in points], 0.0)
    # The camera looks along the base's x axis: towards it is x, to its right y. It may stand a little elsewhere.
    xy = spots[:, ::-1]
    within = np.all([workspace.reachable(xy + _SLACK_M * np.array(way)) for way in product((-1, 1), (-1, 1))], axis=0)
    return points[within], spots[within]


def _on_table(points: Sequence[ImagePoint]) -> FloatArray:
    return table_points(points) if points else np.empty((0, 2))


def _seen(noun: str, look: FindObjects) -> tuple[list[_Coloured], list[ImagePoint]]:
    """Objects of a noun with the colour of each, and the containers, which are none of them."""
    found = look([*(f"{base} {noun}" for base in _BASES), *_CONTAINERS])
    bins = [point for name in _CONTAINERS for point in found[name]]
    bases: dict[ImagePoint, list[str]] = {}
    for base in _BASES:
        for point in found[f"{base} {noun}"]:
            if all(math.dist(point, other) > SAME_POINT for other in bins):
                bases.setdefault(point, []).append(base)
    # A gold object is called orange, too, where nothing else is: gold is what it is.
    own = {point: next((b for b in called if not _called_by(b, called)), called[0]) for point, called in bases.items()}
    several = [base for base in dict.fromkeys(own.values()) if list(own.values()).count(base) > 1]
    shades = [f"{shade} {base}" for base in several for shade in _SHADES]
    shaded = look([f"{each} {noun}" for each in shades]) if shades else {}
    colours = dict(own)
    for each in shades:
        base = each.split()[-1]
        of_shade = [point for point in shaded[f"{each} {noun}"] if own.get(point) == base]
        # Where nothing has the shade, all of the colour are called by it.
        if len(of_shade) < list(own.values()).count(base):
            colours |= dict.fromkeys(of_shade, each)
    return [_Coloured(colour, point) for point, colour in colours.items()], bins


def _count(objects: Sequence[_Coloured], colour: str) -> int:
    return sum(obj.colour == colour for obj in objects)


def _called_by(base: str, called: Sequence[str]) -> bool:
    """True if a colour is only what some people call another one of those that an object was found by."""
    return any(base in family for other, family in COLOUR_FAMILIES.items() if other in called)
