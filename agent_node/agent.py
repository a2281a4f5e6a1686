"""The agent: a conversation between an operator, a policy and the toolbox."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent_node.policy import Message, Policy
from agent_node.protocol import ParsedTurn, ToolCall, parse_turn, render_response, render_result, system_prompt
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, ToolError
from tool_nodes.toolbox import CallRecord, Session, Toolbox

TURN_BUDGET = 24
"""Assistant turns per command."""

_CODED_ANSWER = re.compile(rf"^({'|'.join(ErrorCode)})\s*:\s*(.*)$", re.DOTALL)


@dataclass
class Turn:
    """One assistant turn and what came of it.

    Attributes:
        text: What the policy wrote.
        thought: Its `<think>` text.
        calls: Finished calls in order; calls that were not run have no record.
        responses: The text of every response, one per call.
        policy_s: Wall time the policy took [s].
    """

    text: str
    thought: str
    calls: list[CallRecord] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    policy_s: float = 0.0


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
    """

    def __init__(
        self,
        policy: Policy,
        toolbox: Toolbox,
        turn_budget: int = TURN_BUDGET,
        stopped: Callable[[], bool] = lambda: False,
        listener: Listener = lambda kind, payload: None,
    ) -> None:
        self._policy = policy
        self._toolbox = toolbox
        self._turn_budget = turn_budget
        self._stopped = stopped
        self._listener = listener

    def run(self, task: str) -> Episode:
        """Carry out one command. Never raises for what a policy or a tool does."""
        started = time.monotonic()
        messages = [Message("system", system_prompt(self._toolbox.schemas())), Message("user", task)]
        episode = Episode(task, messages, [], Session())
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
            text = self._policy.respond(tuple(episode.messages))
            parsed = parse_turn(text)
            turn = Turn(text, parsed.thought, policy_s=time.monotonic() - began)
            episode.turns.append(turn)
            episode.messages.append(Message("assistant", text))
            if parsed.thought:
                self._listener("thought", parsed.thought)
            if parsed.answer is not None:
                self._finish(episode, parsed.answer)
                return
            self._run_calls(episode, turn, parsed)
            if self._stopped():
                raise ToolError(ErrorCode.STOPPED, "Stopped by the operator; the arm holds its position.")
        raise ToolError(ErrorCode.TURN_BUDGET, f"No answer within {self._turn_budget} turns.")

    def _run_calls(self, episode: Episode, turn: Turn, parsed: ParsedTurn) -> None:
        if parsed.problem:
            turn.responses.append(render_response(f"Error {ErrorCode.INVALID_ARGUMENT}: {parsed.problem}.", None))
        motion_failed = False
        broken: ToolError | None = None
        for call in parsed.calls:
            if self._stopped():
                response = render_response(f"Error {ErrorCode.STOPPED}: Not run: stopped by the operator.", None)
            elif motion_failed:
                response = render_response("Not run: an earlier motion in this turn failed.", None)
            elif call.problem:
                response = render_response(f"Error {ErrorCode.INVALID_ARGUMENT}: {call.problem}.", None)
            else:
                record = self._run_call(episode, turn, call)
                error = record.result.error
                broken = error if error is not None and error.code is ErrorCode.INTERNAL else None
                motion_failed = record.motion and not record.result.ok
                response = render_result(record.result, record.image_index)
            turn.responses.append(response)
            if broken is not None:
                break
        episode.messages += [Message("tool", response) for response in turn.responses]
        if broken is not None:
            raise broken

    def _run_call(self, episode: Episode, turn: Turn, call: ToolCall) -> CallRecord:
        self._listener("call", call)
        record = self._toolbox.call(call.name, call.arguments, episode.session)
        turn.calls.append(record)
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
