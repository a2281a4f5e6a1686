"""`toolhand train RECIPE`: a paper's recipe, run small on this machine or written down for a larger one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import tyro

from agent_node.console.terminal import AsJson, emit, say
from tool_nodes.results import ErrorCode, ToolError
from training.presets.models import MODELS, PRESETS, TINY

RUN_TINY, RUN_ARMS = ("training.experiment.run", "run_tiny"), ("training.experiment.run", "run_arms")
"""Module and function that train a recipe on two cores: (recipe, folder, seed) -> a JSON document; and all arms of the
experiment: (folder, seeds)."""

PresetName = Annotated[str, tyro.conf.arg(metavar="PRESET", help=f"What is trained: {', '.join(PRESETS)}.")]
PresetFolder = Annotated[
    Path | None,
    tyro.conf.arg(metavar="DIR", help="Where it goes: not there yet, or empty; runs/train/RECIPE-PRESET by default."),
]


HELP = """Train a small policy by the recipe of {paper}, or write everything to train a large one on GPUs.

The preset tiny trains on two cores. Every other one writes a folder: tasks, configuration of the engines with the
paper's numbers, tools, a launch script and a page that says what has to be there. It trains nothing.

Args:
    n: Tasks of each stage of reinforcement learning that are written, one number for all or one for each, such as
        4000 8000; 16 by default, to look at.
    seed: Decides tasks, scenes and order.
    seeds: Train every arm of the small experiment instead, with so many seeds from --seed on, for one table.
    arms: Of those arms these alone, such as sft grpo or_gigpo.
    scale: Times the rollouts and steps of the preset tiny; 1 takes about an hour on two cores.
    evaluated: Episodes of each row of its tables; 120 by default, 400 for the arms.
    workers: Processes that draw its rollouts, or that make the tasks that are written.
    world: Where the episodes that are written happen: a world by its name, such as erring, in place of perception and
        difficulty.
    perception: And their preset of the perception ports; sim by default.
    difficulty: And how much their tools err, from 0 to 1; 0.4 by default.
"""


def _command(recipe: str, paper: str) -> Callable[..., int]:
    """The command of a recipe."""

    def train(
        preset: PresetName = TINY,
        out: PresetFolder = None,
        n: tuple[int, ...] | None = None,
        seed: int = 0,
        seeds: int | None = None,
        arms: tuple[str, ...] = (),
        scale: float | None = None,
        evaluated: int | None = None,
        workers: int | None = None,
        world: str | None = None,
        perception: str | None = None,
        difficulty: float | None = None,
        as_json: AsJson = False,
    ) -> int:
        folder = out or Path("runs/train") / f"{recipe}-{preset if seeds is None else 'arms'}"
        small = {"scale": scale, "evaluated": evaluated}
        where = {"world": world, "perception": perception, "difficulty": difficulty}
        if preset != TINY:
            _require_none({"seeds": seeds, "arms": arms or None, **small}, f"the preset {TINY}")
            document = _write(recipe, preset, folder, n, seed, where, workers)
        else:
            small["workers"] = workers
            _require_none({"n": n, **where}, f"the presets that write a folder: {' and '.join(MODELS)}")
            given = {name: value for name, value in small.items() if value is not None}
            document = _train_tiny(recipe, folder, seed, seeds, arms, given)
        if as_json:
            emit(document)
        return 0

    train.__doc__ = HELP.format(paper=paper)
    return train


def _require_none(options: Mapping[str, object], whose: str) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"--{given[0]} is of {whose}.")


def _train_tiny(
    recipe: str, folder: Path, seed: int, seeds: int | None, arms: tuple[str, ...], more: Mapping[str, Any]
) -> Mapping[str, Any]:
    if seeds is None:
        _require_none({"arms": arms or None}, "all arms: give --seeds as well")
        return _function(RUN_TINY)(recipe, folder, seed=seed, **more)
    if recipe != "dirl" or seeds < 1:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, "--seeds is of the recipe dirl, whose arms are compared, and is 1 or more."
        )
    return _function(RUN_ARMS)(folder, tuple(range(seed, seed + seeds)), names=arms, **more)


def _function(where: tuple[str, str]) -> Callable[..., Mapping[str, Any]]:
    module, name = where
    try:
        found: Callable[..., Mapping[str, Any]] = getattr(import_module(module), name)
    except ImportError as error:
        raise ToolError(ErrorCode.UNAVAILABLE, f"The preset {TINY} is not in this installation ({error}).") from error
    return found


def _write(
    recipe: str,
    preset: str,
    folder: Path,
    n: tuple[int, ...] | None,
    seed: int,
    where: Mapping[str, Any],
    workers: int | None,
) -> Mapping[str, Any]:
    from training.presets.folder import TASKS, StageWorld, write_preset

    given = {name: value for name, value in where.items() if value is not None}
    if "world" in given:
        given = {"difficulty": 0.0, **given}
    written = write_preset(
        recipe, preset, folder, (TASKS,) if n is None else n, seed, say, StageWorld(**given), workers or 1
    )
    whose = "the paper's own" if written.given else "those of the paper's own model, taken over"
    say(f"Wrote {folder}: {len(written.files)} files for {written.model}; the numbers are {whose}.")
    say(f"{folder / 'README.md'} says what has to be there. Nothing was trained.")
    return written.document()


train_dirl, train_peria = _command("dirl", "SpaceTools"), _command("peria", "PERIA")
train_evic, train_last = _command("evic", "E-ViC"), _command("last", "LAST")
