"""Candidates out of a score for each cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tool_nodes.perception.learned.forward import GRID

_WINDOW = 5
"""Side of the square in which a candidate is the highest [cells]: about 8 cm of the table."""

CellScores = NDArray[np.float32]
"""(cells,) of GRID, row by row."""


def peaks(scores: CellScores, least: float) -> list[int]:
    """Cells that are the highest of their surroundings and above a score, highest first."""
    grid = scores.reshape(GRID)
    highest = (grid == ndimage.maximum_filter(grid, _WINDOW, mode="nearest")) & (grid > least)
    found = np.flatnonzero(highest)
    return [int(cell) for cell in found[np.argsort(-scores[found], kind="stable")]]


def summed_around(scores: CellScores) -> CellScores:
    """log sum exp of the scores in the square around each cell: a large thing shares its middle among several cells."""
    square = ndimage.uniform_filter(np.exp(scores.astype(float)).reshape(GRID), _WINDOW, mode="constant")
    return np.asarray(np.log(_WINDOW**2 * np.maximum(square.ravel(), 0.0) + 1e-12), np.float32)


def mostly_around(cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(cells,) True where most of a cell and the eight around it are."""
    return np.asarray(ndimage.uniform_filter(cells.astype(np.float32).reshape(GRID), 3, mode="nearest").ravel() > 0.5)


def mass_around(log_probability: CellScores, cell: int) -> float:
    """Probability, in [0, 1], of the square around a cell."""
    row, column = divmod(cell, GRID[1])
    reach = _WINDOW // 2
    grid = log_probability.reshape(GRID)
    part = grid[max(row - reach, 0) : row + reach + 1, max(column - reach, 0) : column + reach + 1]
    return float(min(np.exp(part).sum(), 1.0))


def cell_point(cell: int) -> tuple[float, float]:
    """Normalized (x, y) of the middle of a cell, in the network's picture."""
    row, column = divmod(cell, GRID[1])
    return (column + 0.5) / GRID[1], (row + 0.5) / GRID[0]
