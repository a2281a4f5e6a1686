"""SpaceTools' teaching data (DIRL) and its decomposition.

The problem is taken apart: one teacher points and does nothing else, the other has every tool. 2,000 trajectories of
the paper are the first one's, 6,000 the second one's; both keep only what ends in a correct answer. The paper's first
teacher is a model trained with the pointing tool alone, its second Claude Sonnet 4.5 with all tools. Here both are
any policy, scripted where none is given. A policy that teaches pointing is offered the pointing tool alone, under the
prompt of its own training; what the student learns stands under the prompt of figure 3 with all tools (D.1). A
trajectory counts as the pointing teacher's where pointing and the camera were all that it called.

For reinforcement learning without tools (D.4) a trajectory of T turns is taken apart into T instances of one turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolhand.agent_node.episode import Episode
from toolhand.agent_node.protocol import Protocol
from toolhand.training.data.synthesis.attempts import Attempt
from toolhand.training.rollouts.record import CallEntry, MessageRecord, RolloutRecord

POINTING = frozenset(
    {"roborefer.detect_one", "roborefer.detect_all", "vlm.detect_one", "vlm.detect_all", "robot.capture_image"}
)
"""What the pointing teacher may call."""

POINTING_SHARE = 0.25
"""Share of the pointing teacher's trajectories: 2,000 of 8,000."""

POINTING_KINDS = ("point", "free_space")
"""Kinds of tasks that pointing alone can do."""


def points_alone(episode: Episode) -> bool:
    """Pointing and the camera were all that was called."""
    return all(record.name in POINTING for record in episode.records)


def as_student(made: Attempt, protocol: Protocol, schemas: Sequence[Mapping[str, Any]]) -> Attempt:
    """An expert's attempt under the student's prompt: its system message, and the tools that are offered, are replaced.

    Args:
        made: Whatever came of it.
        protocol: The student's; turns are written in the same form in both.
        schemas: Schemas of all tools that the student is offered.
    """
    if made.scored is None:
        return made
    episode = made.scored.episode
    first, *rest = episode.messages
    messages = [replace(first, text=protocol.system_prompt(schemas)), *rest]
    shown = replace(episode, messages=messages, protocol=protocol)
    return replace(made, scored=replace(made.scored, episode=shown, tools=schemas))


@dataclass(frozen=True)
class SingleTurn:
    """One instance of D.4.

    Attributes:
        prompt: The conversation up to the turn.
        target: The turn as it was written.
        calls: Calls of the turn; empty where it answered.
        answers: It is the final turn, which is paid by the task's own reward, not by equality.
    """

    prompt: tuple[MessageRecord, ...]
    target: str
    calls: tuple[CallEntry, ...]
    answers: bool


def single_turns(record: RolloutRecord) -> list[SingleTurn]:
    """A trajectory of T turns as T instances; `toolhand.training.advantages.noninteractive` rewards answers to them."""
    last = len(record.turns) - 1
    return [
        SingleTurn(record.messages[: turn.prompt.messages], turn.text, turn.calls, k == last and not turn.calls)
        for k, turn in enumerate(record.turns)
    ]
