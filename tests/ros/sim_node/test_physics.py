"""The physics thread: order, pace, rest, preemption and what happens when the physics fails."""

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.refusals import refused
from tests.ros.sim_node.motions import PARK, swing
from toolhand.sim.arm import Motion, StopCheck, follow_trajectory, move_knuckle
from toolhand.sim.ros.physics import MovingPart, Physics, PreemptedError
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.world import World
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import MotionOutcome, MotionStatus

PATIENCE_S = 60.0
TURN = np.array([0.6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


class Watched:
    """A physics thread and what it showed."""

    def __init__(self, factor: float, playing: bool) -> None:
        self.reports: list[str] = []
        world = World(generate_scene(0, n_objects=1))
        self.physics = Physics(
            world, lambda world, at_once: None, self.reports.append, real_time_factor=factor, playing=playing
        )
        self.physics.start()

    def wait(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < end, "this never came"
            time.sleep(0.002)


@pytest.fixture
def watch() -> Iterator[Callable[..., Watched]]:
    started: list[Watched] = []

    def start(factor: float = 1.0, playing: bool = False) -> Watched:
        started.append(Watched(factor, playing))
        return started[-1]

    yield start
    for watched in started:
        watched.physics.close()


def following(delta: np.ndarray, duration: float = 1.0) -> Callable[[World, StopCheck], Motion[MotionOutcome]]:
    return lambda world, stopped: follow_trajectory(world, swing(PARK, delta, duration), stopped)


def test_functions_run_in_one_thread_and_in_the_order_in_which_they_came(watch: Callable[..., Watched]) -> None:
    watched = watch()
    seen: list[int] = []
    threads: set[int] = set()

    def see(number: int) -> None:
        seen.append(number)
        threads.add(threading.get_ident())

    def seeing(number: int) -> Callable[[World], None]:
        return lambda world: see(number)

    for k in range(20):
        future = watched.physics.call(seeing(k))
    future.result(PATIENCE_S)
    assert seen == list(range(20))
    assert len(threads) == 1
    assert threads != {threading.get_ident()}


def test_an_exception_comes_back_with_the_future_and_the_thread_goes_on(watch: Callable[..., Watched]) -> None:
    physics = watch().physics
    with pytest.raises(ZeroDivisionError):
        physics.call(lambda world: 1 / 0).result(PATIENCE_S)
    assert physics.step(3).ended.result(PATIENCE_S) == 3


def test_a_motion_begins_before_steps_that_were_asked_for_later(watch: Callable[..., Watched]) -> None:
    physics = watch().physics
    run = physics.begin(MovingPart.ARM, following(TURN))
    physics.step(1000).ended.result(PATIENCE_S)
    outcome = run.ended.result(0)
    assert outcome.status is MotionStatus.SUCCEEDED


def test_a_request_says_whether_anything_still_moves(watch: Callable[..., Watched]) -> None:
    physics = watch().physics
    physics.begin(MovingPart.ARM, following(TURN))
    steps = physics.step(100)
    steps.ended.result(PATIENCE_S)
    assert not steps.idle
    steps = physics.step(1000)
    steps.ended.result(PATIENCE_S)
    assert steps.idle


def test_the_other_part_is_not_preempted(watch: Callable[..., Watched]) -> None:
    physics = watch().physics
    arm = physics.begin(MovingPart.ARM, following(TURN))
    jaws = physics.begin(MovingPart.GRIPPER, lambda world, stopped: move_knuckle(world, 0.8, stopped))
    again = physics.begin(MovingPart.GRIPPER, lambda world, stopped: move_knuckle(world, 0.0, stopped))
    physics.step(1500).ended.result(PATIENCE_S)
    with pytest.raises(PreemptedError):
        jaws.ended.result(0)
    assert arm.ended.result(0).status is MotionStatus.SUCCEEDED
    assert again.ended.result(0).status is MotionStatus.SUCCEEDED


def test_a_state_that_is_no_number_ends_everything_until_there_is_a_new_world(watch: Callable[..., Watched]) -> None:
    watched = watch()
    physics = watched.physics
    run = physics.begin(MovingPart.ARM, following(TURN))

    def spoil(world: World) -> None:
        world.data.qvel[:] = np.nan

    physics.call(spoil)
    with refused(ErrorCode.INTERNAL):
        physics.step(10).ended.result(PATIENCE_S)
    assert len(watched.reports) == 1
    with pytest.raises(ToolError):
        run.ended.result(PATIENCE_S)
    with pytest.raises(ToolError):
        physics.step(1).ended.result(PATIENCE_S)
    with pytest.raises(ToolError):
        physics.begin(MovingPart.ARM, following(TURN)).ended.result(PATIENCE_S)
    physics.call(lambda world: physics.replace(World(generate_scene(0, n_objects=1)))).result(PATIENCE_S)
    assert physics.step(10).ended.result(PATIENCE_S) == 10


def test_an_error_in_a_motion_ends_the_motion_only(watch: Callable[..., Watched]) -> None:
    physics = watch().physics

    def broken(world: World, stopped: StopCheck) -> Motion[MotionOutcome]:
        yield
        raise KeyError("no such thing")

    run = physics.begin(MovingPart.ARM, broken)
    assert physics.step(5).ended.result(PATIENCE_S) == 5
    with refused(ErrorCode.INTERNAL, "no such thing"):
        run.ended.result(PATIENCE_S)


def test_an_observer_that_fails_is_reported_and_nobody_waits_for_ever(watch: Callable[..., Watched]) -> None:
    watched = watch()

    def fail(world: World, at_once: bool) -> None:
        raise RuntimeError("nobody listens")

    watched.physics._observer = fail
    with pytest.raises(ToolError, match="nobody listens"):
        watched.physics.step(5).ended.result(PATIENCE_S)
    watched.wait(lambda: bool(watched.reports))
    assert watched.physics.call(lambda world: 7).result(PATIENCE_S) == 7


def test_time_keeps_to_the_wall_clock_times_the_factor(watch: Callable[..., Watched]) -> None:
    watched = watch(factor=4.0, playing=True)
    world, began = watched.physics.world, time.monotonic()
    start = world.time
    watched.wait(lambda: world.time > start + 2.0)
    # Never faster than asked; a busy machine may be slower.
    assert time.monotonic() - began > 0.45


def test_what_rests_keeps_its_place_while_time_goes_on_and_wakes_for_a_motion(watch: Callable[..., Watched]) -> None:
    watched = watch(factor=20.0, playing=True)
    physics, world = watched.physics, watched.physics.world
    watched.wait(lambda: world.time > 4.0)
    place = physics.call(lambda world: world.data.qpos.copy()).result(PATIENCE_S)
    later = world.time + 3.0
    watched.wait(lambda: world.time > later)
    assert np.array_equal(physics.call(lambda world: world.data.qpos.copy()).result(PATIENCE_S), place)
    outcome = physics.begin(MovingPart.ARM, following(TURN)).ended.result(PATIENCE_S)
    assert outcome.status is MotionStatus.SUCCEEDED
    assert np.abs(world.arm_position - PARK - TURN).max() < 0.01


def test_the_log_goes_on_while_the_physics_rests_and_does_not_grow_for_ever(
    watch: Callable[..., Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolhand.sim.ros.physics.MAX_LOG", 100)
    watched = watch(factor=100.0, playing=True)
    world = watched.physics.world
    watched.wait(lambda: world.time > 30.0)
    log = watched.physics.call(lambda world: list(world.log)).result(PATIENCE_S)
    assert 40 < len(log) <= 200
    assert np.allclose(np.diff([t for t, _ in log[-40:]]), 0.04, atol=0.03)


def test_closing_ends_what_is_on_its_way(watch: Callable[..., Watched]) -> None:
    physics = watch().physics
    run = physics.begin(MovingPart.ARM, following(TURN))
    physics.step(10).ended.result(PATIENCE_S)
    physics.close()
    with pytest.raises(ToolError):
        run.ended.result(0)
