"""Rewards by name: pure functions of an answer and a truth, with the paper and the equation in each docstring.

`REWARDS` is a plain dict that a program may add its own to. docs/reference/rewards.md has the table.
"""

from __future__ import annotations

from collections.abc import Callable

import toolhand.training.rewards.evic as evic
import toolhand.training.rewards.grasp as grasp
import toolhand.training.rewards.last as last
import toolhand.training.rewards.peria as peria
import toolhand.training.rewards.spacetools as spacetools
import toolhand.training.rewards.stages as stages
from toolhand.tool_nodes.results import invalid

REWARDS: dict[str, Callable[..., float]] = {
    "spacetools.choice": spacetools.choice,
    "spacetools.in_hull": spacetools.in_hull,
    "spacetools.nndc": spacetools.nndc,
    "spacetools.nsdh": spacetools.nsdh,
    "spacetools.nac": spacetools.nac,
    "spacetools.mean_iou": spacetools.mean_iou,
    "spacetools.pose_iou": spacetools.pose_iou,
    "spacetools.nnce": spacetools.nnce,
    "spacetools.mace": spacetools.mace,
    "spacetools.format": spacetools.format_score,
    "peria.repetition": peria.repetition,
    "peria.format": peria.format_reward,
    "peria.answer": peria.answers_match,
    "peria.path": lambda path, truth, **options: peria.path_reward(peria.ndtw(path, truth), **options),
    "evic.choice": evic.choice,
    "evic.mra": evic.mra,
    "evic.region": evic.region,
    "evic.single_point": evic.single_point,
    "evic.trajectory": evic.trajectory,
    "evic.iou": evic.iou,
    "evic.format": evic.format_reward,
    "evic.gate": evic.gate,
    "last.format": last.format_reward,
    "last.choice": last.correct_choice,
    "last.number": last.correct_number,
    "last.tool": last.tool_reward,
    "stages": stages.stage_reward,
    "grasp": grasp.oriented_grasp,
}
"""Every reward; the part before the dot is the paper. Those of text, such as formats, take what the policy wrote."""


def reward_named(name: str) -> Callable[..., float]:
    """The reward of this name.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown one, with all names.
    """
    if name not in REWARDS:
        raise invalid(f'There is no reward "{name}", only {", ".join(sorted(REWARDS))}.')
    return REWARDS[name]
