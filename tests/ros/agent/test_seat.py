"""What operators say to the agent's node is heard by its policy, word for word, in a conversation for each session."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent_node.session.hearing import UTTERANCES, Hearing, Table, answer, call
from tests.ros.agent.conftest import DOMAIN
from toolhand.agent_node.events import OperatorAnswer
from toolhand.agent_node.ros.operator import Operator
from toolhand.agent_node.session import POLICY_SESSION
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.toolbox.toolbox import Toolbox

ASK = call("operator.ask", question="Which can?", candidates=[[0.25, 0.5], [0.75, 0.5]])
PICK = call("robot.pick", point=[0.25, 0.5])


@pytest.fixture
def link(contexts: Callable[[], Any]) -> Iterator[RosLink]:
    with RosLink({"ROS_DOMAIN_ID": str(DOMAIN)}) as entered:
        yield entered


class Served(Hearing):
    """The node's policy."""

    kind = POLICY_SESSION


def test_fifty_utterances_are_heard_as_they_were_said(agent: Callable[..., Any], link: RosLink, tmp_path: Path) -> None:
    policy = Served()
    agent(lambda *_: Toolbox([Table()]), {"model": policy}, policy="model")
    operator = Operator(link, lambda event: None, session="a")
    for said in UTTERANCES:
        episode = operator.carry_out(said)
        assert (episode.success, episode.answer) == (True, "It is so.")
    operator.close()
    assert policy.heard == list(UTTERANCES)
    results = [json.loads(path.read_text("utf-8")) for path in tmp_path.glob("runs/*/result.json")]
    assert sorted(result["task"] for result in results) == sorted(UTTERANCES)
    assert {(result["policy"], result["outcome"], result["success"]) for result in results} == {
        ("model", "answered", False)
    }


def test_a_question_has_its_candidates_and_is_answered_at_once_or_by_the_next_words(
    agent: Callable[..., Any], link: RosLink
) -> None:
    policy = Served(ASK, PICK, answer("I hold it."), ASK, PICK, answer("I hold it."))
    agent(lambda *_: Toolbox([Table()]), {"model": policy}, policy="model")
    waits = Operator(link, lambda event: None, lambda question: OperatorAnswer(question.candidates[1].label), "a")
    assert waits.carry_out("pick up the can").success
    assert "The operator answers: 2" in policy.given[1][-1].text
    waits.close()
    ends = Operator(link, lambda event: None, session="b")
    assert ends.carry_out("pick up the can").error_code is ErrorCode.AMBIGUOUS
    assert [each.point for each in ends.candidates] == [(0.25, 0.5), (0.75, 0.5)]
    assert ends.carry_out("the left one").success
    assert policy.heard == ["pick up the can", "the left one"]
    ends.close()
