"""Stages of reinforcement learning as verl 0.9.1 takes them: its configuration, and that of Toolhand's agent loop.

Only what differs from verl's own defaults stands there. verl counts a mini-batch in tasks, papers count it in rollouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.training.adapters.verl_files import LOOP, episode_loop
from toolhand.training.presets.models import ModelPreset
from toolhand.training.presets.yaml_text import Noted
from toolhand.training.recipes.recipe import TrainingRecipe
from toolhand.training.recipes.stages import RlStage, Sourced
from toolhand.training.rollouts.plan import RolloutPlan

STEP_CREDIT = "or_gigpo_sync"
"""verl's trainer with OR-GIGPO, see `toolhand.training.adapters`."""

BY_HAND = "chosen by hand"
SAVED = 20
"""Steps between checkpoints [-]; a round figure."""


def verl_document(
    recipe: TrainingRecipe, stage: RlStage, model: ModelPreset, files: Mapping[str, Sequence[str]], seed: int
) -> dict[str, Any]:
    """The primary configuration of `python -m verl.trainer.main_ppo`.

    Args:
        files: "train" and "validation" -> Parquet files, relative to the folder.
        seed: Seed of the order of the tasks.
    """

    def of(number: Sourced[Any]) -> Noted:
        return Noted(number.value, model.source(recipe, number))

    rollouts = stage.mini_batch.value
    credit = stage.credit
    return {
        "hydra": {"searchpath": ["pkg://verl.trainer.config"]},
        "defaults": ["ppo_trainer", "_self_"],
        "data": {
            "train_files": [_within(name) for name in files["train"]],
            "val_files": [_within(name) for name in files["validation"]],
            "train_batch_size": of(stage.batch),
            "max_prompt_length": of(stage.max_prompt),
            "max_response_length": of(stage.max_response),
            "filter_overlong_prompts": True,
            "image_patch_size": Noted(model.patch, "of the model"),
            "seed": seed,
        },
        "actor_rollout_ref": {
            "model": {"path": "${oc.env:TOOLHAND_START}"},
            "actor": {
                "ppo_mini_batch_size": Noted(
                    rollouts // stage.group_size.value,
                    f"{rollouts} rollouts, {stage.group_size.value} of a task; "
                    f"{model.source(recipe, stage.mini_batch)}",
                ),
                "ppo_micro_batch_size_per_gpu": of(stage.micro_batch),
                "clip_ratio": of(stage.clip),
                "clip_ratio_low": stage.clip.value,
                "clip_ratio_high": stage.clip.value,
                "entropy_coeff": of(stage.entropy_coef),
                "use_kl_loss": stage.kl_coef.value > 0,
                "kl_loss_coef": of(stage.kl_coef),
                "freeze_vision_tower": Noted(
                    stage.trained.value == "language model",
                    f"{model.source(recipe, stage.trained)}; verl 0.9.1 has this key and reads it nowhere",
                ),
                "optim": {
                    "lr": of(stage.learning_rate),
                    "lr_scheduler_type": of(stage.schedule),
                    "lr_warmup_steps_ratio": of(stage.warmup_ratio),
                    "min_lr_ratio": of(stage.min_lr_ratio),
                },
                "checkpoint": {
                    "save_contents": Noted(["model", "optimizer", "extra", "hf_model"], "the next stage reads hf_model")
                },
            },
            "ref": {"log_prob_micro_batch_size_per_gpu": of(stage.logprob_micro_batch)},
            "rollout": {
                "name": of(stage.server),
                "n": of(stage.group_size),
                "temperature": of(stage.temperature),
                "top_p": of(stage.top_p),
                "top_k": of(stage.top_k),
                "log_prob_micro_batch_size_per_gpu": of(stage.logprob_micro_batch),
                "tensor_model_parallel_size": Noted(1, BY_HAND),
                "multi_turn": {"enable": True, "max_assistant_turns": of(stage.turns)},
                "agent": {
                    "default_agent_loop": LOOP,
                    "agent_loop_config_path": _within(f"{stage.name}.agent.yaml"),
                },
            },
        },
        "algorithm": {"adv_estimator": "grpo", "use_kl_in_reward": False},
        "trainer": {
            "project_name": LOOP,
            "experiment_name": f"{recipe.name}-{stage.name}",
            "default_local_dir": _within(f"checkpoints/{stage.name}"),
            "logger": ["console", "tensorboard"],
            "total_epochs": of(stage.epochs),
            **({} if stage.steps is None else {"total_training_steps": of(stage.steps)}),
            "n_gpus_per_node": "${oc.decode:${oc.env:TOOLHAND_GPUS}}",
            "nnodes": "${oc.decode:${oc.env:TOOLHAND_NODES}}",
            "save_freq": Noted(SAVED, BY_HAND),
            "test_freq": Noted(SAVED, BY_HAND),
            "val_before_train": False,
            **({} if credit is None else {"v1": _step_credit(of, stage)}),
        },
    }


def _step_credit(of: Any, stage: RlStage) -> dict[str, Any]:
    credit = stage.credit
    assert credit is not None
    return {
        "trainer_mode": STEP_CREDIT,
        STEP_CREDIT: {
            "omega": of(credit.omega),
            "gamma": of(credit.gamma),
            "delta": of(credit.delta),
            "epsilon": of(credit.epsilon),
            "anchor": of(credit.anchor),
        },
    }


def agent_document(plan: RolloutPlan, recipe: TrainingRecipe, stage: RlStage) -> list[dict[str, Any]]:
    """The agent loop, for `agent_loop_config_path`: episodes as the plan has them."""
    settings = {
        "recipe": recipe.name,
        "protocol": plan.protocol,
        "suites": list(plan.suites),
        "turns": plan.turns,
        "backend": plan.backend,
        "perception": plan.perception,
        "planner": plan.planner,
        "sensor": plan.sensor,
        "objects": plan.objects,
        "image_size": list(plan.image_size),
        "timestep": plan.timestep,
        "difficulty": plan.difficulty,
        "world": plan.world,
    }
    return [episode_loop(settings, None if stage.max_action is None else stage.max_action.value)]


def _within(path: str) -> str:
    return f"${{oc.env:TOOLHAND_FOLDER}}/{path}"
