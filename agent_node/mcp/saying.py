"""The tool `say`: a client speaks to the robot as an operator does, in a session of its own that remembers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, field, replace
from typing import Any

from toolhand.agent_node.advice import about_the_robot
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.conversation_settings import AS_SPACETOOLS, ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.events import (
    ANSWER_DEADLINE_S,
    Ask,
    CommandBegan,
    Event,
    Listener,
    OperatorAnswer,
    OperatorQuestion,
    nobody,
)
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.open_question import OpenQuestion
from toolhand.agent_node.policies import registry
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.session import OperatorSession, SessionCommand, SessionKind, SessionTurn, say_and_ask
from toolhand.agent_node.session_kinds import session_of
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.toolbox.toolbox import Toolbox
from toolhand.tool_nodes.tools.suites import parse_suites

NAME = "say"
DESCRIPTION = (
    "Say something to the robot in plain words, as an operator would: a command, several, a question, an answer to its "
    'question, "undo", "go on". It looks, does what is meant and answers; it remembers what was said before. '
    "Moves the robot."
)
SCHEMA = {
    "type": "object",
    "properties": {"words": {"type": "string", "description": "What the operator says."}},
    "required": ["words"],
    "additionalProperties": False,
}
"""JSON schema of its arguments."""

HUSHED = "The arm was stopped, and I begin nothing further of it."
"""Answer to "stop" while something that was said is carried out."""

FORM = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "Answer", "description": 'Words, such as "the left one".'}},
    "required": ["answer"],
}
"""What a client is asked to fill in for a question, in the protocol's part of JSON schema."""

LONGEST_WORDS = 2000
"""Longest words of a call [characters]; as long as a command of the scripted policy may be."""

_LOOK_S = 0.1
"""How often a question that waits looks whether its call was given up [s]."""

AskClient = Callable[[str], Awaitable[str | None]]
"""Puts a question to the client's user; their words, None where they give none."""


def words_of(arguments: Any) -> str:
    """The words of a call. Raises ToolError INVALID_ARGUMENT for what is none."""
    words = arguments.get("words") if isinstance(arguments, dict) else None
    if not isinstance(words, str) or not words.strip() or set(arguments) != {"words"}:
        raise invalid('say takes one argument: words, a text such as "put the lemon in the bowl".')
    if len(words) > LONGEST_WORDS:
        raise invalid(f"words may have at most {LONGEST_WORDS:,} characters, got {len(words):,}.")
    return words


def spoken(event: Event) -> str:
    """What a client hears of an event; empty for most."""
    before = _HEARD.get(event.kind)
    return "" if before is None else f"{before}{event.words}"


_HEARD = {"told": "", "command": "", "thought": "", "question": "Question: ", "operator": "Answer: "}
"""What stands before the words of an event that a client hears, by its kind."""


class ElicitedAnswers:
    """Puts questions to the client's user, and waits in another thread than the server's loop; an `Ask`.

    Args:
        given_up: Polled; True ends the question.

    Attributes:
        closed: The last question was declined, or left open for too long.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, ask: AskClient, given_up: Callable[[], bool]) -> None:
        self._loop, self._ask, self._given_up = loop, ask, given_up
        self.closed = ""

    def __call__(self, question: OperatorQuestion) -> OperatorAnswer | None:
        """See `toolhand.agent_node.events.Ask`. Raises ToolError STOPPED where the call was given up."""
        asked: Future[str | None] = asyncio.run_coroutine_threadsafe(_once(self._ask(question.text)), self._loop)
        until_s = time.monotonic() + ANSWER_DEADLINE_S
        while time.monotonic() < until_s:
            if self._given_up():
                asked.cancel()
                raise ToolError(ErrorCode.STOPPED, "The call was given up while its question waited.")
            with contextlib.suppress(NotYet):
                try:
                    words = asked.result(_LOOK_S)
                except NotYet:
                    raise
                except Exception:  # a client that fails at asking: the next words may answer
                    return None
                self.closed = "" if words else "The operator gave no answer; the question is closed."
                return OperatorAnswer(words) if words else None
        asked.cancel()
        self.closed = f"Nobody answered within {ANSWER_DEADLINE_S:g} s; the question is closed."
        return None


async def _once(asked: Awaitable[str | None]) -> str | None:
    return await asked


@dataclass(frozen=True)
class Hearer:
    """Who hears what clients say.

    Attributes:
        fixed: Makes the tools of commands that have suites of their own.
    """

    kind: SessionKind
    policy: Policy
    toolbox: Toolbox
    robot: RobotMemory
    fixed: Callable[[tuple[str, ...]], Toolbox]
    settings: ConversationSettings = AS_SPACETOOLS


def hearing(
    policy: str,
    protocol: str,
    toolbox: Toolbox,
    fixed: Callable[[tuple[str, ...]], Toolbox],
    options: PolicyOptions,
    model: RobotModel,
) -> Hearer:
    """Who hears what clients say, by the names that users type.

    Args:
        policy, protocol, options: See `toolhand.agent_node.policies.registry`.
        toolbox: The robot's tools, as clients have them; a model has the suites of its protocol.
        fixed: Makes the tools of some suites.

    Raises:
        ToolError: As `session_of` and `toolhand.agent_node.policies.registry.make_policy`.
    """
    kind, robot, written = session_of(policy), RobotMemory(), registry.protocol_of(policy, protocol)
    own = fixed(parse_suites(registry.suites_of(policy, written))) if registry.is_model(policy) else toolbox
    tools = kind.tools(own, robot, True)
    written = replace(written, robot=about_the_robot(model, tools))
    hears = registry.make_policy(policy, written, tools.schemas(written.native), options)
    return Hearer(kind, hears, tools, robot, fixed, ConversationSettings(protocol=written))


@dataclass
class Saying:
    """One call of `say` on its way.

    Attributes:
        words: Utterance of the operator.
        hear: Called with every event, in the robot's thread.
        ask: Puts questions to the client's user; `nobody` where the next call may answer.
        episodes: Commands that have ended.
    """

    words: str
    hear: Listener
    ask: Ask = nobody
    episodes: list[Episode] = field(default_factory=list)

    def hold(self, session: OperatorSession) -> SessionTurn:
        """Say the words in a session, and answer its questions where somebody can. Raises as `say_and_ask`."""
        if self.ask is nobody:
            return session.say(self.words)
        return say_and_ask(session, self.words, self._answer)

    def _answer(self, question: OpenQuestion) -> str | None:
        if self.closed:  # it was put before, in vain
            return None
        answer = self.ask(OperatorQuestion(question.text))
        return None if answer is None else answer.words

    @property
    def closed(self) -> str:
        """Why the question is closed that waited for an answer; empty where none is."""
        return self.ask.closed if isinstance(self.ask, ElicitedAnswers) else ""

    def carry_out(self, command: SessionCommand, to: Hearer, stopped: Callable[[], bool]) -> Episode:
        """One command of it, polled for whether it was stopped."""
        if command.sentence != self.words or self.episodes:
            self.hear(CommandBegan(command.sentence))
        toolbox = to.fixed(command.suites) if command.suites else to.toolbox
        ask = self.ask if command.asks else nobody
        agent = Agent(command.policy or to.policy, toolbox, command.settings(to.settings), stopped, self.hear, ask)
        episode = command.run(agent)
        self.episodes.append(episode)
        return episode
