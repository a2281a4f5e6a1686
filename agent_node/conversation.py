"""A conversation between an operator, a policy and the toolbox, driven from outside a turn at a time.

The caller owns the loop: a policy here, an RL engine or an asyncio server:

    conversation = Conversation("pick up the red box", toolbox)
    while not conversation.done:
        conversation.step(policy.respond(conversation.messages))
    print(conversation.episode.answer)

A policy asks the operator by an answer whose code is AMBIGUOUS. Where `asks` is set the command then waits for
`answer(...)`; elsewhere, and where `leave_unanswered()` says that none will come, it ends with the question.

One that `follows` an earlier one goes on with its messages, images and `$variables`, and is a command of its own.

Steps may come from different threads, one after the other. Any number of conversations may be under way at once; those
that move one arm share its stop, and each sees the table as the others leave it.
"""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from toolhand.agent_node.asking import candidate_meant, may_be_unfinished, question_in, question_of
from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.context_window import without_arrays
from toolhand.agent_node.conversation_settings import AS_SPACETOOLS, ConversationSettings
from toolhand.agent_node.episode import SAMPLED_CHARACTERS, Episode, Exchange, Turn, TurnPrompt
from toolhand.agent_node.events import (
    CallRefused,
    CommandEnded,
    Listener,
    NoteAdded,
    OperatorAnswer,
    OperatorQuestion,
    Thought,
    ToolAnswered,
    ToolCalled,
    ignore,
)
from toolhand.agent_node.opening import NOTHING, ShownToPolicy, opening, system_message
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.policy import Message, Reply, reply_problem
from toolhand.agent_node.protocol import NOT_RUN, ParsedTurn, Protocol
from toolhand.agent_node.recovery import (
    ENDED_BY_A_PERSON,
    LAST_TURN,
    NOTHING_CALLED,
    RecoveryState,
    ends_the_command,
    ignored_calls_note,
    malformed,
    summarize_progress,
    too_many_calls,
)
from toolhand.tool_nodes.language.stopping import is_stop
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.toolbox.toolbox import Session, Tools

_SHOWN_CHARACTERS = 2000
"""So much of a turn that is too long to be read stays in the conversation."""

MOST_QUESTIONS = 6
"""Questions of a command that are waited for: two matters (an object and its place), which the scripted policy asks
about three times at most each. One more ends the command, as every unanswered question does."""


class Conversation:
    """One command, a turn at a time.

    It is done at once where the arm is stopped or no turn is allowed.

    Args:
        task: The operator's sentence.
        toolbox: The tools.
        settings: Turn budget, protocol, recovery and memory.
        stopped: Polled between calls; True ends the command with STOPPED. So does a stop of the toolbox's arm, at
            any time after the beginning, however soon it is reset.
        listener: Called with every event, in the thread that steps.
        shown: Images and points that the operator shows with the sentence.
        asks: A question to the operator waits for its answer.
        memory: Account of the commands before, in a few sentences; the policy reads it after the operator's own.
        answers: An answer is all that is asked for: the command succeeds with one that admits no failure.
        speed: Share of the allowed speed at which the robot grasps and places, in (0, 1].
        follows: The command before, whose conversation this one goes on with; None begins one.
        candidates: Points that a question in the policy's own words lets choose from.

    Attributes:
        episode: The record so far; complete when the conversation is done.
        done: The command is over: answered, failed or stopped.
        question: The question that waits for an answer; None where none does.
    """

    def __init__(
        self,
        task: str,
        toolbox: Tools,
        settings: ConversationSettings = AS_SPACETOOLS,
        stopped: Callable[[], bool] = lambda: False,
        listener: Listener = ignore,
        shown: ShownToPolicy = NOTHING,
        asks: bool = False,
        memory: str = "",
        answers: bool = False,
        speed: float = 1.0,
        follows: Episode | None = None,
        candidates: Callable[[str], tuple[PointedPoint, ...]] = lambda question: (),
    ) -> None:
        self._began = self._asked = time.monotonic()
        self._toolbox = toolbox
        self._turn_budget, self._protocol = settings.turn_budget, settings.protocol
        self._recovery, self._memory = settings.recovery, settings.memory
        self._stopped = stopped
        self._listener = listener
        protocol = settings.protocol
        session = Session() if follows is None else follows.session
        session.speed = speed
        messages = [system_message(protocol, toolbox)] if follows is None else list(follows.messages)
        self.episode = Episode(task, messages, [], session, protocol)
        self.done = False
        self.question: OperatorQuestion | None = None
        self._questions_left = MOST_QUESTIONS if asks else 0
        self._unanswered, self._candidates = "", candidates
        self._answers = answers
        self._stepping = threading.Lock()
        self._watch = RecoveryState(self._recovery, toolbox, session)
        self._guarded(lambda: self._begin(shown, memory))

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the policy sees next."""
        return tuple(self.episode.messages)

    def step(self, reply: Reply) -> Turn:
        """Take one assistant turn: run its calls, and answer each in `messages`.

        Never raises for what a policy wrote or a tool did: that is in the turn, and in `episode` once it is `done`.

        Args:
            reply: The policy's turn after `messages`.

        Returns:
            The turn as it went into the record.

        Raises:
            ToolError: INVALID_ARGUMENT for what is no Reply with a text, after the end, while a question waits for its
                answer, and while another step runs; nothing has happened then.
        """
        if problem := reply_problem(reply):
            raise invalid(problem)
        turn = Turn(reply, ParsedTurn("", (), None))
        with self._alone(), self._job.resumed():
            if self.question is not None:
                raise invalid("A question waits for the operator's answer.", "Give it with answer().")
            turn.prompt = self._prompt()
            self._guarded(lambda: self._take(turn))
            self._asked = time.monotonic()
        return turn

    def answer(self, answer: OperatorAnswer) -> None:
        """Go on with the operator's answer to `question`. A stop while it waited ends the command.

        Raises:
            ToolError: INVALID_ARGUMENT where no question waits, and while a step runs.
        """
        with self._alone(), self._job.resumed():
            question = self._asked_question()
            self.episode.turns[-1].answered = answer
            self._listener(answer)
            self._guarded(lambda: self._go_on(answer, question))
            self._asked = time.monotonic()

    def leave_unanswered(self) -> None:
        """No answer comes: the command ends with `question`.

        Raises:
            ToolError: INVALID_ARGUMENT where no question waits, and while a step runs.
        """
        with self._alone():
            self._asked_question()
            self._take_in(self.episode.turns[-1])
            self._finish(self._unanswered)
            self.episode.wall_s = time.monotonic() - self._began

    def _asked_question(self) -> OperatorQuestion:
        if self.question is None:
            raise invalid("No question waits for an answer.")
        question, self.question = self.question, None
        return question

    def _go_on(self, answer: OperatorAnswer, question: OperatorQuestion) -> None:
        turn = self.episode.turns[-1]
        asked = next((k for k, each in enumerate(turn.exchanges) if question_of(each) is not None), None)
        if asked is None:
            self.episode.messages.append(Message("user", answer.words, answer.words, answers=question.text))
        else:
            meant = candidate_meant(
                answer.text, answer.point, [(each.label, each.point) for each in question.candidates]
            )
            words = f"The operator answers: {answer.words}{f' ({meant})' if meant else ''}"
            turn.exchanges[asked] = replace(turn.exchanges[asked], words=words)
            self._take_in(turn)
        if self._job.halted or self._stopped():
            raise self._job.error
        if is_stop(answer.words):  # no policy has to understand that
            raise ToolError(ErrorCode.CANCELLED, "The operator has stopped the command; the arm stands still.")
        self._check_budget()

    def _prompt(self) -> TurnPrompt:
        messages = self.episode.messages
        return TurnPrompt(len(messages), tuple(k for k, message in enumerate(messages) if message.image is not None))

    def fork(self, toolbox: Tools | None = None) -> Conversation:
        """The same conversation once more; each goes on from here by itself.

        Args:
            toolbox: Toolbox of the copy, in a world that is as this one's; the same where None.

        Raises:
            ToolError: INVALID_ARGUMENT while a step runs.
        """
        if self._stepping.locked():
            raise invalid("A step of this conversation is under way.", "Wait for its end.")
        twin = copy.copy(self)
        twin._stepping = threading.Lock()
        twin._toolbox = toolbox or self._toolbox
        episode = self.episode
        turns = [replace(turn, exchanges=list(turn.exchanges)) for turn in episode.turns]
        twin.episode = replace(episode, messages=list(episode.messages), turns=turns, session=episode.session.fork())
        twin._watch = self._watch.fork(twin._toolbox, twin.episode.session)
        with twin._toolbox.job() as twin._job:
            return twin

    def abort(self, error: ToolError) -> None:
        """End the command because no turn will come, e.g. since the policy cannot be reached.

        Raises:
            ToolError: INVALID_ARGUMENT after the end, and while a step runs.
        """
        with self._alone():
            self._fail(error)
            self.episode.wall_s = time.monotonic() - self._began

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """A context in which nothing else steps. Raises ToolError INVALID_ARGUMENT where a step runs or it is over."""
        if not self._stepping.acquire(blocking=False):
            raise invalid("Another step of this conversation is under way.", "Wait for its end.")
        try:
            if self.done:
                ending = self.episode.error_code or "an answer"
                raise invalid(f"The conversation is over: it ended with {ending}.", "Begin another.")
            yield
        finally:
            self._stepping.release()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except ToolError as error:
            self._fail(error)
        except Exception as error:
            self._fail(ToolError(ErrorCode.INTERNAL, f"The agent failed: {type(error).__name__}: {error}."))
        self.episode.wall_s = time.monotonic() - self._began

    def _begin(self, shown: ShownToPolicy, memory: str) -> None:
        episode = self.episode
        with self._toolbox.job() as self._job:
            look = shown.look and not self._job.halted
            shown = replace(shown, look=look)
            episode.messages += opening(episode.task, shown, memory, self._protocol, self._toolbox, episode.session)
        self._memory.trim(episode.session, episode.messages)
        if self._job.halted:
            raise self._job.error
        self._check_budget()

    def _check_budget(self) -> None:
        if len(self.episode.turns) >= self._turn_budget:
            raise ToolError(ErrorCode.TURN_BUDGET, f"No answer within {self._turn_budget} turns.")

    def _take(self, turn: Turn) -> None:
        episode = self.episode
        self._read(turn)
        answer = turn.parsed.answer
        listens = self._recovery.heard and not self._answers
        first = listens and len(episode.turns) == 1 < self._turn_budget
        unfinished = first and answer and may_be_unfinished(episode.task, answer, self._protocol, self._toolbox)
        if answer is not None and not unfinished:
            if not self._ask(*question_in(answer, listens and not _failed(episode), self._candidates)):
                self._finish(self._unanswered or answer)
            return
        broken = self._run_calls(turn)
        last_but_one = len(episode.turns) == self._turn_budget - 1
        if self._recovery.announce_last_turn and last_but_one and turn.exchanges:
            turn.exchanges[-1] = self._noted(turn.exchanges[-1], LAST_TURN)
        asked = next((found for each in turn.exchanges if (found := question_of(each)) is not None), None)
        if asked is not None and broken is None:
            if not self._ask(*asked):
                self._take_in(turn)
                self._finish(self._unanswered)
            return
        self._take_in(turn)
        if broken is not None:
            raise broken
        if self._job.halted or self._stopped():
            raise self._job.error
        self._watch.turn_ended(_is_malformed(turn.parsed))
        self._check_budget()

    def _take_in(self, turn: Turn) -> None:
        """Put what a turn's calls have answered into the conversation."""
        episode = self.episode
        episode.messages += [_message(exchange, episode.session, self._protocol) for exchange in turn.exchanges]
        self._memory.trim(episode.session, episode.messages)

    def _ask(self, text: str, candidates: tuple[PointedPoint, ...]) -> bool:
        """Whether a question now waits; not where no turn would be left to go on.

        `_unanswered` is then the answer that the command ends with where no answer comes.
        """
        moved = any(record.motion for record in self.episode.records)
        in_prose = moved and bool(text) and self.episode.turns[-1].parsed.answer == text
        self._unanswered = text if in_prose else f"{ErrorCode.AMBIGUOUS}: {text}" if text else ""
        if not text or self._questions_left == 0:
            return False
        if len(self.episode.turns) >= self._turn_budget or self._job.halted or self._stopped():
            return False
        self._questions_left -= 1
        images = self.episode.session.images
        newest = len(images) - 1 if images else None
        self.question = OperatorQuestion(text, newest, None if newest is None else images[newest].rgb, candidates)
        self._listener(self.question)
        return True

    def _read(self, turn: Turn) -> None:
        """Parse the reply, and note it in the record."""
        reply = turn.reply
        too_long = malformed(self._recovery, reply.text)
        if too_long:
            turn.sampled = replace(reply, text=reply.text[:SAMPLED_CHARACTERS], details={})
            turn.reply = reply = replace(reply, text=f"{reply.text[:_SHOWN_CHARACTERS]} ...", details={})
            turn.parsed = ParsedTurn("", (), None, too_long)
        else:
            parsed = self._protocol.parse(reply.text)
            wrong = too_many_calls(self._recovery, parsed.calls)
            turn.parsed = replace(parsed, calls=(), problem=wrong) if wrong else parsed
        turn.policy_s = time.monotonic() - self._asked
        self.episode.turns.append(turn)
        self.episode.messages.append(Message("assistant", reply.text))
        if turn.thought:
            self._listener(Thought(turn.thought))

    def _run_calls(self, turn: Turn) -> ToolError | None:
        """Run a turn's calls and keep what the policy reads; the error that ends the command, if there is one."""
        parsed = turn.parsed
        if parsed.problem:
            turn.exchanges.append(self._refused(None, invalid(f"{parsed.problem}.")))
        elif parsed.answer is not None:
            turn.exchanges.append(self._noted(Exchange(None, ""), NOTHING_CALLED))
        elif not parsed.calls and self._recovery.go_on:
            turn.exchanges.append(self._noted(Exchange(None, ""), "Go on: call a tool or answer."))
        failed = motion_failed = False
        for call in parsed.calls:
            if self._job.halted or self._stopped():
                stopped = ToolError(ErrorCode.STOPPED, f"{NOT_RUN} stopped by the operator.")
                turn.exchanges.append(self._refused(call, stopped))
                continue
            moves = self._toolbox.is_motion(call.name)
            earlier = "an earlier motion in" if motion_failed else "an earlier call of" if failed and moves else ""
            if any(question_of(each) is not None for each in turn.exchanges):
                exchange = self._skipped(call, "the operator has not answered the question of this turn")
            else:
                exchange = self._skipped(call, f"{earlier} this turn failed") if earlier else self._exchange(call)
            turn.exchanges.append(exchange)
            if exchange.record is not None:
                error = exchange.record.result.error
                if error is not None and ends_the_command(exchange.record):
                    return error
            this_failed = exchange.record is None or exchange.error_code is not None
            motion_failed = motion_failed or (this_failed and moves and not earlier)
            failed = failed or this_failed
        if turn.exchanges:
            turn.exchanges[-1] = self._noted(turn.exchanges[-1], ignored_calls_note(parsed.ignored))
        return None

    def _skipped(self, call: ToolCall, why: str) -> Exchange:
        skipped = Exchange(call, f"{NOT_RUN} {why}.")
        self._listener(CallRefused(call, None, skipped.words))
        if not self._toolbox.is_motion(call.name):  # the image of before is still true
            self._leave_undone(call, "not run")
        return skipped

    def _leave_undone(self, call: ToolCall, why: str) -> None:
        with contextlib.suppress(ToolError):  # a tool that there is not makes nothing
            self._toolbox.find(call.name).left_undone(call.arguments, self._watch.session, why)

    def _exchange(self, call: ToolCall) -> Exchange:
        watch = self._watch
        refusal = invalid(f"{call.problem}.") if call.problem else watch.refusal(call)
        if refusal is not None:
            refused = self._refused(call, refusal)
            watch.refused(call, refused.words)
            self._leave_undone(call, str(refusal.code))
            return refused
        self._listener(ToolCalled(call))
        record = self._toolbox.call(call.name, call.arguments, watch.session)
        self._listener(ToolAnswered(record))
        note = watch.note(call, record)
        code = None if record.result.error is None else record.result.error.code
        return self._noted(Exchange(call, record.result.text, without_arrays(record), error_code=code), note)

    def _refused(self, call: ToolCall | None, error: ToolError) -> Exchange:
        exchange = Exchange.refused(call, error)
        self._listener(CallRefused(call, exchange.error_code, exchange.words))
        return exchange

    def _noted(self, exchange: Exchange, note: str) -> Exchange:
        if note:
            self._listener(NoteAdded(note))
        return exchange.noted(note)

    def _finish(self, answer: str) -> None:
        self.episode.finish(answer, self._answers, self._recovery.heard)
        self._listener(CommandEnded(answer, self.episode.error_code))
        self.done = True

    def _fail(self, error: ToolError) -> None:
        """Answer the operator with the reason and what the motions came to, in which no policy has a say."""
        episode = self.episode
        answer = str(error)
        if error.code not in ENDED_BY_A_PERSON:
            answer = f"{error} {summarize_progress(episode.records)}".strip()
        episode.error_code, episode.answer = error.code, answer
        if self.question is not None:  # what follows goes on with a whole conversation
            self.question = None
            self._take_in(episode.turns[-1])
        self.done = True
        self._listener(CommandEnded(f"{error.code}: {answer}", error.code))


def _message(exchange: Exchange, session: Session, protocol: Protocol) -> Message:
    index, shown = exchange.image_index, exchange.shown
    image = None if index is None else session.images[index].rgb
    of_a_tool = exchange.words or exchange.call is not None  # a note alone is read as what a user says
    return Message("tool", protocol.response(shown, index) if of_a_tool else shown, shown, index, image)


def _failed(episode: Episode) -> bool:
    return any(record.motion and not record.result.ok for record in episode.records)


def _is_malformed(turn: ParsedTurn) -> bool:
    return bool(turn.problem) or (bool(turn.calls) and all(call.problem for call in turn.calls))
