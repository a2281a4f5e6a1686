"""The dialogue: turns what an operator says into single commands, and has each carried out.

An utterance becomes steps, each of them words that `reading.read` makes one act of. A step that moves something is an
ordinary command: the policy is given its whole sentence, and what is remembered as text. What the tools then report is
remembered, whatever policy called them. A step that a look has to come before, such as "both cans", becomes its own
steps after that look.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from toolhand.agent_node.dialogue.acts import (
    Act,
    Deed,
    FollowUp,
    GroupAct,
    QuestionAct,
    Refused,
    SmallTalk,
)
from toolhand.agent_node.dialogue.answering import answered
from toolhand.agent_node.dialogue.clauses import parse_problem, parses
from toolhand.agent_node.dialogue.doing import CarryOut, Check, Doer, TurnSoFar, no_plan
from toolhand.agent_node.dialogue.follow_ups import WHERE_IT_WAS
from toolhand.agent_node.dialogue.hearing import heard
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.dialogue.naming import OTHER, resolved
from toolhand.agent_node.dialogue.nearly import NearReading, nearly
from toolhand.agent_node.dialogue.pointing import answer_at, bound
from toolhand.agent_node.dialogue.reading import read
from toolhand.agent_node.dialogue.telling import without_points
from toolhand.agent_node.dialogue.undoing import sequence_of
from toolhand.agent_node.memory import RobotMemory, without_point
from toolhand.agent_node.memory_file import MemoryFile, kept_up
from toolhand.agent_node.open_question import ANSWER_WITHIN_S, OpenQuestion
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.agent_node.protocol import Protocol, load_protocol
from toolhand.agent_node.session import SessionTurn
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid


class Dialogue:
    """One operator's side of a robot that remembers.

    Args:
        run: Carries out one command.
        robot: Memory of the robot, shared with other operators.
        operator: Memory of this operator.
        tell: Hears lines for the operator before something is done: a plan, and how each of its steps ended.
        stopped: Polled between the steps of a plan; True after a stop of the arm.
        check: Asked of every command of a plan before its first is carried out; for a model, one that refuses nothing.
        kept: Files in which the memories are kept; they are read before each utterance, so that whoever deletes one
            has the robot forget.
        protocol: How fixed policies for questions and skills write.
        clock: Wall-clock time, seconds since the epoch.
    """

    def __init__(
        self,
        run: CarryOut,
        robot: RobotMemory | None = None,
        operator: OperatorMemory | None = None,
        *,
        tell: Callable[[str], None] = lambda line: None,
        stopped: Callable[[], bool] = lambda: False,
        check: Check = parse_problem,
        kept: Sequence[MemoryFile] = (),
        protocol: Protocol | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.robot = RobotMemory() if robot is None else robot
        self.operator = OperatorMemory() if operator is None else operator
        self._tell: Callable[[str], None] = lambda line: tell(without_points(line))
        self._stopped, self._check = stopped, check
        self._kept, self._clock = tuple(kept), clock
        self._speaking = threading.Lock()
        self._closed = ""
        written = protocol or load_protocol("spacetools")
        self._doer = Doer(run, self.robot, self.operator, check, written, clock)

    def say(self, words: str, pointed: Sequence[PointedPoint] = ()) -> SessionTurn:
        """Carry out what the operator says, to its end. Never raises for what was said or what a tool did.

        Args:
            words: The utterance.
            pointed: Points of the scene camera's picture that its words mean, such as "this one" and "here", in order.

        Raises:
            ToolError: INVALID_ARGUMENT while an earlier utterance is carried out, and for a kept file that is damaged;
                whatever `run` raises where a command cannot begin.
        """
        if not self._speaking.acquire(blocking=False):
            raise invalid("An earlier sentence is being carried out.", "Wait for its end, or stop it.")
        try:
            turn = TurnSoFar()
            with kept_up(self._kept) as unwritten:
                self._hear_pointing(words, pointed, turn)
            operator = self.operator
            answer = without_points(" ".join(part for part in (*turn.answers, *unwritten) if part).strip())
            return SessionTurn(
                answer,
                not turn.failed,
                turn.code,
                tuple(turn.episodes),
                operator.question,
                tuple(operator.done),
                tuple(operator.left),
            )
        finally:
            self._speaking.release()

    @property
    def question(self) -> OpenQuestion | None:
        """The question that waits for the operator's answer; None where none does."""
        return self.operator.question

    def leave_question(self) -> None:
        """Close the question that waits: nobody answers it."""
        with kept_up(self._kept):
            self.operator.question = None

    def note_stop(self) -> None:
        """The arm was stopped since the last words: a question is closed, so that its answer moves nothing, and what is
        left of a plan is asked about before it goes on."""
        with kept_up(self._kept):
            if self.operator.question is not None:
                self.operator.question, self._closed = None, _CLOSED_BY_STOP
            if self.operator.left:
                self.operator.stopped_because = ErrorCode.STOPPED

    def close_old_question(self) -> str:
        """Close a question that nobody has answered in time: the sentence that says so; empty where none was closed."""
        question = self.operator.question
        if question is None or self._clock() - question.asked_s <= ANSWER_WITHIN_S:
            return ""
        self.operator.question = None
        return f"I have waited {ANSWER_WITHIN_S:.0f} s for an answer and closed my question."

    # ---- What is heard ----

    def _hear_pointing(self, words: str, pointed: Sequence[PointedPoint], turn: TurnSoFar) -> None:
        """Hear words after their points have been put in; asked about where those do not fit."""
        question = self.operator.question
        chosen = answer_at(words, pointed) if question is not None and question.candidates else ""
        try:
            said = chosen or bound(words, pointed)
        except ToolError as error:
            turn.fail(error.code, str(error))
            return
        self._hear(said, turn)

    def _hear(self, words: str, turn: TurnSoFar) -> None:
        closed, self._closed = self.close_old_question() or self._closed, ""
        parts = read(words)
        acts = [part.act for part in parts]
        question = self.operator.question
        if question is not None:
            if self._hear_answer(question, words, acts, turn):
                return
        elif closed and len(acts) == 1 and _only_answers(acts[0], words):
            turn.fail(ErrorCode.AMBIGUOUS, f"{closed} Say the whole command once more.")
            return
        turn.answers += [closed] if closed else []
        turn.answers += [f'I take "{part.remark}" for a remark.' for part in parts if part.remark]
        if question is None and self.operator.left and self.operator.stopped_because and not _goes_on(acts):
            self._drop_plan()
        near = self._near(acts, words) if question is None else None
        if near is not None:
            self.operator.question = OpenQuestion(near.question, "", self._clock(), "", (), (near.text,))
            turn.fail(ErrorCode.AMBIGUOUS, near.question)
        elif len(acts) == 1:
            self._follow(acts[0], parts[0].said, turn)
        else:
            self._plan([part.said for part in parts], turn)

    def _near(self, acts: Sequence[Act], words: str) -> NearReading | None:
        """The nearest sentence that can be read, for one that cannot."""
        unread = (isinstance(act, Refused) or (isinstance(act, Deed) and self._check(act.text)) for act in acts)
        return nearly(words) if any(unread) else None

    def _hear_answer(self, question: OpenQuestion, words: str, acts: Sequence[Act], turn: TurnSoFar) -> bool:
        """True where words answer the question that waits, or are to be said again."""
        operator = self.operator
        meant = answered(question, self._doer.seen(heard(words)), acts, operator.answered, operator.chosen)
        if meant.other == "keep":
            return False
        if meant.again:
            turn.fail(ErrorCode.AMBIGUOUS, meant.again)
            return True
        operator.question = None
        if meant.other:
            return False
        if meant.ended:
            self._drop_plan()
            turn.fail(ErrorCode.CANCELLED, "I leave it; nothing has moved.")
            return True
        operator.answered, operator.chosen = question, meant.chosen
        if not question.command and not question.candidates:
            self._carry_on(list(meant.commands), turn)
            return True
        left = list(question.left)
        for k, command in enumerate(meant.commands):
            before = len(turn.answers)
            self._carry_on([command, *left], turn, fresh=not left)
            nothing_there = turn.code in (ErrorCode.OBJECT_NOT_FOUND, ErrorCode.NOT_RECOGNISED)
            if not (turn.failed and nothing_there and meant.chosen < 0):
                break
            if k + 1 < len(meant.commands):
                turn.failed, turn.code = False, None
                del turn.answers[before:]
            else:  # none of the candidates is called so
                operator.question = replace(question, asked_s=self._clock())
                turn.answers.append(question.text)
        return True

    def _follow(self, act: Act, said: str, turn: TurnSoFar) -> None:
        """Carry out an utterance of one act."""
        if isinstance(act, FollowUp) and act.kind in ("go_on", "skip"):
            self._go_on(act, turn)
            return
        if isinstance(act, FollowUp) and act.kind in ("stop", "neither", "no_to_it"):
            self._step(said, turn, planned=False)
            return
        operator = self.operator
        whole = isinstance(act, FollowUp) and act.kind in ("undo", "put_back") and bool(sequence_of(self.robot))
        pending = (operator.done, operator.left, operator.stopped_because)
        self._carry_on([said], turn, fresh=True)
        if pending[1] and pending[2] and not operator.left and operator.question is None and not whole:
            operator.done, operator.left, operator.stopped_because = pending  # a question or "undo" in between

    # ---- Plans ----

    def _plan(self, steps: list[str], turn: TurnSoFar) -> None:
        """Show a plan of several steps, and carry it out; nothing moves where one of them cannot be read."""
        held = "" if self.robot.held is None else self.robot.held.thing
        for step in steps:
            problem, held = self._problem(step, held)
            if problem is not None:
                turn.fail(problem.code, f'Nothing has moved, as I cannot do "{step}": {problem}')
                return
        self._tell(_shown(steps))
        self._carry_on(steps, turn)

    def _problem(self, step: str, held: str) -> tuple[ToolError | None, str]:
        """Why a step of a plan cannot be done, as far as that is known before; and what is held after it."""
        acts = [part.act for part in read(step)]
        if len(acts) == 1 and isinstance(acts[0], Refused):
            return ToolError(acts[0].code, acts[0].message), held
        if held and len(acts) == 1 and isinstance(acts[0], FollowUp) and acts[0].kind == "same_with":
            hint = "Say where to put it first."
            return ToolError(ErrorCode.ALREADY_HOLDING, f"the gripper would still hold the {held}.", hint), held
        if len(acts) != 1 or not isinstance(acts[0], Deed):
            return None, held if all(isinstance(act, QuestionAct | SmallTalk) for act in acts) else ""
        text = OTHER.sub(r"a \g<noun>", WHERE_IT_WAS.sub("on the table", self._doer.seen(acts[0].text)))
        text = text if self._check(text) is None else resolved(text, "thing")
        problem = self._check(text)
        if problem is not None or not parses(text):
            return problem, ""
        command = parse_command(text)
        if command.target is not None and held and held != "thing" and without_point(command.target.plain) != held:
            hint = "Say where to put it first."
            return ToolError(ErrorCode.ALREADY_HOLDING, f"the gripper would still hold the {held}.", hint), held
        picks = command.action == "pick" and command.target is not None
        return None, without_point(command.target.plain) if picks and command.target is not None else ""

    def _carry_on(self, steps: list[str], turn: TurnSoFar, fresh: bool = False) -> None:
        """Carry out steps one after the other, up to the first that fails.

        Args:
            steps: Words of each.
            turn: Gets what comes of them.
            fresh: They are no plan as long as they are one.
        """
        operator = self.operator
        done, operator.stopped_because = ([] if fresh else list(operator.done)), ""
        operator.done, operator.left = done, list(steps)
        many = len(done) + len(steps) > 1
        sequence = self.robot.sequence(goes_on=bool(done))
        while operator.left:
            if done and self._stopped():
                turn.fail(ErrorCode.STOPPED, f"I have stopped before the next step. {self._what_is_left('stopped')}")
                return
            step = operator.left[0]
            known = list(self.robot.deeds)
            further = self._step(step, turn, many)
            if many:
                self.robot.note_sequence(known, sequence)
            if further is not None:
                operator.left[:1] = further
                many = many or len(further) > 1
                if len(further) > 1 or _stacks(step):
                    self._tell(_shown(operator.left))
                continue
            if operator.question is not None and turn.failed:
                self._keep_for_later(operator.left[1:])
                return
            if turn.failed:
                if many:
                    turn.answers.append(self._what_is_left(str(turn.code or "it failed")))
                else:
                    operator.left = []
                return
            del operator.left[:1]  # a step may have given up the plan
            done.append(step)
            if many and operator.left and turn.answers:
                self._tell(turn.answers[-1])
        operator.done = done if many else []

    def _keep_for_later(self, left: list[str]) -> None:
        """What a plan still has to do waits with the question for its answer."""
        operator = self.operator
        if operator.question is not None and left:
            operator.question = replace(operator.question, left=(*operator.question.left, *left))
        operator.left = []

    def _what_is_left(self, why: str) -> str:
        operator = self.operator
        operator.stopped_because = why
        done = f"Done: {_listed(operator.done)}." if operator.done else "None of the steps is done."
        ways = 'Say "go on" to go on with that, or "skip it" to leave out the first.'
        return f"{done} Left: {_listed(operator.left)}. {ways}"

    def _drop_plan(self) -> None:
        self.operator.done, self.operator.left, self.operator.stopped_because = [], [], ""

    def _go_on(self, act: FollowUp, turn: TurnSoFar) -> None:
        operator, kind = self.operator, act.kind
        if not operator.left:
            turn.fail(ErrorCode.INVALID_ARGUMENT, no_plan(act.words))
            return
        steps = operator.left[1:] if kind == "skip" else list(operator.left)
        if not steps:
            self._drop_plan()
            turn.answers.append("That was the last step; nothing is left.")
            return
        operator.left = steps
        if operator.stopped_because in ("stopped", ErrorCode.STOPPED, ErrorCode.CANCELLED) and kind != "skip":
            text = f"The arm was stopped. Shall I go on with {_listed(steps)}?"
            operator.question = OpenQuestion(text, "", self._clock(), "", (), tuple(steps))
            turn.fail(ErrorCode.AMBIGUOUS, text)
            return
        self._carry_on(steps, turn)

    def _step(self, said: str, turn: TurnSoFar, planned: bool) -> list[str] | None:
        """Carry out one step; steps in its place where it stands for others, else None."""
        parts = read(said)
        if len(parts) > 1:
            return [part.said for part in parts]
        act = parts[0].act
        try:
            return self._doer.act(act, said, turn)
        except ToolError as error:
            if error.code is ErrorCode.UNAVAILABLE and not turn.episodes and not planned:
                raise
            turn.fail(error.code, str(error))
            return None


def _goes_on(acts: Sequence[Act]) -> bool:
    """Whether an utterance leaves a pending plan as it is."""
    kept = ("go_on", "skip", "stop", "undo", "undo_last", "put_back")
    return all(isinstance(a, QuestionAct | SmallTalk) or (isinstance(a, FollowUp) and a.kind in kept) for a in acts)


def _stacks(step: str) -> bool:
    """Whether words ask for a stack: which thing goes on which is shown first, also where that is one step."""
    return any(isinstance(part.act, GroupAct) and part.act.form == "stack" for part in read(step))


def _only_answers(act: Act, words: str) -> bool:
    """Whether an utterance means something only as an answer."""
    if isinstance(act, FollowUp):
        return act.kind in ("choice", "other_one", "yes_to_it", "no_to_it", "neither", "any_one")
    return isinstance(act, Deed) and not parses(words) and len(words.split()) <= _SHORT_ANSWER


_CLOSED_BY_STOP = "The arm was stopped after I had asked, which closed my question."
_SHORT_ANSWER = 5
"""Longest utterance that is taken for an answer that came too late, where it is no command [words]: "the red one"."""


def _listed(steps: Sequence[str]) -> str:
    return "; ".join(f'"{step}"' for step in steps)


def _shown(steps: Sequence[str]) -> str:
    return "My plan: " + "; ".join(f"{k}. {step}" for k, step in enumerate(steps, 1)) + "."
