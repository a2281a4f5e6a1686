"""The simulated arm: it follows, it stops when told and stays stopped, and it reports what it measures."""

import signal
import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.gen3 import ACCELERATION_LIMITS, ARM_JOINTS, MAX_OPENING, VELOCITY_LIMITS
from tests.refusals import refused
from toolhand.sim.arm import SimArm
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.world import World
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import FloatArray, MotionStatus, Trajectory


@pytest.fixture
def world() -> World:
    return World(generate_scene(0, required=("toy block",), n_objects=1))


@pytest.fixture
def arm(world: World) -> SimArm:
    return SimArm(world)


def sweep(world: World, duration: float = 2.0, **turns: float) -> Trajectory:
    """From rest to rest, turning the named joints by these angles [rad]."""
    delta = np.array([turns.get(name, 0.0) for name in ARM_JOINTS])
    t = np.linspace(0.0, duration, 101)
    share = (1.0 - np.cos(np.pi * t / duration)) / 2.0
    rate = np.pi / 2.0 / duration * np.sin(np.pi * t / duration)
    return Trajectory(ARM_JOINTS, t, world.arm_position + share[:, None] * delta, rate[:, None] * delta)


class Observer:
    """Sees every step of the world and does something at one moment."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch, after_s: float, act: Callable[[], None]) -> None:
        self.references: list[FloatArray] = []
        step, due = world.step, world.time + after_s
        acted = False

        def observed(count: int = 1) -> None:
            nonlocal acted
            step(count)
            self.references.append(world.arm_reference)
            if world.time >= due and not acted:
                acted = True
                act()

        monkeypatch.setattr(world, "step", observed)


def place_block_between_the_pads(world: World) -> None:
    world.model.opt.gravity[:] = 0.0
    hand = world.data.body("end_effector_link")
    address = world.model.jnt_qposadr[world.model.body("toy_block_1").jntadr[0]]
    world.data.qpos[address : address + 3] = hand.xpos + hand.xmat.reshape(3, 3)[:, 2] * 0.135
    world.data.qpos[address + 3 : address + 7] = hand.xquat


def test_a_trajectory_is_followed_to_its_end(world: World, arm: SimArm) -> None:
    trajectory = sweep(world, joint_1=0.5, joint_4=0.3)
    outcome = arm.follow(trajectory)
    assert outcome.status is MotionStatus.SUCCEEDED
    assert np.abs(arm.state().q - trajectory.q[-1]).max() < 0.01
    assert outcome.max_error_rad < 0.01
    assert trajectory.duration <= outcome.duration < 1.1 * trajectory.duration + 0.5


@pytest.mark.parametrize("turns", [(0, 0, -1, 0, 0, 0, 0), (1, 0, 2, 0, -1, 0, 3)])
def test_whole_turns_of_continuous_joints_do_not_count(world: World, arm: SimArm, turns: tuple[int, ...]) -> None:
    before, trajectory = world.arm_position, sweep(world, joint_1=0.3, joint_3=-0.2)
    outcome = arm.follow(replace(trajectory, q=trajectory.q + 2.0 * np.pi * np.asarray(turns)))
    assert outcome.status is MotionStatus.SUCCEEDED
    assert np.abs(world.arm_position - trajectory.q[-1]).max() < 0.01
    assert np.abs(world.arm_position - before).max() < 0.5, "the way round is not taken"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda leg: replace(leg, q=leg.q + 2.0 * np.pi * np.eye(7)[3]),
        lambda leg: replace(leg, q=leg.q + 0.1),
        lambda leg: replace(leg, q=np.where(np.arange(101)[:, None] == 50, leg.q + 0.1, leg.q)),
        lambda leg: replace(leg, q=np.where(np.arange(101)[:, None] == 50, np.nan, leg.q)),
        lambda leg: replace(leg, qd=np.where(np.arange(101)[:, None] == 50, np.nan, leg.qd)),
        lambda leg: replace(leg, qd=leg.qd + 0.1),
        lambda leg: replace(leg, t=np.where(np.arange(101) == 50, np.nan, leg.t)),
        lambda leg: replace(leg, t=leg.t[::-1].copy()),
        lambda leg: replace(leg, t=np.where(np.arange(101) == 50, leg.t - 0.5, leg.t)),
        lambda leg: replace(leg, t=leg.t + 1.0),
        lambda leg: replace(leg, t=leg.t[:50]),
        lambda leg: replace(leg, q=leg.q[:, :6]),
        lambda leg: replace(leg, joint_names=leg.joint_names[::-1]),
        lambda leg: replace(leg, t=leg.t[:1], q=leg.q[:1], qd=leg.qd[:1]),
        lambda leg: replace(leg, t=leg.t[:0], q=leg.q[:0], qd=leg.qd[:0]),
    ],
)
def test_nonsense_is_refused_before_the_first_step(
    world: World, arm: SimArm, spoil: Callable[[Trajectory], Trajectory]
) -> None:
    before = world.time
    with refused(ErrorCode.EXECUTION_FAILED):
        arm.follow(spoil(sweep(world, joint_1=0.3)))
    assert world.time == before


def test_time_of_the_first_motion_is_kept_from_the_first_trajectory_on(world: World, arm: SimArm) -> None:
    assert arm.first_motion_at is None
    arm.follow(sweep(world, 0.5, joint_7=0.1))
    first = arm.first_motion_at
    assert first is not None
    arm.follow(sweep(world, 0.5, joint_7=0.1))
    assert arm.first_motion_at == first


def test_the_state_is_what_the_physics_says(world: World, arm: SimArm) -> None:
    state = arm.state()
    assert np.array_equal(state.q, world.arm_position)
    assert np.array_equal(state.qd, world.arm_velocity)
    assert state.opening_m == pytest.approx(MAX_OPENING, abs=0.001)
    assert state.stamp == world.time


def test_a_stop_from_another_thread_brakes_within_the_limits_and_holds(
    world: World, arm: SimArm, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop() -> None:
        thread = threading.Thread(target=arm.stop)
        thread.start()
        thread.join()

    trajectory = sweep(world, joint_1=1.2, joint_6=0.4)
    observer = Observer(world, monkeypatch, 1.0, stop)
    outcome = arm.follow(trajectory)

    assert outcome.status is MotionStatus.STOPPED
    assert outcome.duration < 1.0 + np.max(VELOCITY_LIMITS / ACCELERATION_LIMITS) + 0.5
    velocity = np.diff(observer.references, axis=0) / world.timestep
    assert np.abs(velocity[400]).max() > 0.5
    braking = np.abs(np.diff(velocity[505:], axis=0)) / world.timestep
    assert (braking.max(axis=0) < 1.05 * ACCELERATION_LIMITS).all()
    assert np.abs(velocity).max() < np.max(VELOCITY_LIMITS)
    assert np.abs(world.arm_velocity).max() < 0.01

    stopped_at = world.arm_position
    assert np.abs(stopped_at - trajectory.q[-1]).max() > 0.3
    world.step(1000)
    assert np.abs(world.arm_position - stopped_at).max() < 2e-3


def test_a_stop_from_a_signal_handler_stops_the_motion(
    world: World, arm: SimArm, monkeypatch: pytest.MonkeyPatch
) -> None:
    previous = signal.signal(signal.SIGUSR1, lambda number, frame: arm.stop())
    try:
        Observer(world, monkeypatch, 0.5, lambda: signal.raise_signal(signal.SIGUSR1))
        assert arm.follow(sweep(world, joint_1=0.8)).status is MotionStatus.STOPPED
    finally:
        signal.signal(signal.SIGUSR1, previous)


def test_a_stop_while_the_arm_settles_still_counts(world: World, arm: SimArm, monkeypatch: pytest.MonkeyPatch) -> None:
    trajectory = sweep(world, 2.0, joint_2=1.8)
    Observer(world, monkeypatch, trajectory.duration + 0.1, arm.stop)
    assert arm.follow(trajectory).status is MotionStatus.STOPPED


def test_a_latched_stop_refuses_every_motion_until_it_is_reset(world: World, arm: SimArm) -> None:
    arm.stop()
    before = world.time
    assert arm.follow(sweep(world, joint_1=0.2)).status is MotionStatus.STOPPED
    assert arm.move_gripper(0.0).status is MotionStatus.STOPPED
    assert world.time == before
    assert arm.first_motion_at is None
    arm.reset_stop()
    assert arm.follow(sweep(world, joint_1=0.2)).status is MotionStatus.SUCCEEDED
    assert arm.move_gripper(0.0).status is MotionStatus.SUCCEEDED


def test_a_stop_halts_the_jaws_where_they_are(world: World, arm: SimArm, monkeypatch: pytest.MonkeyPatch) -> None:
    Observer(world, monkeypatch, 0.3, arm.stop)
    outcome = arm.move_gripper(0.0)
    assert outcome.status is MotionStatus.STOPPED
    world.step(500)
    assert world.opening_m > 0.03


def test_a_motion_blocked_by_the_table_fails_and_says_so(world: World, arm: SimArm) -> None:
    outcome = arm.follow(sweep(world, 3.0, joint_2=2.4))
    assert outcome.status is MotionStatus.FAILED
    assert "something is in the way" in outcome.message
    assert outcome.max_error_rad > 0.2
    assert np.abs(world.arm_velocity).max() < 0.05


def test_a_goal_that_is_missed_at_the_deadline_fails_and_says_by_how_much(world: World, arm: SimArm) -> None:
    trajectory = sweep(world, 3.0, joint_2=1.8)
    outcome = arm.follow(trajectory)
    assert outcome.status is MotionStatus.FAILED
    assert outcome.message == f"the goal was missed by {outcome.max_error_rad:.3f} rad at the deadline"
    assert outcome.duration == pytest.approx(1.1 * trajectory.duration + 0.5, abs=0.01)


def test_a_trajectory_that_starts_elsewhere_is_refused_before_anything_moves(world: World, arm: SimArm) -> None:
    elsewhere = sweep(world, joint_1=0.2)
    shifted = Trajectory(elsewhere.joint_names, elsewhere.t, elsewhere.q + 0.1, elsewhere.qd)
    before = world.time
    with refused(ErrorCode.EXECUTION_FAILED, r"starts 0\.10 rad away from where the arm is"):
        arm.follow(shifted)
    assert world.time == before


@pytest.mark.parametrize("opening", [-0.001, 0.09, float("nan")])
def test_an_opening_beyond_the_stroke_is_refused_with_the_range(world: World, arm: SimArm, opening: float) -> None:
    before = world.time
    with refused(ErrorCode.INVALID_ARGUMENT, r"must be between 0 and 0\.085 m, got"):
        arm.move_gripper(opening)
    assert world.time == before


@pytest.mark.parametrize("opening", [0.0, 0.02, 0.05, 0.085])
def test_free_jaws_arrive_where_they_are_sent(arm: SimArm, opening: float) -> None:
    outcome = arm.move_gripper(opening)
    assert outcome.status is MotionStatus.SUCCEEDED
    assert outcome.opening_m == pytest.approx(opening, abs=0.002)
    assert not outcome.stalled


def test_jaws_that_close_on_a_cube_stall_at_its_width(world: World, arm: SimArm) -> None:
    place_block_between_the_pads(world)
    outcome = arm.move_gripper(0.0)
    assert outcome.status is MotionStatus.SUCCEEDED
    assert outcome.stalled
    assert outcome.opening_m == pytest.approx(0.046, abs=0.002)
    assert arm.state().opening_m == outcome.opening_m


def test_jaws_that_never_rest_fail_at_the_deadline(world: World, arm: SimArm, monkeypatch: pytest.MonkeyPatch) -> None:
    step = world.step

    def shaken(count: int = 1) -> None:
        step(count)
        world.data.qpos[world.model.joint("robotiq_85_left_knuckle_joint").qposadr] += 0.02 * (-1) ** len(shakes)
        shakes.append(world.time)

    shakes: list[float] = []
    monkeypatch.setattr(world, "step", shaken)
    outcome = arm.move_gripper(0.04)
    assert outcome.status is MotionStatus.FAILED
    assert outcome.message == "the jaws did not come to rest in time"
