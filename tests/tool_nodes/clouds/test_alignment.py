"""Clouds are brought onto each other: known motions, what nothing tells, and clouds that do not meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes.clouds.alignment import aligned
from toolhand.tool_nodes.geometry import invert, pose, rotation_angle, transform
from toolhand.tool_nodes.results import ErrorCode, ToolError


def box_surface(seed: int, size: tuple[float, float, float] = (0.10, 0.06, 0.04)) -> np.ndarray:
    directions = np.random.default_rng(seed).normal(size=(2000, 3))
    return directions / np.abs(directions).max(axis=1, keepdims=True) * np.array(size) / 2.0


@pytest.mark.parametrize("seed", range(3))
def test_a_small_motion_is_found_in_other_points_of_the_same_object(seed: int) -> None:
    rng = np.random.default_rng(seed)
    T = pose(Rotation.from_rotvec(rng.uniform(-0.08, 0.08, 3)).as_matrix(), rng.uniform(-0.005, 0.005, 3))
    target = transform(T, box_surface(seed + 10)) + rng.normal(size=(2000, 3)) * 0.0005
    found = aligned(box_surface(seed), target, 0.02)
    wrong = invert(T) @ found.T
    assert np.linalg.norm(wrong[:3, 3]) < 0.0005
    assert np.degrees(rotation_angle(np.eye(3), wrong[:3, :3])) < 0.5
    assert found.share > 0.99
    assert found.rms_m < 0.003


def test_a_first_guess_takes_it_farther() -> None:
    T = pose(Rotation.from_rotvec([0.0, 0.0, 1.0]).as_matrix(), [0.3, 0.0, 0.1])
    target = transform(T, box_surface(1))
    with pytest.raises(ToolError, match=r"Only 0 points of the source have one of the target within 0\.02 m") as caught:
        aligned(box_surface(2), target, 0.02)
    assert caught.value.code is ErrorCode.OBJECT_NOT_FOUND
    nearly = pose(Rotation.from_rotvec([0.0, 0.0, 0.95]).as_matrix(), [0.302, 0.0, 0.1])
    assert np.abs(aligned(box_surface(2), target, 0.02, nearly).T - T).max() < 0.01


def test_a_cylinder_does_not_turn_about_its_axis() -> None:
    angle = np.random.default_rng(5).uniform(0.0, 2.0 * np.pi, (2, 3000))
    height = np.random.default_rng(6).uniform(-0.05, 0.05, (2, 3000))
    first, second = (np.c_[0.03 * np.cos(a), 0.03 * np.sin(a), h] for a, h in zip(angle, height, strict=True))
    found = aligned(first, second + np.random.default_rng(7).normal(size=(3000, 3)) * 0.0005, 0.02)
    assert np.degrees(rotation_angle(np.eye(3), found.T[:3, :3])) < 1.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"source": np.zeros((0, 3))}, "The source cloud must have at least 20 finite points, not 0 of 0"),
        ({"target": np.full((50, 3), np.inf)}, "The target cloud must have at least 20 finite points"),
        ({"reach_m": 0.0}, "reach_m must be a distance greater than 0 m, not 0.0"),
        ({"reach_m": float("nan")}, "reach_m must be a distance"),
        ({"T": np.eye(3)}, "The first guess must be rigid"),
        ({"T": 2.0 * np.eye(4)}, "The first guess must be rigid"),
        ({"T": "up"}, "The first guess must be rigid"),
    ],
)
def test_what_is_no_cloud_or_guess_is_refused(change: dict[str, Any], said: str) -> None:
    given = {"source": box_surface(0), "target": box_surface(1), "reach_m": 0.02} | change
    with pytest.raises(ToolError) as caught:
        aligned(**given)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert said in caught.value.message
