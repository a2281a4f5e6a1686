"""Replies of a vision-language model to ten sentences, put to the session that hears a model: what became true."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolhand.agent_node.advice import about_the_robot
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.events import OperatorAnswer, OperatorQuestion
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.policies.registry import protocol_of
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol
from toolhand.agent_node.session import POLICY_SESSION, SessionCommand, SessionSetup
from toolhand.cli.options import named_station
from toolhand.sim.tasks.predicates import THRESHOLDS, lifted_ids, place_faults
from toolhand.tool_nodes.plain_yaml import load
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, printed_schemas

CASES: list[dict[str, Any]] = load(Path(__file__).with_name("replies.yaml").read_bytes())
OFTEN = ("q04", "c20")
"""Those that run with every change: a question, and a pick among neighbours."""
TOKENS, A_PICTURE, CHARACTERS = 8_000, 410, 4
"""Most tokens that a model reads for one sentence, of which a picture is so many, and the characters of another one."""


class Replies:
    """Says what was recorded, whatever it reads, and counts that.

    Args:
        protocol: How it writes.
        replies: Lists of calls, or the answer.
        schemas: The tools that a server is sent with each turn.

    Attributes:
        tokens: Tokens that it has read.
    """

    name, takes_answers, sees_images = "recorded", True, True

    def __init__(self, protocol: Protocol, replies: Sequence[Any], schemas: Sequence[Mapping[str, Any]]) -> None:
        self._protocol, self._replies = protocol, list(replies)
        self._sent = len(json.dumps(schemas))
        self.tokens = 0.0

    def respond(self, conversation: Sequence[Message]) -> Reply:
        characters = self._sent + sum(len(message.text) for message in conversation)
        pictures = sum(message.image is not None for message in conversation)
        self.tokens += characters / CHARACTERS + A_PICTURE * pictures
        reply = self._replies.pop(0)
        if isinstance(reply, str):
            return Reply(self._protocol.render_turn("", (), reply))
        calls = [ToolCall(name, arguments) for call in reply["calls"] for name, arguments in call.items()]
        return Reply(self._protocol.render_turn("", calls))

    @property
    def is_spent(self) -> bool:
        """Whether everything was said."""
        return not self._replies


@pytest.mark.parametrize(
    "case",
    [pytest.param(each, id=each["task"], marks=[pytest.mark.essential] * (each["task"] in OFTEN)) for each in CASES],
)
def test_what_the_replies_of_a_model_come_to(case: dict[str, Any]) -> None:
    station = named_station(case["scene"], "pixels", suite="native")
    robot = RobotMemory()
    toolbox: Toolbox = POLICY_SESSION.tools(station.toolbox, robot, True)
    about = about_the_robot(station.robot, toolbox)
    protocol = replace(protocol_of("openai:m", "native", advised=True), robot=about)
    settings = ConversationSettings(protocol=protocol)
    policy = Replies(protocol, case["replies"], printed_schemas(toolbox, slim=True))
    asked: list[OperatorQuestion] = []

    def answer(question: OperatorQuestion) -> OperatorAnswer:
        asked.append(question)
        return OperatorAnswer(case["answers"])

    def run(command: SessionCommand) -> Episode:
        return command.run(Agent(policy, toolbox, command.settings(settings), ask=answer))

    before = station.world.snapshot()
    turn = POLICY_SESSION.once(SessionSetup(run, robot, protocol=protocol)).say(case["say"])
    history = station.world.hold(THRESHOLDS.still_s)
    (episode,) = turn.episodes
    told = [exchange.shown for taken in episode.turns for exchange in taken.exchanges]
    assert (episode.outcome, episode.error_code) == (case.get("outcome", "done"), case.get("code")), told
    assert policy.is_spent
    assert len(episode.turns) == len(case["replies"])
    assert len(asked) == ("answers" in case)
    assert policy.tokens <= TOKENS
    truth = case.get("truth", {})
    assert lifted_ids(before, history[-1]) == frozenset({truth["held"]} if "held" in truth else ())
    if "placed" in truth:
        moved, relation, reference = truth["placed"]
        camera = station.scene_camera().T_base_camera
        faults = place_faults(station.scene, before, history, moved, relation, [reference], camera)
        assert [said for fault, said in faults if fault != "others moved"] == []
