"""The arms of the experiment: which stages each has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tool_nodes.results import invalid
from training.advantages.gigpo import PRINTED, AnchorChoice

Advantage = Literal["grpo", "or_gigpo"]


@dataclass(frozen=True)
class ExperimentArm:
    """What is done before the table's row is measured.

    Attributes:
        title: Title in the table.
        scripted: A policy that is not trained; the rest means nothing then.
        stage1: The pointer is improved on hits and misses first; else it is the one trained on labels.
        sft: Stage 2.
        sft_times: Times the epochs of stage 2: a control that has more compute and the same demonstrations.
        rl: Stage 3, with this advantage; none where None.
        anchor: Which observation OR-GIGPO compares turns by.
        rate: Its learning rate; 0.1 moves the policy after SFT by 0.003 nat a token in an iteration of GRPO, 0.2 by
            0.006, which gained less: docs/results/log.md.
        blind: The policy does not see.
    """

    title: str
    scripted: str = ""
    stage1: bool = True
    sft: bool = True
    sft_times: int = 1
    rl: Advantage | None = None
    anchor: AnchorChoice = PRINTED
    rate: float = 0.1
    blind: bool = False


ARMS: Mapping[str, ExperimentArm] = {
    "unchecked": ExperimentArm("scripted, without checks", scripted="careful:unchecked"),
    "always": ExperimentArm("scripted, always checks", scripted="careful:always"),
    "sft": ExperimentArm("SFT"),
    "grpo": ExperimentArm("SFT + GRPO", rl="grpo"),
    "or_gigpo": ExperimentArm("SFT + OR-GIGPO, by the observation answered", rl="or_gigpo", anchor="answered"),
    "or_gigpo_printed": ExperimentArm("SFT + OR-GIGPO as printed", rl="or_gigpo"),
    "sft_without_stage1": ExperimentArm("without stage 1: SFT alone", stage1=False),
    "sft_blind": ExperimentArm("blind: SFT alone", blind=True),
    "without_sft": ExperimentArm(
        "without SFT: OR-GIGPO, by the observation answered", sft=False, rl="or_gigpo", anchor="answered"
    ),
    "longer": ExperimentArm("without RL: SFT for eleven times as long", sft_times=11),
}
"""By name, in the order of the table."""

OF_RECIPE: Mapping[str, ExperimentArm] = {
    "dirl": ExperimentArm("DIRL", rl="grpo"),
    "peria": ExperimentArm("PERIA", stage1=False, rl="or_gigpo"),
    "last": ExperimentArm("LAST", stage1=False, rl="grpo"),
}
"""What a recipe has of stages and advantages; all work the tools of SpaceTools here."""


def arms_named(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of arms, all of them where none is given. Raises ToolError INVALID_ARGUMENT for another name."""
    unknown = [name for name in names if name not in ARMS]
    if unknown:
        raise invalid(f"There is no arm {unknown[0][:40]!r}: it must be {', '.join(ARMS)}.")
    return names or tuple(ARMS)


def arm_of_recipe(name: str) -> ExperimentArm:
    """What a recipe does on two cores. Raises ToolError INVALID_ARGUMENT for one that the small policy cannot do."""
    if name not in OF_RECIPE:
        raise invalid(
            f"The preset tiny cannot be trained by the recipe {name[:40]!r}, only by {', '.join(OF_RECIPE)}: the small "
            "policy works the tools of SpaceTools.",
            "Every other --preset writes the recipe's stages, tasks and numbers into a folder.",
        )
    return OF_RECIPE[name]
