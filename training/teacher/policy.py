"""The scripted teacher: answers questions by calling tools, and carries out what the scripted policy can.

It reads the question's words and what the tools answer, never the truth: where the tools err, so does it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policies.scripted.steps import Done, next_calls
from toolhand.agent_node.policies.scripted.transcript import read_episode
from toolhand.agent_node.policies.scripted.wording import untagged
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol, load_protocol
from toolhand.tool_nodes.results import ErrorCode, invalid
from toolhand.tool_nodes.tools.suites import SUITES
from toolhand.training.teacher import images, last, spacetools
from toolhand.training.teacher.reading import plainly, read_question
from toolhand.training.teacher.steps import AnswerScript

SCRIPTS: Mapping[str, Mapping[str, AnswerScript]] = {
    "spacetools": spacetools.SCRIPTS,
    "peria": images.SCRIPTS,
    "last": last.SCRIPTS,
}
"""Suite -> kind -> how its tools answer. E-ViC's tools show and draw, and tell nothing to a policy without eyes."""


_TELLTALE = {"spacetools": "roborefer.detect_one", "peria": "grounding_dino", "last": "Get3DPoint"}
"""Suite -> one of its tools: where that is offered, the suite is."""


def teacher(protocol: Protocol, schemas: Sequence[Mapping[str, Any]], options: PolicyOptions) -> TeacherPolicy:
    """The entry `teacher` of policies: with the suites that are offered."""
    offered = {schema["function"]["name"] for schema in schemas}
    suites = [suite for suite, tool in _TELLTALE.items() if tool in offered]
    return TeacherPolicy(protocol, suites, options.turns or protocol.turn_budget)


teacher.session = "rules"  # type: ignore[attr-defined]


class TeacherPolicy:
    """Answers the questions of `toolhand.training.tasks` with the tools of some suites; anything else the scripted
    policy does.

    Args:
        protocol: Protocol that it writes; SpaceTools' where None.
        suites: Names of the suites that it is offered; of several that can answer, the first one's tools are called.
    """

    name = "teacher"

    def __init__(
        self,
        protocol: Protocol | None = None,
        suites: Sequence[str] = ("spacetools", "peria"),
        max_turns: int = 24,
    ) -> None:
        unknown = sorted(set(suites) - set(SUITES))
        if unknown:
            raise invalid(f"There is no tool suite {unknown[0]!r}, only {', '.join(SUITES)}.")
        self._protocol = protocol or load_protocol("spacetools")
        self._suites = tuple(suites)
        self._commands = ScriptedPolicy(max_turns=max_turns, protocol=self._protocol)
        self._max_turns = max_turns

    def answers(self, kind: str) -> bool:
        """Whether its tools can answer questions of a kind."""
        return any(kind in SCRIPTS.get(suite, {}) for suite in self._suites)

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The next turn: a thought and tool calls, or a thought and the answer."""
        text, turns = read_episode(conversation)
        question = read_question(text)
        if question is None:
            return self._commands.respond(_told(conversation, text))
        try:
            if not self.answers(question.kind):
                raise Done("My tools cannot tell.", f"{ErrorCode.NOT_UNDERSTOOD}: none of my tools can answer that.")
            script = next(SCRIPTS[s][question.kind] for s in self._suites if question.kind in SCRIPTS.get(s, {}))
            thought, calls = next_calls(script(question), turns, self._protocol.calls_in_a_turn != "all")
            if len(turns) >= self._max_turns - 1:
                raise Done("No turns are left.", f"{ErrorCode.TURN_BUDGET}: no turns are left to find out.")
        except Done as end:
            return Reply(self._protocol.render_turn(untagged(end.thought), (), untagged(end.answer)))
        return Reply(self._protocol.render_turn(untagged(thought), calls))


def _told(conversation: Sequence[Message], text: str) -> Sequence[Message]:
    """The conversation with its command in plain words, where the task generator made it, see `plainly`."""
    plain = plainly(text)
    if plain == text:
        return conversation
    messages = list(conversation)
    asked = next(k for k, message in enumerate(messages) if message.role == "user")
    messages[asked] = replace(messages[asked], text=plain, words=plain)
    return messages
