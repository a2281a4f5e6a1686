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

RUN_TINY = "training.experiment.run", "run_tiny"
"""Module and function that train the small policy: (recipe, folder, seed) -> a JSON document."""

PresetName = Annotated[str, tyro.conf.arg(metavar="PRESET", help=f"What is trained: {', '.join(PRESETS)}.")]
PresetFolder = Annotated[
    Path | None,
    tyro.conf.arg(metavar="DIR", help="Where it goes: not there yet, or empty; runs/train/RECIPE-PRESET by default."),
]


HELP = """Train a small policy by the recipe of {paper}, or write everything to train a large one on GPUs.

The preset tiny trains on two cores. Every other one writes a folder: tasks, configuration of the engines with the
paper's numbers, tools, a launch script and a page that says what has to be there. It trains nothing.

Args:
    n: Tasks of each stage of reinforcement learning that are written; 16 by default, to look at.
    seed: Decides tasks, scenes and order.
"""


def _command(recipe: str, paper: str) -> Callable[..., int]:
    """The command of a recipe."""

    def train(
        preset: PresetName = TINY,
        out: PresetFolder = None,
        n: int | None = None,
        seed: int = 0,
        as_json: AsJson = False,
    ) -> int:
        folder = out or Path("runs/train") / f"{recipe}-{preset}"
        document = _train_tiny(recipe, folder, n, seed) if preset == TINY else _write(recipe, preset, folder, n, seed)
        if as_json:
            emit(document)
        return 0

    train.__doc__ = HELP.format(paper=paper)
    return train


def _train_tiny(recipe: str, folder: Path, n: int | None, seed: int) -> Mapping[str, Any]:
    if n is not None:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, f"--n is of the presets that write a folder: {' and '.join(MODELS)}."
        )
    if recipe == "evic":  # its tools show and draw, which that policy does not do
        from training.looking import LookingSettings, run_looking

        return run_looking(folder, LookingSettings(seed))
    module, function = RUN_TINY
    try:
        run_tiny = getattr(import_module(module), function)
    except ImportError as error:
        raise ToolError(ErrorCode.UNAVAILABLE, f"The preset {TINY} is not in this installation ({error}).") from error
    result: Mapping[str, Any] = run_tiny(recipe, folder, seed=seed)
    return result


def _write(recipe: str, preset: str, folder: Path, n: int | None, seed: int) -> Mapping[str, Any]:
    from training.presets.folder import TASKS, write_preset

    written = write_preset(recipe, preset, folder, TASKS if n is None else n, seed, say)
    whose = "the paper's own" if written.given else "those of the paper's own model, taken over"
    say(f"Wrote {folder}: {len(written.files)} files for {written.model}; the numbers are {whose}.")
    say(f"{folder / 'README.md'} says what has to be there. Nothing was trained.")
    return written.document()


train_dirl, train_peria = _command("dirl", "SpaceTools"), _command("peria", "PERIA")
train_evic, train_last = _command("evic", "E-ViC"), _command("last", "LAST")
