"""The guard by itself, over an arm that only notes what reaches it: continuations, limits, questions, records."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

import numpy as np
import pytest

from tests.gen3 import GEN3, MAX_OPENING, time_path, time_waypoints
from tests.guarded import KINEMATICS, OVER_TABLE, PARK, RecordingArm, a_motion, permitted, refused, turned
from tool_nodes.motion.approval import Decision, MotionRequest, PlannedMotion, motion_hash
from tool_nodes.motion.guard import GuardedArm, Mode, MotionGuard, parse_mode, record, recorded, stricter
from tool_nodes.motion.limits import MotionLimits
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import Trajectory


def compressed(leg: Trajectory, factor: float) -> Trajectory:
    """The same path, so many times as fast."""
    return Trajectory(leg.joint_names, leg.t / factor, leg.q, leg.qd * factor)


def line(offset: tuple[float, float, float], turn: float = 0.0) -> Trajectory:
    """The hand moves straight by an offset [m] from OVER_TABLE and turns about its own axis [rad] meanwhile."""
    T = KINEMATICS.fk(OVER_TABLE)
    path = [OVER_TABLE]
    for share in np.linspace(0.0, 1.0, 20)[1:]:
        target = T.copy()
        target[:3, 3] += share * np.array(offset)
        q = KINEMATICS.descend(target, path[-1], 60)
        assert q is not None
        path.append(q)
    q = np.array(path)
    q[:, -1] += np.linspace(0.0, turn, len(q))
    return time_path(np.linspace(0.0, 1.0, len(q)), q)


def there_and_back(offset: tuple[float, float, float]) -> Trajectory:
    """As `line`, and back to OVER_TABLE."""
    out = line(offset).q[::4]
    q = np.vstack([out, out[-2::-1]])
    return time_path(np.linspace(0.0, 1.0, len(q)), q)


def under_way(limits: MotionLimits | None = None) -> tuple[MotionGuard, RecordingArm, GuardedArm, PlannedMotion]:
    """A guard whose motion has one approved step, which ends at OVER_TABLE."""
    guard, inner = MotionGuard(limits=limits), RecordingArm(OVER_TABLE)
    return guard, inner, GuardedArm(inner, guard), a_motion(turned(0.1))


# -- continuations -------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", ["park", "lift"])
def test_a_continuation_keeps_the_limits_too(sort: str) -> None:
    leg = time_waypoints(np.vstack([OVER_TABLE, PARK])) if sort == "park" else line((0.0, 0.0, 0.05))
    guard, inner, arm, motion = under_way()
    with permitted(guard, motion):
        error = refused(arm, compressed(leg, 5.0))
        assert error.code is ErrorCode.EXECUTION_FAILED
        assert error.message.startswith("The trajectory was refused before it began")
        assert not inner.followed
        arm.follow(leg)
    assert inner.followed[0].q.tobytes() == leg.q.tobytes()


def test_a_lift_does_not_leave_the_operators_box() -> None:
    x = tip_high(MAX_OPENING)
    limits = MotionLimits(low=tuple(GEN3.reach.low), high=(x, *GEN3.reach.high[1:]))
    guard, inner, arm, motion = under_way(limits)
    with permitted(guard, motion):
        assert refused(arm, line((0.008, 0.0, 0.05))).code is ErrorCode.OUT_OF_WORKSPACE
        arm.follow(line((0.0, 0.0, 0.05)))
    assert len(inner.followed) == 1


def test_a_continuation_ends_the_approved_steps() -> None:
    first, second = turned(0.1), time_waypoints(np.vstack([PARK + 0.1 * np.eye(7)[0], PARK + 0.2 * np.eye(7)[0]]))
    for continuation in (MAX_OPENING, line((0.0, 0.0, 0.05)), time_waypoints(np.vstack([OVER_TABLE, PARK]))):
        guard, inner, arm, _ = under_way()
        with permitted(guard, a_motion(first, second, 0.0)):
            arm.follow(first)
            if isinstance(continuation, Trajectory):
                arm.follow(continuation)
            else:
                arm.move_gripper(continuation)
            moves = len(inner.followed)
            assert refused(arm, second).code is ErrorCode.NOT_APPROVED
            assert refused(arm, 0.0).code is ErrorCode.NOT_APPROVED
        assert (len(inner.followed), 0.0 in inner.openings) == (moves, False)


@pytest.mark.parametrize(
    ("leg", "passes"),
    [
        (line((0.0, 0.0, 0.125)), True),
        (line((0.0, 0.0, 0.135)), False),
        (line((0.0, 0.0, -0.009)), True),
        (line((0.0, 0.0, -0.011)), False),
        (line((0.009, 0.0, 0.05)), True),
        (line((0.011, 0.0, 0.05)), False),
        (line((0.0, 0.009, 0.05)), True),
        (line((0.0, -0.011, 0.05)), False),
        (line((0.008, 0.008, 0.05)), False),
        (line((0.0, 0.0, 0.05), turn=0.048), True),
        (line((0.0, 0.0, 0.05), turn=0.052), False),
        (line((0.0, 0.0, 0.05), turn=-0.052), False),
        (there_and_back((0.0, 0.0, 0.1)), True),
        (there_and_back((0.0, 0.0, 0.15)), False),
        (there_and_back((0.0, 0.0, -0.05)), False),
        (there_and_back((0.0, 0.05, 0.05)), False),
    ],
)
def test_a_lift_is_straight_up_by_twelve_centimetres_and_strays_by_one(leg: Trajectory, passes: bool) -> None:
    guard, inner, arm, motion = under_way()
    with permitted(guard, motion):
        if passes:
            arm.follow(leg)
        else:
            error = refused(arm, leg)
            assert error.code is ErrorCode.NOT_APPROVED
            assert "not what was approved, nor straight up, opening or returning to park" in error.message
            assert error.hint == "Plan anew."
    assert len(inner.followed) == passes


@pytest.mark.parametrize(("off", "passes"), [(0.0009, True), (-0.0009, True), (0.0011, False), (-0.0011, False)])
@pytest.mark.parametrize("joint", [0, 6])
def test_a_return_to_park_ends_within_a_thousandth_of_it_in_every_joint(joint: int, off: float, passes: bool) -> None:
    guard, inner, arm, motion = under_way()
    leg = time_waypoints(np.vstack([OVER_TABLE, PARK + off * np.eye(7)[joint]]))
    with permitted(guard, motion):
        if passes:
            arm.follow(leg)
        else:
            assert refused(arm, leg).code is ErrorCode.NOT_APPROVED
    assert len(inner.followed) == passes


def test_park_may_be_a_whole_turn_of_an_endless_joint_away() -> None:
    guard, inner, arm, motion = under_way()
    endless = int(np.argmax(GEN3.continuous))
    around = 2.0 * np.pi * np.eye(7)[endless]
    with permitted(guard, motion):
        arm.follow(time_waypoints(np.vstack([PARK + around + 0.1 * np.eye(7)[0], PARK + around])))
    assert len(inner.followed) == 1


@pytest.mark.parametrize("sort", ["open", "park", "lift"])
def test_each_sort_of_continuation_comes_at_most_twice_and_is_counted_by_itself(sort: str) -> None:
    guard, inner, arm, motion = under_way()
    lift, home = line((0.0, 0.0, 0.05)), time_waypoints(np.vstack([OVER_TABLE, PARK]))
    steps: dict[str, Trajectory | float] = {"open": MAX_OPENING, "park": home, "lift": lift}
    with permitted(guard, motion):
        for _ in range(2):
            _do(arm, steps[sort])
        assert refused(arm, steps[sort]).code is ErrorCode.NOT_APPROVED
        for other in steps.keys() - {sort}:
            _do(arm, steps[other])
    assert len(inner.followed) + len(inner.openings) == 4


def _do(arm: GuardedArm, step: Trajectory | float) -> None:
    if isinstance(step, Trajectory):
        arm.follow(step)
    else:
        arm.move_gripper(step)


@pytest.mark.parametrize("opening", [0.0, MAX_OPENING - 1e-6, MAX_OPENING + 1e-6, -MAX_OPENING, float("nan")])
def test_to_open_is_to_open_fully(opening: float) -> None:
    guard, inner, arm, motion = under_way()
    with permitted(guard, motion):
        assert refused(arm, opening).code is ErrorCode.NOT_APPROVED
    assert not inner.openings


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


def tip_high(opening_m: float) -> float:
    """The largest x that a fingertip has at OVER_TABLE [m]; more, the further the jaws are open."""
    T = KINEMATICS.fk(OVER_TABLE)
    return float((GEN3.gripper.tips(opening_m) @ T[:3, :3].T + T[:3, 3])[:, 0].max())


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
    assert request.picture is None
    assert request.hash == motion_hash(motion, request.request_id)
    assert len(request.request_id) == 32


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
        pytest.raises(ToolError, match="not the one that was approved; nothing has moved") as caught,
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
    assert caught.value.hint == "Nothing moves in a dry run."


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
