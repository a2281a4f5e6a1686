"""The dialogue: turns what an operator says into single commands, and has each carried out.

An utterance becomes steps, each of them words that `reading.read` makes one act of. A step that moves something is an
ordinary command: the policy is given its whole sentence, and what is remembered as text. What the tools then report is
remembered, whatever policy called them. A step that a look has to come before, such as "both cans", becomes its own
steps after that look.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent_node.dialogue.acts import (
    Act,
    Deed,
    FollowUp,
    GroupAct,
    QuestionAct,
    Refused,
    SkillAct,
    SmallTalk,
    Unsure,
)
from agent_node.dialogue.answering import answered, question_of, which_command
from agent_node.dialogue.clauses import parses
from agent_node.dialogue.follow_ups import FollowUps
from agent_node.dialogue.learning import learn, named_thing
from agent_node.dialogue.looking import LookPolicy, found
from agent_node.dialogue.memory import ANSWER_WITHIN_S, OpenQuestion, OperatorMemory, RobotMemory
from agent_node.dialogue.memory_file import MemoryFile
from agent_node.dialogue.naming import named_again, resolved
from agent_node.dialogue.reading import read
from agent_node.dialogue.sequences import steps_of
from agent_node.dialogue.wordings import table
from agent_node.episode import Episode
from agent_node.policy import Policy
from agent_node.protocol import Protocol, load_protocol
from tool_nodes.results import ErrorCode, ToolError, invalid

CarryOut = Callable[[str, Policy | None, str], Episode]
"""Carries out one command: its sentence, the policy that does it (None: the session's own), and what is remembered, as
text for a model. It raises ToolError where the command cannot begin."""
Check = Callable[[str], ToolError | None]
"""Why the session's policy will not read a command; None where it may."""


@dataclass(frozen=True)
class DialogueTurn:
    """What came of an utterance.

    Attributes:
        answer: The answer to the operator.
        success: Everything that was asked for is done, or answered.
        error_code: Code of the first thing that went wrong; None where nothing did.
        episodes: What was carried out for it, in order.
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


@dataclass
class _Turn:
    """An utterance while it is carried out."""

    answers: list[str] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    code: ErrorCode | None = None
    failed: bool = False

    def fail(self, code: ErrorCode | None, answer: str) -> None:
        """Note what went wrong first."""
        self.answers.append(answer)
        self.code = self.code if self.failed else code
        self.failed = True


class Dialogue:
    """One operator's side of a robot that remembers.

    Args:
        run: Carries out one command.
        robot: What happened to the robot, shared with other operators.
        operator: What this operator has said.
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
        check: Check = parses,
        kept: Sequence[MemoryFile] = (),
        protocol: Protocol | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.robot = RobotMemory() if robot is None else robot
        self.operator = OperatorMemory() if operator is None else operator
        self._run, self._tell, self._stopped, self._check = run, tell, stopped, check
        self._kept, self._clock = tuple(kept), clock
        self._protocol = protocol or load_protocol("spacetools")
        self._speaking = threading.Lock()
        self._pausing = threading.Event()
        self._follow_ups = FollowUps(self.robot, self.operator, self._clock)

    def say(self, words: str) -> DialogueTurn:
        """Carry out what the operator says, to its end. Never raises for what was said or what a tool did.

        Raises:
            ToolError: INVALID_ARGUMENT while an earlier utterance is carried out, and for a kept file that is damaged;
                whatever `run` raises where a command cannot begin.
        """
        if not self._speaking.acquire(blocking=False):
            raise invalid("An earlier sentence is being carried out.", "Wait for its end, or stop it.")
        try:
            for file in self._kept:
                file.read()
            self._pausing.clear()
            turn = _Turn()
            try:
                self._hear(words, turn)
            finally:
                for file in self._kept:
                    file.write()
            operator = self.operator
            answer = " ".join(part for part in turn.answers if part).strip()
            return DialogueTurn(
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

    def pause(self) -> None:
        """Begin no further step of the plan that is carried out; from any thread. The step under way ends."""
        self._pausing.set()

    def close_old_question(self) -> str:
        """Close a question that nobody has answered in time: the sentence that says so; empty where none was closed."""
        question = self.operator.question
        if question is None or self._clock() - question.asked_s <= ANSWER_WITHIN_S:
            return ""
        self.operator.question = None
        return f"I have waited {ANSWER_WITHIN_S:.0f} s for an answer and closed my question."

    # ---- What is heard ----

    def _hear(self, words: str, turn: _Turn) -> None:
        closed = self.close_old_question()
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
        if question is None and self.operator.left and self.operator.stopped_because and not _goes_on(acts):
            self._drop_plan()
        if len(acts) == 1:
            self._follow(acts[0], parts[0].said, turn)
        else:
            self._plan([part.said for part in parts], turn)

    def _hear_answer(self, question: OpenQuestion, words: str, acts: Sequence[Act], turn: _Turn) -> bool:
        """True where words answer the question that waits, or are to be said again."""
        operator = self.operator
        meant = answered(question, words, acts, operator.answered, operator.chosen)
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

    def _follow(self, act: Act, said: str, turn: _Turn) -> None:
        """Carry out an utterance of one act."""
        if isinstance(act, FollowUp) and act.kind in ("go_on", "skip"):
            self._go_on(act.kind, turn)
            return
        self._carry_on([said], turn, fresh=True)

    # ---- Plans ----

    def _plan(self, steps: list[str], turn: _Turn) -> None:
        """Show a plan of several steps, and carry it out; nothing moves where one of them cannot be read."""
        for step in steps:
            problem = self._problem(step)
            if problem is not None:
                turn.fail(problem.code, f'Nothing has moved, as I cannot do "{step}": {problem}')
                return
        self._tell(_shown(steps))
        self._carry_on(steps, turn)

    def _problem(self, step: str) -> ToolError | None:
        acts = [part.act for part in read(step)]
        if len(acts) != 1 or not isinstance(acts[0], Deed):
            return None
        return self._check(resolved(step, "thing")) if self._check(step) is not None else None

    def _carry_on(self, steps: list[str], turn: _Turn, fresh: bool = False) -> None:
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
        while operator.left:
            if done and (why := self._halted()):
                turn.fail(ErrorCode.STOPPED, f"I have stopped before the next step. {self._what_is_left(why)}")
                return
            step = operator.left[0]
            further = self._step(step, turn, many)
            if further is not None:
                operator.left[:1] = further
                many = many or len(further) > 1
                if len(further) > 1:
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
            operator.left.pop(0)
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

    def _halted(self) -> str:
        if self._stopped():
            return "stopped"
        return "paused" if self._pausing.is_set() else ""

    def _what_is_left(self, why: str) -> str:
        operator = self.operator
        operator.stopped_because = why
        done = f"Done: {_listed(operator.done)}." if operator.done else "None of the steps is done."
        ways = 'Say "go on" to go on with that, or "skip it" to leave out the first.'
        return f"{done} Left: {_listed(operator.left)}. {ways}"

    def _drop_plan(self) -> None:
        self.operator.done, self.operator.left, self.operator.stopped_because = [], [], ""

    def _go_on(self, kind: str, turn: _Turn) -> None:
        operator = self.operator
        if not operator.left:
            turn.fail(ErrorCode.INVALID_ARGUMENT, "There is no plan that I could go on with.")
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

    # ---- One step ----

    def _step(self, said: str, turn: _Turn, planned: bool) -> list[str] | None:
        """Carry out one step; steps in its place where it stands for others, else None."""
        parts = read(said)
        if len(parts) > 1:
            return [part.said for part in parts]
        act = parts[0].act
        try:
            return self._act(act, said, turn)
        except ToolError as error:
            if error.code is ErrorCode.UNAVAILABLE and not turn.episodes and not planned:
                raise
            turn.fail(error.code, str(error))
            return None

    def _act(self, act: Act, said: str, turn: _Turn) -> list[str] | None:
        operator = self.operator
        match act:
            case SmallTalk(kind):
                turn.answers.append(table("smalltalk")[kind].answer)
            case Refused(code, message):
                turn.fail(code, message)
            case Unsure(commands):
                operator.question = which_command(commands, self._clock())
                turn.fail(ErrorCode.AMBIGUOUS, operator.question.text)
            case FollowUp():
                return self._follow_up(act, turn)
            case GroupAct():
                return self._group(act, said, turn)
            case SkillAct() | QuestionAct():
                raise ToolError(ErrorCode.NOT_UNDERSTOOD, "That is not there yet.")
            case Deed(text):
                self._deed(text, turn)
        return None

    def _group(self, act: GroupAct, said: str, turn: _Turn) -> list[str]:
        """The steps of what a look has to come before."""

        def look(phrases: Sequence[str]) -> Mapping[str, list[tuple[float, float]]]:
            turn.episodes.append(self._run(said, LookPolicy(phrases, self._protocol), ""))
            return found(turn.episodes[-1])

        steps = steps_of(act, look)
        for step in steps:
            problem = self._check(step)
            if problem is not None:
                raise problem
        return steps

    def _follow_up(self, act: FollowUp, turn: _Turn) -> list[str] | None:
        if act.kind in ("undo", "put_back"):
            command = self._follow_ups.taking_back(act)
            self._deed(command, turn, taking_back=act.kind == "undo" or not act.words)
            return None
        if act.kind in ("go_on", "skip"):
            raise ToolError(ErrorCode.INVALID_ARGUMENT, "There is no plan that I could go on with.")
        meant = self._follow_ups.meant(act)
        if isinstance(meant, str):
            turn.answers.append(meant)
            return None
        return meant

    def _deed(self, said: str, turn: _Turn, taking_back: bool = False) -> None:
        """Have the session's policy carry out one command, and remember what came of it."""
        text = resolved(said, self._last_thing(), holds=self.robot.held is not None)
        episode = self._run(text, None, self._memory_text())
        turn.episodes.append(episode)
        deed = learn(self.robot, text, episode, self._clock(), undone=taking_back)
        if taking_back and deed is not None and deed.success:
            self._follow_ups.note_taken_back()
        operator = self.operator
        if deed is not None:
            operator.last_thing = deed.thing
        elif thing := named_thing(text):
            operator.last_thing = thing
        if not taking_back and (episode.success or episode.error_code is not ErrorCode.NOT_UNDERSTOOD):
            operator.last_said = named_again(text, operator.last_thing)
        if episode.error_code is ErrorCode.AMBIGUOUS:
            operator.question = question_of(episode, text, self._clock())
            turn.fail(ErrorCode.AMBIGUOUS, operator.question.text)
        elif episode.error_code is not None or not episode.success:
            turn.fail(episode.error_code, episode.answer)
        else:
            turn.answers.append(episode.answer)

    def _last_thing(self) -> str:
        """Words for what "it" means: with its point where that is known."""
        return self._follow_ups.last_thing()

    def _memory_text(self) -> str:
        return self.robot.text()


def _goes_on(acts: Sequence[Act]) -> bool:
    """Whether an utterance leaves a pending plan as it is."""
    kept = ("go_on", "skip", "wait", "stop", "undo", "put_back")
    return all(isinstance(a, QuestionAct | SmallTalk) or (isinstance(a, FollowUp) and a.kind in kept) for a in acts)


def _only_answers(act: Act, words: str) -> bool:
    """Whether an utterance means something only as an answer."""
    if isinstance(act, FollowUp):
        return act.kind in ("choice", "other_one", "yes_to_it", "no_to_it", "neither")
    return isinstance(act, Deed) and parses(words) is not None and len(words.split()) <= _SHORT_ANSWER


_SHORT_ANSWER = 5
"""Longest utterance that is taken for an answer that came too late, where it is no command [words]: "the red one"."""


def _listed(steps: Sequence[str]) -> str:
    return "; ".join(f'"{step}"' for step in steps)


def _shown(steps: Sequence[str]) -> str:
    return "My plan: " + "; ".join(f"{k}. {step}" for k, step in enumerate(steps, 1)) + "."
