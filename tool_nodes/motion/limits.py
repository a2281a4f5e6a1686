"""Limits of every motion, regardless of who asks for it or approves it; checked on the arrays that the arm is given."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.rated import MAX_ACCELERATION, MAX_SPEED
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.motion.timing import LONGEST_S, MOST_SAMPLES, cubic_acceleration, overload
from toolhand.tool_nodes.motion.trajectory_checks import unfit
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import FloatArray, Trajectory

MAX_SPACING_S = 0.02
"""Samples of a trajectory are no further apart [s]: twice what the time parameterizations use. At the velocity limit a
joint turns by 0.028 rad meanwhile, and below the acceleration limit it strays from the line between two samples by at
most a dt^2 / 8 = 0.0004 rad, which is 0.4 mm at the fingertips of the stretched arm."""

LEAST_SPEED = 0.01
"""Least share of the allowed speed [-]: a way of 1 s takes 100 s then. Nobody waits for less, and a trajectory takes
time and memory in proportion to how long it lasts."""

_BOX_SLACK_M = 0.003
"""The gripper may reach this far out of its box, or further than where it started [m]; a round figure."""
_LIMIT_SLACK = 1e-3
"""Rounding that is let pass: a share of limits of time and speed, and of joint positions [rad]; a round figure."""

_CUBIC_SLACK = 0.05
"""Share by which the cubics between two samples may exceed the acceleration limit. Where the jerk changes within an
interval they overshoot the true motion: by up to 0.015 in the 270 legs of 20 tasks of the manipulation bench."""


@dataclass(frozen=True)
class MotionLimits:
    """Limits of every motion, regardless of who asks or approves. Joint limits hold besides.

    Attributes:
        low: (x, y, z) corner of the box that no fingertip may leave, base frame [m]; the robot's where it is empty.
        high: The opposite corner [m]; likewise.
        speed: In [LEAST_SPEED, 1]; velocities are scaled by it and accelerations by its square.
        motions_per_command: Motions between two calls of `MotionGuard.begin_command`; None for any number.
        motions_per_minute: Motions within 60 s; None for any number.
        robot: Robot with the joint limits.
    """

    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    speed: float = 1.0
    motions_per_command: int | None = None
    motions_per_minute: int | None = None
    robot: RobotModel = field(default_factory=load_robot)

    def __post_init__(self) -> None:
        """Raises ToolError INVALID_ARGUMENT for limits that are none, or that the parked arm breaks."""
        for name in ("low", "high"):
            if not len(getattr(self, name)):
                object.__setattr__(self, name, tuple(getattr(self.robot.reach, name).tolist()))
        fastest, strongest = float(self.robot.velocity.max()), float(self.robot.acceleration.max())
        if not (fastest <= MAX_SPEED and strongest <= MAX_ACCELERATION):
            raise invalid(
                f"Joints may turn with {MAX_SPEED:g} rad/s and {MAX_ACCELERATION:g} rad/s^2 at most, whatever a "
                f"folder says, got {fastest:g} and {strongest:g}."
            )
        low, high = np.asarray(self.low, float), np.asarray(self.high, float)
        if low.shape != (3,) or high.shape != (3,) or not (np.isfinite([low, high]).all() and (low < high).all()):
            raise invalid("The workspace box must be two finite corners (x, y, z), the first below the second.")
        require_share(self.speed, "speed limit")
        for count in (self.motions_per_command, self.motions_per_minute):
            if count is not None and count < 1:
                raise invalid(f"A number of motions must be 1 or more, got {count}.")
        if _excess(Kinematics(robot=self.robot), self.robot.park[None], np.inf, low, high)[0] > 0.0:
            raise invalid("The workspace box must contain the fingertips of the parked arm: every motion ends there.")


def require_share(speed: float, name: str = "speed") -> None:
    """Raises ToolError INVALID_ARGUMENT for a share of the allowed speed that is none, or too small to wait for."""
    if not LEAST_SPEED <= speed <= 1.0:
        raise invalid(f"The {name} must be {LEAST_SPEED:g} to 1, got {speed}.")


def _excess(
    kinematics: Kinematics, path: FloatArray, opening_m: float, low: FloatArray, high: FloatArray
) -> FloatArray:
    """How far (N,) the fingertips leave a box at each configuration (N, n) [m]; negative inside."""
    tips = kinematics.robot.gripper.tips(opening_m)
    T = kinematics.fk_path(path)
    points = np.einsum("nij,kj->nki", T[:, :3, :3], tips) + T[:, None, :3, 3]
    outside: FloatArray = np.maximum(low - points, points - high).max(axis=(1, 2))
    return outside


def check_trajectory(trajectory: Trajectory, opening_m: float, limits: MotionLimits, kinematics: Kinematics) -> None:
    """Check a trajectory with jaws that are open by `opening_m` [m] against all limits.

    A fingertip that starts outside the box may come back, but get no further away.

    Raises:
        ToolError: OUT_OF_WORKSPACE for a path that leaves the box; EXECUTION_FAILED for any other limit.
    """
    robot = limits.robot
    if why := unfit(trajectory, robot):
        raise _unfit(why)
    t, q = np.asarray(trajectory.t, float), np.asarray(trajectory.q, float)
    if len(t) > MOST_SAMPLES or t[-1] > LONGEST_S * (1.0 + _LIMIT_SLACK):
        raise _unfit(f"it lasts {t[-1]:.0f} s in {len(t):,} samples, more than {LONGEST_S:g} s or {MOST_SAMPLES:,}")
    if np.diff(t).max() > MAX_SPACING_S * (1.0 + _LIMIT_SLACK):
        raise _unfit(
            f"its samples are up to {np.diff(t).max():.3f} s apart, more than {MAX_SPACING_S} s is not allowed"
        )
    path = between(trajectory)
    # An arm that starts outside its range may come back, but get no further out.
    beyond = robot.beyond(path) > robot.beyond(q[0]) + _LIMIT_SLACK
    if beyond.any():
        raise _unfit(f"{robot.arm_joints[int(np.argmax(beyond.any(axis=0)))]} would leave its range")
    # Whatever the robot's own limits are.
    fastest = max(np.abs(trajectory.qd).max(), np.abs(np.diff(q, axis=0) / np.diff(t)[:, None]).max())
    strongest = float(cubic_acceleration(trajectory).max())
    if fastest > MAX_SPEED * (1.0 + _LIMIT_SLACK) or strongest > MAX_ACCELERATION * (1.0 + _CUBIC_SLACK):
        raise _unfit(
            f"a joint would turn with {fastest:.2f} rad/s and {strongest:.1f} rad/s^2, where {MAX_SPEED:g} and "
            f"{MAX_ACCELERATION:g} are the most for any robot"
        )
    if (factor := overload(trajectory, robot, limits.speed)) > 1.0 + _LIMIT_SLACK:
        raise _unfit(f"it is {factor:.2f} times as fast as velocity, acceleration and speed limits allow")
    force = float((cubic_acceleration(trajectory) / (robot.acceleration * limits.speed**2)).max())
    if force > 1.0 + _CUBIC_SLACK:
        raise _unfit(f"between its samples it takes {force:.2f} times the acceleration that the limits allow")
    low, high = np.asarray(limits.low, float), np.asarray(limits.high, float)
    excess = _excess(kinematics, path, opening_m, low, high)
    if excess.max() > max(_BOX_SLACK_M, float(excess[0]) + _BOX_SLACK_M):
        raise ToolError(
            ErrorCode.OUT_OF_WORKSPACE,
            f"The path would take a fingertip {1000 * excess.max():.0f} mm out of the workspace: "
            f"x {low[0]:.2f} to {high[0]:.2f} m, y {low[1]:.2f} to {high[1]:.2f} m, "
            f"z {low[2]:.2f} to {high[2]:.2f} m.",
        )


def between(trajectory: Trajectory) -> FloatArray:
    """The samples and, between each two, the middle of the cubic through them: (2 N - 1, n) [rad]."""
    t, q, qd = trajectory.t, trajectory.q, trajectory.qd
    path = np.empty((2 * len(t) - 1, q.shape[1]))
    path[::2] = q
    path[1::2] = (q[:-1] + q[1:]) / 2.0 + np.diff(t)[:, None] * (qd[:-1] - qd[1:]) / 8.0
    return path


def _unfit(why: str) -> ToolError:
    return ToolError(ErrorCode.EXECUTION_FAILED, f"The trajectory was refused before it began: {why}.", "Plan anew.")
