"""PERIA: trajectories that were explored and exploited, then OR-GIGPO with a reward of form, repetition and answer.

The paper trained Qwen3-VL-Thinking with 2, 4 and 8 billion parameters by one and the same Tables 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolhand.agent_node.episode import Episode
from toolhand.training.advantages.gigpo import PRINTED
from toolhand.training.recipes.recipe import TrainingRecipe, texts_of
from toolhand.training.recipes.stages import PaperTraining, RlStage, SftStage, StepCredit, chosen, printed
from toolhand.training.rewards import peria

DATA, SFT, RL = "Table 8", "Table 4", "Table 5"


def _totals(episode: Episode, correct: float, right: bool) -> tuple[float, Mapping[str, float]]:
    """4.3: R_rep + R_format + R_correct, from -4 to 2."""
    text = "\n".join(texts_of(episode))
    repeated, form = peria.repetition(text, len(episode.turns)), peria.format_reward(text)
    return peria.total(repeated, form, correct), {"peria.repetition": repeated, "peria.format": form}


TRAINING = PaperTraining(
    models=("Qwen/Qwen3-VL-2B-Thinking", "Qwen/Qwen3-VL-4B-Thinking", "Qwen/Qwen3-VL-8B-Thinking"),
    engines=printed("VerL-Tool, which is made of verl; vLLM", "section 5, Implementation Details"),
    gpus=chosen("8"),
    stages=(
        SftStage(
            name="sft",
            title="SFT",
            methods=("explore",),
            samples=printed(10661, DATA),
            batch=printed(32, SFT),
            learning_rate=printed(1e-5, SFT),
            epochs=printed(1.0, SFT),
            schedule=printed("cosine", SFT),
            warmup_ratio=printed(0.1, SFT),
            weight_decay=printed(0.01, SFT),
            max_tokens=printed(65536, SFT),
        ),
        RlStage(
            name="rl",
            title="RL",
            samples=printed(8652, DATA),
            batch=printed(64, RL),
            mini_batch=printed(256, RL),
            micro_batch=printed(4, RL),
            logprob_micro_batch=printed(16, RL),
            group_size=printed(4, RL),
            learning_rate=printed(1e-6, RL),
            epochs=printed(3, RL),
            schedule=printed("cosine", RL),
            warmup_ratio=printed(0.05, RL),
            min_lr_ratio=chosen(0.0, "verl's default"),
            kl_coef=printed(0.0, "section 4.3: no explicit KL penalty"),
            clip=printed(0.2, RL),
            temperature=printed(1.0, RL),
            top_p=printed(1.0, RL),
            top_k=printed(-1, RL),
            max_prompt=printed(16384, RL),
            max_response=printed(32768, RL),
            turns=printed(11, RL),
            server=printed("vllm", RL),
            max_action=printed(4096, RL),
            max_observation=printed(8192, RL),
            credit=StepCredit(
                omega=printed(1.0, RL),
                gamma=printed(0.99, RL),
                epsilon=printed(1e-6, RL),
                delta=printed(0.9, RL),
                anchor=printed(PRINTED, "section 4.3"),
            ),
        ),
    ),
)

PERIA = TrainingRecipe(
    name="peria",
    paper="PERIA",
    protocol="peria",
    suites=("peria",),
    kinds={
        "map_route": (2, "peria.path"),
        "map_stations": (2, "peria.answer"),
        "small_print": (2, "peria.answer"),
        "count": (1, "peria.answer"),
        "yes_no": (1, "peria.answer"),
    },
    totals=_totals,
    adds=("peria.repetition", "peria.format"),
    training=TRAINING,
)
"""PERIA's recipe."""
