"""The motion that waits, as pages share it: one answer, by the operator's page, to the very motion that was shown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.console.fake_robot import FakeRobot
from tests.console.test_console_state import ended
from tests.guarded import KINEMATICS, a_motion, turned
from tests.waiting import until
from toolhand.agent_node.pointed import PointedPoint
from toolhand.console.approving import Approvals, MotionTimeline
from toolhand.console.console_state import ConsoleState
from toolhand.console.robot import SpokenWords, WaitingMotion
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest, make_request
from toolhand.tool_nodes.results import ErrorCode, ToolError

REQUEST = make_request(a_motion(0.085, turned(0.3), 0.0, turned(-1.0)), "7", KINEMATICS)
DECISION = Decision(True, "", REQUEST.hash, "test")


class Clock:
    """Time that a test sets."""

    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


def operators_only(page: str) -> None:
    if page != "operator":
        raise ToolError(ErrorCode.NOT_APPROVED, "Only the operator's page may answer.")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def robot() -> FakeRobot:
    return FakeRobot()


@pytest.fixture
def approvals(robot: FakeRobot, clock: Clock) -> Iterator[Approvals]:
    made = Approvals(robot, operators_only, clock)
    made.attend(True)
    yield made
    made.attend(False)


def waits(robot: FakeRobot, request: MotionRequest = REQUEST, expires_s: float = 160.0) -> str:
    robot.ask_approval(WaitingMotion(request, expires_s))
    return request.hash


def test_a_card_is_made_of_the_legs_and_answered_once(approvals: Approvals, robot: FakeRobot) -> None:
    assert approvals.card.motion is None
    request_hash = waits(robot)
    card = approvals.card
    assert card.may_be_answered
    assert card.steps == REQUEST.summary
    assert approvals.left_s() == 60.0
    assert approvals.answer("operator", request_hash, True) == ""
    assert approvals.card.answer == "approved"
    assert not approvals.card.may_be_answered
    assert "already" in approvals.answer("operator", request_hash, False)
    robot.ask_approval(None)
    assert approvals.card.motion is None
    assert approvals.card.said == "The motion is approved."
    assert "No motion waits" in approvals.answer("operator", request_hash, True)
    (decision,) = robot.decisions
    assert (decision.approved, decision.hash, decision.by) == (True, request_hash, "console")


def test_nothing_is_listened_to_without_an_operator(approvals: Approvals, robot: FakeRobot) -> None:
    assert robot.listening["motions"] == 1
    approvals.attend(True)
    assert robot.listening["motions"] == 1
    waits(robot)
    approvals.attend(False)
    assert robot.listening["motions"] == 0
    assert approvals.card.motion is None
    assert "No motion waits" in approvals.answer("operator", REQUEST.hash, True)


@pytest.mark.parametrize(
    ("refuse", "why"),
    [
        (lambda a, r, c: a.answer("observer", waits(r), True), "Only the operator"),
        (lambda a, r, c: a.answer("", waits(r), True), "Only the operator"),
        (lambda a, r, c: a.answer("operator", waits(r)[:-1], True), "Another motion waits"),
        (lambda a, r, c: a.answer("operator", "", True), "No motion waits"),
        (lambda a, r, c: a.answer("operator", waits(r, expires_s=c.s), True), "time for an answer is over"),
        (lambda a, r, c: a.answer("operator", waits(r, replace(REQUEST, steps=())), True), "not that of its legs"),
    ],
)
def test_other_answers_are_not_sent(
    approvals: Approvals,
    robot: FakeRobot,
    clock: Clock,
    refuse: Callable[[Approvals, FakeRobot, Clock], str],
    why: str,
) -> None:
    assert why in refuse(approvals, robot, clock)
    assert robot.decisions == []


def test_a_motion_that_is_not_what_it_says_can_be_rejected_but_has_no_button(
    approvals: Approvals, robot: FakeRobot
) -> None:
    request_hash = waits(robot, replace(REQUEST, summary=("nothing moves",)))
    assert not approvals.card.may_be_answered
    assert "not that of its legs" in approvals.answer("operator", request_hash, True)
    assert approvals.answer("operator", request_hash, False, "what is that?") == ""


def test_two_answers_at_once_become_one(approvals: Approvals, robot: FakeRobot) -> None:
    for k in range(20):
        request = make_request(a_motion(turned(0.3)), str(k), KINEMATICS)
        waits(robot, request)
        robot._decision = None
        answers: list[str] = []
        start = threading.Barrier(2)

        def answer(approve: bool, request_hash: str, start: Any = start, answers: Any = answers) -> None:
            start.wait()
            answers.append(approvals.answer("operator", request_hash, approve))

        threads = [threading.Thread(target=answer, args=(yes, request.hash)) for yes in (True, False)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(bool, answers)) == [False, True]
    assert len(robot.decisions) == 20


def test_an_answer_that_is_lost_is_said_and_not_sent_again(approvals: Approvals, robot: FakeRobot) -> None:
    request_hash = waits(robot)

    def lost(decision: Any) -> str:
        raise ToolError(ErrorCode.TIMEOUT, "approve_motion did not answer.")

    robot.decide = lost  # type: ignore[method-assign]
    assert "Nobody knows whether the answer has arrived" in approvals.answer("operator", request_hash, True)
    assert "Nobody knows" in approvals.card.said
    assert "already" in approvals.answer("operator", request_hash, True)


def test_a_long_reason_is_cut(approvals: Approvals, robot: FakeRobot) -> None:
    assert approvals.answer("operator", waits(robot), False, " x" * 1000) == ""
    assert len(robot.decisions[0].reason) == 200


def test_a_timeline_is_where_the_legs_are() -> None:
    timeline = MotionTimeline(REQUEST)
    first, second = REQUEST.legs
    assert timeline.duration_s == pytest.approx(REQUEST.duration_s)
    start = timeline.at(0.0)
    assert (start.step, start.opening_m) == (1, 0.085)
    assert list(start.positions.values()) == pytest.approx(first.q[0])
    k = len(first.t) // 2
    middle = timeline.at(float(first.t[k]))
    assert (middle.step, middle.opening_m) == (2, 0.085)
    assert list(middle.positions.values()) == pytest.approx(first.q[k])
    later = timeline.at(float(first.duration + second.t[3]))
    assert (later.step, later.opening_m) == (4, 0.0)
    assert list(later.positions.values()) == pytest.approx(second.q[3])
    end = timeline.at(1e9)
    assert list(end.positions.values()) == pytest.approx(second.q[-1])
    nothing = MotionTimeline(replace(REQUEST, steps=()))
    assert (nothing.duration_s, nothing.at(0.0).positions) == (0.0, {})


def test_not_this_that_one_begins_the_command_again_before_what_waits(robot: FakeRobot) -> None:
    console_state = ConsoleState(robot)
    try:
        console_state.say(SpokenWords("wait", "here"))
        until(lambda: console_state.running)
        console_state.say(SpokenWords("hello", "here"))
        console_state.say_instead(SpokenWords("not that: this one", "here", (PointedPoint((0.25, 0.5)),)))
        until(lambda: any(said.text.startswith("not that") for said in robot.said))
        until(lambda: robot.waiting is not None)
        assert robot.waiting is not None
        assert "at (0.250, 0.500)" in robot.waiting.request.what
        assert robot.decide(replace(DECISION, hash=robot.waiting.request.hash)) == ""
        until(lambda: ended(console_state, 3))
        assert [said.text for said in robot.said] == ["wait", "not that: this one", "hello"]
        assert not console_state.held_back
        with pytest.raises(ToolError):
            console_state.say_instead(SpokenWords("", "here"))
    finally:
        console_state.close()
