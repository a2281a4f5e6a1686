"""What a client of MCP says is heard by the server's policy, word for word, in a conversation for each client."""

from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client
from mcp_types import ElicitResult

from tests.agent_node.session.hearing import UTTERANCES, Hearing, Table, answer, call
from toolhand.agent_node.mcp.saying import Hearer
from toolhand.agent_node.mcp.server import make_server
from toolhand.agent_node.mcp.sessions import NoBrake, SharedRobot
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.session import POLICY_SESSION
from toolhand.tool_nodes.toolbox.toolbox import Toolbox

pytestmark = pytest.mark.anyio
ASK = call("operator.ask", question="Which can?")


def served(policy: Hearing, closing: Callable[[SharedRobot], SharedRobot]) -> SharedRobot:
    toolbox, robot = Toolbox([Table()]), RobotMemory()
    tools = POLICY_SESSION.tools(toolbox, robot)
    to = Hearer(POLICY_SESSION, policy, tools, robot, lambda suites: toolbox)
    return closing(SharedRobot(toolbox, NoBrake(), to))


async def test_fifty_utterances_are_heard_as_they_were_said(closing: Any) -> None:
    policy = Hearing()
    async with Client(make_server(served(policy, closing))) as client:
        for said in UTTERANCES:
            result = await client.call_tool("say", {"words": said})
            assert (result.is_error, result.content[0].text) == (False, "It is so.")
    assert policy.heard == list(UTTERANCES)


async def test_a_question_is_answered_by_the_user_or_by_the_next_words(closing: Any) -> None:
    async def choose(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"answer": "the left one"})

    policy = Hearing(ASK, call("robot.pick", point=[0.2, 0.5]), answer("I hold it."))
    robot = served(policy, closing)
    async with Client(make_server(robot), mode="legacy", elicitation_callback=choose) as client:
        assert (await client.call_tool("say", {"words": "pick up the can"})).content[0].text == "I hold it."
    assert "the left one" in policy.given[1][-1].text
    policy.replies = [ASK, answer("UNAVAILABLE: no.")]
    async with Client(make_server(robot), mode="legacy") as client:
        asked = await client.call_tool("say", {"words": "pick up the can"})
        assert asked.structured_content["error"]["code"] == "AMBIGUOUS"
        await client.call_tool("say", {"words": "the left one"})
    assert policy.heard == ["pick up the can", "the left one"], "each client has a conversation of its own"
