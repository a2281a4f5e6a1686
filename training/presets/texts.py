"""The texts of a preset's folder: `templates/` as jinja2 fills them in with a recipe's stages and their sources.

Only what differs from the defaults of verl 0.9.1 and LLaMA-Factory 0.9.5 stands in their files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from toolhand.agent_node.runs.pages import fill
from toolhand.training.adapters.verl_files import LOOP, episode_loop
from toolhand.training.presets.models import ModelPreset, short
from toolhand.training.recipes.recipe import TrainingRecipe
from toolhand.training.recipes.stages import RlStage, SftStage, Sourced, TrainingStage
from toolhand.training.rollouts.plan import RolloutPlan

GPUS = 8
"""GPUs that the files are written for [-], as SpaceTools (Table 1); the launch script counts again."""
DEEPSPEED = "deepspeed.json"
"""ZeRO stage 3 in bfloat16: what full fine-tuning of 8 billion parameters on 80 GB each needs."""
_TEMPLATES = Path(__file__).with_name("templates")
_SERVERS = {"sglang": "sglang.launch_server --model-path", "vllm": "vllm.entrypoints.openai.api_server --model"}
"""Module that serves a model, and its option for the weights, by the name of what sampled in RL."""


def launch_script(recipe: TrainingRecipe, model: ModelPreset, tasks: Mapping[str, int], seed: int) -> str:
    """The script that runs the stages one after the other, for bash.

    Args:
        tasks: Tasks of each RL stage by its name, as they were written.
        seed: Seed of the trajectories.
    """
    stages = recipe.training.stages
    taught = [stage for stage in stages if isinstance(stage, SftStage)]
    servers = {stage.name: _SERVERS[stage.server.value] for stage in stages if isinstance(stage, RlStage)}
    return _filled(
        "launch.sh.j2",
        recipe,
        model,
        seed=seed,
        tasks=tasks,
        names=[stage.name for stage in stages],
        starts=[_start_of(stages, number) for number in range(len(stages))],
        experts=[(stage, servers[stage.expert]) for stage in taught if stage.expert],
        scripted=[name for stage in taught for name in stage.methods if name not in stage.expert_methods],
        samples=sum(s.samples.value - (s.expert_samples.value if s.expert_samples else 0) for s in taught),
    )


def readme(recipe: TrainingRecipe, model: ModelPreset, command: str) -> str:
    """The page about the folder, Markdown; `command` writes the folder again."""
    others = [short(name) for name in recipe.training.models]
    return _filled("README.md.j2", recipe, model, command=command, own=model.trained_by(recipe), others=others)


def verl_text(
    recipe: TrainingRecipe, stage: RlStage, model: ModelPreset, files: Mapping[str, Sequence[str]], seed: int
) -> str:
    """The primary configuration of `python -m verl.trainer.main_ppo`, YAML.

    Args:
        files: "train" and "validation" -> Parquet files, relative to the folder.
        seed: Seed of the order of the tasks.
    """
    within = {split: [f"${{oc.env:TOOLHAND_FOLDER}}/{name}" for name in names] for split, names in files.items()}
    return _filled("verl.yaml.j2", recipe, model, stage, files=within, seed=seed, loop_name=LOOP)


def sft_text(recipe: TrainingRecipe, stage: SftStage, model: ModelPreset, seed: int) -> str:
    """The file of `llamafactory-cli train`, YAML; paths are relative to the folder."""
    return _filled("sft.yaml.j2", recipe, model, stage, seed=seed)


def deepspeed_text() -> str:
    """How weights, gradients and optimizer are shared out over the GPUs, JSON."""
    return (_TEMPLATES / DEEPSPEED).read_text("utf-8")


def agent_document(plan: RolloutPlan, recipe: TrainingRecipe, stage: RlStage) -> list[dict[str, Any]]:
    """The agent loop, for `agent_loop_config_path`: episodes as the plan has them."""
    same = ("protocol", "turns", "backend", "perception", "planner", "sensor", "objects", "timestep", "difficulty")
    settings = {"recipe": recipe.name, **{name: getattr(plan, name) for name in same}, "world": plan.world}
    settings |= {"suites": list(plan.suites), "image_size": list(plan.image_size)}
    return [episode_loop(settings, None if stage.max_action is None else stage.max_action.value)]


def _filled(
    template: str, recipe: TrainingRecipe, model: ModelPreset, stage: TrainingStage | None = None, **values: Any
) -> str:
    def source(number: Sourced[Any]) -> str:
        return model.source(recipe, number)

    def of(number: Sourced[Any]) -> str:
        return f"{inline(number.value)}  # {source(number)}"

    values |= {"recipe": recipe, "training": recipe.training, "stages": recipe.training.stages, "model": model}
    values |= {"gpus": GPUS, "source": source, "of": of, "yaml": inline, "short": short}
    values["sft"] = [stage.name for stage in recipe.training.stages if isinstance(stage, SftStage)]
    if stage is not None:
        values |= {"stage": stage, "frozen": stage.trained.value == "language model"}
    return fill(_TEMPLATES / template, **values)


def inline(value: Any) -> str:
    """A scalar or a list of scalars as YAML within a line."""
    if isinstance(value, float) and value and abs(value) < 1e-3:
        mantissa, exponent = f"{value:e}".split("e")  # 1e-06 would be a text: YAML wants the point
        return f"{float(mantissa)}e{exponent}"
    return yaml.safe_dump(value, default_flow_style=True, width=10_000).strip().removesuffix("\n...").strip()


def _start_of(stages: Sequence[TrainingStage], number: int) -> str:
    """The weights that a stage begins with, in the script's words.

    The first stage begins with the model, and so does SFT after RL: what went before is its teacher (DIRL).
    """
    if number == 0 or (isinstance(stages[number], SftStage) and not isinstance(stages[number - 1], SftStage)):
        return "$MODEL"
    before = stages[number - 1]
    if isinstance(before, SftStage):
        return f"$TOOLHAND_FOLDER/checkpoints/{before.name}"
    return f"$(after_rl {before.name})"
