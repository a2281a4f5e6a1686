"""The record of an episode that is over."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.agent_node.episode import Exchange, Turn
from toolhand.training.env.failures import FACT
from toolhand.training.env.session import ScoredEpisode
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.record import (
    CallEntry,
    MessageRecord,
    PromptRecord,
    RolloutRecord,
    TurnRecord,
    rollout_id,
)


def record_of(
    played: ScoredEpisode,
    store: ImageStore,
    *,
    task: Mapping[str, Any],
    policy: str,
    group: int = 0,
    labels: Sequence[Mapping[str, Any]] = (),
    seeds: Mapping[str, int] | None = None,
) -> RolloutRecord:
    """The record of an episode; its images go into the store.

    Args:
        played: The episode, as `EpisodeSession.scored` gives it.
        task: The task as a JSON document.
        policy, group, seeds: Fields of RolloutRecord.
        labels: Labels of each turn; none where empty.

    Raises:
        ToolError: UNAVAILABLE where an image cannot be written.
    """
    episode, score, truth, ends = played.episode, played.score, played.score.truth, played.turn_ends_s
    hashes = [store.add(image.rgb) for image in episode.session.images]
    written = {turn.prompt.messages: turn for turn in episode.turns}
    messages = []
    for k, message in enumerate(episode.messages):
        turn = written.get(k)
        shown = None if message.image_index is None else hashes[message.image_index]
        if shown is None and message.image is not None:
            shown = store.add(message.image)
        messages.append(
            MessageRecord(
                message.role,
                message.text,
                message.words,
                message.image_index,
                shown,
                turn is not None and turn.as_sampled.text == message.text,
            )
        )
    return RolloutRecord(
        id=rollout_id(group, played.rollout),
        task=task,
        text=episode.task,
        seed=played.seed,
        group=group,
        rollout=played.rollout,
        protocol=episode.protocol.name,
        policy=policy,
        tools=json.dumps(list(played.tools)),
        messages=tuple(messages),
        turns=tuple(
            _turn(turn, hashes, labels[k] if labels else {}, ends[k] if k < len(ends) else None)
            for k, turn in enumerate(episode.turns)
        ),
        terms={name: float(value) for name, value in score.terms.items()},
        total=float(score.total),
        truth={
            "terms": dict(truth.terms),
            "success": truth.success,
            "reasons": list(truth.reasons),
            "picked_up": list(truth.picked_up),
            "meant": list(truth.meant),
        },
        stages={name: stage.first_at_s for name, stage in truth.stages.items()},
        answer=episode.answer,
        success=episode.success,
        error_code=None if episode.error_code is None else str(episode.error_code),
        seeds=dict(seeds or {}),
    )


def _turn(turn: Turn, hashes: Sequence[str], labels: Mapping[str, Any], ended_s: float | None) -> TurnRecord:
    said = turn.as_sampled
    whole = turn.sampled is None
    calls = [exchange for exchange in turn.exchanges if exchange.call is not None]
    return TurnRecord(
        prompt=PromptRecord(turn.prompt.messages, turn.prompt.imaged),
        text=said.text,
        span=(0, len(turn.text)) if whole else (0, 0),
        token_ids=tuple(int(token) for token in said.token_ids),
        logprobs=tuple(float(value) for value in said.logprobs),
        mask=(1,) * len(said.token_ids),
        thought=turn.thought,
        problem=turn.parsed.problem,
        calls=tuple(_call(exchange, hashes) for exchange in calls),
        prompt_tokens=said.prompt_tokens,
        completion_tokens=said.completion_tokens,
        ended_s=ended_s,
        times={"policy": _rounded(turn.policy_s), "tools": _rounded(sum(record.wall_s for record in turn.calls))},
        labels=labels,
    )


def _call(exchange: Exchange, hashes: Sequence[str]) -> CallEntry:
    call, record = exchange.call, exchange.record
    assert call is not None
    code = None if exchange.error_code is None else str(exchange.error_code)
    if record is None:
        return CallEntry(call.name, call.arguments, exchange.words, code, run=False)
    return CallEntry(
        tool=call.name,
        arguments=call.arguments,
        words=exchange.words,
        error_code=code,
        image=None if record.image_index is None else hashes[record.image_index],
        failed_on_purpose=str(record.result.facts.get(FACT, "")),
        seconds=_rounded(record.wall_s),
    )


def _rounded(seconds: float) -> float:
    """To the microsecond."""
    return round(float(seconds), 6)
