"""Points go with what is said to a graph, and what its questions let choose from comes back with points."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.ros.agent.conftest import DOMAIN
from tests.ros.agent.test_dialogues import Carrier, Quick
from toolhand.agent_node.events import Event, OperatorAnswer, OperatorQuestion
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.ros.operator import Operator
from toolhand.agent_node.session import POLICY_SESSION
from toolhand.tool_nodes.results import ToolResult
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool

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

    sees_images, kind = True, POLICY_SESSION

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Message] = []

    def respond(self, conversation: Sequence[Message]) -> Reply:
        if conversation[-1].role != "tool":
            self.asked.append(conversation[-1])
        return super().respond(conversation)


class Looks(Quick):
    """The same, with a picture of the scene."""

    @tool("robot.capture_image", repeatable=True)
    def look(self) -> ToolResult:
        """Look."""
        return ToolResult(text="Captured.", image=np.full((96, 128, 3), 120, np.uint8))


def test_a_policy_that_looks_at_images_is_shown_the_points(agent: Callable[..., Any], link: RosLink) -> None:
    policy = Seeing()
    agent(lambda *_: Toolbox([Looks()]), {"script": policy}, policy="script")
    operator = Operator(link, lambda event: None, session="a")
    try:
        assert operator.carry_out("put this one here", (PointedPoint((0.25, 0.5)), PointedPoint((0.75, 0.5)))).success
        assert operator.carry_out("pick up the lemon").success
    finally:
        operator.close()
    pointed, plain = policy.asked
    assert pointed.image is not None
    assert (pointed.image_index, pointed.words, plain.words) == (0, "put this one here", "pick up the lemon")
    assert "<image 0>" in pointed.text
    assert "1 at (0.250, 0.500), 2 at (0.750, 0.500)." in pointed.text
    assert [pointed.image[48, u].tolist() == [120] * 3 for u in (32, 96, 64)] == [False, False, True]
    assert plain.image is not None, "something has moved since"
    assert plain.image_index == 1
