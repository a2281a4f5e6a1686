"""Stage credit: what each turn of a recorded rollout brought, for advantages of single turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from toolhand.tool_nodes.types import FloatArray
from toolhand.training.advantages.steps import ScoredRollout
from toolhand.training.rewards.stages import WEIGHTS, stage_credit
from toolhand.training.rollouts.record import RolloutRecord, scored


def turn_credit(record: RolloutRecord, weights: Mapping[str, float] = WEIGHTS) -> FloatArray | None:
    """The share of the stages that were first reached in each turn, (T,), see `stage_credit`.

    None where that is not known: the task has no stages, or the ends of the turns were not measured.

    Raises:
        ToolError: INVALID_ARGUMENT for a stage without a weight, and for times that fall.
    """
    ends = [turn.ended_s for turn in record.turns if turn.ended_s is not None]
    if not record.stages or len(ends) < len(record.turns):
        return None
    return stage_credit(record.stages, ends, weights)


def credited(record: RolloutRecord, weights: Mapping[str, float] = WEIGHTS) -> ScoredRollout:
    """As `toolhand.training.rollouts.record.scored`, with a reward for each turn: the weight of the stages first
    reached in it.

    What the stages do not explain of the record's total, such as a penalty for a false report, comes with the last
    turn, so that the turns' rewards have the total for their sum. This suits totals that are made of stages; where the
    total is of another make, or the credit of turns is not known, all of it comes with the last turn.

    Args:
        record: With a turn or more.
        weights: Weights of the stages; those by which the total was made.

    Raises:
        ToolError: INVALID_ARGUMENT for a record without turns, and as `turn_credit`.
    """
    rollout = scored(record)
    credit = turn_credit(record, weights)
    if credit is None:
        return rollout
    credit[-1] += record.total - credit.sum()
    turns = (replace(turn, reward=float(reward)) for turn, reward in zip(rollout.turns, credit, strict=True))
    return replace(rollout, turns=tuple(turns))
