"""The console over a graph: what the motion node asks is what is shown, and nothing is heard for nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.console.fake_robot import FakeRobot
from tests.ros.motion.test_strangers import TOKEN
from tests.ros.motion.test_strangers import cell as cell
from toolhand.console.approving import Approvals
from toolhand.console.robot import Close
from toolhand.console.ros import MotionDesk
from toolhand.console.ros_watch import Watching
from toolhand.tool_nodes.motion.approval import Decision
from toolhand.tool_nodes.ros.link import RosLink

LOOKED_S = 40.0
"""Robot time in which a person looks at a motion before he approves it [s]: longer than the grasp takes."""


class DeskRobot(FakeRobot):
    """A robot whose motions are those of a graph."""

    def __init__(self, desk: MotionDesk) -> None:
        super().__init__()
        self.desk = desk

    def motions(self, hear: Callable[[Any], None]) -> Close:
        return self.desk.motions(hear)

    def decide(self, decision: Decision) -> str:
        return self.desk.decide(decision)


@pytest.fixture
def link(cell: Any) -> Iterator[RosLink]:
    with RosLink(cell.environment) as made:
        yield made


def test_what_was_shown_runs_once_and_a_rejection_carries_its_reason(cell: Any, link: RosLink, target: Any) -> None:
    watch(cell, link)
    said: list[str] = []
    approvals = Approvals(DeskRobot(MotionDesk(link, TOKEN, said.append)), lambda page: None)
    heard = lambda: cell.motion.count_subscribers("/motion_request")  # noqa: E731
    assert heard() == 0
    approvals.attend(True)
    cell.wait(lambda: heard() == 1, "the subscription")
    commands = cell.commands
    goal = cell.grasp(target.T_base_gripper)
    cell.wait(lambda: approvals.card.motion, "the request")
    card = approvals.card
    assert card.motion is not None
    first = card.motion.request
    assert card.may_be_answered
    assert first.camera == "scene"
    assert 30.0 < approvals.left_s() <= 60.0
    assert approvals.answer("p", "0" * 64, True) == (
        "Another motion waits now than the one that this page showed; look at it first."
    )
    reason = "not this: the thing at (0.250, 0.500) of the scene picture"
    assert approvals.answer("p", first.hash, False, reason) == ""
    _, result = goal.end()
    assert reason in result.status.message
    assert cell.commands == commands
    goal = cell.grasp(target.T_base_gripper)
    cell.wait(lambda: approvals.card.motion and approvals.card.motion.request.hash != first.hash, "the next")
    second = approvals.card.motion
    assert second is not None
    for mine, theirs in zip(first.legs, second.request.legs, strict=True):
        np.testing.assert_array_equal(mine.q, theirs.q)
    begun_s = cell.samples[-1].t
    cell.wait(lambda: cell.samples[-1].t > begun_s + LOOKED_S, "the person who looks at it")
    assert approvals.answer("p", second.request.hash, True) == ""
    assert approvals.answer("p", second.request.hash, True)
    _, result = goal.end()
    assert result.status.success, result.status
    assert second.request.duration_s < result.execution_time < LOOKED_S
    cell.wait(lambda: approvals.card.motion is None, "the withdrawal")
    assert approvals.answer("p", second.request.hash, True) == "No motion waits for an approval any more."
    approvals.attend(False)
    cell.wait(lambda: heard() == 0, "the end of the subscription")
    _, result = cell.place(target.place).end()
    assert "nobody listens to /motion_request" in result.status.message
    assert said == []


@pytest.mark.parametrize("token", ["", "a token of somebody else's"])
def test_a_console_without_the_robots_token_knows_it_before_a_motion_is_asked_about(
    cell: Any, link: RosLink, token: str
) -> None:
    right, wrong = (MotionDesk(link, each, lambda sentence: None) for each in (TOKEN, token))
    assert (right.refusal, wrong.refusal) == ("", "")
    ends = [desk.motions(lambda motion: None) for desk in (right, wrong)]
    cell.wait(lambda: wrong.refusal, "the refusal")
    assert "--token-file FILE" in wrong.refusal
    assert right.refusal == ""
    for end in ends:
        end()
    assert wrong.refusal == ""


def watch(cell: Any, link: RosLink) -> None:
    """Images and joints are heard until they are closed, and not longer."""
    watching = Watching(link)
    images: list[Any] = []
    joints: list[Any] = []
    topic = "/zed/zed_node/rgb/color/rect/image"
    before = cell.motion.count_subscribers(topic), cell.motion.count_subscribers("/joint_states")
    ends = [watching.images("scene", images.append), watching.joints(joints.append)]
    cell.wait(lambda: images and joints, "a picture and joints")
    assert (images[0].camera, images[0].rgb.ndim) == ("scene", 3)
    assert {f"joint_{k}" for k in range(1, 8)} <= set(joints[0].names)
    cell.wait(watching.description, "the description")
    assert "<robot" in watching.description()
    for end in ends:
        end()
        end()
    after = lambda: (cell.motion.count_subscribers(topic), cell.motion.count_subscribers("/joint_states"))  # noqa: E731
    cell.wait(lambda: after() == before, "the end of the subscriptions")
