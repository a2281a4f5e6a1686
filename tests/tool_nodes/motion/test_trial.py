"""The first motion of an arm: 2 cm, planned, asked about, and back."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest

from tests.gen3 import GEN3
from tests.guarded import KINEMATICS, RecordingArm
from tool_nodes.geometry import intrinsics
from tool_nodes.motion.approval import Decision, MotionRequest
from tool_nodes.motion.guard import Mode, MotionGuard
from tool_nodes.motion.limits import MotionLimits
from tool_nodes.motion.manipulation import Manipulator
from tool_nodes.motion.planner import EmbeddedPlanner
from tool_nodes.motion.trial import TRIAL_M
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import Frame


class Operator:
    """Says yes or no, and keeps what was shown."""

    def __init__(self, yes: bool) -> None:
        self.yes = yes
        self.shown: list[MotionRequest] = []

    def decide(self, request: MotionRequest) -> Decision:
        self.shown.append(request)
        return Decision(self.yes, "test", request.hash, "" if self.yes else "no")


def manipulator(arm: RecordingArm, operator: Operator, mode: Mode) -> Manipulator:
    frame = Frame(
        np.zeros((48, 64, 3), np.uint8), np.ones((48, 64), np.float32), intrinsics(60.0, 64, 48), np.eye(4), 0.0
    )
    camera = Mock(**{"capture.return_value": frame})
    guard = MotionGuard(mode, operator, MotionLimits(robot=GEN3))
    return Manipulator(arm, EmbeddedPlanner(robot=GEN3), camera, guard=guard)


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.ASK])
def test_the_first_motion_is_two_centimetres_up_and_back_once_a_person_has_said_yes(mode: Mode) -> None:
    arm, operator = RecordingArm(), Operator(yes=True)
    began = arm.q.copy()
    height = manipulator(arm, operator, mode).try_motion()
    assert height == pytest.approx(TRIAL_M, abs=1e-4)
    up, back = arm.followed
    path = np.array([KINEMATICS.fk(q)[:3, 3] for q in (*up.q, *back.q)])
    assert np.abs(path[:, :2] - path[0, :2]).max() < 1e-3
    assert np.ptp(path[:, 2]) == pytest.approx(TRIAL_M, abs=1e-3)
    assert np.allclose(KINEMATICS.fk(arm.q), KINEMATICS.fk(began), atol=1e-4)
    assert not arm.openings
    (shown,) = operator.shown
    assert shown.what.startswith("Try the arm: straight up")


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.ASK])
def test_nothing_moves_where_a_person_says_no(mode: Mode) -> None:
    arm, operator = RecordingArm(), Operator(yes=False)
    with pytest.raises(ToolError) as caught:
        manipulator(arm, operator, mode).try_motion()
    assert caught.value.code is ErrorCode.NOT_APPROVED
    assert len(operator.shown) == 1
    assert not arm.followed


def test_a_dry_run_asks_nobody_and_moves_nothing() -> None:
    arm, operator = RecordingArm(), Operator(yes=True)
    with pytest.raises(ToolError) as caught:
        manipulator(arm, operator, Mode.DRY_RUN).try_motion()
    assert caught.value.code is ErrorCode.NOT_APPROVED
    assert not operator.shown
    assert not arm.followed
