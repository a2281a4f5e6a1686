"""The smallest box around points: known boxes, whatever their turn, and degenerate clouds."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes.clouds.boxes import smallest_box
from toolhand.tool_nodes.results import ErrorCode, ToolError


@pytest.mark.parametrize("size", [(0.2, 0.1, 0.06), (0.1, 0.1, 0.1), (0.3, 0.02, 0.02)])
def test_a_box_comes_back_whatever_its_turn(size: tuple[float, float, float]) -> None:
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(1500, 3))
    surface = directions / np.abs(directions).max(axis=1, keepdims=True) * np.array(size) / 2.0
    R = Rotation.random(random_state=4).as_matrix()
    corners, extent = smallest_box(surface @ R.T + np.array([0.5, -0.2, 0.3]))
    np.testing.assert_allclose(extent, size, rtol=0.01)
    np.testing.assert_allclose(corners.mean(axis=0), [0.5, -0.2, 0.3], atol=0.001)
    sides = [np.linalg.norm(corners[k] - corners[0]) for k in (1, 3, 4)]
    np.testing.assert_allclose(sides, extent)
    axes = np.array([corners[k] - corners[0] for k in (1, 3, 4)])
    assert np.linalg.det(axes) > 0.0


def test_all_points_lie_in_it_and_it_is_no_larger_than_along_principal_axes() -> None:
    points = np.random.default_rng(2).normal(size=(800, 3)) * [0.05, 0.03, 0.02]
    corners, extent = smallest_box(points)
    axes = np.array([(corners[k] - corners[0]) / extent[i] for i, k in enumerate((1, 3, 4))])
    along = np.abs((points - corners.mean(axis=0)) @ axes.T)
    assert (along <= extent / 2.0 + 1e-9).all()
    principal = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
    assert np.prod(extent) < np.prod(np.ptp(points @ principal.T, axis=0))


def test_flat_straight_and_single_points_have_boxes_without_volume() -> None:
    rng = np.random.default_rng(3)
    flat = np.c_[rng.uniform(-1.0, 1.0, (400, 2)), np.zeros(400)] @ Rotation.random(random_state=1).as_matrix().T
    np.testing.assert_allclose(smallest_box(flat)[1], [2.0, 2.0, 0.0], atol=0.05)
    straight = np.outer(np.linspace(0.0, 3.0, 50), [0.6, 0.8, 0.0])
    np.testing.assert_allclose(smallest_box(straight)[1], [3.0, 0.0, 0.0], atol=1e-9)
    assert smallest_box(np.ones((5, 3)))[1].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("cloud", "said"),
    [
        (np.zeros((0, 3)), "at least 4 finite points, not 0 of 0"),
        (np.full((9, 3), np.nan), "at least 4 finite points, not 0 of 9"),
        (np.zeros((9, 4)), "must be an array (N, 3) of numbers"),
        (np.zeros(9), "must be an array (N, 3) of numbers"),
        ([["a", "b", "c"]] * 5, "must be an array (N, 3) of numbers"),
        ([[1, 2], [3]], "must be an array (N, 3) of numbers"),
        (np.zeros((4_000_001, 3), np.int8), "at most 4000000 points"),
    ],
)
def test_what_is_no_cloud_is_refused_in_one_sentence(cloud: Any, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        smallest_box(cloud)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert said in caught.value.message


def test_a_cloud_of_a_million_points_has_a_box() -> None:
    points = np.random.default_rng(0).random((1_000_000, 3)).astype(np.float32)
    points[::7] = np.nan
    np.testing.assert_allclose(smallest_box(points)[1], 1.0, atol=0.01)
