"""What clutter lies in and stands on: the set "fixtures". No hand grasps it."""

from __future__ import annotations

from collections.abc import Mapping

from toolhand.sim.objects.asset import ObjectAsset, Triple
from toolhand.sim.objects.primitives import BOX, PrimitiveAsset, ShapePart
from toolhand.sim.objects.shapes import shaped

BIN_M: Triple = (0.28, 0.36, 0.08)
"""Sides of the bin (x, y, z) [m]: a heap of ten objects fills it, all of it is within reach and in view, and a hand
goes in beside its walls."""
_BIN_KG = 4.0
"""Mass of the bin [kg]: a hand that brushes against it does not push it."""
BOARDS_M: tuple[tuple[float, float], ...] = ((-0.07, 0.13), (0.07, 0.05))
"""Middle of each board of the shelf in front of the shelf's own middle, and height of its upper side above the table
[m]: the higher one stands behind, as the scene camera sees it, so that nothing hides the lower one."""
BOARD_M = (0.14, 0.44)
"""Depth and width of a board [m]."""
_THICK_M = 0.012
"""Thickness of boards and side walls [m], as of shelves at home."""
_SHELF_KG = 5.0
"""Mass of the shelf [kg]: as heavy as one of wood."""


def _bin() -> ObjectAsset:
    return shaped("tote", "bin", BIN_M, _BIN_KG, (112, 122, 132), colour="grey", synonyms=("bin", "crate"))


def _shelf() -> ObjectAsset:
    deep, wide = BOARD_M
    high = max(top for _, top in BOARDS_M)
    parts = []
    for x, top in BOARDS_M:
        wall = (deep / 2, _THICK_M / 2, (top - _THICK_M) / 2)
        parts.append(_wood((deep / 2, wide / 2, _THICK_M / 2), (x, 0.0, top - _THICK_M / 2 - high / 2)))
        parts += [_wood(wall, (x, side * (wide - _THICK_M) / 2, wall[2] - high / 2)) for side in (-1, 1)]
    return PrimitiveAsset(
        name="shelf",
        kind="shelf",
        colour="brown",
        synonyms=("rack",),
        size_m=(2 * deep, wide, high),
        mass_kg=_SHELF_KG,
        graspable=False,
        parts=tuple(parts),
    )


def _wood(half: Triple, middle: Triple) -> ShapePart:
    return ShapePart(BOX, half, middle, (140, 105, 70))


FIXTURES: Mapping[str, ObjectAsset] = {"bin": _bin(), "shelf": _shelf()}
