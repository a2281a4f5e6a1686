"""One dial for how hard the world is: perception that errs, tools that fail, objects that slip.

    difficulty = Difficulty(0.5)
    task = difficulty.task(random_task(7), seed=7)
    station = Station(task.scene, difficulty.config(StationConfig(seed=7)))
    outcome = run_episode(station, policy, task, toolbox=FailingToolbox(station.toolbox, difficulty.failures(), seed=7))

At 0 everything is as without it, to the last byte. What the scripted policy does: docs/guides/collect_rollouts.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np

from toolhand.sim.perception import PerceptionNoise
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.tasks import GeneratedTask
from toolhand.tool_nodes.results import ErrorCode, invalid
from toolhand.training.env.failures import ALL_TOOLS, EMPTY, Failures

AnyTask = TypeVar("AnyTask", bound=GeneratedTask)

HARDEST_NOISE = PerceptionNoise(
    miss_rate=0.1, point_jitter_px=6.0, mask_noise_px=1.0, depth_noise=0.004, confusion_rate=0.08
)
"""Perception at level 1; at 0 it is `PerceptionNoise()`."""
HARDEST_RATES = {
    EMPTY: 0.03,
    "wrong_point": 0.06,
    ErrorCode.TIMEOUT: 0.02,
    ErrorCode.EXECUTION_FAILED: 0.02,
    ErrorCode.OBJECT_NOT_FOUND: 0.06,
    ErrorCode.EMPTY_MASK: 0.1,
    ErrorCode.NO_GRASP: 0.1,
    ErrorCode.PLAN_FAILED: 0.1,
    ErrorCode.GRIPPER_EMPTY: 0.1,
}
"""Failures of each tool that can fail so, per call, at level 1."""
LEAST_GRIP = 0.02
"""Least friction at level 1, times an object's own: one of four picks failed at it, none at 0.05."""
MOST_WEIGHT = 3.0
"""Greatest mass at level 1, times an object's own: the arm carries it still."""
_STREAM = 15
"""Keeps these random numbers apart from others of the same seed."""


@dataclass(frozen=True)
class Difficulty:
    """How hard the world is.

    Attributes:
        level: From 0, as without it, to 1, where each part is at its hardest; in between all are in proportion.

    Raises:
        ToolError: INVALID_ARGUMENT for another level.
    """

    level: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.level <= 1.0:
            raise invalid(f"The difficulty must be from 0 to 1, got {self.level}.")

    def noise(self) -> PerceptionNoise:
        """Noise of the simulator's perception; backends that look at pixels have their own."""
        easy = PerceptionNoise()
        mixed = {}
        for entry in fields(PerceptionNoise):
            low, high = getattr(easy, entry.name), getattr(HARDEST_NOISE, entry.name)
            mixed[entry.name] = low + self.level * (high - low)
        return PerceptionNoise(**mixed)

    def failures(self, shared: bool = False) -> Failures:
        """Failures on purpose; `shared` as of Failures."""
        if self.level == 0.0:
            return Failures(shared=shared)
        return Failures({ALL_TOOLS: {kind: self.level * rate for kind, rate in HARDEST_RATES.items()}}, shared)

    def config(self, config: StationConfig) -> StationConfig:
        """The configuration with this noise."""
        return replace(config, noise=self.noise())

    def task(self, task: AnyTask, seed: int) -> AnyTask:
        """The task with objects that grip less and weigh more, see `scene`."""
        return replace(task, scene=self.scene(task.scene, seed))

    def scene(self, scene: Scene, seed: int) -> Scene:
        """The scene with objects that grip less and weigh more, each drawn from the seed."""
        return slippery(scene, seed, LEAST_GRIP**self.level, MOST_WEIGHT**self.level)


def slippery(scene: Scene, seed: int, least_grip: float, most_weight: float = 1.0) -> Scene:
    """The scene with objects that slip from the hand and weigh more; the same one for 1 and 1.

    Args:
        seed: Decides, for each object, how much: in equal proportions (log-uniform) between 1 and the bound.
        least_grip: Times the friction of an object, above 0 and at most 1; below 0.1 the gripper loses some.
        most_weight: Times its mass, 1 or more.

    Raises:
        ToolError: INVALID_ARGUMENT for other bounds.
    """
    if not 0.0 < least_grip <= 1.0 <= most_weight < np.inf:
        raise invalid(
            f"least_grip must be above 0 and at most 1, and most_weight 1 or more, got {least_grip} and {most_weight}."
        )
    drawn = np.random.default_rng((seed, _STREAM)).random((len(scene.objects), 2))
    return replace(
        scene,
        objects=tuple(
            replace(placed, grip=placed.grip * least_grip ** float(u), weight=placed.weight * most_weight ** float(v))
            for placed, (u, v) in zip(scene.objects, drawn, strict=True)
        ),
    )
