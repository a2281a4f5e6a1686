"""A table that a picture's calibration lets lie askew is brought to its height."""

from __future__ import annotations

import numpy as np
import pytest

from tool_nodes import geometry
from tool_nodes.perception.levelling import levelled
from tool_nodes.types import FloatArray


def table(noise: float, height: float, slope: tuple[float, float], seed: int = 0) -> FloatArray:
    """Points (N, 3) of a table askew, and of a thing on it."""
    rng = np.random.default_rng(seed)
    xy = rng.uniform(-0.3, 0.3, (8000, 2)) + np.array([0.45, 0.0])
    z = height + (xy - [0.45, 0.0]) @ np.array(slope) + rng.normal(0.0, noise, len(xy))
    z[np.hypot(xy[:, 0] - 0.45, xy[:, 1]) < 0.05] += 0.06
    return np.column_stack([xy, z])


@pytest.mark.parametrize("noise", [0.0005, 0.003])
@pytest.mark.parametrize(("height", "slope"), [(0.0, (0.0, 0.0)), (0.005, (0.004, -0.006)), (-0.004, (-0.008, 0.0))])
def test_the_table_comes_to_its_height_and_its_noise_is_known(
    noise: float, height: float, slope: tuple[float, float]
) -> None:
    points = table(noise, height, slope).astype(np.float32)
    found = levelled(points, np.zeros(len(points), dtype=bool), np.array([0.45, 0.0]))
    assert found.noise == pytest.approx(noise, rel=0.25)
    straight = geometry.transform(found.T, table(0.0, height, slope))
    on_table = straight[:, 2] < 0.03
    assert np.abs(straight[on_table, 2]).max() < 0.0007
    R = found.T[:3, :3]
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-12)


def test_what_is_no_table_is_left_alone() -> None:
    points = table(0.001, 0.012, (0.03, 0.0)).astype(np.float32)
    assert np.array_equal(levelled(points, np.zeros(len(points), dtype=bool), np.zeros(2)).T, np.eye(4))
    few = points[:200]
    assert np.array_equal(levelled(few, np.zeros(len(few), dtype=bool), np.zeros(2)).T, np.eye(4))
