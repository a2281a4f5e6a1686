"""`toolhand train RECIPE`: a paper's recipe, run small on this machine or written down for a larger one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from agent_node.console.options import Unprefixed, listed, require_at_least
from agent_node.console.terminal import AsJson, emit, say
from agent_node.runs.index import TRAININGS
from tool_nodes.port_names import DEFAULT_SENSOR, require_sensor
from tool_nodes.results import invalid, unavailable
from training.presets.models import MODELS, PRESETS, SMOLLM2, TINY

RUN_TINY, RUN_ARMS = ("training.experiment.run", "run_tiny"), ("training.experiment.run", "run_arms")
"""Module and function that train a recipe on two cores: (recipe, folder, seed) -> a JSON document; and all arms of the
experiment: (folder, seeds)."""
RUN_SMOLLM2 = ("training.adapters.smollm2_run", "run_smollm2")
"""The same of the preset smollm2: (folder, options, a function that takes lines of progress) -> a JSON document."""

HELP = """Train a small policy by the recipe of {paper}, or write everything to train a large one on GPUs.

The preset tiny trains on two cores, and so does smollm2, a small language model, by TRL; the same command goes on with
it. Every other one writes a folder: tasks, configuration of the engines with the paper's numbers, tools, a launch
script and a page that says what has to be there. It trains nothing.
"""


@dataclass(frozen=True)
class RecipeOptions:
    """What is trained, or written to be trained.

    Attributes:
        seed: Seed of tasks, scenes and order.
        workers: Processes that draw rollouts, or that make the tasks that are written.
    """

    preset: Annotated[str, tyro.conf.arg(metavar="PRESET", help=f"What is trained: {listed(tuple(PRESETS))}.")] = TINY
    out: Annotated[
        Path | None,
        tyro.conf.arg(
            metavar="DIR", help="Where it goes: not there yet, or empty; runs/train/RECIPE-PRESET by default."
        ),
    ] = None
    seed: int = 0
    workers: int | None = None


@dataclass(frozen=True)
class TinyOptions:
    """Options of the preset that trains here.

    Attributes:
        seeds: Train every arm of the small experiment instead, with this number of seeds from --seed on, for one table.
        arms: Train these arms alone, such as sft grpo or_gigpo.
        scale: Factor of the rollouts and steps; 1 takes about an hour on two cores.
        evaluated: Episodes of each row of the tables; 120 by default, 400 for the arms.
    """

    seeds: int | None = None
    arms: tuple[str, ...] = ()
    scale: float | None = None
    evaluated: int | None = None


@dataclass(frozen=True)
class LanguageOptions:
    """Options of the preset smollm2, beside --n: conversations of its teachers, 400 by default.

    Attributes:
        wordings: Rows of each conversation, in other words; 2 by default.
        rows: Rows of conversations that are drawn of these; 400 by default.
        sentences: Commands beside them that are read into plans, without simulation; 1,800 by default.
        unresolved: Conversations beside them, without simulation, whose words fit several things; 24 by default.
        batch: Rows of a step of the supervised training; 4 by default.
        epochs: Times that each row is seen; 1 by default.
        rounds: Rounds of GRPO on its own episodes after that, of 16 each; none by default.
        minutes: Wall time of each of the two trainings, which then end wherever they are.
        report_to: Where TRL sends its curves: tensorboard (by default), wandb or none.
    """

    wordings: int | None = None
    rows: int | None = None
    sentences: int | None = None
    unresolved: int | None = None
    batch: int | None = None
    epochs: float | None = None
    rounds: int | None = None
    minutes: float | None = None
    report_to: Literal["tensorboard", "wandb", "none"] | None = None


@dataclass(frozen=True)
class WrittenOptions:
    """Options of the presets that write a folder.

    Attributes:
        n: Tasks of each stage of reinforcement learning, one number for all or one for each, such as 4000 8000; 16 by
            default, to look at.
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


_AS_DEFAULT, _TINY, _LANGUAGE, _WRITTEN = RecipeOptions(), TinyOptions(), LanguageOptions(), WrittenOptions()


def _command(recipe: str, paper: str) -> Callable[..., int]:
    """The command of a recipe."""

    def train(
        options: Unprefixed[RecipeOptions] = _AS_DEFAULT,
        tiny: Unprefixed[TinyOptions] = _TINY,
        language: Unprefixed[LanguageOptions] = _LANGUAGE,
        written: Unprefixed[WrittenOptions] = _WRITTEN,
        as_json: AsJson = False,
    ) -> int:
        what = options.preset if tiny.seeds is None else "arms"
        options = replace(options, out=options.out or TRAININGS / f"{recipe}-{what}")
        if options.preset != TINY:
            _require_none(tiny, f"the preset {TINY}")
        if options.preset != SMOLLM2:
            _require_none(language, f"the preset {SMOLLM2}")
        if options.preset in (TINY, SMOLLM2):
            given = written if options.preset == TINY else replace(written, n=None)
            _require_none(given, f"the presets that write a folder: {' and '.join(MODELS)}")
        if options.preset == TINY:
            document = _train_tiny(recipe, options, tiny)
        elif options.preset == SMOLLM2:
            document = _train_smollm2(recipe, options, language, written.n)
        else:
            document = _write(recipe, options, written)
        if as_json:
            emit(document)
        return 0

    train.__doc__ = HELP.format(paper=paper)
    return train


def _given(options: TinyOptions | LanguageOptions | WrittenOptions) -> dict[str, Any]:
    """Those of the options that were typed."""
    return {name: value for name, value in vars(options).items() if value not in (None, ())}


def _require_none(options: TinyOptions | LanguageOptions | WrittenOptions, whose: str) -> None:
    if given := list(_given(options)):
        raise invalid(f"--{given[0].replace('_', '-')} is of {whose}.")


def _train_tiny(recipe: str, options: RecipeOptions, tiny: TinyOptions) -> Mapping[str, Any]:
    more = {"scale": tiny.scale, "evaluated": tiny.evaluated, "workers": options.workers}
    given = {name: value for name, value in more.items() if value is not None}
    if tiny.seeds is None:
        if tiny.arms:
            raise invalid("--arms is of all arms: give --seeds as well.")
        return _function(RUN_TINY)(recipe, options.out, seed=options.seed, **given)
    if recipe != "dirl":
        raise invalid("--seeds is of the recipe dirl, whose arms are compared.")
    require_at_least(1, seeds=tiny.seeds)
    seeds = tuple(range(options.seed, options.seed + tiny.seeds))
    return _function(RUN_ARMS)(options.out, seeds, names=tiny.arms, **given)


def _train_smollm2(
    recipe: str, options: RecipeOptions, language: LanguageOptions, n: tuple[int, ...] | None
) -> Mapping[str, Any]:
    from training.adapters.smollm2_run import Smollm2Options

    if recipe != "dirl":
        raise invalid(f"The preset {SMOLLM2} is trained by the recipe dirl, not by {recipe}.")
    if n is not None and len(n) != 1:
        raise invalid(f"--n of the preset {SMOLLM2} is one number, got {len(n)}.")
    more = {"n": n and n[0], "workers": options.workers, **_given(language)}
    asked = Smollm2Options(seed=options.seed, **{name: value for name, value in more.items() if value is not None})
    return _function(RUN_SMOLLM2)(options.out, asked, say)


def _function(where: tuple[str, str]) -> Callable[..., Mapping[str, Any]]:
    module, name = where
    try:
        found: Callable[..., Mapping[str, Any]] = getattr(import_module(module), name)
    except ImportError as error:
        raise unavailable(f"That preset is not in this installation ({error}).") from error
    return found


def _write(recipe: str, options: RecipeOptions, chosen: WrittenOptions) -> Mapping[str, Any]:
    from training.presets.folder import TASKS, StageWorld, write_preset

    where = _given(replace(chosen, n=None))
    require_sensor(chosen.sensor or DEFAULT_SENSOR)
    if "world" in where:
        where = {"difficulty": 0.0, **where}
    assert options.out is not None
    folder, tasks = options.out, (TASKS,) if chosen.n is None else chosen.n
    written = write_preset(
        recipe, options.preset, folder, tasks, options.seed, say, StageWorld(**where), options.workers or 1
    )
    whose = "the paper's own" if written.given else "those of the paper's own model, taken over"
    say(f"Wrote {folder}: {len(written.files)} files for {written.model}; the numbers are {whose}.")
    say(f"{folder / 'README.md'} says what has to be there. Nothing was trained.")
    return written.document()


train_dirl, train_peria = _command("dirl", "SpaceTools"), _command("peria", "PERIA")
train_evic, train_last = _command("evic", "E-ViC"), _command("last", "LAST")
