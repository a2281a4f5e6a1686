"""Stops at random moments of a pick and place over ROS: are they confirmed, how soon, and does anything move after?

Every second stop waits until the arm moves: on a busy machine, planning takes most of a task's time. It needs a
free-running simulated graph; it loads a world of its own and begins it anew for every stop. Between stops time runs
fast, around each it runs as on the wall clock.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.node import Node
from std_srvs.srv import Trigger

from toolhand.agent_node.console.terminal import say
from toolhand.bench.ros.task import PickAndPlace
from toolhand.sim.ros.graph import started_graph
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.joint_states import JointReading
from toolhand.tool_nodes.ros.link import RosLink

STILL = 0.005
"""The arm is at rest below this [rad/s]."""

MOVING = 0.05
"""A stop that waits for a motion comes when the fastest joint is above this [rad/s]; ten times STILL."""

WATCH_S = 0.5
"""How long after a confirmed stop the arm is watched, in time of the robot [s]."""

LEAD_S = 0.2
"""Time runs as on the wall clock from this long before a stop [s]."""

FAST = 4.0
"""Real-time factor of the moves between two measurements [-]."""
_FAULTS = frozenset({"STOPPED", "CANCELLED", "UNAVAILABLE", "INTERNAL", "TIMEOUT", "CONTROLLER_FAULT"})


@dataclass(frozen=True)
class StopSample:
    """One stop.

    Attributes:
        moment_s: When it was to be, in time of the robot after the first goal was sent [s].
        phase: Phase of the motion then.
        speed: Speed of the fastest joint then [rad/s].
        confirmed: The answer said that the arm stands still.
        reaction_s: From the call until no joint moved any more, in time of the robot [s].
        answer_s: From the call to the answer, by the wall clock [s].
        goal_code: Error code that the motion ended with.
        refused: A goal that was sent before the reset was refused with STOPPED.
        later_commands: Goals that the controllers accepted after the confirmation, before the reset.
        later_speed: Speed of the fastest joint in that time [rad/s].
        next_code: How the first command after the reset ended; empty for success.
    """

    moment_s: float
    phase: str
    speed: float
    confirmed: bool
    reaction_s: float
    answer_s: float
    goal_code: str
    refused: bool
    later_commands: int
    later_speed: float
    next_code: str

    @property
    def quiet(self) -> bool:
        """No command was sent and nothing moved after the confirmation."""
        return self.later_commands == 0 and self.later_speed < 2 * STILL

    @property
    def usable(self) -> bool:
        """The first command after the reset was carried out, or failed as a task and not as a system."""
        return self.next_code not in _FAULTS


def measure_stops(
    node: Node, n: int, seed: int = 0, on_sample: Callable[[StopSample], None] = lambda sample: None
) -> list[StopSample]:
    """Stop n picks and placements at random moments.

    Args:
        node: Spun by an executor in another thread; its graph is free-running.
        n: Number of stops.
        seed: Seed of the moments.
        on_sample: Gets each sample at once.

    Raises:
        ToolError: UNAVAILABLE or TIMEOUT where the graph does not answer; INTERNAL where it cannot do the task.
    """
    trials = _Trials(node)
    total_s = trials.rehearse()
    moments = np.random.default_rng(seed)
    samples: list[StopSample] = []
    while len(samples) < n:
        sample = trials.stop_at(float(moments.uniform(0.0, total_s)), in_motion=len(samples) % 2 == 1)
        if sample is not None:
            samples.append(sample)
            on_sample(sample)
    return samples


def stopped_rows(n: int, seed: int) -> list[dict[str, Any]]:
    """Rows of n stops on a graph that is started for them."""
    done: list[StopSample] = []

    def progress(sample: StopSample) -> None:
        done.append(sample)
        say(f"stop {len(done)} of {n}: {sample}")

    with started_graph({}) as graph, RosLink(graph.environment) as link:
        return stop_rows(measure_stops(link.node, n, seed, progress))


def stop_rows(samples: Sequence[StopSample]) -> list[dict[str, Any]]:
    """Rows for a benchmark's document."""
    moving = [sample for sample in samples if sample.speed > STILL]

    def percentiles(values: Sequence[float]) -> dict[str, float | None]:
        return {f"p{p}_ms": round(1e3 * float(np.percentile(values, p)), 1) if values else None for p in (50, 95, 99)}

    return [
        {
            "name": "stop",
            "n": len(samples),
            "confirmed": sum(sample.confirmed for sample in samples),
            "refused_while_latched": sum(sample.refused for sample in samples),
            "quiet_after": sum(sample.quiet for sample in samples),
            "usable_after_reset": sum(sample.usable for sample in samples),
            "next_command": dict(Counter(sample.next_code or "done" for sample in samples)),
        },
        {"name": "stop_reaction_simulated", "n": len(samples)} | percentiles([s.reaction_s for s in samples]),
        {"name": "stop_reaction_simulated_moving", "n": len(moving)} | percentiles([s.reaction_s for s in moving]),
        {"name": "stop_answer_wall", "n": len(samples)} | percentiles([s.answer_s for s in samples]),
    ]


class _Trials(PickAndPlace):
    """Plays the task again and again, and stops it."""

    def rehearse(self) -> float:
        """Duration of the undisturbed task [s], in time of the robot, with time to think."""
        self.begin()
        began_s = self.now()
        for client, goal in ((self.grasps, self.grasp_goal), (self.places, self.place_goal)):
            result = self.end(self.send(client, goal))
            if not result.status.success:
                raise ToolError(ErrorCode.INTERNAL, f"The task cannot be done undisturbed: {result.status.message}")
        return self.now() - began_s

    def stop_at(self, moment_s: float, in_motion: bool) -> StopSample | None:
        """Begin anew, play until a moment, stop, look, reset, and go on; None where the task was over before.

        With `in_motion`, it is the first moment from then on at which the arm moves.
        """
        self.begin()
        due_s = self.now() + moment_s
        goal = self.send(self.grasps, self.grasp_goal)
        self.wait(lambda: self.now() >= due_s - LEAD_S or goal.ended)
        if goal.ended:  # the moment lies in the second half
            goal = self.send(self.places, self.place_goal)
            self.wait(lambda: self.now() >= due_s - LEAD_S or goal.ended)
        self.set("sim", "real_time_factor", 1.0)
        self.wait(lambda: self.now() >= due_s or goal.ended)
        if in_motion:
            self.wait(lambda: _speed(self.newest()) > MOVING or goal.ended)
        if goal.ended:
            return None

        at = self.newest()
        phase, count = goal.phase, len(self.readings)
        called_s = time.monotonic()
        answer = self.call(Trigger, "stop")
        answer_s = time.monotonic() - called_s
        goal_code = self.end(goal).status.error_code
        moving = [reading for reading in self.readings[count:] if _speed(reading) > STILL]
        reaction_s = max(0.0, (moving[-1].stamp_ns - at.stamp_ns) / 1e9) if moving else 0.0

        commands, count, until_s = set(self.accepted), len(self.readings), self.now() + WATCH_S
        refused = self.end(self.send(self.grasps, self.grasp_goal)).status.error_code == "STOPPED"
        self.wait(lambda: self.now() >= until_s)
        later = [_speed(reading) for reading in self.readings[count:]]
        later_commands = len(self.accepted - commands) + sum(self.active.values())

        self.call(Trigger, "reset_stop")
        self.set("sim", "real_time_factor", FAST)
        return StopSample(
            moment_s=moment_s,
            phase=phase,
            speed=_speed(at),
            confirmed=answer.success,
            reaction_s=reaction_s,
            answer_s=answer_s,
            goal_code=goal_code,
            refused=refused,
            later_commands=later_commands,
            later_speed=max(later),
            next_code=self._go_on(),
        )

    def _go_on(self) -> str:
        """Error code of the first command after a reset: place what is held, else grasp."""
        status = self.end(self.send(self.places, self.place_goal)).status
        if status.error_code in ("NOT_HOLDING", "OBJECT_DROPPED"):
            status = self.end(self.send(self.grasps, self.grasp_goal)).status
        return str(status.error_code)

    def begin(self) -> None:
        """See `PickAndPlace.begin`; time runs fast."""
        self.set("sim", "real_time_factor", FAST)
        super().begin()


def _speed(reading: JointReading) -> float:
    return float(np.abs(reading.qd).max())
