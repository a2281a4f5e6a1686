"""One rollout as plain data: what the policy was given, what it wrote, what came of it, and what it is worth.

In memory a record is whole; on disk its long texts and its images lie in a `ImageStore`, each once. Everything that
a trainer needs is there to the token and to the pixel:

| for | is in |
|---|---|
| the prompt of turn i | `given(record, i, store)`: equal to `toolhand.agent_node.episode.Episode.given(i)` |
| what the policy sampled for it | `TurnRecord.text`, `token_ids`, `logprobs`, `mask` |
| which text of the conversation is the policy's own | `MessageRecord.sampled`, `TurnRecord.span` |
| the advantage | `scored(record)`: a `toolhand.training.advantages.steps.ScoredRollout` |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolhand.agent_node.policy import Message, MessageRole
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.plain_json import PlainJsonError
from toolhand.tool_nodes.records import document_of, record_of, without_version
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.training.advantages.steps import Anchor, ScoredRollout
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.plain_parts import problem_of_labels, problem_of_tools, problem_of_truth

VERSION = 2
"""Of the form of a record's document; no other one is read."""

MAX_BYTES = 100_000
"""Longest line of a record [bytes]: more and more of its texts are kept in the store until it fits. The tokens of an
unusual rollout may still be more."""

MOST_REWARD = 1e9
"""Greatest reward of a record, of either sign: squares of a whole collection's add up far below the largest number."""

_LONGEST = (4000, 1000, 200)
"""Texts of more characters, and lists of more numbers, are kept in the store; the next where a line is too long."""


@dataclass(frozen=True)
class MessageRecord:
    """One entry of the conversation.

    Attributes:
        role: "system", "user", "assistant" or "tool".
        text, words, image_index: Fields of `toolhand.agent_node.policy.Message`.
        image: Hash of the image that came with it, whether or not it was still shown later; None where none did.
        sampled: The text is exactly what the policy sampled. False for everything that the operator, a tool or the
            agent wrote, and for a turn that was too long and stands here cut.
    """

    role: str
    text: str
    words: str = ""
    image_index: int | None = None
    image: str | None = None
    sampled: bool = False


@dataclass(frozen=True)
class CallEntry:
    """One call of a turn, also one that was refused.

    Attributes:
        tool: Name as the policy wrote it; its arguments too.
        arguments: A mapping, unless the policy wrote something else.
        words: Result without the agent's notes and without markup.
        error_code: The stage that failed; None where the call succeeded.
        image: Hash of the image that came back.
        failed_on_purpose: Which kind of failure on purpose it was (`toolhand.training.env.failures`); empty for a real
            result.
        run: The tool was called; False where the agent refused.
        seconds: Wall time of the call [s].
    """

    tool: str
    arguments: Any
    words: str
    error_code: str | None = None
    image: str | None = None
    failed_on_purpose: str = ""
    run: bool = True
    seconds: float = 0.0


@dataclass(frozen=True)
class PromptRecord:
    """Which part of the conversation a turn was given.

    Attributes:
        messages: Number of messages, from the first.
        imaged: Which of them came with their image.
    """

    messages: int
    imaged: tuple[int, ...] = ()


@dataclass(frozen=True)
class TurnRecord:
    """One assistant turn.

    Attributes:
        prompt: Messages that the policy was given.
        text: Sampled text, before anything was cut.
        span: Range of characters, from the first to before the second, that stand as sampled in the message that the
            turn became (`messages[prompt.messages]`): all, or none (0, 0) where the turn was cut.
        token_ids, logprobs: Fields of `toolhand.agent_node.policy.Reply`, empty where the policy does not know them.
        mask: For each of `token_ids` 1 where the policy sampled it, else 0.
        problem: Fault of the turn as a whole; empty where there was none.
        prompt_tokens, completion_tokens: Tokens counted by the server, 0 where nothing counts.
        ended_s: Simulated time since the beginning when its calls were over [s], the same clock as that of
            `RolloutRecord.stages`; None where unknown.
        times: Wall time by stage: "policy", "tools" [s].
        labels: Later findings about the turn, plain data.
    """

    prompt: PromptRecord
    text: str
    span: tuple[int, int] = (0, 0)
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    mask: tuple[int, ...] = ()
    thought: str = ""
    problem: str = ""
    calls: tuple[CallEntry, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    ended_s: float | None = None
    times: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RolloutRecord:
    """One rollout.

    Attributes:
        id: Its name within a collection, from group and rollout.
        task: JSON document from which the task can be made again.
        text: The operator's sentence or question.
        seed: Seed of the station and of the failures on purpose; the same in the whole group.
        group, rollout: Which group of the collection, and which of the group.
        protocol: Name of the form in which the policy wrote.
        tools: JSON text of the schemas of the tools that were offered.
        messages: The whole conversation.
        terms: Named terms of the reward.
        truth: Score by the simulator's truth: {"terms": {...}, "success": bool, "reasons": [...], "picked_up": [...],
            "meant": [...]}, the last two as in `toolhand.sim.tasks.task.Score`.
        stages: {name: when it was first reached [s], simulated time, or None where it was not}, in order.
        answer, success, error_code: How it ended, as the tools reported it; see `toolhand.agent_node.episode.Episode`.
        seeds: Every seed by name: "task", "station", "policy".
        times: Wall time by stage [s].
        labels: Later findings about the rollout, plain data, e.g. why it was rejected.
    """

    id: str
    task: Mapping[str, Any]
    text: str
    seed: int
    group: int
    rollout: int
    protocol: str
    policy: str
    tools: str
    messages: tuple[MessageRecord, ...]
    turns: tuple[TurnRecord, ...]
    terms: Mapping[str, float]
    total: float
    truth: Mapping[str, Any]
    stages: Mapping[str, float | None] = field(default_factory=dict)
    answer: str = ""
    success: bool = False
    error_code: str | None = None
    seeds: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """The tools that were offered, in the function-calling form."""
        found: list[dict[str, Any]] = json.loads(self.tools)
        return found

    @property
    def kind(self) -> str:
        """Of its task, by name."""
        return str(self.task.get("kind", "task"))

    @property
    def true_success(self) -> bool:
        """The simulator found everything that was asked for."""
        return bool(self.truth.get("success"))

    def without_times(self) -> RolloutRecord:
        """The same without wall times, which no two runs share: equal for equal rollouts."""
        turns = (
            replace(turn, times={}, calls=tuple(replace(call, seconds=0.0) for call in turn.calls))
            for turn in self.turns
        )
        return replace(self, turns=tuple(turns), times={})

    def to_json(self, store: ImageStore | None = None) -> str:
        """The record as a line of JSON, ASCII.

        Args:
            store: Takes long texts, so that the line has at most MAX_BYTES; where None, all is in the line.

        Raises:
            ToolError: INTERNAL where a number is not finite or something has no JSON form; UNAVAILABLE where the store
                cannot be written.
        """
        if store is None:
            return self._line(None, 0)
        longest = next(
            (size for size in _LONGEST if len(self._line(_as_long_as_a_hash, size)) <= MAX_BYTES), _LONGEST[-1]
        )
        return self._line(store.add_text, longest)

    def _line(self, keep: Callable[[str], str] | None, longest: int) -> str:
        try:
            return json.dumps({"version": VERSION, **document_of(self, keep, longest)}, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ToolError(
                ErrorCode.INTERNAL, f"The record {self.id} holds something that JSON cannot: {error}."
            ) from error

    @classmethod
    def from_json(cls, line: str | bytes, store: ImageStore | None = None) -> RolloutRecord:
        """The record of a line.

        Args:
            line: Line made by `to_json`.
            store: Has the long texts, where the line has been made with one.

        Raises:
            ToolError: INVALID_ARGUMENT, one sentence without its place: the line is no JSON, no record, or of another
                version; something of it is missing in the store.
        """
        try:
            document = plain_json.load(line, plain_json.AS_WRITTEN)
        except PlainJsonError as error:
            raise invalid(f"it is no line of JSON ({error})") from error
        document = without_version(document, VERSION)
        record = record_of(cls, document, recall=None if store is None else store.get_text)
        _check(record)
        return record


def given(record: RolloutRecord, index: int, store: ImageStore) -> tuple[Message, ...]:
    """What the policy was given for turn `index`, to the last pixel. Raises ToolError as `ImageStore.get`."""
    prompt = record.turns[index].prompt
    shown = frozenset(prompt.imaged)
    return tuple(
        Message(
            message_role(message.role),
            message.text,
            message.words,
            message.image_index,
            store.get(message.image) if k in shown and message.image is not None else None,
        )
        for k, message in enumerate(record.messages[: prompt.messages])
    )


def scored(record: RolloutRecord, anchor: Callable[[RolloutRecord, int], Anchor] | None = None) -> ScoredRollout:
    """The rollout as `toolhand.training.advantages` takes it; rollouts of the same task and seed are a group.

    Args:
        record: With a turn or more.
        anchor: (record, turn) -> what that turn was answering; `anchor_of` where None.

    Raises:
        ToolError: INVALID_ARGUMENT for a record without turns.
    """
    of_turn = anchor or anchor_of
    prompt = json.dumps([record.task, record.seed], sort_keys=True)
    return ScoredRollout.of_outcome(prompt, [of_turn(record, k) for k in range(len(record.turns))], record.total)


def anchor_of(record: RolloutRecord, index: int) -> Anchor:
    """The observation that the action of a turn was conditioned on: what was said since the turn before.

    At first that is the operator's sentence. Images belong to it by their hashes; the system's words do not, which
    are the same in a whole group.
    """
    first = record.turns[index - 1].prompt.messages + 1 if index else 0
    answered = record.messages[first : record.turns[index].prompt.messages]
    text = "\n".join(message.text for message in answered if message.role != "system")
    return Anchor.of(text, [message.image for message in answered if message.image is not None])


def rollout_id(group: int, rollout: int) -> str:
    """The name of a rollout within its collection, e.g. "00012-003"."""
    return f"{group:05d}-{rollout:03d}"


def _check(record: RolloutRecord) -> None:
    """Raises ToolError INVALID_ARGUMENT where parts of a record do not fit together."""
    rewards = {"total": record.total, **{f"terms.{name}": value for name, value in record.terms.items()}}
    problems = [
        f"{name} must be a reward of at most {MOST_REWARD:g}, of either sign, not {value:g}"
        for name, value in rewards.items()
        if abs(value) > MOST_REWARD
    ]
    problems += [
        f"messages[{k}].role must be system, user, assistant or tool, not {message.role[:20]!r}"
        for k, message in enumerate(record.messages)
        if message.role not in _ROLES
    ]
    problems += filter(None, (problem_of_tools(record.tools), problem_of_truth(record.truth)))
    problems += [f"turns[{k}] {wrong}" for k, turn in enumerate(record.turns) if (wrong := _problem(record, turn))]
    if problems:
        raise invalid(problems[0])


def _problem(record: RolloutRecord, turn: TurnRecord) -> str:
    count, prompt = len(record.messages), turn.prompt
    if not 0 < prompt.messages < count or record.messages[prompt.messages].role != "assistant":
        return f"was given {prompt.messages} messages, after which there is no assistant's"
    if not all(0 <= k < prompt.messages for k in prompt.imaged):
        return "was given pictures of messages that it was not given"
    if any(record.messages[k].image is None for k in prompt.imaged):
        return "was given a picture that is not there"
    if not 0 <= turn.span[0] <= turn.span[1] <= len(record.messages[prompt.messages].text):
        return "has a span that is no part of its message"
    if turn.logprobs and turn.token_ids and len(turn.logprobs) != len(turn.token_ids):
        return f"has {len(turn.token_ids)} tokens and {len(turn.logprobs)} log-probabilities"
    if len(turn.mask) != len(turn.token_ids) or not set(turn.mask) <= {0, 1}:
        return f"has a mask that is not {len(turn.token_ids)} times 0 or 1"
    return problem_of_labels(turn.labels, len(turn.calls))


_ROLES: Sequence[MessageRole] = ("system", "user", "assistant", "tool")


def message_role(name: str) -> MessageRole:
    """The role of a name that a record has; records with others are refused."""
    return next(role for role in _ROLES if role == name)


def _as_long_as_a_hash(text: str) -> str:
    return "0" * 64
