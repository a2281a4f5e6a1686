"""RosArm over drivers that misbehave: every fault ends in time, with a sentence, and the next motion works."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.ros.motion.conftest import a_way
from tests.ros.motion.drivers import Drivers
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.calling import Deadlines
from toolhand.tool_nodes.ros.controllers import RosArm
from toolhand.tool_nodes.stop_latch import StopLatch
from toolhand.tool_nodes.types import MotionOutcome, MotionStatus

Record = Callable[[str, object], None]
HASTY = Deadlines(availability_s=0.6, response_s=0.6, motion_s=30.0)


@pytest.fixture
def cell(make_cell: Any) -> Iterator[Any]:
    cell = make_cell(availability_deadline_s=0.6, response_deadline_s=0.6, stop_deadline_s=2.0)
    cell.drivers = cell.spin(Drivers)
    cell.wait(lambda: cell.motion._stop.joints.newest is not None, "joint states")
    yield cell
    cell.drivers.fault = ""
    cell.drivers.release.set()


class Running:
    """A motion in a thread of its own."""

    def __init__(self, arm: RosArm, by: float = 0.3) -> None:
        self.outcome: MotionOutcome | ToolError | None = None
        self._trajectory = a_way(arm, by)
        self._arm = arm
        self.began_s = time.monotonic()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.outcome = self._arm.follow(self._trajectory)
        except ToolError as error:
            self.outcome = error

    def end(self) -> Any:
        self._thread.join(40.0)
        assert not self._thread.is_alive()
        return self.outcome


def still_works(cell: Any, arm: RosArm) -> None:
    """The next motion is carried out."""
    cell.drivers.fault = ""
    cell.drivers.silent = cell.drivers.frozen = False
    cell.drivers.release.set()
    cell.wait(lambda: cell.motion._stop.joints.newest.received_s > time.monotonic() - 0.1, "joint states")
    cell.wait(lambda: float(np.abs(cell.drivers.qd).max()) == 0.0, "rest")
    outcome = arm.follow(a_way(arm, 0.1))
    assert outcome.status is MotionStatus.SUCCEEDED, outcome
    assert not cell.drivers.qd.any()


MEASURED_LATE = 5e-3
"""A result may come before the last measurement of the joints does; half of what a goal tolerates [rad], [m]."""


def test_a_motion_arrives(cell: Any, arm: RosArm) -> None:
    trajectory = a_way(arm, 0.1)
    outcome = arm.follow(trajectory)
    assert outcome.status is MotionStatus.SUCCEEDED
    assert outcome.max_error_rad < MEASURED_LATE
    assert outcome.duration == pytest.approx(trajectory.duration, abs=0.2)
    assert np.allclose(arm.state().q, trajectory.q[-1], atol=MEASURED_LATE)
    closed = arm.move_gripper(0.02)
    assert closed.status is MotionStatus.SUCCEEDED
    assert closed.opening_m == pytest.approx(0.02, abs=MEASURED_LATE)
    assert arm.state().opening_m == pytest.approx(0.02, abs=MEASURED_LATE)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("reject", "the controller refused the goal"),
        ("abort", "Aborted due to path tolerance violation"),
        ("hang", "did not finish within"),
    ],
)
def test_a_controller_that_fails(cell: Any, arm: RosArm, fault: str, sentence: str, record_property: Record) -> None:
    cell.drivers.fault = fault
    trajectory = a_way(arm, 0.1)
    began_s = time.monotonic()
    outcome = arm.follow(trajectory)
    record_property("reaction_s", round(time.monotonic() - began_s - trajectory.duration, 3))
    assert outcome.status is MotionStatus.FAILED
    assert sentence in outcome.message
    still_works(cell, arm)


def test_a_controller_that_ignores_even_a_cancel(cell: Any, arm: RosArm, record_property: Record) -> None:
    cell.drivers.fault = "deaf"
    running = Running(arm, 0.1)
    error = running.end()
    record_property("reaction_s", round(time.monotonic() - running.began_s, 3))
    assert isinstance(error, ToolError)
    assert error.code is ErrorCode.TIMEOUT
    assert "although it was cancelled" in error.message
    still_works(cell, arm)


def test_a_controller_that_never_answers_a_goal(cell: Any, arm: RosArm, record_property: Record) -> None:
    cell.drivers.fault = "mute"
    running = Running(arm)
    error = running.end()
    record_property("reaction_s", round(time.monotonic() - running.began_s, 3))
    assert error.code is ErrorCode.TIMEOUT
    assert "did not answer the goal" in error.message
    cell.drivers.release.set()
    cell.wait(lambda: cell.drivers.cancels == 1, "the late goal to be cancelled")
    still_works(cell, arm)


@pytest.mark.parametrize("what", ["silent", "frozen"])
def test_a_robot_whose_state_or_clock_stands_still(cell: Any, arm: RosArm, what: str, record_property: Record) -> None:
    running = Running(arm, 0.5)
    cell.wait(lambda: cell.speed > 0.01, "motion")
    setattr(cell.drivers, what, True)
    changed_s = time.monotonic()
    error = running.end()
    record_property("reaction_s", round(time.monotonic() - changed_s, 3))
    assert isinstance(error, ToolError), error
    assert error.code is ErrorCode.UNAVAILABLE
    assert ("silent" if what == "silent" else "stands still") in error.message
    cell.wait(lambda: cell.drivers.cancels == 1, "the goal to be cancelled")
    still_works(cell, arm)


def test_a_motion_that_nobody_measures_is_cancelled_long_before_the_robot_counts_as_gone(
    cell: Any, arm: RosArm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arm, "_deadlines", replace(arm._deadlines, availability_s=30.0))
    cell.drivers.fault = "hang"
    running = Running(arm)
    cell.wait(lambda: cell.speed > 0.01, "motion")
    cell.drivers.silent = True
    cell.wait(lambda: cell.drivers.cancels == 1, "the goal to be cancelled")
    cell.drivers.silent = False
    outcome = running.end()
    assert (outcome.status, outcome.faulty) == (MotionStatus.FAILED, True)
    assert "not measured" in outcome.message
    still_works(cell, arm)


def test_a_pause_shorter_than_the_deadline_does_no_harm(cell: Any, arm: RosArm) -> None:
    running = Running(arm, 0.3)
    cell.wait(lambda: cell.speed > 0.01, "motion")
    cell.drivers.frozen = True
    time.sleep(0.3)
    cell.drivers.frozen = False
    assert running.end().status is MotionStatus.SUCCEEDED


@pytest.mark.parametrize("jump_s", [10.0, -10.0])
def test_a_clock_that_jumps_does_no_harm(cell: Any, arm: RosArm, jump_s: float) -> None:
    cell.drivers.offset_s = 20.0
    running = Running(arm, 0.3)
    cell.wait(lambda: cell.speed > 0.01, "motion")
    cell.drivers.offset_s += jump_s
    outcome = running.end()
    assert outcome.status is MotionStatus.SUCCEEDED, outcome
    still_works(cell, arm)


def test_an_arm_that_does_not_come_to_rest_is_told_and_is_not_reset_before_it_does(cell: Any, arm: RosArm) -> None:
    cell.drivers.fault = "restless"
    answer = cell.stop()
    assert not answer.success
    assert "0.100 rad/s" in answer.message
    for _ in range(2):
        answer = cell.reset_stop()
        assert not answer.success
        assert "not confirmed" in answer.message
        assert "toolhand stop" in answer.message
        assert cell.motion._latch.is_set
    cell.drivers.fault = ""
    assert not cell.reset_stop().success, "nobody has measured it since"
    assert cell.stop().success
    assert cell.reset_stop().success
    still_works(cell, arm)


def test_a_stop_whose_confirmation_came_too_late_does_not_count_for_the_one_before(cell: Any, arm: RosArm) -> None:
    assert cell.stop().success
    cell.drivers.fault = "restless"
    assert not cell.stop().success
    assert not cell.reset_stop().success, "the last stop counts"
    cell.drivers.fault = ""
    assert cell.stop().success
    assert cell.reset_stop().success


def test_jaws_that_do_not_obey(cell: Any, arm: RosArm) -> None:
    cell.drivers.fault = "jam"
    outcome = arm.move_gripper(0.0)
    assert outcome.status is MotionStatus.FAILED
    assert "did not move" in outcome.message
    still_works(cell, arm)


def test_a_stop_ends_a_motion_of_anybody(cell: Any, arm: RosArm) -> None:
    running = Running(arm, 1.0)
    cell.wait(lambda: cell.speed > 0.01, "motion")
    answer = cell.stop()
    assert answer.success, answer.message
    assert running.end().status is MotionStatus.STOPPED
    assert cell.drivers.cancels == 1
    assert arm.follow(a_way(arm, 0.1)).status is MotionStatus.STOPPED
    assert arm.move_gripper(0.01).status is MotionStatus.STOPPED
    assert cell.drivers.goals == 1, "nothing was sent after the stop"
    assert cell.reset_stop().success
    still_works(cell, arm)


def test_a_goal_that_was_on_its_way_when_the_stop_came_is_cancelled(cell: Any, arm: RosArm) -> None:
    cell.drivers.fault = "mute"  # the goal has been sent, the controller has not taken it yet
    running = Running(arm, 1.0)
    time.sleep(0.1)
    stopping = threading.Thread(target=cell.stop)
    stopping.start()
    cell.wait(lambda: cell.motion._latch.is_set, "the latch")
    cell.drivers.fault = ""
    cell.drivers.release.set()
    outcome = running.end()
    stopping.join()
    assert outcome.status is MotionStatus.STOPPED, outcome
    assert cell.drivers.cancels == 1
    cell.reset_stop()
    still_works(cell, arm)


def test_a_stop_queues_behind_nobody(cell: Any, arm: RosArm) -> None:
    """Every thread of the motion node's executor is taken, and would be for ever."""
    running = Running(arm, 1.0)
    cell.wait(lambda: cell.speed > 0.01, "motion")
    blocked = threading.Event()
    for _ in range(8):
        cell.motion.executor.create_task(blocked.wait)
    request = cell.motion.executor.create_task(lambda: None)
    answer: list[Any] = []
    stopping = threading.Thread(target=lambda: answer.append(cell.stop()))
    stopping.start()
    cell.wait(lambda: cell.drivers.cancels == 1, "the controllers")
    assert not request.done(), "the executor is blocked all the while"
    blocked.set()
    stopping.join()
    assert answer[0].success, answer[0].message
    outcome = running.end()
    assert getattr(outcome, "status", None) is MotionStatus.STOPPED, outcome
    cell.reset_stop()
    still_works(cell, arm)


def test_a_latch_knows_what_is_on_its_way() -> None:
    latch = StopLatch()
    with latch.goal_on_its_way(), latch.goal_on_its_way():
        assert not latch.quiet
    assert latch.quiet
