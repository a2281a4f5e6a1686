"""Kinematics, and how a path gets its times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gen3 import (
    ACCELERATION_LIMITS,
    CONTINUOUS,
    NAMED_STATES,
    POSITION_LIMITS,
    VELOCITY_LIMITS,
    nearest_turn,
    overload,
    time_path,
    time_waypoints,
)
from toolhand.tool_nodes.geometry import pose, rotation_angle, rotation_z
from toolhand.tool_nodes.motion.kinematics import Kinematics, check_pose
from toolhand.tool_nodes.motion.timing import LONGEST_S, MOST_SAMPLES, SAMPLE_PERIOD
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray, Trajectory

# -- Jacobian and inverse kinematics ---------------------------------------------------------------

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
    return next((q for start in starts if (q := kinematics.solve_ik(T, start, 60)) is not None), None)


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
    found = kinematics.solve_ik(T, q, 60)
    assert found is not None
    assert np.abs(found - q).max() < 0.1


def test_a_pose_out_of_reach_has_no_solution() -> None:
    kinematics = Kinematics()
    assert kinematics.solve_ik(pose(DOWN, [2.0, 0.0, 0.3]), NAMED_STATES["Home"], 10) is None


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


# -- time parameterizations keep the limits and the shape of the path -------------------------------------------


HOME, PARK = NAMED_STATES["Home"], NAMED_STATES["Park"]


def assert_within_limits(trajectory: Trajectory, speed: float = 1.0) -> None:
    dt = np.diff(trajectory.t)
    assert trajectory.t[0] == 0.0
    assert (dt > 0).all()
    assert dt.max() <= SAMPLE_PERIOD * 1.5
    assert (np.abs(trajectory.qd) <= VELOCITY_LIMITS * speed * (1 + 1e-6)).all()
    assert (np.abs(np.diff(trajectory.q, axis=0)) / dt[:, None] <= VELOCITY_LIMITS * speed * (1 + 1e-6)).all()
    acceleration = np.abs(np.diff(trajectory.qd, axis=0)) / dt[:, None]
    assert (acceleration <= ACCELERATION_LIMITS * speed**2 * (1 + 1e-3)).all()
    assert not trajectory.qd[[0, -1]].any()


def curved_path() -> tuple[FloatArray, FloatArray]:
    s = np.linspace(0.0, 1.0, 60)
    swing = np.stack([np.sin((2 + joint) * s) for joint in range(7)], axis=1)
    return s, HOME + 0.4 * swing


@pytest.mark.parametrize("speed", [1e-3, 1e-9, 5e-324])
def test_a_trajectory_that_would_be_too_long_is_refused_before_it_is_sampled(
    speed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled: list[float] = []
    linspace = np.linspace
    monkeypatch.setattr(np, "linspace", lambda *given: sampled.append(given[2]) or linspace(*given))
    for make in (
        lambda: time_waypoints(np.vstack([HOME, PARK, HOME]), speed),
        lambda: time_path(*curved_path(), speed),
    ):
        with pytest.raises(ToolError, match=f"{LONGEST_S:g} s are the most") as error:
            make()
        assert error.value.code is ErrorCode.INVALID_ARGUMENT
    assert max(sampled, default=0) < MOST_SAMPLES


def test_a_straight_segment_stays_straight_and_uses_the_limits() -> None:
    trajectory = time_waypoints(np.vstack([PARK, HOME]))
    assert_within_limits(trajectory)
    direction = HOME - PARK
    along = (trajectory.q - PARK) @ direction / (direction @ direction)
    np.testing.assert_allclose(trajectory.q, PARK + along[:, None] * direction, atol=1e-12)
    assert (np.diff(along) >= -1e-12).all()
    assert (np.abs(trajectory.qd) / VELOCITY_LIMITS).max() > 0.99


def test_velocities_are_the_derivative_of_positions() -> None:
    for trajectory in (time_waypoints(np.vstack([PARK, HOME])), time_path(*curved_path())):
        middle = (trajectory.qd[:-1] + trajectory.qd[1:]) / 2
        difference = np.diff(trajectory.q, axis=0) / np.diff(trajectory.t)[:, None]
        np.testing.assert_allclose(middle, difference, atol=5e-3)


def test_the_arm_rests_at_every_waypoint() -> None:
    waypoints = np.vstack([PARK, HOME, HOME + 0.3, PARK])
    trajectory = time_waypoints(waypoints)
    assert_within_limits(trajectory)
    for waypoint in waypoints:
        at = np.flatnonzero(np.abs(trajectory.q - waypoint).max(axis=1) < 1e-9)
        assert len(at)
        assert not trajectory.qd[at].any()


def test_a_curved_path_keeps_the_limits_and_its_ends() -> None:
    s, path = curved_path()
    trajectory = time_path(s, path)
    assert_within_limits(trajectory)
    assert overload(trajectory) <= 1.0 + 1e-9
    np.testing.assert_array_equal(trajectory.q[[0, -1]], path[[0, -1]])


@pytest.mark.parametrize("speed", [1.0, 0.5, 0.1])
def test_speed_stretches_time(speed: float) -> None:
    waypoints = np.vstack([PARK, HOME])
    slow = time_waypoints(waypoints, speed)
    assert_within_limits(slow, speed)
    assert slow.duration == pytest.approx(time_waypoints(waypoints).duration / speed)
    assert time_path(*curved_path(), speed).duration == pytest.approx(
        time_path(*curved_path()).duration / speed, rel=1e-3
    )


def test_a_path_without_motion_is_a_short_rest() -> None:
    for trajectory in (time_waypoints(np.vstack([HOME, HOME])), time_path(np.linspace(0, 1, 5), np.tile(HOME, (5, 1)))):
        assert trajectory.duration > 0
        assert (trajectory.q == HOME).all()
        assert not trajectory.qd.any()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-2.0, 2.0), min_size=7, max_size=7), st.floats(0.05, 1.0))
def test_any_segment_at_any_speed_keeps_the_limits(offset: list[float], speed: float) -> None:
    assert_within_limits(time_waypoints(np.vstack([HOME, HOME + offset]), speed), speed)
