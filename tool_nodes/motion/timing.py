"""Time parameterizations: when a joint path is where, within the limits of velocity and acceleration.

One scalar s runs along a path from rest to rest; its jerk-limited profile comes from ruckig. Joints follow
q(s), so the path's shape is kept exactly. `speed` stretches time: velocities scale with it, accelerations
with its square.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import ruckig

from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import FloatArray, Trajectory

SAMPLE_PERIOD = 0.01
"""Largest spacing of trajectory samples [s]."""

MOST_SAMPLES = 20_000
"""Samples of a trajectory, at most: 200 s at the usual 100 Hz. More are refused before they are made or looked at,
because the check for collision takes about 0.02 ms for each."""
LONGEST_S = MOST_SAMPLES * SAMPLE_PERIOD
"""Longest trajectory [s]; as many samples as are allowed. The slowest usual way, across the whole reach at a tenth of
the allowed speed, takes half of it."""

_CURVATURE_SHARE = 0.5
"""Share of the acceleration limit that following a path's curvature may take."""


def _profile(velocity: float, acceleration: float, jerk_time: float, length: float) -> ruckig.Trajectory:
    """Rest-to-rest motion over `length` within limits per second, per second squared."""
    request = ruckig.InputParameter(1)
    request.current_position, request.target_position = [0.0], [length]
    request.max_velocity, request.max_acceleration = [velocity], [acceleration]
    request.max_jerk = [acceleration / jerk_time]
    trajectory = ruckig.Trajectory(1)
    result = ruckig.Ruckig(1).calculate(request, trajectory)
    if result not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise ToolError(ErrorCode.INTERNAL, f"The time law could not be computed: {result.name}.")
    return trajectory


def _sample(
    profile: ruckig.Trajectory, speed: float, before_s: float = 0.0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(t, s, ds/dt), each (N,), evenly spaced with t[0] = 0 and rest at both ends.

    Raises ToolError INVALID_ARGUMENT where that and what comes before it [s] would be longer than LONGEST_S.
    """
    duration = profile.duration / speed
    if not before_s + duration <= LONGEST_S:
        raise invalid(
            f"At {speed:.2g} of the full speed this way would take {before_s + duration:.0f} s or more, where "
            f"{LONGEST_S:g} s are the most.",
            "Ask for a higher speed.",
        )
    t = np.linspace(0.0, duration, max(2, int(np.ceil(duration / SAMPLE_PERIOD)) + 1))
    states = [profile.at_time(speed * time) for time in t]
    s = np.array([state[0][0] for state in states])
    rate = speed * np.array([state[1][0] for state in states])
    rate[[0, -1]] = 0.0
    return t, s, rate


def _whole_ns(t: FloatArray) -> FloatArray:
    """Times [s] as a message can carry them, so that a trajectory is the same in process and over ROS."""
    return np.round(t, 9)


def _rest(q: FloatArray, robot: RobotModel) -> Trajectory:
    return Trajectory(robot.arm_joints, np.array([0.0, SAMPLE_PERIOD]), np.vstack([q, q]), np.zeros((2, len(q))))


def time_waypoints(waypoints: FloatArray, robot: RobotModel, speed: float = 1.0) -> Trajectory:
    """Straight joint segments with a stop at every waypoint.

    Args:
        waypoints: (K, n) [rad], K >= 1.
        robot: Robot with the limits.
        speed: (0, 1].

    Raises:
        ToolError: INVALID_ARGUMENT where it would last longer than LONGEST_S.
    """
    pieces: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    offset = 0.0
    for a, b in pairwise(waypoints):
        delta = b - a
        length = float(np.abs(delta).max())
        if length < 1e-9:
            continue
        direction = delta / length
        moving = np.abs(direction) > 1e-12
        velocity = float((robot.velocity[moving] / np.abs(direction[moving])).min())
        acceleration = float((robot.acceleration[moving] / np.abs(direction[moving])).min())
        t, s, rate = _sample(_profile(velocity, acceleration, robot.jerk_time, length), speed, offset)
        q = a + s[:, None] * direction
        q[0], q[-1] = a, b
        first = 1 if pieces else 0
        pieces.append((offset + t[first:], q[first:], rate[first:, None] * direction))
        offset += float(t[-1])
    if not pieces:
        return _rest(waypoints[0], robot)
    t, q, qd = (np.concatenate(part) for part in zip(*pieces, strict=True))
    return Trajectory(robot.arm_joints, _whole_ns(t), q, qd)


def time_path(s: Sequence[float] | FloatArray, path: FloatArray, robot: RobotModel, speed: float = 1.0) -> Trajectory:
    """A dense, smooth joint path without stops.

    Args:
        s: (N,) increasing path parameter from 0 to 1, N >= 4.
        path: (N, n) joint positions [rad] at `s`.
        robot: Robot with the limits.
        speed: (0, 1].

    Raises:
        ToolError: INVALID_ARGUMENT where it would last longer than LONGEST_S.
    """
    if float(np.abs(path - path[0]).max()) < 1e-9:
        return _rest(path[0], robot)
    from scipy.interpolate import CubicSpline  # a tenth of a second, which only planning needs

    spline = CubicSpline(s, path)
    dense = np.linspace(0.0, 1.0, 4 * len(path))
    slope, curvature = np.abs(spline(dense, 1)), np.abs(spline(dense, 2))
    with np.errstate(divide="ignore"):
        velocity = min(
            float((robot.velocity / slope).min()),
            float(np.sqrt(_CURVATURE_SHARE * robot.acceleration / curvature).min()),
        )
        acceleration = float(((robot.acceleration - curvature * velocity**2) / slope).min())
    profile = _profile(velocity, acceleration, robot.jerk_time, 1.0)
    t, along, rate = _sample(profile, speed)
    q, qd = spline(along), spline(along, 1) * rate[:, None]
    q[0], q[-1] = path[0], path[-1]
    stretch = overload(Trajectory(robot.arm_joints, t, q, qd), robot, speed)
    return Trajectory(robot.arm_joints, _whole_ns(stretch * t), q, qd / stretch)


def resampled(trajectory: Trajectory, most: int) -> Trajectory | None:
    """The cubics through the samples, at most SAMPLE_PERIOD apart: what joint_trajectory_controller would follow.

    Args:
        trajectory: Finite arrays, times that increase from 0 [s].
        most: Samples that it may get at most.

    Returns:
        The trajectory with its own samples among the others; None where these would be too many.
    """
    t, q, qd = trajectory.t, trajectory.q, trajectory.qd
    dt = np.diff(t)
    if np.ceil(dt / SAMPLE_PERIOD).sum() + 1 > most:
        return None
    counts = np.maximum(1, np.ceil(np.round(dt / SAMPLE_PERIOD, 6))).astype(int)
    row = np.repeat(np.arange(len(dt)), counts)
    # The part of its interval, from 0 up to 1 at the next sample, of each new one.
    part = (np.arange(1, len(row) + 1) - np.repeat(np.cumsum(counts) - counts, counts)) / counts[row]
    u, h = part[:, None], dt[row][:, None]
    a, b, va, vb = q[row], q[row + 1], qd[row], qd[row + 1]
    turn = b - a
    dense_q = a + u * (h * va + u * (3.0 * turn - h * (2.0 * va + vb) + u * (h * (va + vb) - 2.0 * turn)))
    dense_qd = va + u * (2.0 * (3.0 * turn / h - 2.0 * va - vb) + 3.0 * u * (va + vb - 2.0 * turn / h))
    last = part == 1.0
    dense_q[last], dense_qd[last] = b[last], vb[last]
    times = t[row] + part * dt[row]
    return Trajectory(
        trajectory.joint_names,
        _whole_ns(np.concatenate([t[:1], times])),
        np.concatenate([q[:1], dense_q]),
        np.concatenate([qd[:1], dense_qd]),
    )


def overload(trajectory: Trajectory, robot: RobotModel, speed: float = 1.0) -> float:
    """Factor >= 1 by which time must be stretched to keep the robot's limits scaled by `speed`.

    With u = dq/dt between two samples, a motion that stays below the acceleration limit a has
    |u' - u| <= a (dt + dt')/2 from one interval to the next, and |u - qd| <= a dt/2 at both ends of each: positions and
    velocities that contradict each other are an overload too.
    """
    fastest, strongest = robot.velocity * speed, robot.acceleration * speed**2
    dt = np.diff(trajectory.t)[:, None]
    mean = np.diff(trajectory.q, axis=0) / dt
    velocity = max(_largest(trajectory.qd, fastest), _largest(mean, fastest))
    force = max(
        _largest(np.diff(trajectory.qd, axis=0) / dt, strongest),
        _largest(2.0 * np.diff(mean, axis=0) / (dt[1:] + dt[:-1]), strongest),
        _largest(2.0 * (mean - trajectory.qd[:-1]) / dt, strongest),
        _largest(2.0 * (trajectory.qd[1:] - mean) / dt, strongest),
    )
    return float(max(1.0, velocity, np.sqrt(force)))


def cubic_acceleration(trajectory: Trajectory) -> FloatArray:
    """Largest acceleration (n,) [rad/s^2] of the cubics through the positions and velocities of each pair of samples.

    joint_trajectory_controller runs them. They are linear in acceleration, so that it is largest at a sample.
    """
    dt = np.diff(trajectory.t)[:, None]
    mean = np.diff(trajectory.q, axis=0) / dt
    before, after = mean - trajectory.qd[:-1], trajectory.qd[1:] - mean
    at_ends = np.abs([4.0 * before - 2.0 * after, 4.0 * after - 2.0 * before]) / dt
    largest: FloatArray = at_ends.max(axis=(0, 1))
    return largest


def _largest(values: FloatArray, limits: FloatArray) -> float:
    """The largest of |values| (N, n) in units of the limits (n,); 0 where there are none."""
    return float((np.abs(values) / limits).max(initial=0.0))
