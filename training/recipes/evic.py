"""E-ViC: RL from the first step on, without trajectories to imitate; a gate that pays in full where a tool was used.

A zoom has to be worth its turn. On objects of the table it is not: in an image of 160x120 small objects are pointed at
as often as large ones, so a policy learns there that looking closer is for nothing. Print is another matter: the lot
numbers of `small_print` are 14 px high in an image of 1800 px. An overview of 1024 px shows them at 8 px, below the
9 px that a reader needs; a crop shows them whole.

Eq. 4 sums over the tokens of a rollout; verl's default, the mean over the tokens of a batch, is kept in presets.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolhand.agent_node.episode import Episode
from toolhand.training.recipes.recipe import TrainingRecipe, texts_of
from toolhand.training.recipes.stages import PaperTraining, RlStage, chosen, printed
from toolhand.training.rewards import evic

SECTION = "section 4.2"


def _totals(episode: Episode, correct: float, right: bool) -> tuple[float, Mapping[str, float]]:
    """Eq. 1 and E.7: (R_k + R_format) G - 0.05 for each failed call."""
    exchanges = [exchange for turn in episode.turns for exchange in turn.exchanges if exchange.call is not None]
    calls = [(str(e.call.name), e.call.arguments) for e in exchanges if e.call is not None]
    failed = sum(exchange.record is None or not exchange.record.result.ok for exchange in exchanges)
    form, gated = evic.format_reward(texts_of(episode)), evic.gate(calls)
    added = {"evic.format": form, "evic.gate": gated, "failed_calls": evic.FAILED_CALL * failed}
    return evic.total(correct, form, gated, failed), added


TRAINING = PaperTraining(
    models=("Qwen/Qwen2.5-VL-7B-Instruct",),
    engines=printed("verl with FSDP", SECTION),
    gpus=printed("64 (A800)", SECTION),
    stages=(
        RlStage(
            name="rl",
            title="Agentic RL",
            samples=printed(24400, "section 4.1: 24.4K"),
            batch=printed(128, SECTION),
            mini_batch=chosen(2048, "all rollouts of a step in one update"),
            group_size=printed(16, SECTION),
            learning_rate=printed(1e-6, SECTION),
            epochs=chosen(2, "the whole number that has 200 steps of 128 in it"),
            schedule=chosen("constant", "verl's default"),
            warmup_ratio=chosen(0.0, "verl's default"),
            kl_coef=printed(0.0, f"{SECTION}: without KL penalty"),
            clip=printed(0.2, SECTION),
            temperature=printed(1.0, SECTION),
            max_prompt=chosen(8192, "as SpaceTools"),
            max_response=chosen(8192, "as SpaceTools"),
            turns=printed(5, SECTION),
            steps=printed(200, f"{SECTION}: training stabilizes after 200 steps"),
        ),
    ),
)

EVIC = TrainingRecipe(
    name="evic",
    paper="E-ViC",
    protocol="evic",
    suites=("evic",),
    kinds={
        "choice": (2, "evic.choice"),
        "depth": (1, "evic.choice"),
        "point": (2, "evic.single_point"),
        "free_space": (2, "evic.region"),
        "box": (1, "evic.iou"),
        "map_route": (1, "evic.trajectory"),
        "count": (1, "evic.mra"),
        "size": (1, "evic.mra"),
        "distance": (1, "evic.mra"),
        "small_print": (1, "evic.choice"),
    },
    totals=_totals,
    adds=("evic.format", "evic.gate", "failed_calls"),
    training=TRAINING,
)
"""E-ViC's recipe."""
