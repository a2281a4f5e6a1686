"""The dialogue: turns what an operator says into single commands, and has each carried out.

An utterance becomes steps, each of them one act in the robot's own words. A step that moves something is an
ordinary command: the policy is given its whole sentence, and what is remembered as text. What the tools then report is
remembered, whatever policy called them. A step that a look has to come before, such as "both cans", becomes its own
steps after that look.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from toolhand.agent_node.dialogue.acts import AnswerAct, Deed, FollowUp, QuestionAct
from toolhand.agent_node.dialogue.answering import answered
from toolhand.agent_node.dialogue.doing import NO_PLAN, CarryOut, Check, Doer
from toolhand.agent_node.dialogue.follow_ups import sequence_of
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.dialogue.naming import name_of, parse_problem
from toolhand.agent_node.dialogue.pointing import answer_at
from toolhand.agent_node.dialogue.reading import act_of
from toolhand.agent_node.dialogue.telling import without_points
from toolhand.agent_node.dialogue.turn import TurnSoFar
from toolhand.agent_node.dialogue.understanding import HeardWords, Understanding
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.memory_file import MemoryFile, kept_up
from toolhand.agent_node.open_question import ANSWER_WITHIN_S, OpenQuestion
from toolhand.agent_node.plan.reader import PlanReader, context_of
from toolhand.agent_node.plan.reading import is_plan, read_plan, say
from toolhand.agent_node.plan.types import Plan, PlanAct
from toolhand.agent_node.pointed import PointedPoint
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
        reader: Reads the words; where None only the robot's own words are understood.
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
        reader: PlanReader | None = None,
    ) -> None:
        self.robot = RobotMemory() if robot is None else robot
        self.operator = OperatorMemory() if operator is None else operator
        self._tell: Callable[[str], None] = lambda line: tell(without_points(line))
        self._stopped, self._check = stopped, check
        self._kept, self._clock = tuple(kept), clock
        self._speaking = threading.Lock()
        self._closed = ""
        self._understanding = Understanding(reader)
        written = protocol or load_protocol("spacetools")
        self._doer = Doer(run, self.robot, self.operator, check, written, clock)

    def say(self, words: str, pointed: Sequence[PointedPoint] = ()) -> SessionTurn:
        """Carry out what the operator says, to its end. Never raises for what was said or what a tool did.

        Args:
            words: The utterance.
            pointed: Points of the scene camera's image that its words mean, such as "this one" and "here", in order.

        Raises:
            ToolError: INVALID_ARGUMENT while an earlier utterance is carried out, and for a kept file that is damaged;
                whatever `run` raises where a command cannot begin.
        """
        if not self._speaking.acquire(blocking=False):
            raise invalid("An earlier sentence is being carried out.", "Wait for its end, or stop it.")
        try:
            turn = TurnSoFar()
            with kept_up(self._kept) as unwritten:
                self._hear(words, pointed, turn)
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

    def understood(self, words: str, pointed: Sequence[PointedPoint] = (), closed: str = "") -> HeardWords:
        """What words come to now; nothing is done.

        Args:
            words, pointed: See `say`.
            closed: Why the question that they may answer waits no more; empty where there was none.
        """
        question = self.operator.question
        at = answer_at(words, pointed) if question is not None and question.candidates else ""
        said, points = (f"choose the one at {at}", ()) if at else (words, pointed)
        asked = closed if question is None else question.text
        return self._understanding.hear(said, context_of(self.operator.heard, asked), points)

    def _hear(self, words: str, pointed: Sequence[PointedPoint], turn: TurnSoFar) -> None:
        closed, self._closed = self.close_old_question() or self._closed, ""
        heard, question = self.understood(words, pointed, closed), self.operator.question
        if heard.answer:
            again = question.text if question is not None else ""
            turn.fail(heard.code, " ".join(part for part in (closed, heard.answer, again) if part))
            return
        self.operator.heard = say(heard.plan)
        acts = [act_of(act) for act in heard.plan]
        if question is not None:
            if self._hear_answer(question, heard.plan, words, turn):
                return
        elif closed and len(acts) == 1 and isinstance(acts[0], FollowUp) and acts[0].only_answers:
            turn.fail(ErrorCode.AMBIGUOUS, f"{closed} Say the whole command once more.")
            return
        turn.answers += [closed] if closed else []
        if question is None and self.operator.left and self.operator.stopped_because and not _goes_on(heard.plan):
            self._drop_plan()
        if heard.asks:
            asked = OpenQuestion(heard.asks, "", self._clock(), "", (), heard.steps)
            self.operator.question = asked
            turn.fail(ErrorCode.AMBIGUOUS, asked.text)
        elif len(acts) == 1:
            self._follow(heard.plan[0], heard.steps[0], turn)
        else:
            self._plan(heard.plan, list(heard.steps), turn)

    def _hear_answer(self, question: OpenQuestion, plan: Plan, words: str, turn: TurnSoFar) -> bool:
        """True where a plan answers the question that waits, or words are to be said again."""
        operator = self.operator
        meant = answered(question, plan, operator.answered, operator.chosen)
        if meant.other == "keep":
            return False
        if meant.again:
            turn.fail(ErrorCode.AMBIGUOUS, f'I do not understand "{words[:120]}" here. {question.text}')
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

    def _follow(self, plan: PlanAct, step: str, turn: TurnSoFar) -> None:
        """Carry out an utterance of one act."""
        act = act_of(plan)
        kind = act.kind if isinstance(act, FollowUp) else ""
        if kind in ("go_on", "skip"):
            self._go_on(kind, turn)
            return
        if kind in ("stop", "cancel", "no"):
            self._step(step, turn, planned=False)
            return
        operator = self.operator
        whole = kind in ("undo", "put_back") and bool(sequence_of(self.robot))
        pending = (operator.done, operator.left, operator.stopped_because)
        self._carry_on([step], turn, fresh=True)
        if pending[1] and pending[2] and not operator.left and operator.question is None and not whole:
            operator.done, operator.left, operator.stopped_because = pending  # a question or "undo" in between

    # ---- Plans ----

    def _plan(self, plan: Plan, steps: list[str], turn: TurnSoFar) -> None:
        """Show a plan of several steps, and carry it out; nothing moves where one of them cannot be done."""
        held = "" if self.robot.held is None else self.robot.held.object
        for act, step in zip(plan, steps, strict=True):
            problem = self._doer.problem(act)
            if problem is None:
                problem, held = _with_a_full_hand(act, held)
            if problem is not None:
                turn.fail(problem.code, f'Nothing has moved, as I cannot do "{step}": {problem}')
                return
        self._tell(_shown(steps))
        self._carry_on(steps, turn)

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
                if len(further) > 1 or step.startswith("stack "):
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

    def _go_on(self, kind: str, turn: TurnSoFar) -> None:
        operator = self.operator
        if not operator.left:
            turn.fail(ErrorCode.INVALID_ARGUMENT, NO_PLAN)
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
        try:
            if not is_plan(said):
                raise ToolError(ErrorCode.NOT_UNDERSTOOD, f'"{said}" has a name that I have no words for.')
            [act] = read_plan(said)
            return self._doer.act(act, turn)
        except ToolError as error:
            if error.code is ErrorCode.UNAVAILABLE and not turn.episodes and not planned:
                raise
            turn.fail(error.code, str(error))
            return None


def _with_a_full_hand(act: PlanAct, held: str) -> tuple[ToolError | None, str]:
    """Why an act cannot be done with what is held before it, and what is held after it; empty for what is not known."""
    meant = act_of(act)
    if act.condition is not None or act.otherwise:
        return None, ""
    if not isinstance(meant, Deed):
        return None, held if isinstance(meant, QuestionAct | AnswerAct) else ""
    named = name_of(act.objects[0])
    if held and named not in ("", held):
        problem = f"the gripper would still hold the {held}."
        return ToolError(ErrorCode.ALREADY_HOLDING, problem, "Say where to put it first."), held
    return None, named if act.kind == "pick" else ""


def _goes_on(plan: Plan) -> bool:
    """Whether an utterance leaves a pending plan as it is."""
    kept = ("go_on", "skip", "stop", "undo", "undo_last", "put_back")
    acts = [act_of(act) for act in plan]
    return all(isinstance(a, QuestionAct | AnswerAct) or (isinstance(a, FollowUp) and a.kind in kept) for a in acts)


_CLOSED_BY_STOP = "The arm was stopped after I had asked, which closed my question."


def _listed(steps: Sequence[str]) -> str:
    return "; ".join(f'"{step}"' for step in steps)


def _shown(steps: Sequence[str]) -> str:
    return "My plan: " + "; ".join(f"{k}. {step}" for k, step in enumerate(steps, 1)) + "."
