"""`toolhand train RECIPE`: SmolLM2 trained here, or a paper's recipe written down for a machine with GPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from toolhand.agent_node.console.options import Unprefixed, listed
from toolhand.agent_node.console.terminal import AsJson, emit, say
from toolhand.agent_node.runs.index import TRAININGS
from toolhand.tool_nodes.port_names import DEFAULT_SENSOR, require_sensor
from toolhand.tool_nodes.results import invalid
from toolhand.training.adapters import smollm2_run
from toolhand.training.adapters.smollm2_run import LanguageOptions, Smollm2Options
from toolhand.training.presets.models import MODELS, PRESETS, SMOLLM2

HELP = """Write everything that a machine with GPUs needs to train a model by the recipe of {paper}.

It writes a folder: tasks, configuration of the engines with the paper's numbers, tools, a launch script and a page that
says what has to be there. It trains nothing.
"""


@dataclass(frozen=True)
class RecipeOptions:
    """What is trained, or written to be trained.

    Attributes:
        seed: Seed of tasks, scenes and order.
        workers: Processes that draw rollouts, or that make the tasks that are written.
    """

    preset: Annotated[str, tyro.conf.arg(metavar="PRESET", help=f"What is trained: {listed(tuple(PRESETS))}.")]
    out: Annotated[
        Path | None,
        tyro.conf.arg(
            metavar="DIR", help="Where it goes: not there yet, or empty; runs/train/RECIPE-PRESET by default."
        ),
    ] = None
    seed: int = 0
    workers: int | None = None


@dataclass(frozen=True)
class WrittenOptions:
    """Options of the presets that write a folder.

    Attributes:
        n: Tasks of each stage of reinforcement learning, one number for all or one for each, such as 4000 8000; 16 by
            default, to look at. Of the preset smollm2: conversations of its teachers, 400 by default.
        world: Which tools err in the episodes and how, by name, such as erring; in place of perception and difficulty.
        perception: Preset of the perception ports in the episodes; sim by default.
        sensor: Sensor model of the simulated cameras in the episodes; stereo by default.
        difficulty: How much the tools err in the episodes, from 0 to 1; 0.4 by default.
    """

    n: tuple[int, ...] | None = None
    world: str | None = None
    perception: str | None = None
    sensor: str | None = None
    difficulty: float | None = None


_LANGUAGE, _WRITTEN = LanguageOptions(), WrittenOptions()


def train_dirl(
    options: Unprefixed[RecipeOptions] = RecipeOptions(SMOLLM2),
    language: Unprefixed[LanguageOptions] = _LANGUAGE,
    written: Unprefixed[WrittenOptions] = _WRITTEN,
    as_json: AsJson = False,
) -> int:
    """Train SmolLM2 by SFT and GRPO, or write all that the recipe of SpaceTools needs on GPUs.

    The preset smollm2, a small language model, is trained here by TRL; the same command goes on with it. The other
    presets, of larger models, write a folder: tasks, configuration of the engines with the paper's numbers, tools, a
    launch script and a page that says what has to be there. They train nothing.
    """
    if options.preset == SMOLLM2:
        document = _train_smollm2(options, language, written)
    elif language != _LANGUAGE:
        name = next(name for name, value in vars(language).items() if value != getattr(_LANGUAGE, name))
        raise invalid(f"--{name.replace('_', '-')} is of the preset {SMOLLM2}.")
    else:
        document = _write("dirl", options, written)
    if as_json:
        emit(document)
    return 0


def _writing(recipe: str, paper: str, preset: str) -> Callable[..., int]:
    """The command of a recipe that is only written down."""

    def train(
        options: Unprefixed[RecipeOptions] = RecipeOptions(preset),
        written: Unprefixed[WrittenOptions] = _WRITTEN,
        as_json: AsJson = False,
    ) -> int:
        if options.preset == SMOLLM2:
            raise invalid(f"The preset {SMOLLM2} is trained by the recipe dirl, not by {recipe}.")
        document = _write(recipe, options, written)
        if as_json:
            emit(document)
        return 0

    train.__doc__ = HELP.format(paper=paper)
    return train


train_peria = _writing("peria", "PERIA", "qwen3-vl-8b")
train_evic = _writing("evic", "E-ViC", "qwen2.5-vl-3b")
train_last = _writing("last", "LAST", "qwen2.5-vl-3b")


def _folder(recipe: str, options: RecipeOptions) -> Path:
    return options.out or TRAININGS / f"{recipe}-{options.preset}"


def _train_smollm2(options: RecipeOptions, language: LanguageOptions, written: WrittenOptions) -> Mapping[str, Any]:
    if given := list(_given(replace(written, n=None, world=None))):
        raise invalid(f"--{given[0]} is of the presets that write a folder: {' and '.join(MODELS)}.")
    if written.n is not None and len(written.n) != 1:
        raise invalid(f"--n of the preset {SMOLLM2} is one number, got {len(written.n)}.")
    n = written.n and written.n[0]
    typed: dict[str, Any] = {"n": n, "seed": options.seed, "workers": options.workers, "world": written.world}
    more = {name: value for name, value in typed.items() if value is not None}
    asked = Smollm2Options(**vars(language), **more)
    return smollm2_run.run_smollm2(_folder("dirl", options), asked, say)


def _given(options: WrittenOptions) -> dict[str, Any]:
    """Those of the options that were typed."""
    return {name: value for name, value in vars(options).items() if value is not None}


def _write(recipe: str, options: RecipeOptions, chosen: WrittenOptions) -> Mapping[str, Any]:
    from toolhand.training.presets.folder import TASKS, StageWorld, write_preset

    where = _given(replace(chosen, n=None))
    require_sensor(chosen.sensor or DEFAULT_SENSOR)
    if "world" in where:
        where = {"difficulty": 0.0, **where}
    folder, tasks = _folder(recipe, options), (TASKS,) if chosen.n is None else chosen.n
    written = write_preset(
        recipe, options.preset, folder, tasks, options.seed, say, StageWorld(**where), options.workers or 1
    )
    whose = "the paper's own" if written.given else "those of the paper's own model, taken over"
    say(f"Wrote {folder}: {len(written.files)} files for {written.model}; the numbers are {whose}.")
    say(f"{folder / 'README.md'} says what has to be there. Nothing was trained.")
    return written.document()
