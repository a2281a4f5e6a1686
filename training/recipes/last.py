"""LAST: what the images of tools mean, then when to call them and what to do when they fail, then RL.

Section 4.1 gives one set of numbers for SFT. That it holds for the warm-up too is our reading.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolhand.agent_node.episode import Episode
from toolhand.training.recipes.recipe import TrainingRecipe, texts_of
from toolhand.training.recipes.stages import PaperTraining, RlStage, SftStage, chosen, printed
from toolhand.training.rewards import last

DATA, SETUP = "section 3.2", "section 4.1, Implementation Details"
WARM_UP = "taken from the SFT of section 4.1"


def _totals(episode: Episode, correct: float, right: bool) -> tuple[float, Mapping[str, float]]:
    """3.2: 0.3 r_format + r_correct + 0.3 r_tool."""
    form = last.format_reward("\n".join(texts_of(episode)))
    tool = last.tool_reward([record.result.ok for record in episode.records], right)
    return last.total(form, correct, tool), {"last.format": form, "last.tool": tool}


TRAINING = PaperTraining(
    models=("Qwen/Qwen2.5-VL-7B-Instruct",),
    engines=printed("ms-swift for SFT and RL", SETUP),
    gpus=chosen("8"),
    stages=(
        SftStage(
            name="warm_up",
            title="Stage 1, warm-up",
            methods=("views",),
            samples=printed(6000, DATA),
            batch=chosen(64, WARM_UP),
            learning_rate=chosen(1e-5, WARM_UP),
            epochs=chosen(5.0, WARM_UP),
            schedule=chosen("cosine"),
            warmup_ratio=chosen(0.05, WARM_UP),
            max_tokens=chosen(8192, WARM_UP),
            trained=chosen("everything", WARM_UP),
        ),
        SftStage(
            name="sft",
            title="Stage 2, SFT",
            methods=("checked", "failing"),
            samples=printed(16000, DATA),
            batch=printed(64, SETUP),
            learning_rate=printed(1e-5, SETUP),
            epochs=printed(5.0, SETUP),
            schedule=chosen("cosine"),
            warmup_ratio=printed(0.05, SETUP),
            max_tokens=printed(8192, SETUP),
            trained=printed("everything", SETUP),
        ),
        RlStage(
            name="irl",
            title="Stage 3, IRL",
            samples=printed(2000, DATA),
            batch=chosen(64, "that of its SFT"),
            mini_batch=chosen(256, "all rollouts of a step in one update"),
            group_size=printed(4, SETUP),
            learning_rate=printed(1e-7, SETUP),
            epochs=printed(2, SETUP),
            schedule=printed("cosine", SETUP),
            warmup_ratio=printed(0.03, SETUP),
            min_lr_ratio=printed(0.1, SETUP),
            kl_coef=printed(0.01, SETUP),
            temperature=printed(1.0, SETUP),
            top_p=printed(0.9, SETUP),
            top_k=printed(50, SETUP),
            max_prompt=chosen(8192, "as its SFT"),
            max_response=chosen(8192, "as its SFT"),
            turns=chosen(10, "as SpaceTools"),
        ),
    ),
)

LAST = TrainingRecipe(
    name="last",
    paper="LAST",
    protocol="last",
    suites=("last",),
    kinds={
        "depth": (1, "last.choice"),
        "choice": (1, "last.choice"),
        "count": (1, "last.number"),
        "size": (1, "last.number"),
        "distance": (1, "last.number"),
    },
    totals=_totals,
    adds=("last.format", "last.tool"),
    training=TRAINING,
)
"""LAST's recipe."""
