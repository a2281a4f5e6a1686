"""The judge of rest: no manner of joint states has a motion called rest, and none has rest refused."""

from __future__ import annotations

import pytest

from bench.ros.manners import AT_REST, LEAD_S, MOVING, Manner, of_robot
from tests.gen3 import GEN3
from tool_nodes.ros.rest import RestJudge, Unrest

_WATCHED_S = 5.0
"""How long after the stop the judge is asked [s]: a whole swing of the slowest but one."""


def judged(manner: Manner) -> tuple[bool, list[Unrest]]:
    """Whether rest was said at any time after the stop, and why it was not."""
    judge, why = RestJudge(GEN3, 0.002), list[Unrest]()
    for t, said in manner.messages(0.0, LEAD_S + _WATCHED_S):
        named = of_robot(said.joints, GEN3)
        known = {name: value for name, value in named.items() if name in GEN3.joints}
        if not said.velocities:
            known = {name: (position, float("nan")) for name, (position, _) in known.items()}
        judge.hear(known, round(1e9 * said.stamp_s), t)
        if t >= LEAD_S:
            unrest = judge.unrest(t, LEAD_S)
            if unrest is None:
                return True, why
            why.append(unrest)
    return False, why


@pytest.mark.parametrize("manner", [*MOVING, *AT_REST], ids=lambda manner: manner.name)
def test_rest_is_said_of_an_arm_at_rest_and_of_no_other(manner: Manner) -> None:
    rests, why = judged(manner)
    assert rests is not manner.moves, why[-1:]
    assert all("nan" not in unrest.why and "inf" not in unrest.why for unrest in why)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("velocity 0, j2 turns", "joint_2 moves: it was measured to travel by"),
        ("j2 left out, and turning", "joint_2 has not been measured for"),
        ("second driver silent", "joint_4 has not been measured for"),
        ("the same message again and again", "the time stamp of joint_1 has not advanced for"),
        ("clock running back", "the time stamps of joint_1 go back"),
        ("positions stand, velocity does not", "joint_4 is reported to move at 0.100 rad/s"),
        ("stamps a thousand times too slow", "joint_1 was measured without a gap for 0.00 s"),
        ("jaws creep", f"{GEN3.gripper.joint} moves"),
    ],
)
def test_why_rest_is_not_said_names_the_joint(name: str, told: str) -> None:
    (manner,) = (each for each in MOVING if each.name == name)
    _, why = judged(manner)
    assert told in why[-1].why
