"""The guard knows what the arm does between the samples of a trajectory, not only at them."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicHermiteSpline

from tests.gen3 import (
    ACCELERATION_LIMITS,
    ARM_JOINTS,
    GEN3,
    MAX_OPENING,
    NAMED_STATES,
    VELOCITY_LIMITS,
    gripper_points,
    overload,
    time_path,
    time_waypoints,
)
from tests.tool_nodes.motion.planners.questions import draw_question
from tests.tool_nodes.motion.planners.worlds import draw_problem
from toolhand.tool_nodes.geometry import pose, transform
from toolhand.tool_nodes.motion.approval import PlannedMotion
from toolhand.tool_nodes.motion.collision import Checker
from toolhand.tool_nodes.motion.guard import GuardedArm, MotionGuard
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.limits import MAX_SPACING_S, MotionLimits, between, check_trajectory
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.scene_model import SceneModel
from toolhand.tool_nodes.motion.timing import cubic_acceleration
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Goal, JointGoal, Trajectory

PARK = NAMED_STATES["Park"]
LIMITS = MotionLimits()
KINEMATICS = Kinematics()


def refusal(trajectory: Trajectory, limits: MotionLimits = LIMITS) -> ToolError:
    with pytest.raises(ToolError) as caught:
        check_trajectory(trajectory, MAX_OPENING, limits, KINEMATICS)
    return caught.value


def two_samples(target: FloatArray, duration: float) -> Trajectory:
    return Trajectory(ARM_JOINTS, np.array([0.0, duration]), np.vstack([PARK, target]), np.zeros((2, 7)))


def outside(path: FloatArray) -> float:
    """How far the fingertips of the open gripper leave the box on the way [m]."""
    low, high = np.asarray(LIMITS.low), np.asarray(LIMITS.high)
    tips = gripper_points(MAX_OPENING)[3:]
    points = np.array([transform(KINEMATICS.fk(q), tips) for q in path])
    return float(np.maximum(low - points, points - high).max())


def test_two_samples_inside_the_box_whose_way_leads_out_of_it_are_refused() -> None:
    start = KINEMATICS.solve_ik(pose(np.diag([1.0, -1.0, -1.0]), (0.45, 0.0, 0.3)), PARK, 60)
    assert start is not None
    q = np.vstack([start, start + 2 * np.pi * np.eye(7)[0]])  # once around: it ends where it began
    assert outside(q) < 0.0
    assert outside(np.linspace(*q, 50)) > 0.35
    assert "8.000 s apart" in refusal(Trajectory(ARM_JOINTS, np.array([0.0, 8.0]), q, np.zeros((2, 7)))).message
    assert refusal(time_waypoints(q)).code is ErrorCode.OUT_OF_WORKSPACE


@pytest.mark.parametrize("keep", [2, 3, 5, 10])
def test_samples_left_out_make_a_trajectory_that_is_refused(keep: int) -> None:
    leg = time_waypoints(np.vstack([PARK, PARK + 0.4 * np.eye(7)[0]]))
    chosen = np.unique([*range(0, len(leg.t), keep), len(leg.t) - 1])
    thinned = Trajectory(ARM_JOINTS, leg.t[chosen], leg.q[chosen], leg.qd[chosen])
    if keep == 2:
        assert np.diff(thinned.t).max() < MAX_SPACING_S
        check_trajectory(thinned, MAX_OPENING, LIMITS, KINEMATICS)
    else:
        assert "apart" in refusal(thinned).message


def test_one_gap_among_dense_samples_is_found() -> None:
    leg = time_waypoints(np.vstack([PARK, PARK + 0.4 * np.eye(7)[0]]))
    chosen = [k for k in range(len(leg.t)) if not 20 < k < 24]
    assert "apart" in refusal(Trajectory(ARM_JOINTS, leg.t[chosen], leg.q[chosen], leg.qd[chosen])).message


def zigzag(acceleration: float, joint: int = 0) -> Trajectory:
    """Positions that swing to and fro with this acceleration [rad/s^2] while qd claims rest."""
    t = np.arange(41) * 0.01
    q = np.tile(PARK, (41, 1))
    q[1::2, joint] += acceleration * 0.01**2 / 2.0
    return Trajectory(ARM_JOINTS, t, q, np.zeros((41, 7)))


@pytest.mark.parametrize("joint", range(7))
def test_an_acceleration_that_only_the_positions_show_is_refused(joint: int) -> None:
    assert "with 0.60 rad/s and 360.0 rad/s^2" in refusal(zigzag(120.0, joint)).message


def _sawtooth(leg: Trajectory) -> FloatArray:
    """Velocities that are wrong by less than the difference quotient tells, but always the same way."""
    qd = leg.qd.copy()
    qd[10:-10, 0] -= 0.9 * ACCELERATION_LIMITS[0] * 0.01 / 2.0
    return qd


@pytest.mark.parametrize(
    "velocities",
    [
        lambda leg: np.zeros_like(leg.qd),
        lambda leg: -leg.qd,
        lambda leg: 0.5 * leg.qd,
        lambda leg: np.roll(leg.qd, 1, axis=1),
        lambda leg: np.where(np.arange(len(leg.t))[:, None] % 2, leg.qd, leg.qd * 0.8),
        _sawtooth,
    ],
)
def test_velocities_that_contradict_the_positions_are_refused(velocities: Callable[[Trajectory], FloatArray]) -> None:
    leg = time_waypoints(np.vstack([PARK, PARK + 0.8 * np.eye(7)[0]]))
    wrong = Trajectory(ARM_JOINTS, leg.t, leg.q, velocities(leg))
    assert refusal(wrong).code is ErrorCode.EXECUTION_FAILED


def test_the_cubics_between_samples_are_what_scipy_makes_of_them() -> None:
    leg = time_waypoints(np.vstack([PARK, NAMED_STATES["Home"]]))
    spline = CubicHermiteSpline(leg.t, leg.q, leg.qd)
    middles = (leg.t[:-1] + leg.t[1:]) / 2.0
    np.testing.assert_allclose(between(leg)[1::2], spline(middles), atol=1e-12)
    ends = np.concatenate([leg.t[:-1] + 1e-9, leg.t[1:] - 1e-9])
    np.testing.assert_allclose(cubic_acceleration(leg), np.abs(spline(ends, 2)).max(axis=0), rtol=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.floats(1e-4, 0.3), st.integers(2, 60), st.floats(0.001, 0.02))
def test_whatever_passes_keeps_the_limits_between_the_samples_too(seed: int, size: float, n: int, dt: float) -> None:
    """Random arrays, and random changes of a good leg: either refused, or the cubics through them keep all limits."""
    rng = np.random.default_rng(seed)
    leg = time_waypoints(np.vstack([PARK, PARK + rng.uniform(-0.3, 0.3, 7)]))
    noisy = Trajectory(ARM_JOINTS, leg.t, leg.q + size * 1e-3 * rng.standard_normal(leg.q.shape), leg.qd)
    drift = np.cumsum(rng.uniform(-1.0, 1.0, (n, 7)), axis=0) * size * dt
    walk = Trajectory(ARM_JOINTS, np.arange(n) * dt, PARK + drift - drift[0], np.gradient(drift, dt, axis=0))
    for trajectory in (leg, noisy, walk):
        try:
            check_trajectory(trajectory, MAX_OPENING, LIMITS, KINEMATICS)
        except ToolError:
            assert trajectory is not leg or outside(leg.q) > 0.0
            continue
        spline = CubicHermiteSpline(trajectory.t, trajectory.q, trajectory.qd)
        fine = np.linspace(0.0, trajectory.t[-1], 20 * len(trajectory.t))
        assert (np.abs(spline(fine, 1)) < 1.03 * VELOCITY_LIMITS).all()
        assert (np.abs(spline(fine, 2)) < 1.051 * ACCELERATION_LIMITS).all()
        assert outside(spline(fine[::5])) < 0.004


def test_what_the_time_laws_make_passes_at_any_speed() -> None:
    s = np.linspace(0.0, 1.0, 40)
    curved = PARK + 0.2 * np.stack([np.sin((2 + joint) * s) for joint in range(7)], axis=1)
    for speed in (1.0, 0.7, 0.3, 0.05):
        limits = MotionLimits(speed=speed)
        for leg in (time_waypoints(np.vstack([PARK, PARK + 0.3, PARK]), speed), time_path(s, curved, speed)):
            check_trajectory(leg, MAX_OPENING, limits, KINEMATICS)
            assert overload(leg, speed) <= 1.0 + 1e-3


def test_a_guarded_arm_is_not_given_a_sparse_lift() -> None:
    """A continuation that is planned on the way is checked like everything else."""

    class Untouched:
        def __getattr__(self, name: str) -> object:
            raise AssertionError(f"the arm was asked for {name}")

    class Arm(Untouched):
        def state(self) -> object:
            return type("State", (), {"opening_m": MAX_OPENING})()

    guard = MotionGuard()
    motion = PlannedMotion("Test", (), KINEMATICS.fk(PARK), "nothing", None)
    with (
        guard.permit(lambda: motion, MAX_OPENING, lambda motion: None),
        pytest.raises(ToolError, match="apart") as caught,
    ):
        GuardedArm(Arm(), guard).follow(two_samples(PARK, 3.0))  # type: ignore[arg-type]
    assert caught.value.code is ErrorCode.EXECUTION_FAILED


def on_the_way(trajectory: Trajectory) -> FloatArray:
    """What joint_trajectory_controller runs, a state every millisecond: cubics by positions and velocities."""
    curve = CubicHermiteSpline(trajectory.t, trajectory.q, trajectory.qd)
    return np.asarray(curve(np.arange(0.0, trajectory.duration, 0.001)))


def test_a_planned_path_meets_nothing_between_its_samples_either() -> None:
    """Three of 934 paths did, by 0.3 to 0.5 mm, when they were looked at every 0.005 rad from sample to sample."""
    question = draw_question(19, GEN3)
    asked: list[tuple[int, FloatArray, Goal, CollisionScene, float]] = [
        (0, question.start, question.goal, question.scene, question.speed)
    ]
    for world, seed in (("clutter", 50198), ("bin", 50160)):
        problem = draw_problem(world, seed, GEN3)
        asked.append((seed, problem.start, JointGoal(problem.goal), problem.scene, 1.0))
    for seed, start, goal, scene, speed in asked:
        path = on_the_way(EmbeddedPlanner(seed, GEN3).plan(start, goal, scene, speed))
        checker = Checker(SceneModel(scene, GEN3), start)
        assert all(checker.free(q) for q in path)
