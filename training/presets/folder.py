"""A preset's folder: data, configuration, launch script and page; whole or not there."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from toolhand.agent_node.runs.claims import require_empty
from toolhand.agent_node.runs.folder import write_atomically
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.port_names import DEFAULT_PRESET, DEFAULT_SENSOR
from toolhand.tool_nodes.results import invalid, unavailable
from toolhand.training.adapters.verl_files import LOOP, tool_config
from toolhand.training.data.arrow import arrow
from toolhand.training.presets.models import ModelPreset, model_named
from toolhand.training.presets.prompts import prompts_of, tasks_of_kinds, write_prompts
from toolhand.training.presets.texts import (
    DEEPSPEED,
    agent_document,
    deepspeed_text,
    launch_script,
    readme,
    sft_text,
    verl_text,
)
from toolhand.training.recipes import recipe_named
from toolhand.training.recipes.recipe import TrainingRecipe
from toolhand.training.recipes.stages import RlStage, SftStage, TrainingStage
from toolhand.training.rollouts.plan import RolloutPlan

TASKS = 16
"""Default number of tasks of a stage [-], to look at: a step of training takes 64 and more."""
VALIDATION_SHARE = 0.25
"""Tasks for validation beside each one to train on [-]; a round figure."""
IMAGE = (640, 480)
"""(width, height) of the camera's image [px]."""
ERRING = 0.4
"""Difficulty of a stage's world [-]: tools err as in the trajectories of SFT (`toolhand.training.data.synthesis`)."""
STRIDE = 100_000_000
"""Distance between the seeds of two stages' tasks, so that none is asked twice [-]; a round figure."""


@dataclass(frozen=True)
class StageWorld:
    """Where the episodes of RL happen.

    Attributes:
        perception: Preset of the perception ports.
        sensor: Sensor model of the simulated cameras.
        difficulty: From 0, where nothing errs, to 1, see `toolhand.training.env.difficulty`.
        world: A world by its name in place of both, see `toolhand.training.env.worlds`; empty for none.
    """

    perception: str = DEFAULT_PRESET
    sensor: str = DEFAULT_SENSOR
    difficulty: float = ERRING
    world: str = ""

    @property
    def options(self) -> str:
        """What differs from the default, as options of `toolhand train`."""
        sensor = f" --sensor {shlex.quote(self.sensor)}" * (self.sensor != DEFAULT_SENSOR)
        if self.world:
            return f" --world {shlex.quote(self.world)}{sensor}"
        perception = f" --perception {shlex.quote(self.perception)}" * (self.perception != DEFAULT_PRESET)
        return perception + sensor + f" --difficulty {self.difficulty:g}" * (self.difficulty != ERRING)


@dataclass(frozen=True)
class WrittenPreset:
    """What was written.

    Attributes:
        given: The paper trained this model with these numbers.
        tasks: Numbers of tasks of each RL stage, by its name: to train on, and for validation.
        files: All that is there, relative to the folder.
    """

    folder: Path
    recipe: str
    preset: str
    model: str
    given: bool
    tasks: dict[str, tuple[int, int]]
    files: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The same as a JSON document."""
        tasks = {name: {"train": count[0], "validation": count[1]} for name, count in self.tasks.items()}
        return {
            "folder": str(self.folder),
            "recipe": self.recipe,
            "preset": self.preset,
            "model": self.model,
            "given_by_the_paper": self.given,
            "tasks": tasks,
            "files": list(self.files),
        }


def write_preset(
    recipe: str,
    preset: str,
    out: Path,
    n: Sequence[int] = (TASKS,),
    seed: int = 0,
    say: Callable[[str], None] = lambda sentence: None,
    where: StageWorld | None = None,
    workers: int = 1,
) -> WrittenPreset:
    """Write everything that a GPU machine needs to train a model by a recipe.

    Args:
        recipe: One of `toolhand.training.recipes.RECIPES`.
        preset: One of `toolhand.training.presets.models.MODELS`.
        out: Where it goes; not there yet, or empty.
        n: Tasks of each stage of RL in order, or one number for all of them.
        seed: Seed of tasks, stations and order.
        say: Called with a sentence about what is being written.
        where: Where the episodes happen; with tools that err where None.
        workers: Processes that make the tasks; any number gives the same folder.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown recipe or preset, for other numbers, and where the folder holds
            something; UNAVAILABLE without pyarrow and where it cannot be written. Nothing is left of it then.
    """
    followed, model = recipe_named(recipe), model_named(preset)
    if not 0 <= seed < STRIDE or workers < 1:
        raise invalid(f"The seed must be from 0 to {STRIDE - 1} and workers 1 or more, got {seed} and {workers}.")
    counts, where = _counts(followed, n), where or StageWorld()
    command = f"toolhand train {recipe} --preset {preset} --n {' '.join(map(str, counts.values()))} --seed {seed}"
    command = f"{command}{where.options}"
    require_empty(out)
    arrow()
    with _whole(out) as folder:
        tasks = {}
        for number, stage in enumerate(followed.training.stages):
            say(f"{followed.paper}, {stage.title}")
            if isinstance(stage, SftStage):
                _write_sft(folder, followed, stage, model, seed)
            else:
                count = counts[stage.name]
                plans = {
                    "train": plan_of(followed, stage, count, seed + STRIDE * number, "train", where),
                    "validation": plan_of(
                        followed,
                        stage,
                        max(1, round(VALIDATION_SHARE * count)),
                        seed + STRIDE * number,
                        "validation",
                        where,
                    ),
                }
                _write_rl(folder, followed, stage, model, plans, seed, workers)
                tasks[stage.name] = (len(plans["train"].tasks), len(plans["validation"].tasks))
        _write(folder, "tools.yaml", _dumped(tool_config(_schemas(followed)), "Tools of verl's own tool loop."))
        _write(folder, "launch.sh", launch_script(followed, model, counts, seed))
        (folder / "launch.sh").chmod(0o755)
        _write(folder, "numbers.json", json.dumps(_numbers(followed, model, counts, seed), indent=2) + "\n")
        _write(folder, "README.md", readme(followed, model, command))
        files = tuple(sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()))
    return WrittenPreset(out, followed.name, preset, model.weights, model.trained_by(followed), tasks, files)


@contextlib.contextmanager
def _whole(out: Path) -> Iterator[Path]:
    """A folder beside the one that is wanted, which takes its place when all is written."""
    part = out.absolute().with_name(f".{out.absolute().name}.{uuid.uuid4().hex}.part")
    try:
        part.mkdir(parents=True)
        yield part
        part.replace(out)
    except OSError as error:
        raise unavailable(f"Cannot write {out}: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write_sft(folder: Path, recipe: TrainingRecipe, stage: SftStage, model: ModelPreset, seed: int) -> None:
    _write(folder, f"{stage.name}.yaml", sft_text(recipe, stage, model, seed))
    _write(folder, DEEPSPEED, deepspeed_text())


def _write_rl(
    folder: Path,
    recipe: TrainingRecipe,
    stage: RlStage,
    model: ModelPreset,
    plans: Mapping[str, RolloutPlan],
    seed: int,
    workers: int,
) -> None:
    files: dict[str, list[str]] = {}
    for split, plan in plans.items():
        within = f"data/{stage.name}/{split}"
        written = write_prompts(prompts_of(plan, workers), folder / within, f"toolhand/{recipe.name}", LOOP)
        files[split] = [f"{within}/{name}" for name in written]
    _write(folder, f"{stage.name}.yaml", verl_text(recipe, stage, model, files, seed))
    loop = _dumped(agent_document(plans["train"], recipe, stage), f"Episodes of {recipe.paper}, {stage.title}.")
    _write(folder, f"{stage.name}.agent.yaml", loop)


def _counts(recipe: TrainingRecipe, n: Sequence[int]) -> dict[str, int]:
    """Tasks of each stage of RL by its name."""
    stages = [stage.name for stage in recipe.training.stages if isinstance(stage, RlStage)]
    each = list(n) * len(stages) if len(n) == 1 else list(n)
    if len(each) != len(stages) or min(each) < 1:
        raise invalid(
            f"There must be 1 task or more, for all stages of RL or for each of {', '.join(stages)}, got "
            f"{' '.join(map(str, n)) or 'nothing'}."
        )
    return dict(zip(stages, each, strict=True))


def plan_of(
    recipe: TrainingRecipe, stage: RlStage, count: int, seed: int, split: str, where: StageWorld | None = None
) -> RolloutPlan:
    """Rollouts of a stage's tasks as the paper has them.

    Args:
        stage: Its tasks, group and turns.
        seed: Seed of the first task.

    Raises:
        ToolError: INVALID_ARGUMENT for a world, perception or difficulty that there is not.
    """
    where = where or StageWorld()
    return RolloutPlan(
        tasks=tasks_of_kinds(recipe, stage.kinds, count, seed, split),
        group_size=stage.group_size.value,
        seed=seed,
        protocol=stage.protocol or recipe.protocol,
        reward=recipe.name,
        turns=stage.turns.value,
        suites=stage.suites or recipe.suites,
        image_size=IMAGE,
        perception=where.perception,
        sensor=where.sensor,
        difficulty=where.difficulty,
        world=where.world,
    )


def _schemas(recipe: TrainingRecipe) -> list[dict[str, Any]]:
    """The schemas of the suite's tools."""
    return Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=recipe.suites)).toolbox.schemas()


def _numbers(recipe: TrainingRecipe, model: ModelPreset, tasks: Mapping[str, int], seed: int) -> dict[str, Any]:
    def stage_document(stage: TrainingStage) -> dict[str, Any]:
        return {
            "name": stage.name,
            "title": stage.title,
            "method": stage.algorithm if isinstance(stage, RlStage) else "SFT",
            "numbers": {
                name: {"value": number.value, "source": model.source(recipe, number), "given": number.given}
                for name, number in stage.numbers()
            },
        }

    return {
        "recipe": recipe.name,
        "paper": recipe.paper,
        "preset": model.name,
        "model": model.weights,
        "given_by_the_paper": model.trained_by(recipe),
        "trained_by_the_paper": list(recipe.training.models),
        "tasks": dict(tasks),
        "seed": seed,
        "stages": [stage_document(stage) for stage in recipe.training.stages],
    }


def _dumped(document: Any, head: str) -> str:
    return f"# {head}\n\n{yaml.safe_dump(document, sort_keys=False, width=120)}"


def _write(folder: Path, name: str, text: str) -> None:
    write_atomically(folder / name, text.encode(), durable=True)
