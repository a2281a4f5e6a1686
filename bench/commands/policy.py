"""Options of `toolhand bench policy`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from toolhand.agent_node.console.options import (
    Perception,
    ProtocolName,
    SensorName,
    Suite,
    installed,
)
from toolhand.agent_node.console.terminal import AsJson
from toolhand.agent_node.policies.options import ModelSettings
from toolhand.agent_node.protocol import OWN
from toolhand.bench.options import TURNS, BenchOptions
from toolhand.tool_nodes.port_names import DEFAULT_PRESET, DEFAULT_SENSOR, require_sensor
from toolhand.tool_nodes.results import invalid

_DEFAULT_MODEL = ModelSettings()

Kinds = Annotated[
    str,
    tyro.conf.arg(
        help='"all" of this project and commands whose object is absent, its "questions", its "deeds", or kinds '
        f"separated by commas: {installed('task', {})}."
    ),
]
Policies = Annotated[
    tuple[str, ...],
    tyro.conf.arg(metavar="POLICY", help="Policies as `toolhand run --policy` takes them, several with spaces."),
]


@dataclass(frozen=True)
class Options(BenchOptions):
    """Give the same tasks of all kinds to any policies: one table, paired differences, a page; resumable.

    Each outcome is written at once; the same command goes on where it was broken off, and other policies can be added
    to the same folder. Exit status 1 where a policy could not be asked for all tasks.

    Attributes:
        split: Split with the products, layouts and wordings: train, validation or test.
        n: Tasks in all, the kinds in turn.
        first_seed: Seed of the first task of each kind.
        out: Folder of the outcomes (a line of JSON each), the tables and the page.
        workers: Conversations at once, in threads of this process: for servers, which wait for one another.
        turns: Assistant turns of a conversation.
        difficulty: From 0 to 1: noise of the perception sim, calls that fail on purpose, objects that slip; see
            toolhand.training.env.difficulty.
        world: Which tools err in each episode, such as erring, or erring:0.5 at half of the strength; in
            place of perception and difficulty.
        bootstrap_seed: Seed of the intervals of paired differences.
    """

    WORK = "toolhand.bench.policies.command:BENCH"

    policies: Policies = ("scripted", "careful", "blind")
    kinds: Kinds = "all"
    split: str = "test"
    n: int = 100
    first_seed: int = 0
    out: Path = Path("runs/policies")
    workers: int = 1
    perception: Perception = DEFAULT_PRESET
    sensor: SensorName = DEFAULT_SENSOR
    suite: Suite = "spacetools,peria"
    protocol: ProtocolName = OWN
    turns: int = TURNS
    difficulty: float = 0.0
    world: str = ""
    bootstrap_seed: int = 0
    model: ModelSettings = _DEFAULT_MODEL
    as_json: AsJson = False

    def check(self) -> None:
        super().check()
        if not self.policies or len(set(self.policies)) != len(self.policies):
            raise invalid("Give one or more policies, each once.")
        require_sensor(self.sensor)
