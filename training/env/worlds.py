"""Worlds by name: in every episode some tools err, each for a cause that its answers show and that another move mends.

    RolloutPlan(tasks_of(["pick"], 32), world="erring", timestep=0.004)    # "erring:0.5" at half of the strength

| cause | tools | error (`toolhand.training.env.errors`) |
|---|---|---|
| `roborefer`, `vlm` | one of the two pointers | `neighbour` |
| `outline`, `outline2` | `sam2.segment_from_point`, `sam2.segment_from_points` | `merged` |
| `depth` | `robot.get_depth`, `robot.get_depth_with_pointcloud` | `hole` |
| `depth2` | `depth_estimator.*` | `scale` |
| `scores` | `grasp_generator.compute_grasp` | `lying_score` |
| `arm` | `robot.execute_grasp` | `miss` |

Which causes an episode has follows from its seed and the split of its task: each split has a mixture of its own, beside
its own objects, layouts and wordings. Of two tools that do the same each errs in some episodes, and never both in one:
always to take the other one helps as little as never to. The sign of a cause is in what its tools return.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.task import Task
from toolhand.tool_nodes.names import stream_of
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.results import invalid
from toolhand.training.env.failures import Failures

_ESTIMATORS = ("depth_estimator.estimate_depth", "depth_estimator.estimate_depth_with_pointcloud")


@dataclass(frozen=True)
class ErrorCause:
    """What errs by a cause.

    Attributes:
        tools: Which tools.
        error: How, a name of `toolhand.training.env.errors.ERRORS`.
        most: How much at strength 1, in [0, 1].
        twin: The cause by whose tools the same is done; empty where there is none.
    """

    tools: tuple[str, ...]
    error: str
    most: float
    twin: str = ""


CAUSES: Mapping[str, ErrorCause] = {
    "roborefer": ErrorCause(("roborefer.detect_all", "roborefer.detect_one"), "neighbour", 1.0, "vlm"),
    "vlm": ErrorCause(("vlm.detect_all", "vlm.detect_one"), "neighbour", 1.0, "roborefer"),
    "outline": ErrorCause(("sam2.segment_from_point",), "merged", 1.0, "outline2"),
    "outline2": ErrorCause(("sam2.segment_from_points",), "merged", 1.0, "outline"),
    "depth": ErrorCause(("robot.get_depth", "robot.get_depth_with_pointcloud"), "hole", 0.9, "depth2"),
    "depth2": ErrorCause(_ESTIMATORS, "scale", 1.0, "depth"),
    "scores": ErrorCause(("grasp_generator.compute_grasp",), "lying_score", 1.0),
    "arm": ErrorCause(("robot.execute_grasp",), "miss", 0.75),
}
"""By name."""
_STREAM = 24
"""Keeps these random numbers apart from others of the same seed."""


@dataclass(frozen=True)
class Mixture:
    """Which causes the episodes of a split have.

    Attributes:
        weights: How often each cause is drawn, in proportion; what is not named never.
        two: Share of the episodes with two causes; the others have one.
        least: Least strength of a cause, in [0, 1]; each is drawn evenly between it and 1.
    """

    weights: Mapping[str, float]
    two: float
    least: float

    def drawn(self, rng: np.random.Generator) -> dict[str, float]:
        """The causes of an episode with their strengths."""
        left, found = dict(self.weights), dict[str, float]()
        for _ in range(1 + int(rng.random() < self.two)):
            total = math.fsum(left.values())
            cause = str(rng.choice(list(left), p=[weight / total for weight in left.values()]))
            found[cause] = float(rng.uniform(self.least, 1.0))
            left = {k: w for k, w in left.items() if k not in (cause, CAUSES[cause].twin)}
        return found


@dataclass(frozen=True)
class NamedWorld:
    """What errs, and how.

    Attributes:
        mixtures: By the split of the task; that of the training for a task without one.
        strength: Times every strength, in [0, 1].
    """

    name: str
    mixtures: Mapping[str, Mixture]
    strength: float = 1.0

    def config(self, config: StationConfig) -> StationConfig:
        """The configuration with this world's perception."""
        return replace(
            config, perception="sim", ports=PortNames(planner=config.ports.planner, sensor=config.ports.sensor)
        )

    def causes(self, kind: str, split: str, seed: int) -> dict[str, float]:
        """The causes, with their strengths, of an episode of this seed with a task of this kind and split."""
        mixture = self.mixtures.get(split, self.mixtures["train"])
        drawn = mixture.drawn(np.random.default_rng((seed, _STREAM, stream_of(kind))))
        return {cause: self.strength * strength for cause, strength in drawn.items()}

    def failures(self, shared: bool = False) -> Callable[[Task, int], Failures]:
        """What errs in an episode, of its task and its seed; `shared` as of Failures."""

        def drawn(task: Task, seed: int) -> Failures:
            rates: dict[str, dict[str, float]] = {}
            for cause, strength in self.causes(
                getattr(task, "kind", ""), getattr(task, "split", "train"), seed
            ).items():
                found = CAUSES[cause]
                rates |= {tool: {found.error: strength * found.most} for tool in found.tools}
            return Failures(rates, shared)

        return drawn


def _weights(*weights: float) -> dict[str, float]:
    return dict(zip(CAUSES, weights, strict=True))


ERRING = NamedWorld(
    "erring",
    {
        "train": Mixture(_weights(2, 2, 2, 2, 2, 2, 2, 3), 0.7, 0.5),
        "validation": Mixture(_weights(1, 2, 2, 1, 1, 2, 2, 3), 0.7, 0.6),
        "test": Mixture(_weights(2, 3, 1, 2, 2, 1, 3, 2), 0.8, 0.6),
    },
)
"""Two pointers, two ways to outline and to measure, scores of grasps and an arm; one or two err in each episode."""
WORLDS: Mapping[str, NamedWorld] = {ERRING.name: ERRING}
"""By name."""


def world_named(name: str) -> NamedWorld:
    """A world by its name, or NAME:STRENGTH with a strength from 0 to 1. Raises ToolError INVALID_ARGUMENT."""
    known, colon, strength = name.partition(":")
    if known not in WORLDS:
        raise invalid(f"There is no world {name[:60]!r}: it must be {' or '.join(WORLDS)}.")
    if not colon:
        return WORLDS[known]
    try:
        share = float(strength)
    except ValueError:
        share = math.nan
    if not 0.0 <= share <= 1.0:
        raise invalid(f"The strength of the world {known} is from 0 to 1, as in {known}:0.5, not {strength[:20]!r}.")
    return replace(WORLDS[known], strength=share)
