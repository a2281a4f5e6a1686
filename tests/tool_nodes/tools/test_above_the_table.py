"""What of a mask belongs to the thing: all that stands out of the table, and nothing that lies in it."""

from __future__ import annotations

import numpy as np
import pytest

from tool_nodes.tools.spacetools.bounding_box import oriented_box
from tool_nodes.types import FloatArray


def block(size: tuple[float, float, float], floor: float = 0.0, step: float = 0.004) -> FloatArray:
    """Points on the top and the four sides of a block [m] that stands at a height, every few millimetres."""
    x, y, z = (np.arange(-half, half + step / 2, step) for half in (size[0] / 2, size[1] / 2, 0.0))
    z = np.arange(floor + step, floor + size[2] + step / 2, step)
    top = [(a, b, floor + size[2]) for a in x for b in y]
    sides = [(a, b, c) for a in x for b in (y[0], y[-1]) for c in z] + [
        (a, b, c) for a in (x[0], x[-1]) for b in y for c in z
    ]
    return np.array(top + sides)


AROUND = np.random.default_rng(1).uniform(-0.25, 0.25, (3000, 3)) * (1, 1, 0)


def test_a_low_foot_belongs_to_its_thing() -> None:
    """A pedestal 2 cm high under a column that has most of the points: the footprint is the pedestal's."""
    points = np.vstack([block((0.12, 0.08, 0.02)), block((0.04, 0.04, 0.10), floor=0.02, step=0.0015)])
    extent = oriented_box(points, AROUND)[1]
    assert extent == pytest.approx([0.12, 0.08, 0.12], abs=0.005)


def test_table_that_a_mask_took_along_does_not() -> None:
    spilt = np.random.default_rng(2).uniform(-0.12, 0.12, (400, 3)) * (1, 1, 0) + (0, 0, 0.003)
    extent = oriented_box(np.vstack([block((0.10, 0.06, 0.05)), spilt]), AROUND)[1]
    assert extent == pytest.approx([0.10, 0.06, 0.05], abs=0.006)
