"""`toolhand train dirl --preset smollm2`: from nothing to an adapter of the policy smollm2, a stage after the other.

FOLDER/run.json     what was asked for
FOLDER/data/        conversations of scripted teachers, `toolhand data synth --recipe compact`; in a world that errs,
                    `toolhand rollouts collect --policy careful:exploring`
FOLDER/sft/         supervised training, see `toolhand.training.adapters.sft_on_trl`
FOLDER/ARM/         what goes on from there in --rounds rounds, see `ARMS`; grpo where no other is asked for
FOLDER/tests/ARM/   episodes of the test split, of each adapter the same
FOLDER/outcomes.csv how they ended; FOLDER/comparison.md compares them (`toolhand rollouts measure`)

Teachers play in this process, everything else is done in processes of TRL's environment. The same command goes on where
it was broken off, leaves alone what is finished, and adds arms and tests.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from toolhand.agent_node.policies.adapters import BASE
from toolhand.agent_node.policies.smollm2 import NAME, default_folder
from toolhand.agent_node.runs.claims import claim
from toolhand.agent_node.runs.folder import write_atomically
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.http_request import plain_line
from toolhand.tool_nodes.results import invalid, unavailable
from toolhand.training.adapters.environments import FOLDER, engine_named
from toolhand.training.adapters.grpo_on_trl import GrpoSettings
from toolhand.training.adapters.own_episodes import KINDS, EpisodeSettings
from toolhand.training.adapters.sft_on_trl import ADAPTER, ROWS, SETTINGS, LoraSettings
from toolhand.training.data.synthesis.collecting import SynthesisPlan, collect_data
from toolhand.training.env.worlds import world_named
from toolhand.training.rollouts.engine import CollectReport, collect
from toolhand.training.rollouts.options import WorkerOptions
from toolhand.training.rollouts.plan import EvaluationPlan, tasks_of

RUN, DATA, SFT, TESTS, OUTCOMES, COMPARED = "run.json", "data", "sft", "tests", "outcomes.csv", "comparison.md"
ARMS: Mapping[str, Mapping[str, Any]] = {
    "grpo": {},
    "answer": {"reward": "mean"},
    "ideal": {"world": ""},
    "rejection": {},
    "more": {},
}
"""What goes on from the supervised adapter, on as many episodes each: by GRPO, in what it differs, or by supervised
training on what was right of them, its own (rejection) or the teacher's (more)."""
ERRORS = "errors.txt"
"""What a process of a stage has written beside its progress."""

_LEAST = {"n": 1, "wordings": 1, "rows": 1, "sentences": 0, "unresolved": 0, "batch": 1}
_LEAST |= {"rounds": 0, "groups": 1, "group_size": 2, "updates": 1, "tests": 0, "seed": 0, "workers": 1}
_LONGEST_ROW = 500
"""Tokens of a row, at most: one in eighty conversations has more, by errors of tools, and fills up its whole batch."""
_CHECKED: Mapping[str, Any] = {"protocol": "compact_checked", "reward": "safe_stages", "turns": 16, "timestep": 0.004}
"""What is played in a world where tools err, by the teacher and by RL."""
_TOLD_EVERY = 50
"""Episodes of the teacher between two lines of progress [-]."""
_TESTED, _MORE = 400, 100_000
"""Seeds of the first task of the test, and of the teacher's further ones before --seed [-]."""
_AGAIN = 5e-4
"""Learning rate of a supervised training that goes on from another [-], half of its own."""
_FREE = frozenset({"minutes", "report_to", "workers", "arms", "tests"})
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
        rounds: Rounds of RL on its own episodes after that.
        groups: Tasks of a round, each played `group_size` times.
        group_size: Episodes of a task.
        updates: Steps of GRPO on the episodes of a round.
        rate: Learning rate of GRPO.
        arms: Ways on from the supervised adapter, on as many episodes each: grpo; answer, rewarded by the terms of the
            task alone; ideal, where no tool errs; rejection, by what it did right itself; more, by the teacher.
        tests: Episodes that each adapter then plays on tasks of the test split, and that are compared.
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
    updates: int = 1
    rate: float = 1e-4
    arms: tuple[str, ...] = ("grpo",)
    tests: int = 0
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
        ToolError: INVALID_ARGUMENT, in one sentence that says what is allowed.
    """

    n: int = 400
    seed: int = 0
    workers: int = 2
    world: str = ""

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise invalid(f"--{name} must be {least} or more, got {getattr(self, name)}.")
        if unknown := sorted(set(self.arms) - set(ARMS)):
            raise invalid(f"There is no arm {unknown[0][:40]!r}, only {', '.join(ARMS)}.")
        for name in ("epochs", "minutes", "rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise invalid(f"--{name} must be more than 0, got {value:g}.")
        GrpoSettings("", "", groups=self.groups, group_size=self.group_size, updates=self.updates)
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
    stages = _Stages(_python(), str(_base()), folder, options, say)
    claim(folder, RUN, {name: value for name, value in asdict(options).items() if name not in _FREE})
    say(f"Stage 1: {options.n} conversations, into {folder / DATA}.")
    stages.teach(folder / DATA, options.n, options.seed)
    given = ("wordings", "rows", "sentences", "unresolved", "seed")
    stages.rows(folder / DATA, folder / SFT, [f"--{name}={getattr(options, name)}" for name in given])
    say(f"Stage 2: supervised training, {options.epochs:g} epochs, in {folder / SFT}.")
    adapters = {SFT: stages.supervised(folder / SFT, epochs=options.epochs)}
    for arm in options.arms if options.rounds else ():
        say(f"Stage {len(adapters) + 2}: {options.rounds} rounds of {arm}, in {folder / arm}.")
        adapters[arm] = stages.improved(arm, adapters[SFT])
    if options.tests:
        say(f"Stage {len(adapters) + 2}: {options.tests} tests of each adapter, in {folder / TESTS}.")
        stages.test(adapters)
    adapter = list(adapters.values())[-1]
    written = f" --protocol {_CHECKED['protocol']}" if options.world else ""
    say(f"Use it with --policy {NAME}{written} --model.adapter {adapter}")
    return {"preset": NAME, "folder": str(folder), "adapter": str(adapter), **asdict(options)}


@dataclass(frozen=True)
class _Stages:
    """The stages of a run; each leaves alone what it has finished before. All raise as `run_smollm2`."""

    python: Path
    base: str
    folder: Path
    options: Smollm2Options
    say: Callable[[str], None]

    @property
    def _shared(self) -> dict[str, Any]:
        reported = () if self.options.report_to == "none" else (self.options.report_to,)
        return {"minutes": self.options.minutes, "report_to": reported, "bf16": _multiplies_bfloat16()}

    def teach(self, folder: Path, count: int, first: int) -> None:
        """Episodes of a teacher on tasks from a seed on; where tools err, of one that tries every tool."""
        say, workers, world = self.say, self.options.workers, self.options.world
        if not world:
            plan = SynthesisPlan(recipe="compact", n=count, seed=first)
            collect_data(plan, folder, workers, lambda kept, jobs: say(f"{kept} kept of {jobs} tasks"))
            return
        tasks = tasks_of(KINDS, count, first, "train")
        erring = EvaluationPlan(tasks, group_size=1, seed=first, policy="careful:exploring", world=world, **_CHECKED)

        def told(report: CollectReport) -> None:
            if report.whole % _TOLD_EVERY == 0:
                say(f"{report.whole} of {report.planned} played, {report.true_success} right")

        if collect(erring, folder, WorkerOptions(workers), progress=told).cancelled:
            raise KeyboardInterrupt

    def rows(self, data: Path, folder: Path, more: Sequence[str] = ()) -> None:
        """What is learned of a folder of episodes."""
        if not (folder / ROWS).is_file():
            words = [str(data), self.base, str(folder), "--longest", str(_LONGEST_ROW), *more]
            self._run("toolhand.training.adapters.chat_rows", words, folder)

    def supervised(self, folder: Path, **settings: Any) -> Path:
        """The adapter that a folder's rows have made."""
        settings |= {"batch": self.options.batch, "seed": self.options.seed, **self._shared}
        return self._trained("sft", folder, LoraSettings(self.base, **settings))

    def improved(self, arm: str, adapter: Path) -> Path:
        """What an arm has made of the supervised adapter."""
        options, folder, start = self.options, self.folder / arm, str(adapter.resolve())
        own: dict[str, Any] = {"rounds": options.rounds, "groups": options.groups, "group_size": options.group_size}
        own |= {"workers": options.workers, "world": options.world, "seed": options.seed}
        own |= {**_CHECKED, "difficulty": 0.0} if options.world else {}
        own |= ARMS[arm]
        if arm == "rejection":
            if not (folder / ROWS).is_file():
                played = EpisodeSettings(self.base, start, **own)
                self._run("toolhand.training.adapters.rejection", [str(folder)], folder, played)
        elif arm == "more":
            count = options.rounds * options.groups * options.group_size
            self.teach(folder / DATA, count, _MORE + options.seed)
            self.rows(folder / DATA, folder)
        else:
            own |= {"updates": options.updates, "learning_rate": options.rate, **self._shared}
            return self._trained("grpo", folder, GrpoSettings(self.base, start, **own))
        return self.supervised(folder, adapter=start, learning_rate=_AGAIN)

    def test(self, adapters: Mapping[str, Path]) -> None:
        """Episodes of each adapter on the same tasks, and what comes of them side by side."""
        from toolhand.training.rollouts.comparison import compare

        for arm, adapter in adapters.items():
            words = ["rollouts", "collect", "--policy", NAME, "--model.adapter", str(adapter), "--model.sure", "0"]
            words += ["--evaluate", "--split", "test", "--n", str(self.options.tests), "--seed", str(_TESTED)]
            words += ["--workers", str(self.options.workers), "--tasks", *KINDS]
            if self.options.world:
                words += ["--world", self.options.world]
                words += [word for name, value in _CHECKED.items() for word in (f"--{name}", str(value))]
            self._run("toolhand", [*words, "--out", str(self.folder / TESTS / arm)], self.folder / TESTS)
        found = compare([self.folder / TESTS / arm for arm in adapters])
        write_atomically(self.folder / OUTCOMES, found.csv().encode())
        write_atomically(self.folder / COMPARED, f"{found.text}\n".encode())
        self.say(found.text)

    def _trained(self, stage: str, folder: Path, settings: Any) -> Path:
        adapter = folder / ADAPTER
        if not adapter.is_dir():
            self._run(f"toolhand.training.adapters.{stage}_on_trl", [str(folder)], folder, settings)
        return adapter

    def _run(self, module: str, words: Sequence[str], folder: Path, settings: Any = None) -> None:
        """A module in TRL's environment, whose settings and errors are in the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        if settings is not None:
            write_atomically(folder / SETTINGS, f"{json.dumps(asdict(settings))}\n".encode())
        _child(self.python, module, words, folder / ERRORS, self.say)


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


def _child(python: Path, module: str, words: Sequence[str], errors: Path, say: Callable[[str], None]) -> None:
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
