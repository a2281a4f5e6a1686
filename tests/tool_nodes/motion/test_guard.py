"""The guard by itself, over an arm that only notes what reaches it: limits, questions, records."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.gen3 import GEN3, MAX_OPENING
from tests.guarded import (
    OVER_TABLE,
    RecordingArm,
    a_motion,
    compressed,
    line,
    permitted,
    refused,
    tip_high,
    turned,
    under_way,
)
from toolhand.tool_nodes.geometry import look_at
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest, PlannedMotion, motion_hash
from toolhand.tool_nodes.motion.guard import GuardedArm, Mode, MotionGuard, parse_mode, record, recorded, stricter
from toolhand.tool_nodes.motion.limits import MotionLimits
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Frame

# -- limits of the whole motion ------------------------------------------------------------------


@pytest.mark.parametrize("opening", [-1e-6, MAX_OPENING + 1e-6, float("nan"), float("inf")])
def test_jaws_open_between_nothing_and_their_width(opening: float) -> None:
    with (
        pytest.raises(ToolError, match=r"jaw opening must be between 0 and 0\.0\d+ m, got") as caught,
        permitted(MotionGuard(), a_motion(opening)),
    ):
        pass
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize("opening", [0.0, MAX_OPENING])
def test_the_ends_of_the_jaws_range_are_allowed(opening: float) -> None:
    guard, inner = MotionGuard(), RecordingArm()
    with permitted(guard, a_motion(opening)):
        GuardedArm(inner, guard).move_gripper(opening)
    assert inner.openings == [opening]


def test_a_motion_with_any_step_beyond_the_limits_does_not_begin() -> None:
    good, bad = turned(0.1), compressed(turned(0.1), 2.0)
    for steps in ((bad,), (good, bad), (bad, good), (0.0, bad)):
        with pytest.raises(ToolError) as caught, permitted(MotionGuard(), a_motion(*steps)):
            pytest.fail("a motion began that is too fast")
        assert caught.value.code is ErrorCode.EXECUTION_FAILED


def test_each_leg_is_checked_with_the_jaws_as_they_are_then() -> None:
    """Open jaws are wider than the box, closed ones are not; a hand that begins outside may get no further out."""
    assert tip_high(MAX_OPENING) > tip_high(0.0) + 0.02
    leg = line((0.012, 0.0, 0.0))
    guard = MotionGuard(limits=MotionLimits(low=tuple(GEN3.reach.low), high=(tip_high(0.0) + 0.02, 0.62, 0.95)))
    for opening, steps, passes in (
        (0.0, (leg,), True),
        (MAX_OPENING, (leg,), False),
        (MAX_OPENING, (0.0, leg), True),
        (0.0, (MAX_OPENING, leg), False),
    ):
        if passes:
            with permitted(guard, a_motion(*steps), opening):
                pass
        else:
            with pytest.raises(ToolError) as caught, permitted(guard, a_motion(*steps), opening):
                pytest.fail("a motion began that leaves the box")
            assert caught.value.code is ErrorCode.OUT_OF_WORKSPACE


def test_a_step_is_checked_with_the_jaws_as_the_arm_measures_them() -> None:
    leg = line((0.012, 0.0, 0.0))
    guard = MotionGuard(limits=MotionLimits(low=tuple(GEN3.reach.low), high=(tip_high(0.0) + 0.02, 0.62, 0.95)))
    closed, opened = RecordingArm(OVER_TABLE, 0.0), RecordingArm(OVER_TABLE, MAX_OPENING)
    with permitted(guard, a_motion(leg), 0.0):
        assert refused(GuardedArm(opened, guard), leg).code is ErrorCode.OUT_OF_WORKSPACE
    with permitted(guard, a_motion(leg), 0.0):
        GuardedArm(closed, guard).follow(leg)
    assert (len(opened.followed), len(closed.followed)) == (0, 1)


def test_what_the_arm_is_given_shares_no_array_with_the_caller() -> None:
    guard, inner = MotionGuard(), RecordingArm()
    leg = turned(0.2)
    with permitted(guard, a_motion(leg)):
        GuardedArm(inner, guard).follow(leg)
    (given,) = inner.followed
    for own, callers in ((given.t, leg.t), (given.q, leg.q), (given.qd, leg.qd)):
        np.testing.assert_array_equal(own, callers)
        assert not np.shares_memory(own, callers)
    assert given.joint_names == leg.joint_names


def test_a_motion_a_minute_later_is_counted_anew_and_one_a_moment_earlier_is_not() -> None:
    now = [0.0]
    guard = MotionGuard(limits=MotionLimits(motions_per_minute=1), clock=lambda: now[0])
    for now[0], passes in ((100.0, True), (159.99, False), (160.0, True), (161.0, False), (220.5, True)):
        if passes:
            with permitted(guard, a_motion(turned(0.1))):
                pass
        else:
            with pytest.raises(ToolError) as caught, permitted(guard, a_motion(turned(0.1))):
                pytest.fail("one motion too many began")
            assert caught.value.code is ErrorCode.NOT_APPROVED
            assert caught.value.hint == "Wait."


# -- the question --------------------------------------------------------------------------------


class Person:
    """Approves, after having done something."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None, reason: str = "") -> None:
        self.meanwhile, self.reason = meanwhile, reason
        self.asked: list[MotionRequest] = []

    def decide(self, request: MotionRequest) -> Decision:
        self.asked.append(request)
        self.meanwhile()
        return Decision(True, self.reason, request.hash, "person")


def test_a_person_is_asked_about_the_very_motion_and_the_world_is_looked_at_afterwards() -> None:
    order: list[object] = []
    person = Person(lambda: order.append("asked"))
    guard = MotionGuard(Mode.ASK, person)
    motion = a_motion(turned(0.1), 0.02)
    with guard.permit(lambda: motion, MAX_OPENING, order.append):
        order.append("begun")
    assert order == ["asked", motion, "begun"]
    (request,) = person.asked
    assert request.what == "Test"
    assert request.image is None
    assert request.hash == motion_hash(motion, request.request_id)
    assert len(request.request_id) == 32


class Answers:
    """Gives one answer, with the hash of the request where none is said."""

    def __init__(self, approved: object, reason: str, digest: str | None = None) -> None:
        self.answer = approved, reason, digest

    def decide(self, request: MotionRequest) -> Decision:
        approved, reason, digest = self.answer
        return Decision(approved, reason, request.hash if digest is None else digest, "person")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("approver", "sentence"),
    [
        (Answers(False, ""), "The motion was not approved; nothing has moved."),
        (Answers(False, "my hand is there."), "The motion was not approved: my hand is there; nothing has moved."),
        (Answers("yes", ""), "The motion was not approved; nothing has moved."),
        (Answers(1, ""), "The motion was not approved; nothing has moved."),
        (Answers(True, "", ""), "The approval names another motion; nothing has moved."),
        (Answers(True, "", "0" * 64), "The approval names another motion; nothing has moved."),
    ],
)
def test_only_a_plain_yes_to_this_very_request_lets_it_begin(approver: Answers, sentence: str) -> None:
    guard = MotionGuard(Mode.ASK, approver)
    with pytest.raises(ToolError) as caught, permitted(guard, a_motion(turned(0.1))):
        pytest.fail("it began")
    assert (caught.value.code, caught.value.message) == (ErrorCode.NOT_APPROVED, sentence)


def test_a_new_command_has_all_its_motions() -> None:
    guard = MotionGuard(limits=MotionLimits(motions_per_command=1))
    for _ in range(3):
        with permitted(guard, a_motion(turned(0.1))):
            pass
        with pytest.raises(ToolError, match="has used its 1 motions; nothing has moved"), permitted(guard, a_motion()):
            pytest.fail("it began")
        guard.begin_command()


def test_the_request_of_a_motion_over_an_image_shows_it() -> None:
    person = Person()
    K = np.array([[200.0, 0.0, 160.0], [0.0, 200.0, 120.0], [0.0, 0.0, 1.0]])
    rgb, depth = np.zeros((240, 320, 3), np.uint8), np.ones((240, 320), np.float32)
    frame = Frame(rgb, depth, K, look_at((1.2, 0.0, 0.8), (0.2, 0.0, 0.4)), 0.0)
    with permitted(MotionGuard(Mode.ASK, person), replace(a_motion(turned(0.5)), frame=frame)):
        pass
    image = person.asked[0].image
    assert image is not None
    assert image.any()
    assert not rgb.any()


def test_an_approval_is_used_within_thirty_seconds_of_the_answer() -> None:
    """Thinking may take long; the time runs from the answer."""
    for wait, passes in ((0.0, True), (30.0, True), (30.1, False), (300.0, False)):
        now = [0.0]
        person = Person(lambda now=now: now.__setitem__(0, now[0] + 1000.0))  # type: ignore[misc]
        guard = MotionGuard(Mode.ASK, person, clock=lambda now=now: now[0])  # type: ignore[misc]

        def look(motion: PlannedMotion, now: list[float] = now, wait: float = wait) -> None:
            now[0] += wait

        def run(guard: MotionGuard = guard, look: Callable[[PlannedMotion], None] = look) -> None:
            with guard.permit(lambda: a_motion(turned(0.1)), MAX_OPENING, look):
                pass

        if passes:
            run()
        else:
            with pytest.raises(ToolError, match="older than 30 s; nothing has moved") as caught:
                run()
            assert caught.value.code is ErrorCode.NOT_APPROVED
        assert len(person.asked) == 1


def test_a_motion_that_changes_after_the_question_is_not_the_one_that_was_approved() -> None:
    motions = iter([a_motion(turned(0.1)), a_motion(turned(0.1 + 1e-9))])
    guard = MotionGuard(Mode.ASK, Person())
    with (
        pytest.raises(ToolError, match=r"^The motion is not the one that was approved; nothing has moved\.$") as caught,
        guard.permit(lambda: next(motions), MAX_OPENING, lambda motion: None),
    ):
        pass
    assert caught.value.code is ErrorCode.NOT_APPROVED


def test_a_motion_that_is_beyond_the_limits_or_that_a_dry_run_ends_is_not_asked_about() -> None:
    for mode, steps in ((Mode.ASK, (compressed(turned(0.1), 2.0),)), (Mode.DRY_RUN, (turned(0.1),))):
        person = Person()
        with pytest.raises(ToolError), permitted(MotionGuard(mode, person), a_motion(*steps)):
            pytest.fail("it began")
        assert not person.asked


def test_a_dry_run_tells_what_it_was_and_how_long_it_takes() -> None:
    leg = turned(0.5)
    with (
        pytest.raises(ToolError, match=f"^Dry run: Test, in {leg.duration:.1f} s, is planned") as caught,
        permitted(MotionGuard(Mode.DRY_RUN), a_motion(leg)),
    ):
        pass
    assert caught.value.code is ErrorCode.NOT_APPROVED
    assert caught.value.message.endswith("within the limits; nothing has moved.")


def test_the_strictest_request_holds_and_only_as_long_as_it_is_asked() -> None:
    guard = MotionGuard(Mode.AUTO)
    with guard.at_least(Mode.DRY_RUN):
        with guard.at_least(Mode.AUTO):
            assert guard.in_force is Mode.DRY_RUN
        assert guard.in_force is Mode.DRY_RUN
    assert guard.in_force is Mode.AUTO
    with pytest.raises(ValueError, match="within"), guard.at_least(Mode.ASK):
        raise ValueError("within")
    assert guard.in_force is Mode.AUTO


def test_a_mode_is_one_of_three_names() -> None:
    assert [parse_mode(mode) for mode in ("auto", "ask-motion", "dry-run")] == list(Mode)
    assert stricter(Mode.ASK, Mode.ASK) is Mode.ASK
    with pytest.raises(ToolError) as caught:
        parse_mode(70 * "x")
    assert caught.value.message == f"The approval must be auto, ask-motion, dry-run, got {60 * 'x'!r}."
    assert (caught.value.code, caught.value.hint) == (ErrorCode.INVALID_ARGUMENT, "Choose one.")


def test_a_motion_whose_planning_fails_leaves_the_guard_free() -> None:
    guard = MotionGuard()

    def broken() -> PlannedMotion:
        raise ToolError(ErrorCode.PLAN_FAILED, "no way")

    with pytest.raises(ToolError, match="no way"), guard.permit(broken, MAX_OPENING, lambda motion: None):
        pass
    with permitted(guard, a_motion(turned(0.1))):
        pass


# -- the record ----------------------------------------------------------------------------------


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[tuple[str, dict[str, str]]]]:
    caplog.set_level(logging.INFO, "toolhand.safety")
    return lambda: [
        (entry.levelname, json.loads(entry.getMessage())) for entry in caplog.records if entry.name == "toolhand.safety"
    ]


Lines = Callable[[], list[tuple[str, dict[str, str]]]]


def test_a_refused_step_is_recorded_as_a_warning_with_its_reason(lines: Lines) -> None:
    guard, _, arm, motion = under_way()
    first = refused(arm, 0.01)
    assert (first.code, first.hint) == (ErrorCode.NOT_APPROVED, "Plan anew.")
    assert first.message == "No motion is permitted now; nothing has moved."
    with permitted(guard, motion):
        second = refused(arm, 0.01)
    told, begun, step = lines()
    refusal = {"outcome": "refused", "code": "NOT_APPROVED"}
    assert told == ("WARNING", refusal | {"what": "a step without a permit", "reason": first.message})
    assert begun == ("INFO", {"outcome": "begun", "what": "Test", "mode": "auto"})
    assert step == ("WARNING", refusal | {"what": "a step", "reason": second.message})


def test_a_question_and_its_answer_are_recorded_with_the_hash_the_person_and_the_reason(lines: Lines) -> None:
    person = Person(reason="looks fine")
    with permitted(MotionGuard(Mode.ASK, person), a_motion(turned(0.1))):
        pass
    about = {"what": "Test", "mode": "ask-motion", "hash": person.asked[0].hash}
    assert lines() == [
        ("INFO", {"outcome": "asked"} | about),
        ("INFO", {"outcome": "begun", "by": "person", "decision": "looks fine"} | about),
    ]


def test_a_motion_that_cannot_be_planned_is_recorded_as_refused_and_others_are_handed_on(lines: Lines) -> None:
    @recorded("plan a test")
    def plan(number: int, factor: int = 1) -> int:
        """Doubles."""
        if number < 0:
            raise ToolError(ErrorCode.PLAN_FAILED, "no way there")
        return 2 * number * factor

    assert plan(3, factor=2) == 12
    assert plan.__doc__ == "Doubles."
    assert not lines()
    with pytest.raises(ToolError, match="no way there"):
        plan(-1)
    wanted = {"outcome": "refused", "what": "plan a test", "code": "PLAN_FAILED", "reason": "no way there"}
    assert lines() == [("WARNING", wanted)]


def test_only_a_refusal_is_a_warning(lines: Lines) -> None:
    record("refused", what="a")
    record("begun", what="b")
    assert lines() == [
        ("WARNING", {"outcome": "refused", "what": "a"}),
        ("INFO", {"outcome": "begun", "what": "b"}),
    ]
