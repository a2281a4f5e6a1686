"""Worlds by name: which tools err in them and how often, for a plan of rollouts.

    RolloutPlan(tasks_of(["pick"], 32), world="erring", timestep=0.004)

| world | what points | what goes wrong |
|---|---|---|
| `erring` | `roborefer.*` by the simulator's truth with noise, `vlm.*` by `pixels` | see ERRING_RATES; objects slip |

What one pointer gets wrong the other may get right; neither is right always, and nothing tells but asking both, or
looking again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import StationConfig
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.results import ErrorCode, invalid
from toolhand.training.env.difficulty import slippery
from toolhand.training.env.failures import PARTIAL, WRONG_POINT, Failures

ERRING_RATES: Mapping[str, Mapping[str, float]] = {
    "roborefer.detect_all": {WRONG_POINT: 0.15, ErrorCode.OBJECT_NOT_FOUND: 0.05},
    "roborefer.detect_one": {WRONG_POINT: 0.15, ErrorCode.OBJECT_NOT_FOUND: 0.05},
    "vlm.detect_all": {WRONG_POINT: 0.15, PARTIAL: 0.1, ErrorCode.OBJECT_NOT_FOUND: 0.1},
    "vlm.detect_one": {WRONG_POINT: 0.15, ErrorCode.OBJECT_NOT_FOUND: 0.1},
    "sam2.segment_from_point": {ErrorCode.EMPTY_MASK: 0.1},
    "grasp_generator.compute_grasp": {ErrorCode.NO_GRASP: 0.05},
}
"""Failures on purpose in the world `erring`, per call: a policy that checks nothing does about half of its tasks, and
one that checks has room above it."""
ERRING_LEAST_GRIP = 0.03
"""Least friction of an object there, times its own, as of `toolhand.training.env.difficulty.LEAST_GRIP`."""
ERRING_MOST_WEIGHT = 2.0
"""Greatest mass of an object there, times its own [-]; a round figure."""


@dataclass(frozen=True)
class NamedWorld:
    """What errs, and how.

    Attributes:
        name: Name that was asked for.
        perception: Preset of the perception ports.
        ports: Backends of single ports instead.
        rates: Failures on purpose, as of `toolhand.training.env.failures.Failures`.
        least_grip, most_weight: Bounds of friction and weight, see `toolhand.training.env.difficulty.slippery`.
    """

    name: str
    perception: str
    ports: PortNames
    rates: Mapping[str, Mapping[str, float]]
    least_grip: float = 1.0
    most_weight: float = 1.0

    def config(self, config: StationConfig) -> StationConfig:
        """The configuration with this world's perception."""
        ports = replace(self.ports, planner=config.ports.planner, sensor=config.ports.sensor)
        return replace(config, perception=self.perception, ports=ports)

    def failures(self, shared: bool = False) -> Failures:
        """Failures on purpose; `shared` as of Failures."""
        return Failures(self.rates, shared)

    def scene(self, scene: Scene, seed: int) -> Scene:
        """The scene with this world's objects."""
        return slippery(scene, seed, self.least_grip, self.most_weight)


ERRING = NamedWorld(
    "erring",
    "pixels",
    PortNames(pointer="sim", second_pointer="pixels"),
    ERRING_RATES,
    ERRING_LEAST_GRIP,
    ERRING_MOST_WEIGHT,
)
"""Two pointers that err differently, outlines that are empty now and then, objects that slip."""
WORLDS: Mapping[str, NamedWorld] = {ERRING.name: ERRING}
"""By name."""


def world_named(name: str) -> NamedWorld:
    """A world by its name. Raises ToolError INVALID_ARGUMENT."""
    if name not in WORLDS:
        raise invalid(f"There is no world {name[:60]!r}: it must be {' or '.join(WORLDS)}.")
    return WORLDS[name]
