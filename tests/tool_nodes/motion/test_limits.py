"""Every limit of a trajectory at both of its sides, written out in numbers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.gen3 import ARM_JOINTS, GEN3, MAX_OPENING, time_path, time_waypoints
from tests.guarded import KINEMATICS, OVER_TABLE, PARK, turned
from toolhand.tool_nodes.motion.limits import MAX_SPACING_S, MotionLimits, check_trajectory
from toolhand.tool_nodes.motion.timing import MOST_SAMPLES
from toolhand.tool_nodes.motion.trajectory_checks import HELD_UP_RAD, JUMP, beside, unfit
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray, Trajectory

ANYWHERE = MotionLimits(low=(-9.0, -9.0, -9.0), high=(9.0, 9.0, 9.0))


def fault(leg: Trajectory, limits: MotionLimits = ANYWHERE, opening_m: float = MAX_OPENING) -> str:
    """Why a trajectory is refused, without the beginning that all refusals share; empty where it passes."""
    try:
        check_trajectory(leg, opening_m, limits, KINEMATICS)
    except ToolError as error:
        refusal = error
    else:
        return ""
    if refusal.code is ErrorCode.OUT_OF_WORKSPACE:
        return refusal.message
    assert (refusal.code, refusal.hint) == (ErrorCode.EXECUTION_FAILED, "Plan anew.")
    assert refusal.message.startswith("The trajectory was refused before it began: ")
    return refusal.message.removeprefix("The trajectory was refused before it began: ")


def samples(*q: FloatArray, spacing_s: float) -> Trajectory:
    """Through these positions at rest, or nearly."""
    t = spacing_s * np.arange(len(q))
    return Trajectory(ARM_JOINTS, t, np.array(q), np.zeros((len(q), 7)))


def with_velocity(leg: Trajectory, index: int, joint: int, more: float) -> Trajectory:
    qd = leg.qd.copy()
    qd[index, joint] += more
    return replace(leg, qd=qd)


# -- what an arm can follow at all ---------------------------------------------------------------


@pytest.mark.parametrize("index", [0, -1])
@pytest.mark.parametrize(("speed", "rests"), [(1.1e-7, True), (-1.1e-7, True), (1.3e-7, False), (-1.3e-7, False)])
def test_a_trajectory_begins_and_ends_at_rest(index: int, speed: float, rests: bool) -> None:
    found = unfit(with_velocity(turned(0.1), index, 3, speed), GEN3)
    assert found == ("" if rests else "its times do not increase from 0, or it does not begin and end at rest")


def test_times_increase_from_nothing() -> None:
    leg = turned(0.1)
    sentence = "its times do not increase from 0, or it does not begin and end at rest"
    twice = leg.t.copy()
    twice[5] = twice[4]
    for times in (leg.t + 1e-6, leg.t - 1e-6, -leg.t, twice):
        assert unfit(replace(leg, t=times), GEN3) == sentence
    assert unfit(leg, GEN3) == ""


@pytest.mark.parametrize("name", ["t", "q", "qd"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_every_number_is_finite(name: str, value: float) -> None:
    leg = turned(0.1)
    array = getattr(leg, name).copy()
    array.flat[array.size // 2] = value
    assert unfit(replace(leg, **{name: array}), GEN3) == "it holds NaN or infinite numbers"


@pytest.mark.parametrize(
    "wrong",
    [
        {"joint_names": ARM_JOINTS[::-1]},
        {"joint_names": ARM_JOINTS[:6]},
        {"q": np.zeros((2, 6))},
        {"qd": np.zeros((2, 6))},
        {"q": np.zeros((3, 7))},
        {"qd": np.zeros(14)},
        {"t": np.zeros(1), "q": np.zeros((1, 7)), "qd": np.zeros((1, 7))},
        {"t": np.zeros(0), "q": np.zeros((0, 7)), "qd": np.zeros((0, 7))},
    ],
)
def test_every_time_has_all_positions_and_velocities(wrong: dict[str, Any]) -> None:
    leg = replace(samples(PARK, PARK, spacing_s=0.01), **wrong)
    assert unfit(leg, GEN3) == "it does not give 7 joint positions and velocities for each time"
    assert unfit(samples(PARK, PARK, spacing_s=0.01), GEN3) == ""


@pytest.mark.parametrize("joint", [0, 3, 6])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_two_points_are_no_further_apart_than_eleven_tenths_of_the_velocity_limit(joint: int, sign: float) -> None:
    limit = GEN3.velocity[joint]
    for factor, passes in ((1.09, True), (1.11, False)):
        step = sign * factor * limit * 0.01 * np.eye(7)[joint]
        found = unfit(samples(PARK, PARK, PARK + step, PARK + step, spacing_s=0.01), GEN3)
        assert found == (
            ""
            if passes
            else f"from point 1 to the next {ARM_JOINTS[joint]} would have to move at {factor * limit:.4g} rad/s, "
            f"its limit is {limit:.4g} rad/s"
        )


@pytest.mark.parametrize(("away", "found"), [(0.0, True), (0.9, True), (-0.9, True), (1.1, False), (-1.1, False)])
def test_positions_lie_beside_a_path_wherever_along_it(away: float, found: bool) -> None:
    leg = turned(0.5)
    q = leg.q[len(leg.q) // 2] + away * HELD_UP_RAD * np.eye(7)[3]
    assert beside(leg, q, GEN3) is found


def test_the_joint_that_jumps_is_not_always_the_fastest() -> None:
    """A wrist at 1.15 of its lower limit jumps; a shoulder that turns faster, at 1.04 of its own, does not."""
    step = 0.01 * (1.15 * GEN3.velocity[6] * np.eye(7)[6] + 1.04 * GEN3.velocity[0] * np.eye(7)[0])
    assert step[0] > step[6]
    found = unfit(samples(PARK, PARK + step, PARK + step, spacing_s=0.01), GEN3)
    assert found.startswith(f"from point 0 to the next {ARM_JOINTS[6]} would have to move at")


def test_a_bound_itself_is_let_pass() -> None:
    at_rest = np.zeros((2, 7))
    leg = Trajectory(ARM_JOINTS, np.array([0.0, 1.0]), np.array([at_rest[0], JUMP * GEN3.velocity]), at_rest)
    assert unfit(leg, GEN3) == ""
    spacing_s = MAX_SPACING_S * (1.0 + 1e-3)
    assert fault(Trajectory(ARM_JOINTS, np.array([0.0, spacing_s]), np.array([PARK, PARK]), at_rest)) == ""


# -- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spacing_s", "close"), [(0.02, True), (0.02001, True), (0.0201, False), (0.03, False)])
def test_samples_are_at_most_two_hundredths_of_a_second_apart(spacing_s: float, close: bool) -> None:
    found = fault(samples(PARK, PARK, PARK, spacing_s=spacing_s))
    sentence = f"its samples are up to {spacing_s:.3f} s apart, more than 0.02 s is not allowed."
    assert found == ("" if close else sentence)


def test_what_no_arm_can_follow_is_refused_before_its_limits_with_the_reason() -> None:
    leg = samples(PARK, np.full(7, np.nan), PARK, spacing_s=9.0)
    assert fault(leg) == "it holds NaN or infinite numbers."


def test_one_wide_gap_is_enough() -> None:
    leg = samples(PARK, PARK, PARK, PARK, spacing_s=0.01)
    assert fault(replace(leg, t=np.array([0.0, 0.01, 0.04, 0.05]))).startswith("its samples are up to 0.030 s apart")


@pytest.mark.parametrize(("factor", "passes"), [(1.0005, True), (1.002, False), (1.05, False)])
@pytest.mark.parametrize("speed", [1.0, 0.5])
def test_speed_is_limited_to_a_thousandth(speed: float, factor: float, passes: bool) -> None:
    leg = turned(1.5, speed)
    assert np.abs(leg.qd).max() == pytest.approx(speed * GEN3.velocity[0])
    found = fault(replace(leg, t=leg.t / factor, qd=leg.qd * factor), replace(ANYWHERE, speed=speed))
    sentence = f"it is {factor:.2f} times as fast as velocity, acceleration and speed limits allow."
    assert found == ("" if passes else sentence)


@pytest.mark.parametrize(("factor", "passes"), [(1.04, True), (-1.04, True), (1.06, False), (-1.06, False)])
@pytest.mark.parametrize("speed", [1.0, 0.5])
def test_between_two_samples_the_acceleration_is_limited_to_a_twentieth(
    speed: float, factor: float, passes: bool
) -> None:
    """A velocity that is off by d where the arm moves evenly makes a cubic of acceleration 4 d / dt."""
    leg = turned(1.5, 0.5 * speed)
    middle = len(leg.t) // 2
    dt = leg.t[middle + 1] - leg.t[middle]
    off = factor * GEN3.acceleration[3] * speed**2 * dt / 4.0
    found = fault(with_velocity(leg, middle, 3, off), replace(ANYWHERE, speed=speed))
    sentence = f"between its samples it takes {abs(factor):.2f} times the acceleration that the limits allow."
    assert found == ("" if passes else sentence)


def test_joints_stay_in_their_range_to_a_thousandth_of_a_radian() -> None:
    joint = int(np.argmin(GEN3.continuous))
    for edge, sign in ((GEN3.upper[joint], 1.0), (GEN3.lower[joint], -1.0)):
        start = PARK.copy()
        start[joint] = edge - 0.1 * sign
        for beyond, passes in ((0.0009, True), (0.0011, False)):
            end = start.copy()
            end[joint] = edge + sign * beyond
            found = fault(time_waypoints(np.vstack([start, end])))
            assert found == ("" if passes else f"{ARM_JOINTS[joint]} would leave its range.")


def test_a_joint_that_begins_out_of_its_range_gets_no_further_out() -> None:
    joint = int(np.argmin(GEN3.continuous))
    start = PARK.copy()
    start[joint] = GEN3.upper[joint] + 0.05
    for more, passes in ((-0.2, True), (0.0009, True), (0.0011, False)):
        end = start.copy()
        end[joint] += more
        found = fault(time_waypoints(np.vstack([start, end])))
        assert found == ("" if passes else f"{ARM_JOINTS[joint]} would leave its range.")


# -- the box -------------------------------------------------------------------------------------


def tips(q: FloatArray, opening_m: float = MAX_OPENING) -> FloatArray:
    """Where the fingertips are, base frame [m]."""
    T = KINEMATICS.fk(q)
    found: FloatArray = GEN3.gripper.tips(opening_m) @ T[:3, :3].T + T[:3, 3]
    return found


def shifted(offset: FloatArray) -> Trajectory:
    """The hand moves straight from OVER_TABLE by an offset (3,) [m]."""
    T = KINEMATICS.fk(OVER_TABLE)
    path = [OVER_TABLE]
    for share in np.linspace(0.0, 1.0, 8)[1:]:
        target = T.copy()
        target[:3, 3] += share * offset
        q = KINEMATICS.solve_ik(target, path[-1], 60)
        assert q is not None
        path.append(q)
    return time_path(np.linspace(0.0, 1.0, len(path)), np.array(path))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_fingertips_leave_the_box_by_less_than_three_millimetres(axis: int, sign: float) -> None:
    """On each side of the box; a hand that begins outside may get as much further out."""
    there = tips(OVER_TABLE)[:, axis]
    outermost = there.max() if sign > 0 else there.min()
    for begins_out, more, passes in (
        (0.0, 0.0027, True),
        (0.0, 0.0033, False),
        (-0.01, 0.012, True),
        (-0.01, 0.0133, False),
        (0.02, 0.0027, True),
        (0.02, 0.0033, False),
        (0.02, -0.03, True),
    ):
        low, high = np.full(3, -9.0), np.full(3, 9.0)
        (high if sign > 0 else low)[axis] = outermost - sign * begins_out
        limits = replace(ANYWHERE)  # the parked arm, which limits must contain, is elsewhere
        object.__setattr__(limits, "low", tuple(low.tolist()))
        object.__setattr__(limits, "high", tuple(high.tolist()))
        found = fault(shifted(sign * more * np.eye(3)[axis]), limits)
        if passes:
            assert found == "", (begins_out, more)
        else:
            out = 1000 * (begins_out + more)
            assert found.startswith(
                f"The path would take a fingertip {out:.0f} mm out of the workspace: x {low[0]:.2f} to"
            )
            assert found.endswith(f"y {low[1]:.2f} to {high[1]:.2f} m, z {low[2]:.2f} to {high[2]:.2f} m.")


def test_open_jaws_reach_further_than_closed_ones() -> None:
    assert tips(OVER_TABLE)[:, 0].max() > tips(OVER_TABLE, 0.0)[:, 0].max() + 0.02
    limits = MotionLimits(low=(-9.0, -9.0, -9.0), high=(float(tips(OVER_TABLE, 0.0)[:, 0].max()) + 0.02, 9.0, 9.0))
    leg = shifted(np.array([0.015, 0.0, 0.0]))
    assert fault(leg, limits, 0.0) == ""
    assert "out of the workspace" in fault(leg, limits, MAX_OPENING)


# -- limits that are none ------------------------------------------------------------------------


def test_limits_are_the_robots_where_nothing_else_is_said() -> None:
    limits = MotionLimits()
    assert (limits.low, limits.high) == (tuple(GEN3.reach.low), tuple(GEN3.reach.high))
    assert (limits.speed, limits.motions_per_command, limits.motions_per_minute) == (1.0, None, None)
    lower = MotionLimits(low=(-0.5, -0.5, 0.0))
    assert (lower.low, lower.high) == ((-0.5, -0.5, 0.0), tuple(GEN3.reach.high))
    higher = MotionLimits(high=(0.9, 0.9, 1.0))
    assert (higher.low, higher.high) == (tuple(GEN3.reach.low), (0.9, 0.9, 1.0))


@pytest.mark.parametrize(
    "right", [{"speed": 1.0}, {"speed": 0.01}, {"motions_per_command": 1}, {"motions_per_minute": 1}]
)
def test_the_ends_of_what_is_allowed_are_allowed(right: dict[str, Any]) -> None:
    assert {name: getattr(MotionLimits(**right), name) for name in right} == right


BOX = "The workspace box must be two finite corners (x, y, z), the first below the second."
PARKED = "The workspace box must contain the fingertips of the parked arm: every motion ends there."


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"low": (0.0, 0.0)}, BOX),
        ({"high": (1.0, 1.0)}, BOX),
        ({"low": (float("nan"), -1.0, -1.0)}, BOX),
        ({"high": (1.0, float("inf"), 1.0)}, BOX),
        ({"low": (-1.0, -1.0, 0.5), "high": (1.0, 1.0, 0.5)}, BOX),
        ({"low": (-1.0, -1.0, 0.6), "high": (1.0, 1.0, 0.5)}, BOX),
        ({"low": (0.4, -0.5, 0.0)}, PARKED),
        ({"speed": 0.0}, "The speed limit must be 0.01 to 1, got 0.0."),
        ({"speed": 0.0099}, "The speed limit must be 0.01 to 1, got 0.0099."),
        ({"speed": -0.5}, "The speed limit must be 0.01 to 1, got -0.5."),
        ({"speed": 1.001}, "The speed limit must be 0.01 to 1, got 1.001."),
        ({"motions_per_command": 0}, "A number of motions must be 1 or more, got 0."),
        ({"motions_per_minute": 0}, "A number of motions must be 1 or more, got 0."),
    ],
)
def test_a_limit_that_is_none_is_refused_in_a_sentence(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ToolError) as caught:
        MotionLimits(**wrong)
    assert (caught.value.code, caught.value.message) == (ErrorCode.INVALID_ARGUMENT, sentence)


def test_the_parked_arm_fits_to_the_millimetre() -> None:
    """With closed or open jaws, whichever reach further."""
    high = np.maximum(tips(PARK).max(axis=0), tips(PARK, 0.0).max(axis=0))
    MotionLimits(low=(-9.0, -9.0, -9.0), high=tuple((high + 0.001).tolist()))
    for axis in range(3):
        tight = np.full(3, 9.0)
        tight[axis] = tips(PARK)[:, axis].max() - 0.001
        with pytest.raises(ToolError, match="fingertips of the parked arm"):
            MotionLimits(low=(-9.0, -9.0, -9.0), high=tuple(tight.tolist()))


@pytest.mark.parametrize(("samples", "step_s"), [(MOST_SAMPLES + 1, 0.001), (MOST_SAMPLES, 0.0101)])
def test_a_trajectory_that_is_too_long_is_refused(samples: int, step_s: float) -> None:
    t = step_s * np.arange(samples)
    q = np.repeat(GEN3.park[None], samples, axis=0)
    found = fault(Trajectory(GEN3.arm_joints, t, q, np.zeros_like(q)), ANYWHERE)
    assert "more than 200 s or 20,000" in found
