"""The record of one command: turns, what each call answered, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.events import OperatorAnswer
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import NOTE, ParsedTurn, Protocol, load_protocol, render_response
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, NOT_THERE, ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session

SAMPLED_CHARACTERS = 1 << 20
"""Longest part of the text of an overlong turn that is kept beside the conversation [characters]: several times what a
model writes in a turn. Token ids and log-probabilities are always kept whole."""


EpisodeOutcome = Literal["done", "answered", "asked", "failed"]
"""What came of a command: the tools reported that it was done; it was answered in words, and nothing moved; it ended
with a question to the operator; anything else. Only what was done is a success of the tools."""


@dataclass(frozen=True)
class Exchange:
    """One response of a turn and what it answers.

    Attributes:
        call: The call as the policy wrote it; None when the whole turn was refused.
        words: Text that the policy reads, without protocol markup.
        record: The tool call, without its arrays; None when the call was not run.
        notes: Remarks that the agent adds for the policy.
        error_code: The stage that failed: the tool's, or the agent's where it refused the call or the whole turn. None
            where the call succeeded, and where it was not run because of an earlier one in the turn.
    """

    call: ToolCall | None
    words: str
    record: CallRecord | None = None
    notes: tuple[str, ...] = ()
    error_code: ErrorCode | None = None

    @classmethod
    def refused(cls, call: ToolCall | None, error: ToolError) -> Exchange:
        """The agent's own answer to a call, or to a whole turn (None), that it does not run."""
        return cls(call, f"Error {error.code}: {error}", error_code=error.code)

    @property
    def image_index(self) -> int | None:
        """Index of the image that came with the response, or None."""
        return None if self.record is None else self.record.image_index

    @property
    def response(self) -> str:
        """The text that the policy reads."""
        return render_response(self.shown, self.image_index)

    @property
    def shown(self) -> str:
        """The words with the notes."""
        return "".join((self.words, *(f"{NOTE}{note}" for note in self.notes))).removeprefix("\n")

    def noted(self, note: str) -> Exchange:
        """The exchange with one more note; the same where it is empty."""
        return replace(self, notes=(*self.notes, note)) if note else self


@dataclass(frozen=True)
class TurnPrompt:
    """What the policy was given for a turn: the conversation so far, with some of its images.

    It says which, and holds none of them, so that old ones can be let go; `Episode.given` puts it together.

    Attributes:
        messages: How many messages there were.
        imaged: Which of them came with their image; the others' were too old by then.
    """

    messages: int = 0
    imaged: tuple[int, ...] = ()


@dataclass
class Turn:
    """One assistant turn and what came of it.

    Attributes:
        reply: The policy's turn as the conversation goes on with it, and its costs. Text beyond the readable length is
            cut.
        parsed: The turn as the protocol reads it.
        exchanges: One for each call, in order, or one that says what is wrong with the turn.
        policy_s: Wall time the policy took [s].
        prompt: Messages that the policy was given.
        sampled: Text that the policy wrote where `reply` was cut, up to SAMPLED_CHARACTERS; None elsewhere.
        answered: The operator's answer to the question that the turn asks; None where it asks none, or no answer came.
    """

    reply: Reply
    parsed: ParsedTurn
    exchanges: list[Exchange] = field(default_factory=list)
    policy_s: float = 0.0
    prompt: TurnPrompt = TurnPrompt()
    sampled: Reply | None = None
    answered: OperatorAnswer | None = None

    @property
    def text(self) -> str:
        """What the policy wrote."""
        return self.reply.text

    @property
    def as_sampled(self) -> Reply:
        """What the policy wrote, with its tokens, before anything was cut; this is what training learns from."""
        return self.sampled or self.reply

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

    @property
    def error_code(self) -> ErrorCode | None:
        """The first error among its calls, or INVALID_ARGUMENT for a turn that could not be read; None without one."""
        return next((exchange.error_code for exchange in self.exchanges if exchange.error_code is not None), None)


@dataclass
class Episode:
    """One command as far as it has come.

    Attributes:
        task: The operator's sentence.
        messages: The whole conversation as the policy reads it, with that of the commands before where it goes on with
            theirs.
        turns: Turns so far, of this command.
        session: Images and `$variables` that the calls have left.
        protocol: How the policy writes.
        answer: The answer to the operator, without the code; empty until the end.
        success: Every part of the command was carried out, as the tools reported it.
        error_code: The stage that failed, or None.
        wall_s: Wall time of the whole command [s], the policy's included.
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

    def given(self, index: int) -> tuple[Message, ...]:
        """What the policy was given for turn `index`, to the last pixel, although old images were dropped since.

        It is put together anew in each call: images that are no longer shown are unpacked from the session.
        """
        prompt = self.turns[index].prompt
        messages = self.messages[: prompt.messages]
        for k, message in enumerate(messages):
            if (k in prompt.imaged) != (message.image is not None):
                shown = message.image_index if k in prompt.imaged else None
                messages[k] = replace(message, image=None if shown is None else self.session.images[shown].rgb)
        return tuple(messages)

    @property
    def records(self) -> list[CallRecord]:
        """The calls that were run, in order."""
        return [record for turn in self.turns for record in turn.calls]

    @property
    def answers(self) -> tuple[OperatorAnswer, ...]:
        """What the operator answered to questions, in order."""
        return tuple(turn.answered for turn in self.turns if turn.answered is not None)

    def finish(self, answer: str, answers: bool = False, heard: bool = False) -> None:
        """Note what the policy answers at the end, and what the tools reported.

        Success is that of the last motion, with an answer that admits no failure.

        Args:
            answer: The answer, with its code.
            answers: An answer is all that was asked for.
            heard: An operator hears it, see `Recovery.heard`: words are an answer where nothing moved, unless the last
                call was a mistake.
        """
        motions = [record for record in self.records if record.motion]
        errors = [record.result.error.code for record in self.records if record.result.error is not None]
        coded = coded_answer(answer)
        if coded:
            code, self.answer = coded
            # Infrastructure errors are never scored, so a policy may not claim one that no tool reported.
            claimed = code in INFRASTRUCTURE_ERRORS and code not in errors
            self.error_code = ErrorCode.EXECUTION_FAILED if claimed else code
            return
        self.answer = answer
        self.success = motions[-1].result.ok if motions else answers
        if not self.success and heard and not motions:
            last = [exchange.error_code for turn in self.turns for exchange in turn.exchanges][-1:]
            self.error_code = last[0] if last and last[0] not in NOT_THERE else None
        elif not self.success:
            self.error_code = errors[-1] if errors else None

    @property
    def outcome(self) -> EpisodeOutcome:
        """What came of it, as far as the agent knows: see `EpisodeOutcome`."""
        if self.success:
            return "done"
        if self.error_code is ErrorCode.AMBIGUOUS:
            return "asked"
        words_alone = self.error_code is None and bool(self.answer) and not any(each.motion for each in self.records)
        return "answered" if words_alone else "failed"

    @property
    def tool_calls(self) -> int:
        """Number of calls that were run."""
        return len(self.records)


def coded_answer(answer: str) -> tuple[ErrorCode, str] | None:
    """The code of what went wrong that an answer begins with, and what is said after its colon; None without one.

    A code alone is one, too.
    """
    code, _, said = (part.strip() for part in answer.partition(":"))
    return (ErrorCode(code), said) if code in set(ErrorCode) else None


def admits_failure(answer: str) -> bool:
    """Whether an answer begins with the code of what went wrong, as a policy gives it."""
    return coded_answer(answer) is not None


def summarize(episode: Episode) -> dict[str, Any]:
    """The machine-readable result of a command, as far as the agent knows it: `truth` is None."""
    return {
        "task": episode.task,
        "answer": episode.answer,
        "success": episode.success,
        "outcome": episode.outcome,
        "truth": None,
        "error_code": episode.error_code,
        "tool_calls": episode.tool_calls,
        "turns": len(episode.turns),
        "wall_s": round(episode.wall_s, 3),
    } | ({} if episode.session.speed == 1.0 else {"speed": episode.session.speed})


UNREAD = "nothing: "
"""How the goal begins of a sentence that the judge's own reader makes none of."""


def not_judged(judged_against: Any) -> str:
    """Why a run was not judged, of `judged_against` in its result; empty where it was, or had no judge."""
    goal = judged_against.get("goal") if isinstance(judged_against, Mapping) else None
    return goal.removeprefix(UNREAD) if isinstance(goal, str) and goal.startswith(UNREAD) else ""
