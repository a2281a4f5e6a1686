"""DIRL, the recipe of SpaceTools: a pointing expert by RL, its and a larger teacher's trajectories, RL with all tools.

Numbers are those of the supplement, whose Table 1 has a column for each stage. "Phase-1 IRL" makes the expert, which
is offered the pointing tool alone and two examples of using it (D.1); it teaches pointing and nothing else. The policy
itself begins with "Phase-1 SFT", on 2,000 trajectories of the expert and 6,000 of teachers with all tools. Section D.1
keeps the robot out of both stages of RL, and so do the kinds below.

Pointing, at objects as at free places, is worth NNDC with its clip, and no format score is added: of the rewards that
Table 5 compares for free places this one did best (35.25; with the format score 33.61, NSDH 21.31), and "we adopt NNDC
(without a format reward) for all subsequent training stages" (E.2).
"""

from __future__ import annotations

from collections.abc import Mapping

from toolhand.agent_node.episode import Episode
from toolhand.tool_nodes.tools.suites import POINTING
from toolhand.training.recipes.recipe import STAGES, TrainingRecipe
from toolhand.training.recipes.stages import PaperTraining, RlStage, SftStage, chosen, printed

TABLE = "Table 1"
CODE = "released code: max_assistant_turns"

EXPERT, EXPERT_PROTOCOL = "phase_1_irl", "spacetools_pointing"
"""The stage that trains the expert, and its prompt: figure 3 with two examples (D.1)."""
POINTING_KINDS = ("yes_no", "box", "free_space", "point")
"""What the expert is trained on: RoboSpatial's relations, boxes and free places (E.2), and single objects."""
SEEING = ("point", "free_space", "depth", "yes_no", "choice", "box", "pose", "grasp")
"""What the policy is trained on: all that is answered with vision tools alone (D.1)."""


def _totals(episode: Episode, correct: float, right: bool) -> tuple[float, Mapping[str, float]]:
    """R_acc alone: the format score of C.2 was not used in the final training."""
    return correct, {}


def _interactive(
    name: str,
    title: str,
    kinds: tuple[str, ...],
    samples: int,
    epochs: int,
    suites: tuple[str, ...] = (),
    protocol: str = "",
) -> RlStage:
    """The two stages of RL, which differ in data, epochs and, for the expert, tools and prompt alone."""
    return RlStage(
        name=name,
        title=title,
        kinds=kinds,
        suites=suites,
        protocol=protocol,
        samples=printed(samples, TABLE),
        batch=printed(64, TABLE),
        mini_batch=chosen(320, "all rollouts of a step in one update"),
        group_size=printed(5, TABLE),
        learning_rate=printed(1e-6, TABLE),
        epochs=printed(epochs, TABLE),
        schedule=chosen("constant", f"{TABLE} says NA"),
        warmup_ratio=printed(0.0, TABLE),
        kl_coef=printed(1e-4, TABLE),
        entropy_coef=printed(0.0, TABLE),
        temperature=printed(1.0, TABLE),
        max_prompt=printed(8192, TABLE),
        max_response=printed(8192, TABLE),
        turns=printed(10, CODE),
        server=printed("sglang", "released code"),
        trained=printed("language model", TABLE),
    )


TRAINING = PaperTraining(
    models=("Qwen/Qwen2.5-VL-3B-Instruct",),
    engines=printed("LLaMA-Factory for SFT, verl for RL", "section Loss & Training; B.1"),
    gpus=printed("8 for the model and 8 for the tools", TABLE),
    stages=(
        _interactive(
            EXPERT, "Phase-1 IRL", POINTING_KINDS, samples=4000, epochs=5, suites=(POINTING,), protocol=EXPERT_PROTOCOL
        ),
        SftStage(
            name="phase_1_sft",
            title="Phase-1 SFT",
            methods=("points", "tools", "robot"),
            samples=printed(8000, TABLE),
            batch=printed(8, TABLE),
            learning_rate=printed(1e-5, TABLE),
            epochs=printed(2.0, TABLE),
            schedule=printed("cosine", TABLE),
            warmup_ratio=printed(0.1, TABLE),
            max_tokens=printed(16384, f"{TABLE}: 8192 of the prompt and 8192 of the response"),
            trained=printed("language model", TABLE),
            expert=EXPERT,
            expert_methods=("points",),
            expert_samples=printed(2000, "section Method: 2k of the expert, 6k of the universal teacher"),
        ),
        _interactive("phase_2_irl", "Phase-2 IRL", SEEING, samples=8000, epochs=2),
    ),
)

DIRL = TrainingRecipe(
    name="dirl",
    paper="SpaceTools",
    protocol="spacetools",
    suites=("spacetools",),
    kinds={
        "point": (2, "spacetools.nndc"),
        "free_space": (2, "spacetools.nndc"),
        "depth": (1, "spacetools.choice"),
        "yes_no": (1, "spacetools.choice"),
        "choice": (1, "spacetools.choice"),
        "box": (1, "spacetools.mean_iou"),
        "pose": (1, "spacetools.pose_iou"),
        "grasp": (1, "spacetools.nnce"),
        "pick": (1, STAGES),
        "relational_pick": (1, STAGES),
        "pick_and_place": (1, STAGES),
    },
    totals=_totals,
    adds=(),
    training=TRAINING,
)
"""SpaceTools' recipe."""
