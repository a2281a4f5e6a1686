"""Jacobian and inverse kinematics."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gen3 import CONTINUOUS, NAMED_STATES, POSITION_LIMITS, nearest_turn
from tool_nodes.geometry import pose, rotation_angle, rotation_z
from tool_nodes.motion.kinematics import Kinematics, check_pose
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import FloatArray

SPREAD = np.where(CONTINUOUS, np.pi, POSITION_LIMITS)
DOWN = np.diag([1.0, -1.0, -1.0])


def top_down_poses(count: int) -> list[FloatArray]:
    rng = np.random.default_rng(7)
    poses = []
    for _ in range(count):
        radius, azimuth = rng.uniform(0.3, 0.66), rng.uniform(-0.9, 0.9)
        position = [radius * np.cos(azimuth), radius * np.sin(azimuth), rng.uniform(0.16, 0.3)]
        poses.append(pose(rotation_z(rng.uniform(-np.pi, np.pi)) @ DOWN, position))
    return poses


def solved(kinematics: Kinematics, T: FloatArray, seed: FloatArray) -> FloatArray | None:
    """Joint positions at T from a seed, or from one of twenty random postures."""
    rng = np.random.default_rng(0)
    starts = [seed, *rng.uniform(-SPREAD, SPREAD, (20, 7))]
    return next((q for start in starts if (q := kinematics.descend(T, start, 60)) is not None), None)


def test_the_jacobian_is_the_derivative_of_forward_kinematics() -> None:
    kinematics, step = Kinematics(), 1e-6
    q = np.array([0.2, -0.4, 2.9, -1.6, 0.3, -1.1, 1.4])
    J, T = kinematics.jacobian(q), kinematics.fk(q)
    for joint in range(7):
        moved = kinematics.fk(q + step * np.eye(7)[joint])
        np.testing.assert_allclose(J[:3, joint], (moved[:3, 3] - T[:3, 3]) / step, atol=1e-5)
        spin = (moved[:3, :3] @ T[:3, :3].T - np.eye(3)) / step
        np.testing.assert_allclose(J[3:, joint], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-5)


def test_every_top_down_pose_on_the_table_is_solved_within_tolerance_and_limits() -> None:
    kinematics = Kinematics()
    for T in top_down_poses(100):
        q = solved(kinematics, T, NAMED_STATES["Home"])
        assert q is not None
        reached = kinematics.fk(q)
        assert np.linalg.norm(reached[:3, 3] - T[:3, 3]) < 1e-5
        assert rotation_angle(reached[:3, :3], T[:3, :3]) < 1e-4
        assert (np.abs(q) <= POSITION_LIMITS).all()


def test_poses_of_random_configurations_are_solved_from_random_seeds() -> None:
    kinematics, rng = Kinematics(), np.random.default_rng(3)
    for _ in range(50):
        T = kinematics.fk(rng.uniform(-SPREAD, SPREAD))
        assert solved(kinematics, T, rng.uniform(-SPREAD, SPREAD)) is not None


def test_the_solution_is_close_to_a_seed_that_is_close_to_the_pose() -> None:
    kinematics = Kinematics()
    q = NAMED_STATES["Home"]
    T = kinematics.fk(q)
    T[:3, 3] += [0.01, -0.01, 0.01]
    found = kinematics.descend(T, q, 60)
    assert found is not None
    assert np.abs(found - q).max() < 0.1


def test_a_pose_out_of_reach_has_no_solution_and_spends_a_counted_budget() -> None:
    kinematics = Kinematics()
    assert kinematics.descend(pose(DOWN, [2.0, 0.0, 0.3]), NAMED_STATES["Home"], 10) is None
    assert kinematics.iterations == 10


def test_nearest_turn_moves_only_continuous_joints() -> None:
    moved = nearest_turn(np.full(7, 0.1), np.full(7, 2 * np.pi))
    np.testing.assert_allclose(moved, np.where(CONTINUOUS, 0.1 + 2 * np.pi, 0.1))


@pytest.mark.parametrize(
    "T",
    [
        np.full((4, 4), np.nan),
        np.eye(3),
        np.diag([1.0, 1.0, -1.0, 1.0]),
        np.diag([2.0, 1.0, 1.0, 1.0]),
    ],
)
def test_a_malformed_pose_is_refused_in_one_sentence(T: FloatArray) -> None:
    with pytest.raises(ToolError, match="rigid transform") as caught:
        check_pose(T, "target")
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize("q", [np.zeros(6), np.full(7, np.inf), "Home"])
def test_a_malformed_configuration_is_refused_in_one_sentence(q: FloatArray) -> None:
    with pytest.raises(ToolError, match="7 finite joint positions") as caught:
        Kinematics().fk(q)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
