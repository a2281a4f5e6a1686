"""`toolhand train dirl --preset smollm2`: from nothing to an adapter of the policy smollm2, a stage after the other.

FOLDER/run.json     what was asked for
FOLDER/data/        conversations of scripted teachers, `toolhand data synth --recipe compact`; in a world that errs,
                    `toolhand rollouts collect --policy careful:exploring`
FOLDER/sft/         supervised training, see `toolhand.training.adapters.sft_on_trl`
FOLDER/grpo/        rounds of RL on its own episodes, where asked for, see `toolhand.training.adapters.grpo_on_trl`

Data is made in this process, everything else in processes of TRL's environment. The same command goes on where it was
broken off, and leaves alone what is finished.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from toolhand.agent_node.policies.adapters import BASE
from toolhand.agent_node.policies.smollm2 import NAME, default_folder
from toolhand.agent_node.runs.claims import claim
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import write_whole
from toolhand.tool_nodes.http_request import plain_line
from toolhand.tool_nodes.results import invalid, unavailable
from toolhand.training.adapters.environments import FOLDER, engine_named
from toolhand.training.adapters.grpo_on_trl import GrpoSettings
from toolhand.training.adapters.own_episodes import KINDS
from toolhand.training.adapters.sft_on_trl import ADAPTER, ROWS, SETTINGS, LoraSettings
from toolhand.training.data.synthesis.collecting import SynthesisPlan, collect_data
from toolhand.training.env.worlds import world_named
from toolhand.training.rollouts.engine import CollectReport, collect
from toolhand.training.rollouts.options import WorkerOptions
from toolhand.training.rollouts.plan import EvaluationPlan, tasks_of

RUN, DATA, SFT, GRPO = "run.json", "data", "sft", "grpo"
ERRORS = "errors.txt"
"""What a process of a stage has written beside its progress."""

_LEAST = {"n": 1, "wordings": 1, "rows": 1, "sentences": 0, "unresolved": 0, "batch": 1}
_LEAST |= {"rounds": 0, "groups": 1, "group_size": 2, "seed": 0, "workers": 1}
_LONGEST_ROW = 500
"""Tokens of a row, at most: one in eighty conversations has more, by errors of tools, and fills up its whole batch."""
_CHECKED: Mapping[str, Any] = {"protocol": "compact_checked", "reward": "safe_stages", "turns": 16, "timestep": 0.004}
"""What is played in a world where tools err, by the teacher and by RL."""
_TOLD_EVERY = 50
"""Episodes of the teacher between two lines of progress [-]."""
_FREE = frozenset({"minutes", "report_to", "workers"})
"""Options that may differ from call to call: they do not say what comes of it, or only when it ends."""


@dataclass(frozen=True)
class LanguageOptions:
    """How SmolLM2 is trained.

    Attributes:
        wordings: Rows of each conversation of the teachers, in other words of the train split.
        rows: Rows of conversations that are drawn of these, at most.
        sentences: Commands beside them that are read into plans, without simulation.
        unresolved: Conversations beside them, without simulation, whose words fit several objects.
        batch: Rows of a step of the supervised training.
        epochs: Times that each row is seen.
        rounds: Rounds of GRPO on its own episodes after that.
        groups: Tasks of a round, each played `group_size` times.
        group_size: Episodes of a task.
        minutes: Wall time of each of the two trainings, which then end wherever they are; None: never.
        report_to: Where TRL sends its curves.
    """

    wordings: int = 2
    rows: int = 400
    sentences: int = 1800
    unresolved: int = 24
    batch: int = 4
    epochs: float = 1.0
    rounds: int = 0
    groups: int = 4
    group_size: int = 4
    minutes: float | None = None
    report_to: Literal["tensorboard", "wandb", "none"] = "tensorboard"


@dataclass(frozen=True)
class Smollm2Options(LanguageOptions):
    """What is trained.

    Attributes:
        n: Conversations that are kept of the teachers.
        seed: Seed of data and training.
        workers: Processes that make data and play the episodes of RL.
        world: Which tools err and how, see `toolhand.training.env.worlds`; empty for calls that fail on purpose.

    Raises:
        ToolError: INVALID_ARGUMENT for a number that is too small and a world that there is not.
    """

    n: int = 400
    seed: int = 0
    workers: int = 2
    world: str = ""

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise invalid(f"--{name} must be {least} or more, got {getattr(self, name)}.")
        for name in ("epochs", "minutes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise invalid(f"--{name} must be more than 0, got {value:g}.")
        if self.world:
            world_named(self.world)


def run_smollm2(folder: Path, options: Smollm2Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Train an adapter, or go on with it; a JSON document of what there is.

    Args:
        folder: New, empty, or one that the same command has begun.
        options: Sizes and times.
        say: Takes a line of progress.

    Raises:
        ToolError: UNAVAILABLE where TRL's environment or the base is not made, and where a stage fails;
            INVALID_ARGUMENT where the folder holds something else.
    """
    python, base = _python(), _base()
    claim(folder, RUN, {name: value for name, value in asdict(options).items() if name not in _FREE})
    say(f"Stage 1: {options.n} conversations, into {folder / DATA}.")
    if options.world:
        _teach_where_tools_err(folder / DATA, options, say)
    else:
        plan = SynthesisPlan(recipe="compact", n=options.n, seed=options.seed)
        collect_data(plan, folder / DATA, options.workers, lambda kept, jobs: say(f"{kept} kept of {jobs} tasks"))
    sft = folder / SFT
    if not (sft / ROWS).is_file():
        sft.mkdir(exist_ok=True)
        words = [str(folder / DATA), str(base), str(sft), "--longest", str(_LONGEST_ROW)]
        for name in ("wordings", "rows", "sentences", "unresolved", "seed"):
            words += [f"--{name}", str(getattr(options, name))]
        _child(python, "toolhand.training.adapters.chat_rows", words, sft / ERRORS, say)
    shared: dict[str, Any] = {"seed": options.seed, "minutes": options.minutes, "bf16": _multiplies_bfloat16()}
    shared["report_to"] = () if options.report_to == "none" else (options.report_to,)
    say(f"Stage 2: supervised training, {options.epochs:g} epochs, in {sft}.")
    settings = LoraSettings(str(base), epochs=options.epochs, batch=options.batch, **shared)
    adapter = _train(python, "sft", sft, asdict(settings), say)
    if options.rounds:
        grpo = folder / GRPO
        say(f"Stage 3: {options.rounds} rounds of GRPO on its own episodes, in {grpo}.")
        own = {name: getattr(options, name) for name in ("rounds", "groups", "group_size", "workers", "world")}
        played = {**_CHECKED, "difficulty": 0.0} if options.world else {}
        improving = GrpoSettings(str(base), str(adapter.resolve()), **own, **played, **shared)
        adapter = _train(python, "grpo", grpo, asdict(improving), say)
    written = f" --protocol {_CHECKED['protocol']}" if options.world else ""
    say(f"Use it with --policy {NAME}{written} --model.adapter {adapter}")
    return {"preset": NAME, "folder": str(folder), "adapter": str(adapter), **asdict(options)}


def _teach_where_tools_err(folder: Path, options: Smollm2Options, say: Callable[[str], None]) -> None:
    """Episodes of the teacher that tries every tool, those that are there left alone. Raises as `collect`."""
    tasks = tasks_of(KINDS, options.n, options.seed, "train")
    plan = EvaluationPlan(
        tasks, group_size=1, seed=options.seed, policy="careful:exploring", world=options.world, **_CHECKED
    )

    def told(report: CollectReport) -> None:
        if report.whole % _TOLD_EVERY == 0:
            say(f"{report.whole} of {report.planned} played, {report.true_success} right")

    collect(plan, folder, WorkerOptions(options.workers), progress=told)


def _multiplies_bfloat16() -> bool:
    """True where the processor multiplies matrices in bfloat16; where the system does not say so, it does not."""
    try:
        return "amx_bf16" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


def _python() -> Path:
    engine = engine_named("trl")
    if not engine.made(FOLDER):
        raise unavailable(
            f"The environment of TRL is not made in {FOLDER}.", f"Make it, once: toolhand engines make {engine.name}"
        )
    return engine.python(FOLDER).absolute()


def _base() -> Path:
    folder = default_folder()
    if not (folder / BASE).is_file():
        raise unavailable(f"The base model is not in {folder}.", f"Make it, once: toolhand models fetch {NAME}")
    return folder


def _train(python: Path, stage: str, folder: Path, settings: Mapping[str, Any], say: Callable[[str], None]) -> Path:
    """Train in a folder by the module of a stage; the adapter."""
    adapter = folder / ADAPTER
    if not adapter.is_dir():
        folder.mkdir(exist_ok=True)
        write_whole(folder / SETTINGS, f"{json.dumps(settings)}\n".encode())
        _child(python, f"toolhand.training.adapters.{stage}_on_trl", [str(folder)], folder / ERRORS, say)
    return adapter


def _child(python: Path, module: str, words: list[str], errors: Path, say: Callable[[str], None]) -> None:
    """Run a module in TRL's environment, with the code of this checkout; its progress is said."""
    changed = {"HF_HUB_OFFLINE": "1", "TRL_EXPERIMENTAL_SILENCE": "1"}
    with (
        errors.open("wb") as noise,
        subprocess.Popen(
            [str(python), "-m", module, *words],
            env=os.environ | changed,
            stdout=subprocess.PIPE,
            stderr=noise,
            text=True,
        ) as child,
    ):
        try:
            for line in child.stdout or ():
                if shown := progress_line(line):
                    say(shown)
        except BaseException:
            child.terminate()
            raise
    if status := child.returncode:
        told = errors.read_text("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        if status == -signal.SIGKILL:
            told = ["it was killed, as the system does where memory runs out"]
        raise unavailable(
            f"{module} ended with status {status}: {plain_line(told[-1], length=200)}",
            f"{errors} has all that it said; the same command goes on.",
        )


def progress_line(line: str) -> str:
    """A line of a stage as a person reads it: `step 3 of 50, loss 0.52` of a log entry, any other as it is.

    Empty where it says nothing new: an entry without loss or reward, and TRL's own form of one.
    """
    try:
        entry = plain_json.load(line)
        shown = [f"{name} {entry[name]:.3g}" for name in ("loss", "reward") if name in entry]
        return ", ".join([f"step {entry['step']} of {entry['of']}", *shown]) if shown else ""
    except (ValueError, TypeError, KeyError):
        return "" if line.startswith("{'") else plain_line(line.rstrip("\n"), length=200)
