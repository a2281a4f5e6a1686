"""Parts of the table by name, as the scene camera sees it, each defined once in metres of the base frame.

The camera shows |y| up to 0.45 m; along x the table is `workspace.TABLE_X`. Sides, front and back are the outer thirds
of that. The arm reaches no corner and no edge wholly, so that these begin where it still comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from toolhand.tool_nodes.types import FloatArray

TableRegion = Literal[
    "left side",
    "right side",
    "front",
    "back",
    "middle",
    "front left corner",
    "front right corner",
    "back left corner",
    "back right corner",
    "left edge",
    "right edge",
    "front edge",
    "back edge",
]
"""Front is towards the camera, left is the left of its image."""
TABLE_REGIONS: tuple[TableRegion, ...] = get_args(TableRegion)

TOLERANCE_M = 0.05
"""An object whose middle is this far outside of a region still counts as in it [m]: half the width of a product, so
that a part of it is inside."""

_FAR = 1.0
"""Beyond every border of the table [m]."""


@dataclass(frozen=True)
class TablePart:
    """A rectangle of the table.

    Attributes:
        x: Least and greatest x, away from the robot and towards the camera [m].
        y: Least and greatest y, to the right in the camera's image [m].
    """

    x: tuple[float, float] = (-_FAR, _FAR)
    y: tuple[float, float] = (-_FAR, _FAR)

    def outside_m(self, xy: FloatArray) -> float:
        """How far a point (2,) of the table lies outside, 0 inside [m]."""
        low, high = np.array([self.x[0], self.y[0]]), np.array([self.x[1], self.y[1]])
        return float(np.linalg.norm(xy - np.clip(xy, low, high)))


_BACK, _FRONT = (-_FAR, 0.393), (0.627, _FAR)
"""Outer thirds of the table along x [m]."""
_LEFT, _RIGHT = (-_FAR, -0.15), (0.15, _FAR)
"""Outer thirds of what the camera shows along y [m]."""
_FAR_LEFT, _FAR_RIGHT = (-_FAR, -0.25), (0.25, _FAR)
"""What belongs to a corner along y [m]: the outer half of what the camera shows is y beyond 0.225."""
_CORNER_FRONT = (0.60, _FAR)
"""What belongs to a front corner along x [m]: at y = 0.25 the arm's reach ends at x = 0.64."""

PARTS: dict[TableRegion, TablePart] = {
    "left side": TablePart(y=_LEFT),
    "right side": TablePart(y=_RIGHT),
    "front": TablePart(x=_FRONT),
    "back": TablePart(x=_BACK),
    "middle": TablePart((0.41, 0.61), (-0.10, 0.10)),
    "front left corner": TablePart(_CORNER_FRONT, _FAR_LEFT),
    "front right corner": TablePart(_CORNER_FRONT, _FAR_RIGHT),
    "back left corner": TablePart(_BACK, _FAR_LEFT),
    "back right corner": TablePart(_BACK, _FAR_RIGHT),
    "left edge": TablePart(y=(-_FAR, -0.35)),
    "right edge": TablePart(y=(0.35, _FAR)),
    "front edge": TablePart(x=(0.65, _FAR)),
    "back edge": TablePart(x=(-_FAR, 0.31)),
}
"""The middle is a square of 0.2 m about (0.51, 0), where the table's and the image's middle are. An edge is the outer
0.1 m of what the camera shows, at front and back as far out as the arm puts objects down."""


def outside_m(region: TableRegion, xy: FloatArray) -> float:
    """How far a point (2,) of the table lies outside of a region [m]; 0 inside."""
    return PARTS[region].outside_m(xy)


def in_region(region: TableRegion, xy: FloatArray) -> bool:
    """True if an object with its middle at a point (2,) counts as in a region."""
    return outside_m(region, xy) <= TOLERANCE_M
