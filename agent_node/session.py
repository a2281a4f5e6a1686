"""An operator's session with a robot: who hears their words, and what comes of each.

Which session a policy has is the policy's own matter, see `toolhand.agent_node.session_kinds`. Rules that
read words have a session of their own; every other policy has a `PolicySession`, which gives it the words as they were
said, in one conversation that lasts as long as the session.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from toolhand.agent_node.agent import Agent
from toolhand.agent_node.asking import candidate_meant, question_of
from toolhand.agent_node.conversation import MOST_QUESTIONS
from toolhand.agent_node.conversation_settings import AS_SPACETOOLS, ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.memory import DoneDeed, RobotMemory
from toolhand.agent_node.memory_file import MemoryFile, kept_up
from toolhand.agent_node.open_question import ANSWER_WITHIN_S, Choice, OpenQuestion
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.protocol import Protocol as Written
from toolhand.agent_node.session_tools import with_session_tools
from toolhand.tool_nodes.results import ErrorCode, invalid
from toolhand.tool_nodes.toolbox.toolbox import Toolbox


@dataclass(frozen=True)
class SessionTurn:
    """What came of an utterance.

    Attributes:
        answer: The answer to the operator.
        success: Everything that was asked for is done, or answered.
        error_code: Code of the first object that went wrong; None where nothing did.
        episodes: Episodes of it, in order.
        question: The question that now waits for the operator's answer; None where none does.
        done: Steps of the plan that are done.
        left: Steps of the plan that are not done; empty where all are, and where there was no plan.
    """

    answer: str
    success: bool
    error_code: ErrorCode | None = None
    episodes: tuple[Episode, ...] = ()
    question: OpenQuestion | None = None
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class SessionCommand:
    """One command that a session has carried out.

    Attributes:
        sentence: The words that its policy is given.
        policy: Policy that does it; the session's own where None.
        memory: Account of what was done before, for a policy that reads.
        suites: Suites of tools that `policy` needs; those of the session where there are none.
        follows: The command before, whose conversation it goes on with.
        asks: Its questions are put while it is carried out, where somebody can answer.
        heard: An operator hears what the policy says, see `Recovery.heard`.
        look: A policy that looks at images is shown the scene first.
        pointed: Points that the operator shows with the sentence.
    """

    sentence: str
    policy: Policy | None = None
    memory: str = ""
    suites: tuple[str, ...] = ()
    follows: Episode | None = None
    asks: bool = True
    heard: bool = False
    look: bool = False
    pointed: tuple[PointedPoint, ...] = ()

    @property
    def on_the_way(self) -> bool:
        """Whether it is none of the operator's, but done on the way to one: a look, or to get out of the view."""
        return bool(getattr(self.policy, "on_the_way", False))

    @property
    def record(self) -> dict[str, Any]:
        """Entries of its result: the utterances before it in the same conversation, without which it means less."""
        before = [] if self.follows is None else self.follows.messages
        earlier = [each.words for each in before if each.role == "user" and each.words and not each.answers]
        return {"earlier": earlier} if earlier else {}

    def run(self, agent: Agent) -> Episode:
        """Have an agent carry it out; never raises for what a policy or a tool does."""
        return agent.run(self.sentence, memory=self.memory, follows=self.follows, look=self.look, pointed=self.pointed)

    def settings(self, settings: ConversationSettings) -> ConversationSettings:
        """The settings of its conversation, made of those of the session."""
        return replace(settings, recovery=replace(settings.recovery, heard=True)) if self.heard else settings


RunSessionCommand = Callable[[SessionCommand], Episode]
"""Carries out one command of a session, where its tools are. Raises ToolError where it cannot begin."""


class OperatorSession(Protocol):
    """One operator's side of a robot."""

    def say(self, words: str, pointed: Sequence[PointedPoint] = ()) -> SessionTurn:
        """Carry out what the operator says, to its end. Never raises for what was said or what a tool did.

        Args:
            words: The utterance.
            pointed: Points of the scene camera's image that the words mean, such as "this one" and "here", in order.

        Raises:
            ToolError: INVALID_ARGUMENT while an earlier utterance is carried out, and for a kept file that is damaged;
                whatever carrying out raises where a command cannot begin.
        """

    @property
    def question(self) -> OpenQuestion | None:
        """The question that waits for the operator's answer; None where none does."""

    def leave_question(self) -> None:
        """Close the question that waits: nobody answers it."""

    def note_stop(self) -> None:
        """The arm was stopped since the last words: a question is closed, so that its answer moves nothing."""

    def close_old_question(self) -> str:
        """Close a question that nobody has answered in time: the sentence that says so; empty where none was closed."""


@dataclass(frozen=True)
class SessionSetup:
    """What a session is made of.

    Attributes:
        run: Carries out its commands.
        robot: Memory of the robot, shared with other operators.
        tell: Hears lines for the operator before something is done.
        stopped: Polled; True after a stop of the arm.
        kept: Files in which memories are kept that are shared; they are read before each utterance, so that whoever
            deletes one has the robot forget.
        path: File in which the session keeps its own memory, and the robot's where none is shared; None keeps nothing.
        protocol: How its policy writes.
    """

    run: RunSessionCommand
    robot: RobotMemory
    tell: Callable[[str], None] = lambda line: None
    stopped: Callable[[], bool] = lambda: False
    kept: tuple[MemoryFile, ...] = ()
    path: Path | None = None
    protocol: Written = AS_SPACETOOLS.protocol


@dataclass(frozen=True)
class SessionKind:
    """The session that a policy has.

    Attributes:
        begin: Begins one.
        once: Begins one that is for a single sentence, whose questions are asked while it is carried out.
        tools: The tools that its own policy is offered, of those of the robot; the last argument says whether anybody
            can answer its questions.
    """

    begin: Callable[[SessionSetup], OperatorSession]
    once: Callable[[SessionSetup], OperatorSession]
    tools: Callable[[Toolbox, RobotMemory, bool], Toolbox]


class PolicySession:
    """A session whose policy hears every word itself.

    Args:
        setup: Parts that it is made of.
        clock: Wall-clock time, seconds since the epoch.
    """

    def __init__(self, setup: SessionSetup, clock: Callable[[], float] = time.time) -> None:
        self._run, self._robot, self._clock = setup.run, setup.robot, clock
        own = () if setup.path is None or setup.kept else (MemoryFile(setup.path, robot=setup.robot),)
        self._kept = (*setup.kept, *own)
        self._speaking = threading.Lock()
        self._last: Episode | None = None
        self._heard: list[DoneDeed] = []
        self._seen_at = -1
        self._news = ""
        self._question: OpenQuestion | None = None

    @property
    def question(self) -> OpenQuestion | None:
        """See `OperatorSession`."""
        return self._question

    def say(self, words: str, pointed: Sequence[PointedPoint] = ()) -> SessionTurn:
        """See `OperatorSession`."""
        if not self._speaking.acquire(blocking=False):
            raise invalid("An earlier sentence is being carried out.", "Wait for its end, or stop it.")
        try:
            with kept_up(self._kept) as unwritten:
                closed = self.close_old_question()
                self._note_answer(words, pointed)
                turn = self._carried_out(words, tuple(pointed), closed)
            return replace(turn, answer=" ".join((turn.answer, *unwritten)))
        finally:
            self._speaking.release()

    def _note_answer(self, words: str, pointed: Sequence[PointedPoint]) -> None:
        """Close the question that waits; the policy is told which candidate the words mean, where that is known."""
        question, self._question = self._question, None
        if question is not None:
            point = pointed[0].point if len(pointed) == 1 else None
            meant = candidate_meant(words, point, [(each.words, each.point) for each in question.candidates])
            self._news = f"The operator's answer means {meant}." if meant else self._news

    def _carried_out(self, words: str, pointed: tuple[PointedPoint, ...], closed: str) -> SessionTurn:
        robot = self._robot
        memory = " ".join(part for part in (self._news, robot.text(self._heard)) if part)
        look = self._seen_at != robot.motions or bool(pointed)
        command = SessionCommand(words, None, memory, (), self._last, True, True, look, pointed)
        episode = self._run(command)
        if episode.messages:  # else it could not begin
            self._last, self._heard, self._news = episode, list(robot.deeds), ""
            if _has_seen(episode, look):
                self._seen_at = robot.motions
            if episode.error_code in (ErrorCode.STOPPED, ErrorCode.CANCELLED):
                self._news = _STOPPED
        if episode.outcome == "asked":
            asked = [found for turn in episode.turns for each in turn.exchanges if (found := question_of(each))]
            choices = tuple(Choice(each.label, each.point) for each in asked[-1][1]) if asked else ()
            self._question = OpenQuestion(episode.answer, words, self._clock(), candidates=choices)
        answer = f"{closed} {episode.answer}".strip()
        done = episode.outcome in ("done", "answered")
        return SessionTurn(answer, done, episode.error_code, (episode,), self._question)

    def leave_question(self) -> None:
        """See `OperatorSession`."""
        if self._question is not None:
            self._question, self._news = None, "Nobody has answered your last question."

    def note_stop(self) -> None:
        """See `OperatorSession`."""
        self._question, self._news = None, _STOPPED

    def close_old_question(self) -> str:
        """See `OperatorSession`."""
        question = self._question
        if question is None or self._clock() - question.asked_s <= ANSWER_WITHIN_S:
            return ""
        self.leave_question()
        return f"I have waited {ANSWER_WITHIN_S:.0f} s for an answer and closed my question."


_STOPPED = "The operator has stopped the arm since; a question of before is closed."


def _has_seen(episode: Episode, looked: bool) -> bool:
    """Whether the newest image of a conversation shows the scene as an utterance has left it."""
    for record in reversed(episode.records):
        if record.view is not None and record.view.camera == "scene":
            return True
        if record.motion:
            return False
    return looked and any(message.image is not None for message in episode.messages if message.role == "user")


POLICY_SESSION = SessionKind(PolicySession, PolicySession, with_session_tools)
"""The session of every policy that says nothing else."""

AskOperator = Callable[[OpenQuestion], str | None]
"""Puts a question to the operator and waits; their words, None where none came and the question is closed."""


def say_and_ask(
    session: OperatorSession, words: str, ask: AskOperator, pointed: Sequence[PointedPoint] = ()
) -> SessionTurn:
    """Say words, and then every answer to a question that they have led to; what came of the last.

    Args:
        session: Hears them.
        words: Utterance of the operator.
        ask: Puts the questions.
        pointed: See `OperatorSession.say`.

    Raises:
        ToolError: As `OperatorSession.say`, and whatever `ask` raises.
    """
    turn = session.say(words, pointed)
    for _ in range(MOST_QUESTIONS):
        if turn.question is None:
            break
        answer = ask(turn.question)
        if answer is None:
            session.leave_question()
            break
        turn = session.say(answer)
    return turn
