"""What presets write is what the papers print. The numbers below were copied from the papers, not from the recipes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from toolhand.training.presets.models import MODELS
from toolhand.training.presets.texts import agent_document, sft_text, verl_text
from toolhand.training.recipes import RECIPES
from toolhand.training.recipes.stages import NOT_GIVEN, RlStage, SftStage

FILES = {"train": ["train.parquet"], "validation": ["validation.parquet"]}
ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"

SPACETOOLS_RL = {  # SpaceTools, supplement, Table 1, columns "Phase-1 IRL" and "Phase-2 IRL"
    "data.train_batch_size": 64,  # Batch Size
    f"{ACTOR}.optim.lr": 1e-6,  # Learning Rate
    f"{ACTOR}.optim.lr_warmup_steps_ratio": 0.0,  # Warmup Ratio
    f"{ACTOR}.kl_loss_coef": 1e-4,  # KL Coefficient
    f"{ACTOR}.entropy_coeff": 0.0,  # Entropy Coefficient
    f"{ROLLOUT}.temperature": 1.0,  # Temperature
    "data.max_prompt_length": 8192,  # Max Prompt Length
    "data.max_response_length": 8192,  # Max Response Length
    f"{ROLLOUT}.n": 5,  # Rollout Number
    f"{ACTOR}.freeze_vision_tower": True,  # Trainable Part: LLM only
}

RL: dict[tuple[str, str], dict[str, Any]] = {
    ("dirl", "phase_1_irl"): SPACETOOLS_RL | {"trainer.total_epochs": 5},  # Table 1, Epoch
    ("dirl", "phase_2_irl"): SPACETOOLS_RL | {"trainer.total_epochs": 2},
    ("peria", "rl"): {  # PERIA, Table 5
        f"{ROLLOUT}.n": 4,  # rollout samples per prompt, N
        "data.train_batch_size": 64,  # train batch size
        f"{ACTOR}.ppo_mini_batch_size": 64,  # PPO mini-batch size: 256 rollouts, which are 64 tasks of 4
        f"{ACTOR}.ppo_micro_batch_size_per_gpu": 4,  # PPO micro-batch size / GPU
        f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu": 16,  # log-prob micro-batch size / GPU
        f"{ACTOR}.optim.lr": 1.0e-6,  # actor learning rate
        f"{ACTOR}.optim.lr_scheduler_type": "cosine",  # learning rate scheduler
        f"{ACTOR}.optim.lr_warmup_steps_ratio": 0.05,  # warmup ratio
        "trainer.total_epochs": 3,  # total epochs
        "data.max_prompt_length": 16384,  # max prompt length
        "data.max_response_length": 32768,  # max response length
        f"{ROLLOUT}.multi_turn.max_assistant_turns": 11,  # max turns, T
        f"{ROLLOUT}.temperature": 1.0,  # sampling temperature
        f"{ROLLOUT}.top_p": 1.0,
        f"{ROLLOUT}.top_k": -1,
        f"{ROLLOUT}.name": "vllm",  # rollout backend
        f"{ACTOR}.clip_ratio": 0.2,  # standard clipping coefficient
        f"{ACTOR}.clip_ratio_low": 0.2,
        f"{ACTOR}.clip_ratio_high": 0.2,
        f"{ACTOR}.use_kl_loss": False,  # section 4.3: without an explicit KL penalty
        "trainer.v1.or_gigpo_sync.omega": 1.0,  # OR-GIGPO-specific parameters
        "trainer.v1.or_gigpo_sync.gamma": 0.99,
        "trainer.v1.or_gigpo_sync.epsilon": 1.0e-6,
        "trainer.v1.or_gigpo_sync.delta": 0.9,
        "trainer.v1.or_gigpo_sync.anchor": "returned",  # section 4.3: the observation that the action brought
    },
    ("evic", "rl"): {  # E-ViC, section 4.2, Optimization Protocol
        f"{ACTOR}.optim.lr": 1e-6,
        "data.train_batch_size": 128,
        f"{ROLLOUT}.n": 16,
        f"{ROLLOUT}.temperature": 1.0,
        f"{ACTOR}.clip_ratio": 0.2,
        f"{ACTOR}.use_kl_loss": False,
        f"{ROLLOUT}.multi_turn.max_assistant_turns": 5,
        "trainer.total_training_steps": 200,  # Controlled Comparisons
    },
    ("last", "irl"): {  # LAST, section 4.1, Implementation Details, "For RL"
        "trainer.total_epochs": 2,
        f"{ACTOR}.optim.lr": 1e-7,
        f"{ACTOR}.optim.lr_scheduler_type": "cosine",
        f"{ACTOR}.optim.min_lr_ratio": 0.1,
        f"{ACTOR}.optim.lr_warmup_steps_ratio": 0.03,
        f"{ACTOR}.kl_loss_coef": 0.01,
        f"{ACTOR}.use_kl_loss": True,
        f"{ROLLOUT}.n": 4,
        f"{ROLLOUT}.temperature": 1.0,
        f"{ROLLOUT}.top_p": 0.9,
        f"{ROLLOUT}.top_k": 50,
    },
}

SFT: dict[tuple[str, str], dict[str, Any]] = {
    ("dirl", "phase_1_sft"): {  # SpaceTools, supplement, Table 1, column "Phase-1 SFT"
        "gradient_accumulation_steps": 1,  # Batch Size 8, on 8 GPUs (#GPU (VLM))
        "learning_rate": 1e-5,
        "num_train_epochs": 2,
        "warmup_ratio": 0.1,
        "lr_scheduler_type": "cosine",
        "cutoff_len": 8192 + 8192,  # Max Prompt Length, Max Response Length
        "freeze_vision_tower": True,  # Trainable Part
        "freeze_multi_modal_projector": True,
    },
    ("peria", "sft"): {  # PERIA, Table 4
        "num_train_epochs": 1.0,
        "gradient_accumulation_steps": 32 // 8,  # global batch size 32
        "learning_rate": 1.0e-5,
        "lr_scheduler_type": "cosine",
        "warmup_ratio": 0.1,
        "weight_decay": 0.01,
        "cutoff_len": 65536,
    },
    ("last", "sft"): {  # LAST, section 4.1, Implementation Details, "For SFT"
        "gradient_accumulation_steps": 64 // 8,  # global batch size of 64
        "learning_rate": 1e-5,
        "warmup_ratio": 0.05,
        "num_train_epochs": 5,
        "cutoff_len": 8192,
        "freeze_vision_tower": False,  # full parameter fine-tuning
    },
}

SAMPLES = {
    ("dirl", "phase_1_irl"): 4000,  # SpaceTools, supplement, Table 1, #Samples
    ("dirl", "phase_1_sft"): 8000,
    ("dirl", "phase_2_irl"): 8000,
    ("peria", "sft"): 10661,  # PERIA, Table 8
    ("peria", "rl"): 8652,
    ("evic", "rl"): 24400,  # E-ViC, section 4.1
    ("last", "warm_up"): 6000,  # LAST, section 3.2
    ("last", "sft"): 16000,
    ("last", "irl"): 2000,
}

STAGES = {(recipe.name, stage.name): stage for recipe in RECIPES.values() for stage in recipe.training.stages}


def flat(document: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Values by their keys with dots."""
    found: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            found |= flat(value, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = value
    return found


def test_every_stage_has_its_number_of_samples() -> None:
    assert {name: stage.samples.value for name, stage in STAGES.items()} == SAMPLES
    assert all(stage.samples.given for stage in STAGES.values())


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
@pytest.mark.parametrize("name", RL, ids="-".join)
def test_reinforcement_learning_has_the_papers_numbers(name: tuple[str, str], model: Any) -> None:
    recipe, stage = RECIPES[name[0]], STAGES[name]
    assert isinstance(stage, RlStage)
    written = flat(yaml.safe_load(verl_text(recipe, stage, model, FILES, seed=0)))
    assert {key: written.get(key) for key in RL[name]} == RL[name]
    assert (written.get("trainer.v1.trainer_mode") == "or_gigpo_sync") == (name[0] == "peria")


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
@pytest.mark.parametrize("name", SFT, ids="-".join)
def test_fine_tuning_has_the_papers_numbers(name: tuple[str, str], model: Any) -> None:
    recipe, stage = RECIPES[name[0]], STAGES[name]
    assert isinstance(stage, SftStage)
    written = flat(yaml.safe_load(sft_text(recipe, stage, model, seed=0)))
    assert {key: written.get(key) for key in SFT[name]} == SFT[name]


def test_a_turn_of_peria_is_as_long_as_the_paper_lets_it_be() -> None:
    from toolhand.training.presets.folder import plan_of

    recipe, stage = RECIPES["peria"], STAGES["peria", "rl"]
    assert isinstance(stage, RlStage)
    (loop,) = agent_document(plan_of(recipe, stage, 1, 0, "train"), recipe, stage)
    assert loop["turn_tokens"] == 4096  # Table 5, max action length
    assert loop["settings"]["turns"] == 11  # Table 5, max turns


def test_only_models_that_a_paper_trained_have_its_numbers_as_their_own() -> None:
    own = {
        (recipe.name, model.name)
        for recipe in RECIPES.values()
        for model in MODELS.values()
        if model.trained_by(recipe)
    }
    assert own == {("dirl", "qwen2.5-vl-3b"), ("peria", "qwen3-vl-8b")}
    stage = STAGES["peria", "rl"]
    assert MODELS["qwen3-vl-8b"].source(RECIPES["peria"], stage.batch) == "Table 5"
    assert MODELS["qwen2.5-vl-3b"].source(RECIPES["peria"], stage.batch).startswith("Table 5, for Qwen3-VL-2B-Thinking")


def test_a_number_that_no_paper_gives_says_so() -> None:
    numbers = [number for stage in STAGES.values() for _, number in stage.numbers()]
    assert all(number.source.startswith(NOT_GIVEN) != number.given for number in numbers)
    assert 0 < sum(not number.given for number in numbers) < len(numbers) / 2


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_stages_name_kinds_and_methods_that_there_are(recipe: Any) -> None:
    from toolhand.training.data.synthesis.methods import METHODS

    for stage in recipe.training.stages:
        if isinstance(stage, RlStage):
            assert set(stage.kinds) <= set(recipe.kinds)
            assert stage.mini_batch.value % stage.group_size.value == 0
            assert stage.mini_batch.value // stage.group_size.value <= stage.batch.value
        else:
            assert {METHODS[name].recipe for name in stage.methods} == {recipe.name}
            assert set(stage.expert_methods) <= set(stage.methods)


def test_the_expert_makes_a_quarter_of_the_trajectories() -> None:
    stage = STAGES["dirl", "phase_1_sft"]
    assert isinstance(stage, SftStage)
    assert (stage.samples.value, stage.expert_samples and stage.expert_samples.value) == (8000, 2000)  # 2k and 6k
    assert stage.expert == "phase_1_irl"
