"""Time laws keep the limits and the shape of the path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gen3 import ACCELERATION_LIMITS, NAMED_STATES, VELOCITY_LIMITS, overload, time_path, time_waypoints
from tool_nodes.motion.timing import LONGEST_S, MOST_SAMPLES, SAMPLE_PERIOD
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import FloatArray, Trajectory

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
