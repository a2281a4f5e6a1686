"""How every rollout of a plan is run: fields of the plan, and options of the command that collects it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from toolhand.agent_node.console.options import (
    ImageSize,
    ObjectSets,
    Perception,
    PlannerName,
    PolicySpec,
    SensorName,
    listed,
)
from toolhand.agent_node.conversation_settings import TURN_BUDGET
from toolhand.sim.ros.graph import Transport
from toolhand.sim.simulators import SimulatorName
from toolhand.sim.world import TIMESTEPS_S
from toolhand.tool_nodes.port_names import DEFAULT_PLANNER, DEFAULT_PRESET, DEFAULT_SENSOR
from toolhand.tool_nodes.results import invalid
from toolhand.training.env.worlds import WORLDS

BACKENDS_HERE = ("physics", "mock")
"""Those of `toolhand.training.env.backends.BACKENDS` that live in a worker's own process, and so end with it."""


@dataclass(frozen=True, kw_only=True)
class RolloutOptions:
    """How every rollout is run.

    Attributes:
        group_size: Rollouts of each task, 2 or more: in a group of one nothing can be better than anything else.
        seed: Seed of the first task, noise, failures on purpose and the policy's own sampling; 0 or more.
        policy: Who decides. A policy is made anew for every rollout, with a seed of its own.
        turns: Assistant turns of an episode, at most.
        difficulty: From 0, where nothing errs, to 1: noise, failures on purpose, objects that slip.
        shared_failures: The rollouts of a group fail alike; else each fails by itself.
        transport: "process" has the tools in the worker's process; "ros" in the nodes of a graph, which each worker
            starts for itself, with its own images and time step.
        simulator: With the transport ros, the simulator of the graph that runs on this ROS domain and that is used as
            it is, instead of one that is started: "isaac", which is given each task's objects as USD.
    """

    group_size: int = 4
    seed: int = 0
    policy: PolicySpec = "scripted"
    turns: int = TURN_BUDGET
    backend: Annotated[str, tyro.conf.arg(help=f"Where the episodes happen: {listed(BACKENDS_HERE)}.")] = "physics"
    perception: Perception = DEFAULT_PRESET
    planner: PlannerName = DEFAULT_PLANNER
    sensor: SensorName = DEFAULT_SENSOR
    objects: ObjectSets = ""
    image_size: Annotated[ImageSize, tyro.conf.arg(name="size")] = (320, 240)
    timestep: Annotated[
        float, tyro.conf.arg(help=f"Time step of the physics [s]: {', '.join(f'{step:g}' for step in TIMESTEPS_S)}.")
    ] = 0.002
    difficulty: float = 0.0
    shared_failures: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    transport: Transport = "process"
    simulator: SimulatorName = "toolhand"
    world: Annotated[
        str,
        tyro.conf.arg(
            help=f"Which tools err and how, in place of perception and difficulty: {listed(tuple(WORLDS))}. "
            "NAME:STRENGTH, from 0 to 1, has it weaker. No world where empty."
        ),
    ] = ""


PROCESSES: Literal["processes"] = "processes"
"""Workers that are processes of this machine."""
RAY: Literal["ray"] = "ray"
"""Workers that are actors of the cluster on which backends are served."""


@dataclass(frozen=True)
class WorkerOptions:
    """Who draws the rollouts.

    Attributes:
        workers: Processes at once; one that hangs or dies is replaced.
        on: Kind of workers: processes of this machine, or actors of the cluster of toolhand serve.
        deadline_s: Longest wall time of a rollout [s].
        tries: How often a rollout may cost a process before it is dropped.
    """

    workers: int = 1
    on: Literal["processes", "ray"] = PROCESSES
    deadline_s: Annotated[float, tyro.conf.arg(name="deadline")] = 600.0
    """A pick and place takes one to three seconds of the scripted policy."""
    tries: int = 3


ONE_PROCESS = WorkerOptions()


@dataclass(frozen=True)
class StopRules:
    """When collecting on makes no sense.

    Attributes:
        zero_variance: Groups in a row with equal rewards after which the collection stops; 0 never.
        no_tool_calls: Groups in a row without a tool call after which the collection stops; 0 never.
        dropped: Dropped rollouts in a row after which the collection stops; 0 never.

    Raises:
        ToolError: INVALID_ARGUMENT for a negative number.
    """

    zero_variance: Annotated[int, tyro.conf.arg(name="stop-zero-variance")] = 8
    no_tool_calls: Annotated[int, tyro.conf.arg(name="stop-no-tool-calls")] = 4
    dropped: Annotated[int, tyro.conf.arg(name="stop-dropped")] = 16

    def __post_init__(self) -> None:
        if min(self.zero_variance, self.no_tool_calls, self.dropped) < 0:
            raise invalid(f"Numbers of stop rules are 0 or more, got {self}.")


STOPS = StopRules()
