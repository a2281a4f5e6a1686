"""Episodes as a robot's own data: what the joints did and what the camera saw, at a steady rate.

The log of the physics has a state every `toolhand.sim.world.LOG_PERIOD_S`; one in so many is taken, and its image
rendered afterwards from the logged positions. Time stands still while the policy thinks, so there are no frames of
that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toolhand.agent_node.console.options import require_at_least
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import Policy
from toolhand.sim.animation import logged_images
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.task import Category, Task
from toolhand.sim.tasks.tasks import random_task
from toolhand.sim.world import LOG_PERIOD_S
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.training.env.episode import run_episode

LOG_HZ = round(1 / LOG_PERIOD_S)
"""States of the log a second."""

FPS = 5
"""Default number of frames a second [Hz]: a pick and place has about 60."""


@dataclass(frozen=True)
class Demonstration:
    """One episode at a steady rate.

    Attributes:
        text: Sentence of the operator.
        fps: Frames a second.
        names: Names of the columns of `states`: the arm's joints [rad], then the opening of the jaws [m].
        states: (T, J + 1) measured, float32.
        images: (T, H, W, 3) uint8 RGB, of the scene camera.
        success: The simulator found everything that was asked for.
        reward: Mean of the terms of the task's score, in 0..1.
        seed: Seed of the task and of the station.
    """

    text: str
    fps: int
    names: tuple[str, ...]
    states: NDArray[np.float32]
    images: NDArray[np.uint8]
    success: bool
    reward: float
    robot: str
    seed: int

    @property
    def actions(self) -> NDArray[np.float32]:
        """(T, J + 1) what is measured one frame later, the last one itself: no command is logged."""
        return np.concatenate([self.states[1:], self.states[-1:]])


def check_fps(fps: int) -> None:
    """Raises ToolError INVALID_ARGUMENT for a rate that the log does not have."""
    if not 1 <= fps <= LOG_HZ or LOG_HZ % fps:
        allowed = ", ".join(str(rate) for rate in range(1, LOG_HZ + 1) if LOG_HZ % rate == 0)
        raise invalid(f"The log has {LOG_HZ} states a second: fps must be one of {allowed}, got {fps}.")


def demonstrate(station: Station, policy: Policy, task: Task, fps: int = FPS) -> Demonstration:
    """Let a policy carry out a task on a station that shows its scene, and look at it frame by frame.

    Args:
        station: Reset for the task.
        fps: Frames a second, a divisor of LOG_HZ.

    Raises:
        ToolError: INVALID_ARGUMENT for another rate; the infrastructure error that left the episode without a score;
            EXECUTION_FAILED where nothing moved, so that there is nothing to show.
    """
    check_fps(fps)
    world = station.world
    began = world.time
    outcome = run_episode(station, policy, task)
    if outcome.truth is None:
        raise ToolError(outcome.episode.error_code or ErrorCode.INTERNAL, f"No score: {outcome.episode.answer}")
    ended = began + outcome.sim_time_s
    moved = [state for state in world.log if began <= state[0] <= ended][:: LOG_HZ // fps]
    if len(moved) < 2:
        raise ToolError(ErrorCode.EXECUTION_FAILED, f"Nothing moved: {outcome.episode.answer}")
    joints = [int(world.model.joint(name).qposadr[0]) for name in station.robot.arm_joints]
    knuckle = int(world.model.joint(station.robot.gripper.joint).qposadr[0])
    opening = station.robot.gripper.opening
    states = [[*qpos[joints], max(float(opening(qpos[knuckle])), 0.0)] for _, qpos in moved]
    terms = outcome.truth.terms
    return Demonstration(
        task.text,
        fps,
        (*station.robot.arm_joints, "gripper_opening"),
        np.array(states, np.float32),
        np.stack(list(logged_images(station, moved, station.scene_camera()))),
        outcome.truth.success,
        sum(terms.values()) / len(terms) if terms else float(outcome.truth.success),
        station.robot.name,
        station.config.seed,
    )


def demonstrations(
    n: int,
    seed: int = 0,
    config: StationConfig | None = None,
    category: Category | None = None,
    fps: int = FPS,
    on_skip: Callable[[str], None] = lambda sentence: None,
) -> Iterator[Demonstration]:
    """Episodes of the scripted policy on random tasks, one after the other on one station.

    Args:
        n: How many tasks, of the seeds `seed`, `seed` + 1, ...
        seed: 0 or more.
        config: Configuration of the station; its seed is the task's.
        category: Category of the tasks; drawn where None.
        fps: See `demonstrate`.
        on_skip: Called with a sentence for each episode in which nothing moved or that has no score.

    Raises:
        ToolError: INVALID_ARGUMENT for a bad number, seed, category or rate.
    """
    require_at_least(1, n=n)
    require_at_least(0, seed=seed)
    check_fps(fps)
    station: Station | None = None
    for number in range(seed, seed + n):
        task = random_task(number, category)
        if station is None:
            station = Station(task.scene, replace(config or StationConfig(sleep=True), seed=number))
        else:
            station.reset(number, task.scene)
        try:
            yield demonstrate(station, ScriptedPolicy(), task, fps)
        except ToolError as error:
            station = None
            on_skip(f"Task {number} is left out: {error}")
