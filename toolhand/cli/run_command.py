"""The options of `toolhand run`, and which of them go with which transport."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from toolhand.agent_node.console.options import (
    ObjectSets,
    OwnSuite,
    PackagePath,
    Perception,
    PolicySpec,
    PortOptions,
    ProtocolName,
    RobotName,
)
from toolhand.agent_node.console.terminal import AsJson
from toolhand.agent_node.policies.options import ModelSettings
from toolhand.agent_node.protocol import OWN, Protocol
from toolhand.cli.options import DEFAULT_ROBOT, DefaultNumber, DefaultText, SceneName, Seed, ToolboxRole, typed
from toolhand.sim.ros.graph import Transport
from toolhand.sim.simulators import SimulatorName, TruthSource
from toolhand.tool_nodes.port_names import AS_PRESET, DEFAULT_PRESET
from toolhand.tool_nodes.results import invalid

Approval = Annotated[
    Literal["auto", "ask-motion", "dry-run"],
    tyro.conf.arg(
        help='"auto" moves within the limits, "ask-motion" shows each planned motion and asks at this terminal, '
        '"dry-run" plans and moves nothing; it ends with 0 where the first motion is planned and within the limits.'
    ),
]

RUNS_DIR = Path("runs")
"""Where the folder of a run is made, unless another place is given."""

OF_A_GRAPH = ("scene", "perception", "policy", "protocol", "seed", "suite", "turns", "robot")
"""Options that a graph was started with: what is typed here must be what it has."""

_OF_ONE_TRANSPORT = dict.fromkeys(("own_graph", "truth", "simulator"), "ros")
_OF_ONE_TRANSPORT |= dict.fromkeys(("record_depth", "picture"), "process")
"""Options that one transport alone has."""
_OF_THE_NODES = ("policy", "protocol", "advice", "role", "approval")
"""Options that the nodes of a graph were started with, and that cannot be chosen for one command."""

_SEES_NOTHING = frozenset({"peria", "evic", "last", "pointing"})
"""Suites of tools that are shown their images."""

_DEFAULT_MODEL = ModelSettings()


@dataclass(frozen=True)
class RunCommand:
    """The options of `toolhand run`.

    Attributes:
        text: Sentence for the robot, e.g. "pick up the far coconut water".
        advice: A model is told how to use its tools, how to ask and how to give up, after a paper's prompt, too, which
            stays as it is printed without it.
        image: Image that is shown with the sentence, a PNG, JPEG or WebP file; without it the camera's is shown
            where none of the tools takes one.
        turns: Assistant turns before the command fails with TURN_BUDGET; 1 or more.
        runs_dir: Where the folder of the run is made.
        keep_runs: Keep so many of the newest runs there and delete older ones; 0 keeps all.
        animation: Render the motion for the report.
        record_depth: Keep the depth of camera images in run.mcap; in process.
        transport: "process" has the tools in this process; "ros" sends the sentence to the agent's node, of the graph
            that runs on this ROS domain or of one that is started with the scene and ended again. A graph that runs
            with another scene, robot or perception than you name here is left alone.
        own_graph: With the transport ros, start a graph in any case, on a router and a domain of its own.
        truth: With the transport ros, what the run is judged by: the facts of Toolhand's own simulator, or the poses of
            the entities of any simulator that has the objects of --scene.
        simulator: With the transport ros, the simulator of the graph that runs; one that is not Toolhand's is judged by
            its entities.
    """

    text: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")]
    scene: SceneName = DefaultText("example")
    objects: ObjectSets = ""
    perception: Perception = DefaultText(DEFAULT_PRESET)
    ports: PortOptions = AS_PRESET
    policy: PolicySpec = DefaultText("scripted")
    protocol: ProtocolName = DefaultText(OWN)
    seed: Seed = DefaultNumber(0)
    suite: OwnSuite = DefaultText(OWN)
    advice: bool = True
    picture: Path | None = None
    role: ToolboxRole = "operator"
    approval: Approval = "auto"
    turns: int = DefaultNumber(24)
    runs_dir: Path = RUNS_DIR
    keep_runs: int = 0
    animation: bool = True
    record_depth: bool = False
    transport: Transport = "process"
    own_graph: bool = False
    truth: TruthSource = "simulator"
    simulator: SimulatorName = "toolhand"
    robot: RobotName = DefaultText(DEFAULT_ROBOT)
    package_path: PackagePath = ""
    model: ModelSettings = _DEFAULT_MODEL
    as_json: AsJson = False

    def options(self) -> dict[str, Any]:
        """The options by name."""
        return {option.name: getattr(self, option.name) for option in fields(self)}

    def require_fit(self) -> None:
        """Refuse options that do not go together.

        Raises:
            ToolError: INVALID_ARGUMENT.
        """
        from toolhand.tool_nodes.tools.suites import parse_suites

        suites = parse_suites(self.suites)
        changed = {option.name for option in fields(self) if getattr(self, option.name) != option.default}
        for name, transport in _OF_ONE_TRANSPORT.items():
            if name in changed and self.transport != transport:
                raise invalid(f"--{name.replace('_', '-')} is for --transport {transport}.")
        if self.simulator != "toolhand" and self.own_graph:
            raise invalid(f"A graph with {self.simulator} is never started from here: leave out --own-graph.")
        if self.keep_runs < 0:
            raise invalid(f"keep-runs must be 0 or more, got {self.keep_runs}.")
        if self.transport == "ros" and set(suites) <= _SEES_NOTHING:
            raise invalid(
                f"No tool of the suite {self.suites} takes a picture, and over ROS none is shown.",
                "Give --suite native, or leave out --transport ros.",
            )
        if self.turns < 1:
            raise invalid(f"turns must be 1 or more, got {self.turns}.")
        if self.policy == "scripted" and "spacetools" not in suites:
            raise invalid("The scripted policy calls SpaceTools' tools: the suite must hold them.")
        if self.transport == "ros" and changed.intersection(_OF_THE_NODES):
            raise invalid(
                "Over ROS the agent's node has its own policy, protocol and role, the motion node its approval.",
                "Start the graph with policy:=..., protocol:=..., role:=... and approval:=... and leave them out here.",
            )

    @property
    def written(self) -> Protocol:
        """The protocol of the policy. Raises ToolError INVALID_ARGUMENT for one that there is not."""
        from toolhand.agent_node.policies.registry import protocol_of

        return protocol_of(self.policy, self.protocol, self.advice)

    @property
    def suites(self) -> str:
        """The suites of the policy, separated by commas."""
        from toolhand.agent_node.policies.registry import suites_of

        return suites_of(self.policy, self.written, self.suite)

    @property
    def judged_by_entities(self) -> bool:
        """True where the judge looks at entities, in the scene that these options name."""
        return self.truth == "entities" or self.simulator != "toolhand"

    @property
    def asked_of_a_graph(self) -> dict[str, Any] | None:
        """What a graph that runs already must have; None where one is started in any case."""
        if self.own_graph:
            return None
        options = self.options()
        asked = typed({name: options[name] for name in OF_A_GRAPH}) | {"ports": self.ports.chosen}
        meant = {"protocol": self.written.name, "suite": self.suites}
        asked |= {name: value for name, value in meant.items() if name in asked}
        asked |= {"objects": self.objects} if self.objects else {}
        if self.judged_by_entities:  # which scene another simulator has, it cannot say
            asked.pop("scene", None)
            asked.pop("objects", None)
        return asked if self.runs_dir == RUNS_DIR else asked | {"runs_dir": str(self.runs_dir)}


@dataclass(frozen=True)
class TalkCommand(RunCommand):
    """The options of `toolhand talk`: those of `toolhand run`, without a sentence."""

    text: Annotated[str, tyro.conf.Suppress] = ""
    as_json: Annotated[bool, tyro.conf.Suppress] = False
