"""The agent: a conversation between an operator, a policy and the toolbox."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent_node.calls import ToolCall
from agent_node.policy import Message, Policy, Reply
from agent_node.protocol import ParsedTurn, Protocol, load_protocol, render_response
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, ToolError
from tool_nodes.toolbox import CallRecord, Session, Toolbox

TURN_BUDGET = 24
"""Assistant turns per command."""

_CODED_ANSWER = re.compile(rf"^({'|'.join(ErrorCode)})\s*:\s*(.*)$", re.DOTALL)


@dataclass(frozen=True)
class Exchange:
    """One response of a turn and what it answers.

    Attributes:
        call: The call as the policy wrote it; None when the whole turn was refused.
        words: What the policy is told, without the protocol's dress.
        record: What the tool did; None when the call was not run.
    """

    call: ToolCall | None
    words: str
    record: CallRecord | None = None

    @property
    def image_index(self) -> int | None:
        """Index of the picture that came with the response, or None."""
        return None if self.record is None else self.record.image_index

    @property
    def response(self) -> str:
        """The text that the policy reads."""
        return render_response(self.words, self.image_index)


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
    def tool_calls(self) -> int:
        """Number of calls that were run."""
        return sum(len(turn.calls) for turn in self.turns)


Listener = Callable[[str, Any], None]
"""Called as things happen: ("thought", str), ("call", ToolCall), ("result", CallRecord), ("answer", str)."""


class Agent:
    """Runs one policy against one toolbox.

    Args:
        policy: Decides every turn from the text of the conversation.
        toolbox: The tools.
        turn_budget: Assistant turns before TURN_BUDGET.
        stopped: Polled between calls; True ends the command with STOPPED.
        listener: Hears every step.
        protocol: How the policy writes and reads; SpaceTools' where None.
    """

    def __init__(
        self,
        policy: Policy,
        toolbox: Toolbox,
        turn_budget: int = TURN_BUDGET,
        stopped: Callable[[], bool] = lambda: False,
        listener: Listener = lambda kind, payload: None,
        protocol: Protocol | None = None,
    ) -> None:
        self._policy = policy
        self._toolbox = toolbox
        self._turn_budget = turn_budget
        self._stopped = stopped
        self._listener = listener
        self._protocol = protocol or load_protocol("spacetools")

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
            self._converse(episode)
        except ToolError as error:
            self._fail(episode, error)
        except Exception as error:
            self._fail(episode, ToolError(ErrorCode.INTERNAL, f"The policy failed: {type(error).__name__}: {error}."))
        episode.wall_s = time.monotonic() - started
        return episode

    def _converse(self, episode: Episode) -> None:
        for _ in range(self._turn_budget):
            began = time.monotonic()
            reply = self._policy.respond(tuple(episode.messages))
            parsed = self._protocol.parse(reply.text)
            turn = Turn(reply, parsed, policy_s=time.monotonic() - began)
            episode.turns.append(turn)
            episode.messages.append(Message("assistant", reply.text))
            if parsed.thought:
                self._listener("thought", parsed.thought)
            if parsed.answer is not None:
                self._finish(episode, parsed.answer)
                return
            self._run_calls(episode, turn)
            if self._stopped():
                raise ToolError(ErrorCode.STOPPED, "Stopped by the operator; the arm holds its position.")
        raise ToolError(ErrorCode.TURN_BUDGET, f"No answer within {self._turn_budget} turns.")

    def _run_calls(self, episode: Episode, turn: Turn) -> None:
        parsed = turn.parsed
        if parsed.problem:
            turn.exchanges.append(Exchange(None, f"Error {ErrorCode.INVALID_ARGUMENT}: {parsed.problem}."))
        motion_failed = False
        broken: ToolError | None = None
        for call in parsed.calls:
            exchange = self._exchange(episode, call, motion_failed)
            turn.exchanges.append(exchange)
            if exchange.record is not None:
                error = exchange.record.result.error
                broken = error if error is not None and error.code is ErrorCode.INTERNAL else None
                motion_failed = exchange.record.motion and not exchange.record.result.ok
            if broken is not None:
                break
        episode.messages += [_message(exchange, episode.session) for exchange in turn.exchanges]
        if broken is not None:
            raise broken

    def _exchange(self, episode: Episode, call: ToolCall, motion_failed: bool) -> Exchange:
        if self._stopped():
            return Exchange(call, f"Error {ErrorCode.STOPPED}: Not run: stopped by the operator.")
        if motion_failed:
            return Exchange(call, "Not run: an earlier motion in this turn failed.")
        if call.problem:
            return Exchange(call, f"Error {ErrorCode.INVALID_ARGUMENT}: {call.problem}.")
        record = self._run_call(episode, call)
        return Exchange(call, record.result.text, record)

    def _run_call(self, episode: Episode, call: ToolCall) -> CallRecord:
        self._listener("call", call)
        record = self._toolbox.call(call.name, call.arguments, episode.session)
        self._listener("result", record)
        return record

    def _finish(self, episode: Episode, answer: str) -> None:
        """Success is what the tools reported: the last motion worked and the answer admits no failure."""
        records = [record for turn in episode.turns for record in turn.calls]
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
        episode.error_code, episode.answer = error.code, str(error)
        self._listener("answer", f"{error.code}: {error}")


def _message(exchange: Exchange, session: Session) -> Message:
    index = exchange.image_index
    picture = None if index is None else session.images[index].rgb
    return Message("tool", exchange.response, exchange.words, index, picture)
