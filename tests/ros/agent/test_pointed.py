"""Points go with what is said to a graph, and what its questions let choose from comes back with points."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from toolhand_interfaces.action import RunCommand
from toolhand_interfaces.msg import PointedAt
from toolhand_interfaces.srv import GetDepth
from vision_msgs.msg import Point2D

from tests.ros.agent.conftest import DOMAIN, Spun
from tests.ros.agent.test_dialogues import Carrier, Quick
from toolhand.agent_node.events import Event, OperatorAnswer, OperatorQuestion
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.ros.operator import Operator
from toolhand.agent_node.ros.pointing import candidates_of, point_message, points_of
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.messages import put_frame
from toolhand.tool_nodes.toolbox.toolbox import Toolbox
from toolhand.tool_nodes.types import Frame

CHOICES = [("the left one", (0.2, 0.5)), ("the right one", (0.8, 0.5))]


@pytest.fixture
def carrier(agent: Callable[..., Any]) -> Carrier:
    """The policy of a node that runs."""
    policy = Carrier()
    agent(lambda *_: Toolbox([Quick()]), {"script": policy}, policy="script")
    return policy


@pytest.fixture
def link(contexts: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    with RosLink({"ROS_DOMAIN_ID": str(DOMAIN)}) as entered:
        yield entered


def test_pointed_words_reach_the_policy_as_words_and_the_report_as_data(carrier: Carrier, link: RosLink) -> None:
    pointed = (PointedPoint((0.25, 0.5), stamp_ns=12_000_000_034, label="1"), PointedPoint((0.75, 0.5), label="2"))
    operator = Operator(link, lambda event: None, session="a")
    episode = operator.carry_out("put this one here", pointed)
    operator.close()
    assert episode.success
    assert carrier.given == ["put the thing at (0.250, 0.500) on the free spot at (0.750, 0.500)"]
    assert operator.run_dir is not None
    result = json.loads((operator.run_dir / "result.json").read_text())
    assert [(each["point"], each["stamp_ns"], each["label"]) for each in result["pointed"]] == [
        ([0.25, 0.5], 12_000_000_034, "1"),
        ([0.75, 0.5], 0, "2"),
    ]


def test_a_question_has_its_candidates_in_the_feedback_and_in_the_result(carrier: Carrier, link: RosLink) -> None:
    heard: list[Event] = []
    waits = Operator(link, heard.append, lambda question: OperatorAnswer(point=(0.79, 0.51)), "a")
    assert waits.carry_out("pick up the can").success
    waits.close()
    asked = [event for event in heard if isinstance(event, OperatorQuestion)]
    assert [(each.label, each.point) for each in asked[0].candidates] == CHOICES
    assert carrier.given[-1] == "pick up the can at (0.800, 0.500)"
    ends = Operator(link, heard.append, session="b")
    ends.carry_out("pick up the can")
    assert [(each.label, each.point) for each in ends.candidates] == CHOICES
    assert ends.carry_out("this one", [PointedPoint((0.21, 0.5))]).success
    assert ends.candidates == ()
    assert carrier.given[-1] == "pick up the can at (0.200, 0.500)"
    ends.close()


class Seeing(Carrier):
    """The policy, as one that looks at images."""

    sees_images = True

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Message] = []

    def respond(self, conversation: Sequence[Message]) -> Reply:
        if conversation[-1].role != "tool":
            self.asked.append(conversation[1])
        return super().respond(conversation)


def test_a_policy_that_looks_at_images_is_shown_the_points(
    agent: Callable[..., Any], contexts: Callable[[], Any], link: RosLink
) -> None:
    K = np.array([[100.0, 0.0, 63.5], [0.0, 100.0, 47.5], [0.0, 0.0, 1.0]])
    frame = Frame(np.full((96, 128, 3), 120, np.uint8), np.ones((96, 128), np.float32), K, np.eye(4), 1.0)
    camera = rclpy.create_node("camera", context=contexts())

    def answer(request: Any, response: Any) -> Any:
        put_frame(response, frame)
        response.status.success = True
        return response

    camera.create_service(GetDepth, "get_depth", answer)
    spun = Spun(camera, SingleThreadedExecutor(context=camera.context))
    policy = Seeing()
    agent(lambda *_: Toolbox([Quick()]), {"script": policy}, policy="script")
    operator = Operator(link, lambda event: None, session="a")
    try:
        assert operator.carry_out("put this one here", (PointedPoint((0.25, 0.5)), PointedPoint((0.75, 0.5)))).success
        assert operator.carry_out("pick up the lemon").success
    finally:
        operator.close()
        spun.close()
    pointed, plain = policy.asked
    assert pointed.image is not None
    assert pointed.image_index == 0
    assert "<image 0>" in pointed.text
    assert "is marked: 1 at (0.250, 0.500), 2 at (0.750, 0.500)." in pointed.text
    assert [pointed.image[48, u].tolist() == [120] * 3 for u in (32, 96, 64)] == [False, False, True]
    assert plain.image is None


def test_points_that_cannot_be_are_refused(carrier: Carrier, operator: Callable[[], Any]) -> None:
    person = operator()
    for points in ([(7.0, 0.5)], [(0.5, 0.5)] * 9):
        pointed = [PointedAt(camera="scene", point=Point2D(x=x, y=y)) for x, y in points]
        goal = RunCommand.Goal(text="pick up this one", pointed=pointed)
        _, result = person.result(person.send_goal(goal))
        assert result.status.error_code == "INVALID_ARGUMENT"
    assert carrier.given == []


def test_messages_of_points_come_back_as_they_were() -> None:
    points: Sequence[PointedPoint] = (
        PointedPoint((0.25, 1.0), "wrist", 17, "the can"),
        PointedPoint(None, label="undo"),
    )
    assert points_of([point_message(points[0])]) == points[:1]
    assert candidates_of([point_message(each) for each in points]) == (
        points[0],
        PointedPoint(None, "scene", 0, "undo"),
    )
