"""The ChArUco board that a camera is calibrated with: a chessboard with a marker in each white square."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

MODULES = 8
"""Cells along the side of a square [-]: a marker of 6 (4x4 bits and its black border) and a white one on each side."""

MOST_MARKERS = 50
"""Markers of the dictionary DICT_4X4_50 [-]."""

_SIDES = (3, 20)
"""Fewest and most squares along a side [-]: three give four inner corners, and 20 more than the dictionary has."""
_SQUARE_MM = (5.0, 200.0)
"""Smallest and largest square [mm]: below, a camera at 0.4 m sees no bits; above, no printer prints it."""
_SPELLED = re.compile(r"(\d{1,2})x(\d{1,2}):(\d{1,4}(?:\.\d{1,4})?)")


@dataclass(frozen=True)
class CharucoBoard:
    """A board of columns x rows squares.

    Its frame: origin at the outer corner of the first square, x along the columns, y along the rows, z into the board,
    so that x is right and y is down for whoever looks at it.

    Attributes:
        columns, rows: Squares along x and y.
        square_m: Side of a square [m].
    """

    columns: int = 7
    rows: int = 5
    square_m: float = 0.035

    def __post_init__(self) -> None:
        low, high = _SIDES
        if not (low <= self.columns <= high and low <= self.rows <= high):
            raise invalid(f"A board has {low} to {high} squares a side, not {self.columns} by {self.rows}.")
        if self.columns * self.rows // 2 > MOST_MARKERS:
            raise invalid(
                f"A board of {self.columns} by {self.rows} squares needs {self.columns * self.rows // 2} markers, but "
                f"there are {MOST_MARKERS}.",
                "Take fewer and larger squares, such as 7x5:35.",
            )
        if not _SQUARE_MM[0] <= 1000.0 * self.square_m <= _SQUARE_MM[1]:
            raise invalid(
                f"A square measures {_SQUARE_MM[0]:g} to {_SQUARE_MM[1]:g} mm, not {1000.0 * self.square_m:g} mm."
            )

    def __str__(self) -> str:
        return f"{self.columns}x{self.rows}:{1000.0 * self.square_m:g}"

    @property
    def corners(self) -> FloatArray:
        """(N, 3) inner corners of the chessboard in the board's frame [m], row by row; a corner's id is its index."""
        x, y = np.meshgrid(np.arange(1, self.columns), np.arange(1, self.rows))
        inner: FloatArray = self.square_m * np.column_stack([x.ravel(), y.ravel(), np.zeros(x.size)]).astype(float)
        return inner

    @property
    def size_m(self) -> tuple[float, float]:
        """Width and height of the pattern [m]."""
        return self.columns * self.square_m, self.rows * self.square_m

    @property
    def centre(self) -> FloatArray:
        """(3,) middle of the pattern in the board's frame [m]."""
        return np.array([*self.size_m, 0.0]) / 2.0


USUAL = CharucoBoard()
"""7 by 5 squares of 35 mm, the largest round size on A4."""


def parse_board(text: str) -> CharucoBoard:
    """The board that COLUMNSxROWS:MILLIMETRES means, such as "7x5:35". Raises ToolError INVALID_ARGUMENT."""
    match = _SPELLED.fullmatch(text.strip())
    if match is None:
        raise invalid(
            f"A board is written as COLUMNSxROWS:SQUARE_MM, not {text[:60]!r}.", "For example 7x5:35, which fits on A4."
        )
    return CharucoBoard(int(match[1]), int(match[2]), float(match[3]) / 1000.0)
