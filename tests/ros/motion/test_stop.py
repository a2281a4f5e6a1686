"""The stop: latched, confirmed by measurement, honest where it cannot be confirmed; at random moments of a task."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from simulation_interfaces.srv import ResetSimulation
from std_srvs.srv import Trigger
from toolhand_interfaces.msg import StopState

from tests.gen3 import NAMED_STATES
from toolhand.bench.ros import stop
from toolhand.bench.ros.stop import measure_stops, stop_rows
from toolhand.tool_nodes.ros.stop_state import QOS

Record = Callable[[str, object], None]


def test_stops_at_random_moments(sim_cell: Any, record_property: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stop, "FAST", 16.0)  # between the stops, where nothing is measured
    samples = measure_stops(sim_cell.operator, n=4, seed=1)
    rows = stop_rows(samples)
    record_property("rows", rows)
    print(*rows, Counter(sample.phase for sample in samples), sep="\n")
    for sample in samples:
        assert sample.confirmed, sample
        assert sample.refused, sample
        assert sample.quiet, sample
        assert sample.usable, sample
    assert sum(sample.speed > stop.STILL for sample in samples) >= 2
    assert sum(not sample.next_code for sample in samples) >= 1  # an object that was moved is not where it was


def test_a_stop_latches_until_it_is_reset(sim_cell: Any, target: Any) -> None:
    sim_cell.call(ResetSimulation, "reset_simulation")
    sim_cell.set("motion", "seed", 0)
    goal = sim_cell.grasp(target.T_base_gripper)
    sim_cell.wait(lambda: sim_cell.speed > 0.2, "motion")
    answer = sim_cell.stop()
    assert answer.success, answer.message
    assert "at rest" in answer.message
    _, result = goal.end()
    assert result.status.error_code == "STOPPED"
    assert "during the move to the pre-grasp" in result.status.message
    commands = sim_cell.commands
    for _ in range(2):
        _, result = sim_cell.grasp(target.T_base_gripper).end()
        assert result.status.error_code == "STOPPED"
        assert "/reset_stop" in result.status.hint
        assert sim_cell.stop().success, "a second stop is a stop too"
        assert not sim_cell.call(Trigger, "return_to_park").success
    assert sim_cell.commands == commands
    assert sim_cell.reset_stop().success
    assert "No stop" in sim_cell.reset_stop().message
    _, result = sim_cell.grasp(target.T_base_gripper).end()
    assert result.status.success, result.status.message


def test_an_arm_that_was_stopped_leaves_the_view_when_asked_to(sim_cell: Any, target: Any) -> None:
    sim_cell.call(ResetSimulation, "reset_simulation")
    sim_cell.set("motion", "seed", 0)
    goal = sim_cell.grasp(target.T_base_gripper)
    sim_cell.wait(lambda: any("approach" in text for text in goal.stages), "the approach")
    assert sim_cell.stop().success
    goal.end()
    sim_cell.reset_stop()
    answer = sim_cell.call(Trigger, "return_to_park")
    assert answer.success, answer.message
    commands = sim_cell.commands
    assert sim_cell.call(Trigger, "return_to_park").success, "it is there already"
    assert sim_cell.commands == commands
    assert np.abs(sim_cell.motion._arm.state().q - NAMED_STATES["Park"]).max() < 0.05


def test_without_joint_states_a_stop_says_that_it_is_not_confirmed(make_cell: Any) -> None:
    cell = make_cell(stop_deadline_s=0.3)
    answer = cell.stop()
    assert not answer.success
    assert "could not be confirmed" in answer.message
    assert "no joint states" in answer.message
    assert "Nobody serves" in answer.message
    assert cell.motion._latch.is_set, "it is latched all the same"


@pytest.mark.parametrize("name", ["stop_deadline_s", "availability_deadline_s", "still_velocity"])
def test_deadlines_and_thresholds_must_be_positive(make_cell: Any, name: str) -> None:
    with pytest.raises(Exception, match=name):
        make_cell(**{name: 0.0})


@pytest.fixture
def anew(sim_cell: Any) -> Iterator[Any]:
    """The world as in the beginning, and motions allowed."""
    sim_cell.call(ResetSimulation, "reset_simulation")
    sim_cell.set("motion", "seed", 0)
    yield sim_cell
    assert sim_cell.stop().success
    assert sim_cell.reset_stop().success


def stop_and_reset_once(cell: Any, commands: list[int]) -> None:
    """A stop that is confirmed and reset before anybody else does anything more."""
    if commands:
        return
    commands.append(-1)
    answer = cell.stop()
    assert answer.success, answer.message
    commands[0] = cell.commands
    assert cell.reset_stop().success


@pytest.mark.parametrize("moment", ["a picture", "a plan", "opening", "the approach", "closing", "the lift"])
def test_a_goal_that_was_stopped_is_not_brought_back_by_a_reset(
    anew: Any, target: Any, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, commands = anew, list[int]()
    manipulator = cell.motion._manipulator
    camera, planner = cell.motion._camera, manipulator._planner._planner
    capture, plan, enter = camera.capture, planner.plan, manipulator._on_stage

    def stopping(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            if moment == name or moment in arguments[:1]:
                stop_and_reset_once(cell, commands)
            return work(*arguments)

        return wrapped

    monkeypatch.setattr(camera, "capture", stopping("a picture", capture))
    monkeypatch.setattr(planner, "plan", lambda *arguments: stopping("a plan", lambda *_: plan(*arguments))())
    monkeypatch.setattr(manipulator, "_on_stage", stopping("a stage", enter))
    _, result = cell.grasp(target.T_base_gripper).end()
    assert result.status.error_code == "STOPPED", result.status
    assert commands
    cell.wait(lambda: cell.speed < 0.01, "measurements from after the stop")  # older ones may still be on their way
    cell.assert_still()
    assert cell.commands == commands[0], "nothing was commanded after the stop"


def test_a_goal_that_waits_for_its_thread_is_stopped_too(
    anew: Any, target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is done yet, and nothing is forgotten."""
    cell, commands = anew, list[int]()
    work = cell.motion._work

    def late(*arguments: Any) -> None:
        stop_and_reset_once(cell, commands)
        work(*arguments)

    monkeypatch.setattr(cell.motion, "_work", late)
    _, result = cell.grasp(target.T_base_gripper).end()
    assert result.status.error_code == "STOPPED", result.status
    answer = cell.call(Trigger, "return_to_park")
    assert answer.success, "it was asked for after the reset"
    assert cell.commands == commands[0]


def test_the_state_of_the_stop_is_told_to_who_comes_late(anew: Any) -> None:
    cell, states, heard = anew, list[Any](), threading.Event()
    assert cell.stop().success
    subscription = cell.operator.create_subscription(
        StopState, "stop_state", lambda state: (states.append(state), heard.set()), QOS
    )
    try:
        assert heard.wait(20.0)
        assert states[-1].latched
        assert states[-1].confirmed
        stops = states[-1].stops
        assert cell.reset_stop().success
        cell.wait(lambda: not states[-1].latched, "the reset")
        assert states[-1].stops == stops
    finally:
        cell.operator.destroy_subscription(subscription)
