"""What may follow an approved motion: straight up, opening the jaws and the way home, within limits and bounded."""

import numpy as np
import pytest

from tests.gen3 import GEN3, MAX_OPENING, time_path, time_waypoints
from tests.guarded import (
    OVER_TABLE,
    PARK,
    a_motion,
    compressed,
    line,
    permitted,
    refused,
    tip_high,
    turned,
    under_way,
)
from toolhand.tool_nodes.motion.guard import GuardedArm
from toolhand.tool_nodes.motion.limits import MotionLimits
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import Trajectory


def there_and_back(offset: tuple[float, float, float]) -> Trajectory:
    """As `line`, and back to OVER_TABLE."""
    out = line(offset).q[::4]
    q = np.vstack([out, out[-2::-1]])
    return time_path(np.linspace(0.0, 1.0, len(q)), q)


@pytest.mark.parametrize("sort", ["park", "lift"])
def test_a_continuation_keeps_the_limits_too(sort: str) -> None:
    leg = time_waypoints(np.vstack([OVER_TABLE, PARK])) if sort == "park" else line((0.0, 0.0, 0.05))
    guard, inner, arm, motion = under_way()
    with permitted(guard, motion):
        error = refused(arm, compressed(leg, 5.0))
        assert error.code is ErrorCode.EXECUTION_FAILED
        assert error.message.startswith("The trajectory was refused before it began: ")
        assert error.hint == "Plan anew."
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
    endless = int(np.flatnonzero(GEN3.continuous)[-1])
    around = 2.0 * np.pi * np.eye(7)[endless]
    with permitted(guard, motion):
        arm.follow(time_waypoints(np.vstack([PARK + around + 0.1 * np.eye(7)[0], PARK + around])))
        arm.follow(time_waypoints(np.vstack([PARK + 0.6 * around, PARK])))
    assert len(inner.followed) == 2


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
