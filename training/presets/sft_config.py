"""Stages of supervised fine-tuning as LLaMA-Factory 0.9.5 takes them."""

from __future__ import annotations

from typing import Any

from toolhand.training.presets.models import ModelPreset
from toolhand.training.presets.yaml_text import Noted
from toolhand.training.recipes.recipe import TrainingRecipe
from toolhand.training.recipes.stages import SftStage, Sourced

GPUS = 8
"""GPUs that the file is written for [-], as SpaceTools (Table 1); the launch script counts again."""

DEEPSPEED = "deepspeed.json"
"""Weights, gradients and optimizer shared out over the GPUs."""


def sft_document(recipe: TrainingRecipe, stage: SftStage, model: ModelPreset, seed: int) -> dict[str, Any]:
    """The file of `llamafactory-cli train`; paths are relative to the folder."""

    def of(number: Sourced[Any]) -> Noted:
        return Noted(number.value, model.source(recipe, number))

    frozen = Noted(stage.trained.value == "language model", model.source(recipe, stage.trained))
    each = max(1, stage.batch.value // GPUS)
    return {
        "model_name_or_path": model.weights,
        "stage": "sft",
        "do_train": True,
        "finetuning_type": "full",
        "freeze_vision_tower": frozen,
        "freeze_multi_modal_projector": frozen,
        "deepspeed": DEEPSPEED,
        "dataset": "toolhand",
        "dataset_dir": f"data/{stage.name}",
        "media_dir": f"data/{stage.name}",
        "template": model.template,
        "cutoff_len": of(stage.max_tokens),
        "output_dir": f"checkpoints/{stage.name}",
        "per_device_train_batch_size": 1,
        "gradient_accumulation_steps": Noted(
            each, f"{stage.batch.value} trajectories on {GPUS} GPUs; {model.source(recipe, stage.batch)}"
        ),
        "learning_rate": of(stage.learning_rate),
        "num_train_epochs": of(stage.epochs),
        "lr_scheduler_type": of(stage.schedule),
        "warmup_ratio": of(stage.warmup_ratio),
        "weight_decay": of(stage.weight_decay),
        "bf16": True,
        "seed": seed,
        "logging_steps": 10,
        "save_strategy": "epoch",
        "report_to": "tensorboard",
    }


def deepspeed_document() -> dict[str, Any]:
    """ZeRO stage 3 in bfloat16: what full fine-tuning of 8 billion parameters on 80 GB each needs."""
    return {
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
        "bf16": {"enabled": "auto"},
        "zero_optimization": {
            "stage": 3,
            "overlap_comm": True,
            "contiguous_gradients": True,
            "stage3_gather_16bit_weights_on_model_save": True,
        },
    }
