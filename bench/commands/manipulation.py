"""Options of `toolhand bench manipulation`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from toolhand.agent_node.console.options import (
    DEFAULT_BACKENDS,
    DEFAULT_ROBOT_OPTIONS,
    BackendOptions,
    ObjectSets,
    PolicySpec,
    ProtocolName,
    RobotOptions,
    Unprefixed,
    require_at_least,
)
from toolhand.agent_node.console.terminal import AsJson
from toolhand.agent_node.policies.options import ModelSettings
from toolhand.agent_node.protocol import OWN, Protocol
from toolhand.bench.options import TURNS, BenchOptions
from toolhand.sim.ros.graph import Transport
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.results import invalid

_DEFAULT_MODEL = ModelSettings()
DriverName = Literal["ideal", "kortex"]
"""Those of `toolhand.sim.ros.driver.DRIVERS`, which imports what only a graph needs, that need no other program."""


@dataclass(frozen=True)
class EpisodeOptions:
    """How every episode is run.

    Attributes:
        transport: "process" has the tools in this process, "ros" as nodes of a ROS 2 graph in lockstep, with a domain
            and a router of its own, that each episode finds as freshly started.
        driver: Manners of the arm's driver in that graph: "ideal", or "kortex", those of ros2_kortex.
        policy: Who decides; each episode has a new one, seeded by its scene.
        turns: Assistant turns of a command; a protocol with one call a turn needs more of them.
        difficulty: From 0 to 1: noise of the perception sim, calls that fail on purpose, objects that slip; see
            toolhand.training.env.difficulty. Only with the transport process.
        fast: Images of 320x240, and what rests is not computed, as in rollouts: half the processor time.
    """

    backends: Unprefixed[BackendOptions] = DEFAULT_BACKENDS
    robot: Unprefixed[RobotOptions] = DEFAULT_ROBOT_OPTIONS
    transport: Transport = "process"
    driver: DriverName = "ideal"
    policy: PolicySpec = "scripted"
    protocol: ProtocolName = OWN
    turns: int = TURNS
    difficulty: float = 0.0
    fast: bool = False
    model: ModelSettings = _DEFAULT_MODEL

    @property
    def written(self) -> Protocol:
        """How the policy writes. Raises ToolError INVALID_ARGUMENT."""
        from toolhand.agent_node.policies.registry import protocol_of

        return protocol_of(self.policy, self.protocol)

    def check(self) -> None:
        """Raises ToolError INVALID_ARGUMENT for what cannot be run."""
        from toolhand.agent_node.policies.registry import require_form
        from toolhand.training.env.difficulty import Difficulty

        require_at_least(1, turns=self.turns)
        Difficulty(self.difficulty)
        if self.difficulty and self.transport != "process":
            raise invalid("Only the transport process has a difficulty.")
        if self.driver != "ideal" and self.transport != "ros":
            raise invalid(f"Only the transport ros has the driver {self.driver}.", "Give --transport ros.")
        _ = self.written
        require_form(self.policy)
        registry.require_installed("policy", self.policy)
        self.backends.require_known()
        self.robot.require_known()

    def document(self) -> dict[str, Any]:
        """The options as the report has them, of the model's those that are not the default."""
        model = {name: value for name, value in vars(self.model).items() if value != getattr(_DEFAULT_MODEL, name)}
        plain = ("transport", "driver", "policy", "difficulty", "fast")
        return {
            **self.backends.document(),
            "robot": self.robot.robot,
            "model": model,
            "protocol": self.written.name,
            **{name: getattr(self, name) for name in plain},
        }


_AS_DEFAULT = EpisodeOptions()


@dataclass(frozen=True)
class Options(BenchOptions):
    """Run the paper's 20 sentences over random scenes and print success with 95 % intervals.

    With --scene or --objects objects of any object set lie in clutter instead, and each scene is asked for one by its
    colour, for one by its side, and for one to be put beside another, as far as words single them out.

    Attributes:
        scene: Kind of clutter, such as packed or pile; packed where only --objects is given.
        objects: Object sets and folders; generated where only --scene is given.
        seeds: Scenes per sentence; of clutter, scenes.
        first_seed: Seed of the first scene.
        jobs: Processes. Timings are most meaningful with 1.
    """

    WORK = "toolhand.bench.manipulation:BENCH"

    options: Unprefixed[EpisodeOptions] = _AS_DEFAULT
    scene: str = ""
    objects: ObjectSets = ""
    seeds: int = 3
    first_seed: int = 0
    jobs: int = 1
    as_json: AsJson = False

    def check(self) -> None:
        super().check()
        self.options.check()
