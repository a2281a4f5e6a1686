"""The agent: a conversation between an operator, a policy and the toolbox."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from agent_node.calls import ToolCall
from agent_node.memory import Memory, without_arrays
from agent_node.policies.scripted.transcript import NOTE
from agent_node.policy import Message, Policy, Reply
from agent_node.protocol import ParsedTurn, Protocol, load_protocol, render_response
from agent_node.recovery import (
    ENDED_BY_SOMEBODY,
    Recovery,
    Watch,
    achieved,
    ends_the_command,
    malformed,
    passed_over,
    too_many_calls,
)
from tool_nodes.motion.stop_latch import StopWatch
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, ToolError
from tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox

TURN_BUDGET = 24
"""Assistant turns per command."""

_SHOWN_CHARACTERS = 2000
"""So much of a turn that is too long to be read stays in the conversation."""

_CODED_ANSWER = re.compile(rf"^({'|'.join(ErrorCode)})\s*:\s*(.*)$", re.DOTALL)


@dataclass(frozen=True)
class Exchange:
    """One response of a turn and what it answers.

    Attributes:
        call: The call as the policy wrote it; None when the whole turn was refused.
        words: What the policy is told, without the protocol's dress.
        record: What the tool did, without its arrays; None when the call was not run.
        notes: What the agent adds for the policy.
    """

    call: ToolCall | None
    words: str
    record: CallRecord | None = None
    notes: tuple[str, ...] = ()

    @property
    def image_index(self) -> int | None:
        """Index of the picture that came with the response, or None."""
        return None if self.record is None else self.record.image_index

    @property
    def response(self) -> str:
        """The text that the policy reads."""
        return render_response(self.told, self.image_index)

    @property
    def told(self) -> str:
        """The words with the notes."""
        return "".join((self.words, *(f"{NOTE}{note}" for note in self.notes))).removeprefix("\n")

    def noted(self, note: str) -> Exchange:
        """The exchange with one more note; the same where it is empty."""
        return replace(self, notes=(*self.notes, note)) if note else self


@dataclass
class Turn:
    """One assistant turn and what came of it.

    Attributes:
        reply: What the policy wrote, and what it took.
        parsed: What the protocol makes of it.
        exchanges: One for each call, in order, or one that says what is wrong with the turn.
        policy_s: Wall time the policy took [s].
    """

    reply: Reply
    parsed: ParsedTurn
    exchanges: list[Exchange] = field(default_factory=list)
    policy_s: float = 0.0

    @property
    def text(self) -> str:
        """What the policy wrote."""
        return self.reply.text

    @property
    def thought(self) -> str:
        """Its reasoning."""
        return self.parsed.thought

    @property
    def calls(self) -> list[CallRecord]:
        """The calls that were run."""
        return [exchange.record for exchange in self.exchanges if exchange.record is not None]

    @property
    def responses(self) -> list[str]:
        """The text of every response."""
        return [exchange.response for exchange in self.exchanges]


@dataclass
class Episode:
    """A finished command.

    Attributes:
        answer: What the operator is told, without the code.
        success: Every part of the command was carried out, as the tools reported it.
        error_code: The stage that failed, or None.
        wall_s: Wall time of the whole command [s].
    """

    task: str
    messages: list[Message]
    turns: list[Turn]
    session: Session
    protocol: Protocol = field(default_factory=lambda: load_protocol("spacetools"))
    answer: str = ""
    success: bool = False
    error_code: ErrorCode | None = None
    wall_s: float = 0.0

    @property
    def records(self) -> list[CallRecord]:
        """The calls that were run, in order."""
        return [record for turn in self.turns for record in turn.calls]

    @property
    def tool_calls(self) -> int:
        """Number of calls that were run."""
        return len(self.records)


Listener = Callable[[str, Any], None]
"""Called as things happen: ("thought", str), ("call", ToolCall), ("result", CallRecord), ("answer", str)."""


class Agent:
    """Runs one policy against one toolbox.

    Args:
        policy: Decides every turn from the text of the conversation.
        toolbox: The tools.
        turn_budget: Assistant turns before TURN_BUDGET.
        stopped: Polled between calls; True ends the command with STOPPED. So does a stop of the toolbox's arm, at
            any time after the beginning, however soon it is reset.
        listener: Hears every step.
        protocol: How the policy writes and reads; SpaceTools' where None.
        recovery: What is done about failures.
        memory: How much of a long conversation is kept.
    """

    def __init__(
        self,
        policy: Policy,
        toolbox: Toolbox,
        turn_budget: int = TURN_BUDGET,
        stopped: Callable[[], bool] = lambda: False,
        listener: Listener = lambda kind, payload: None,
        protocol: Protocol | None = None,
        recovery: Recovery | None = None,
        memory: Memory | None = None,
    ) -> None:
        self._policy = policy
        self._toolbox = toolbox
        self._turn_budget = turn_budget
        self._stopped = stopped
        self._listener = listener
        self._protocol = protocol or load_protocol("spacetools")
        self._recovery = recovery or Recovery()
        self._memory = memory or Memory()

    def run(self, task: str) -> Episode:
        """Carry out one command. Never raises for what a policy or a tool does."""
        started = time.monotonic()
        protocol = self._protocol
        messages = [
            Message("system", protocol.system_prompt(self._toolbox.schemas())),
            Message("user", protocol.user_prompt(task), words=task),
        ]
        episode = Episode(task, messages, [], Session(), protocol)
        try:
            with self._toolbox.job() as job:
                self._converse(episode, job)
        except ToolError as error:
            self._fail(episode, error)
        except Exception as error:
            self._fail(episode, ToolError(ErrorCode.INTERNAL, f"The agent failed: {type(error).__name__}: {error}."))
        episode.wall_s = time.monotonic() - started
        return episode

    def _converse(self, episode: Episode, job: StopWatch) -> None:
        if job.halted:
            raise job.error
        watch = Watch(self._recovery, self._toolbox, episode.session)
        for number in range(1, self._turn_budget + 1):
            turn = self._next_turn(episode)
            if turn.parsed.answer is not None:
                self._finish(episode, turn.parsed.answer)
                return
            broken = self._run_calls(watch, turn, job)
            if self._recovery.announce_last_turn and number == self._turn_budget - 1 and turn.exchanges:
                turn.exchanges[-1] = turn.exchanges[-1].noted("One turn is left: it must answer.")
            episode.messages += [_message(exchange, episode.session) for exchange in turn.exchanges]
            self._memory.trim(episode.session, episode.messages)
            if broken is not None:
                raise broken
            if job.halted or self._stopped():
                raise job.error
            watch.turn_ended(_is_malformed(turn.parsed))
        raise ToolError(ErrorCode.TURN_BUDGET, f"No answer within {self._turn_budget} turns.")

    def _next_turn(self, episode: Episode) -> Turn:
        began = time.monotonic()
        try:
            reply = self._policy.respond(tuple(episode.messages))
            too_long = malformed(self._recovery, reply.text)
        except ToolError:
            raise
        except Exception as error:
            raise ToolError(ErrorCode.INTERNAL, f"The policy failed: {type(error).__name__}: {error}.") from error
        if too_long:  # and is kept nowhere
            reply = replace(reply, text=f"{reply.text[:_SHOWN_CHARACTERS]} ...", details={})
            parsed = ParsedTurn("", (), None, too_long)
        else:
            parsed = self._protocol.parse(reply.text)
            wrong = too_many_calls(self._recovery, parsed.calls)
            parsed = replace(parsed, calls=(), problem=wrong) if wrong else parsed
        turn = Turn(reply, parsed, policy_s=time.monotonic() - began)
        episode.turns.append(turn)
        episode.messages.append(Message("assistant", reply.text))
        if parsed.thought:
            self._listener("thought", parsed.thought)
        return turn

    def _run_calls(self, watch: Watch, turn: Turn, job: StopWatch) -> ToolError | None:
        """Run a turn's calls and note what the policy is told; the error that ends the command, if there is one."""
        parsed = turn.parsed
        if parsed.problem:
            turn.exchanges.append(Exchange(None, f"Error {ErrorCode.INVALID_ARGUMENT}: {parsed.problem}."))
        elif not parsed.calls and self._recovery.go_on:
            turn.exchanges.append(Exchange(None, "").noted("Go on: call a tool or answer."))
        motion_failed = False
        for call in parsed.calls:
            if job.halted or self._stopped():
                turn.exchanges.append(Exchange(call, f"Error {ErrorCode.STOPPED}: Not run: stopped by the operator."))
                continue
            exchange = self._exchange(watch, call, motion_failed)
            turn.exchanges.append(exchange)
            if exchange.record is not None:
                error = exchange.record.result.error
                if error is not None and ends_the_command(exchange.record):
                    return error
            motion_failed = motion_failed or (
                self._toolbox.is_motion(call.name) and (exchange.record is None or not exchange.record.result.ok)
            )
        if turn.exchanges:
            turn.exchanges[-1] = turn.exchanges[-1].noted(passed_over(parsed.ignored))
        return None

    def _exchange(self, watch: Watch, call: ToolCall, motion_failed: bool) -> Exchange:
        if motion_failed:
            return Exchange(call, "Not run: an earlier motion in this turn failed.")
        refusal = f"Error {ErrorCode.INVALID_ARGUMENT}: {call.problem}." if call.problem else watch.refusal(call)
        if refusal:
            watch.refused(call, refusal)
            return Exchange(call, refusal)
        self._listener("call", call)
        record = self._toolbox.call(call.name, call.arguments, watch.session)
        self._listener("result", record)
        note = watch.note(call, record)
        return Exchange(call, record.result.text, without_arrays(record)).noted(note)

    def _finish(self, episode: Episode, answer: str) -> None:
        """Success is what the tools reported: the last motion worked and the answer admits no failure."""
        records = episode.records
        motions = [record for record in records if record.motion]
        errors = [record.result.error.code for record in records if record.result.error is not None]
        coded = _CODED_ANSWER.match(answer)
        if coded:
            code = ErrorCode(coded.group(1))
            # Infrastructure errors are never scored, so a policy may not claim one that no tool reported.
            claimed = code in INFRASTRUCTURE_ERRORS and code not in errors
            episode.error_code = ErrorCode.EXECUTION_FAILED if claimed else code
            episode.answer = coded.group(2).strip()
        else:
            episode.answer = answer
            episode.success = bool(motions) and motions[-1].result.ok
            if not episode.success:
                episode.error_code = errors[-1] if errors else None
        self._listener("answer", answer)

    def _fail(self, episode: Episode, error: ToolError) -> None:
        """The operator is told why, and what had come of it until then, which no policy has a say in."""
        told = str(error) if error.code in ENDED_BY_SOMEBODY else f"{error} {achieved(episode.records)}".strip()
        episode.error_code, episode.answer = error.code, told
        self._listener("answer", f"{error.code}: {told}")


def _message(exchange: Exchange, session: Session) -> Message:
    index = exchange.image_index
    picture = None if index is None else session.images[index].rgb
    return Message("tool", exchange.response, exchange.told, index, picture)


def _is_malformed(turn: ParsedTurn) -> bool:
    return bool(turn.problem) or (bool(turn.calls) and all(call.problem for call in turn.calls))
