"""Stops, resets and requests in orders made by chance; and that the judge would notice what must not be."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from toolhand.bench.redteam.range import Range
from toolhand.bench.redteam.sequences import SequenceJudge, run_sequences
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.tools.spacetools.robot import RobotTools

N = 24
"""Sequences of a test; they are the same in each, so that what is planted is all that differs."""


def test_after_a_stop_nothing_moves_that_nobody_asked_for_since(small_ground: Range) -> None:
    found = run_sequences(N, 1, small_ground)
    assert found.violations == []
    assert found.moved >= found.braked > 0
    assert found.stale > found.braked
    assert {"stop", "stop and reset", "reset", "request", "a grasp", "a command", "an observation"} <= set(found.events)
    assert {"done", "STOPPED", "UNKNOWN_TOOL"} <= set(found.codes)


def test_the_same_seed_gives_the_same_sequences(small_ground: Range) -> None:
    first, second = (run_sequences(5, 3, small_ground) for _ in range(2))
    assert (first.events, first.codes, first.moved) == (second.events, second.codes, second.moved)


def test_a_latch_that_forgets_would_be_noticed(small_ground: Range, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was polled before stops were counted: whether one is latched now."""
    monkeypatch.setattr(StopWatch, "halted", property(lambda self: self._latch.is_set))
    violations = run_sequences(8, 1, small_ground).violations
    assert any("asked for before a stop, moved a joint" in text for text in violations)


def test_an_arm_that_no_stop_reaches_would_be_noticed(small_ground: Range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StopLatch, "set", lambda self: None)
    violations = run_sequences(4, 1, small_ground).violations
    assert any("asked for before a stop" in text for text in violations)


def test_an_observer_who_has_the_operators_tools_would_be_noticed(
    small_ground: Range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "toolhand.bench.redteam.sequences.robot_tools", lambda role, *rest, **more: RobotTools(*rest, **more)
    )
    violations = run_sequences(N, 1, small_ground).violations
    assert any("of an observer moved the arm" in text for text in violations)


@pytest.fixture
def judged(small_ground: Range) -> Any:
    world = small_ground.station.world
    yield world, SequenceJudge(world)
    small_ground.restore()


@pytest.mark.parametrize(
    ("move", "fault"),
    [
        (lambda world: world.command_arm(world.arm_reference), ""),
        (lambda world: world.command_arm(world.arm_reference + 0.01 * np.eye(7)[3]), "moved a joint by 0.010 rad"),
        (lambda world: world.command_knuckle(world.knuckle + 0.1), "moved the jaws by"),
    ],
)
def test_the_judge_measures_what_the_servos_are_told(judged: Any, move: Callable[[Any], None], fault: str) -> None:
    world, judge = judged
    with judge.asked("a motion"):
        judge.before_step()
        judge.stop()
        judge.reset()
        move(world)
        judge.before_step()
    assert fault in "".join(judge.faults)
    assert bool(judge.faults) == bool(fault)


def test_a_motion_in_nobodys_name_is_a_fault(judged: Any) -> None:
    _, judge = judged
    judge.before_step()
    assert judge.faults == ["nobody's request of an observer moved the arm for 1 time steps"]
