"""The commands of `toolhand` and where they are; only the module of the one that is run is loaded."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CliCommand:
    """A function, or a dataclass of options, whose signature and docstring are its help.

    Attributes:
        target: Where it is, as "module:name"; it returns the exit status.
        told: Its summary where its docstring is made when its module is loaded.
    """

    target: str
    told: str = ""

    @property
    def summary(self) -> str:
        """First paragraph of its docstring, read from the file: its module is not loaded."""
        if self.told:
            return self.told
        module, _, name = self.target.partition(":")
        source = _file_of(module).read_text(encoding="utf-8")
        function = re.search(rf"^(?:def|class) {name}\(.*?(?=^[\w@#]|\Z)", source, re.MULTILINE | re.DOTALL)
        documentation = ast.get_docstring(ast.parse(function[0]).body[0]) if function else None  # type: ignore[arg-type]
        return " ".join((documentation or "").partition("\n\n")[0].split())

    def load(self) -> Callable[..., int]:
        """The function; its module is imported now."""
        module, _, name = self.target.partition(":")
        function: Callable[..., int] = getattr(import_module(module), name)
        return function


def _file_of(module: str) -> Path:
    """Where a module is; unlike `importlib.util.find_spec` without loading the packages that it lies in."""
    origin: str | None = None
    name, folders = "", None
    for part in module.split("."):
        name = f"{name}.{part}".lstrip(".")
        found = (finder.find_spec(name, folders) for finder in sys.meta_path)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is None:
            raise ModuleNotFoundError(f"There is no {name}.")
        origin, folders = spec.origin, spec.submodule_search_locations
    return Path(origin or "")


@dataclass(frozen=True)
class Program(CliCommand):
    """A function that parses its own arguments, as ros2 does or faster, and prints its own errors."""


@dataclass(frozen=True)
class Group:
    """Commands below a word of their own, such as `toolhand bench grasp`.

    Attributes:
        summary: Purpose of the group.
        commands: Commands of the group by their names.
    """

    summary: str
    commands: Mapping[str, CliCommand]


class _Benchmarks(Mapping[str, CliCommand]):
    """A command for each file of `bench/commands`: its class `Options`; none is imported to be listed."""

    @functools.cached_property
    def _found(self) -> dict[str, CliCommand]:
        names = sorted(file.stem for file in _file_of("toolhand.bench.commands").parent.glob("[a-z]*.py"))
        return {name: CliCommand(f"toolhand.bench.commands.{name}:Options") for name in names}

    def __getitem__(self, name: str) -> CliCommand:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


BENCHMARKS: Mapping[str, CliCommand] = _Benchmarks()

_WRITTEN = "Write everything that a machine with GPUs needs to train a model by the recipe of {}."


def _command(function: str, told: str = "") -> CliCommand:
    """The command of a function of `toolhand.cli`, given as "module:name"."""
    return CliCommand(f"toolhand.cli.{function}", told)


def _group(summary: str, **functions: str) -> Group:
    return Group(summary, {name.rstrip("_"): _command(function) for name, function in functions.items()})


COMMANDS: Mapping[str, CliCommand | Group] = {
    "run": _command("run:run"),
    "talk": _command("talk:talk"),
    "dialogue": _group(
        "Show and forget what robots remember of their dialogues.",
        show="dialogue:dialogue_show",
        forget="dialogue:dialogue_forget",
    ),
    "runs": _command("runs:runs"),
    "open": _command("open:open_run"),
    "replay": _command("replay:replay"),
    "view": _command("view:view"),
    "scene": _command("scene:scene"),
    "objects": _command("object_folder:objects"),
    "tools": _command("tools:tools"),
    "call": _command("tools:call"),
    "mock": _group("Make data sets for the mock robot.", record="mock:mock_record", import_="mock:mock_import"),
    "mcp": _command("mcp:mcp"),
    "approve": _command("approve:approve"),
    "console": _command("console:console"),
    "calibrate": _group(
        "Find where a camera is, by pictures of a printed board.",
        board="calibrate:calibrate_board",
        run="calibrate:calibrate_run",
        record="calibrate:calibrate_record",
        check="calibrate:calibrate_check",
    ),
    "doctor": _command("doctor:doctor"),
    "completion": _command("completion:completion"),
    "rollouts": _group(
        "Collect rollouts of a policy for reinforcement learning, and look at them.",
        collect="rollouts_collect:rollouts_collect",
        show="rollouts:rollouts_show",
        branch="rollouts:rollouts_branch",
        measure="rollouts:rollouts_measure",
        group="rollouts:rollouts_group",
    ),
    "robot": _group("Take a robot to other planners and simulators.", export="robot_export:robot_export"),
    "data": _group(
        "Make training data of rollouts, and look at it.",
        export="data:data_export",
        synth="data_synth:data_synth",
        show="data:data_show",
        lerobot="data:data_lerobot",
    ),
    "bench": Group("Measure success, perception and speed over many random scenes.", BENCHMARKS),
    "train": Group(
        "Train a policy by a paper's recipe, here or on GPUs.",
        {
            "dirl": _command("train_recipe:train_dirl"),
            "reader": _command("train_reader:train_reader"),
            "peria": _command("train_recipe:train_peria", _WRITTEN.format("PERIA")),
            "evic": _command("train_recipe:train_evic", _WRITTEN.format("E-ViC")),
            "last": _command("train_recipe:train_last", _WRITTEN.format("LAST")),
        },
    ),
    "models": _group(
        "Make folders of language models that come in packages; nothing is downloaded.", fetch="models:models_fetch"
    ),
    "engines": _group(
        "Make the environments of TRL, verl and others that can train on the episodes of this project, and of Open3D.",
        list="engines:engines_list",
        make="engines:engines_make",
    ),
    "serve": _group(
        "Serve backends on a Ray cluster, for many conversations at once.",
        up="serve:serve_up",
        join="serve:serve_join",
        status="serve:serve_status",
        down="serve:serve_down",
    ),
    "up": Program("toolhand.cli.up:main"),
    "stop": Program("toolhand.cli.stop:main"),
    "ros": Program("toolhand.cli.ros:main"),
}


def every(commands: Mapping[str, Any] = COMMANDS) -> list[CliCommand]:
    """All commands, those of groups too."""
    return [
        command
        for entry in commands.values()
        for command in (every(entry.commands) if isinstance(entry, Group) else [entry])
    ]
