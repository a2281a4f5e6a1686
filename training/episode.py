"""One episode: run a command on a station, then judge it by the simulator's truth."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent_node.agent import Agent
from agent_node.conversation import TURN_BUDGET, Listener
from agent_node.episode import Episode
from agent_node.policy import Policy
from agent_node.protocol import Protocol
from sim.tasks.judge import Goal, JudgedStation, Truth, judge
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ToolError
from training.goal_from_text import TASK_GOAL, Basis, goal_from_text


@dataclass(frozen=True)
class Outcome:
    """An episode with its truth.

    Attributes:
        truth: None when an infrastructure error made the episode unscorable.
        basis: What `truth` was judged against.
        time_to_first_motion_s: Wall time from the command to the arm's first motion, or None.
        sim_time_s: Simulated time of the motions [s].
    """

    episode: Episode
    truth: Truth | None
    basis: Basis
    time_to_first_motion_s: float | None
    sim_time_s: float

    @property
    def scored(self) -> bool:
        """False after an infrastructure error: such an episode is counted but never scored."""
        return self.truth is not None

    @property
    def false_success(self) -> bool:
        """The tools reported success and the simulator disagrees."""
        return self.episode.success and self.truth is not None and not self.truth.success


def run_episode(
    station: JudgedStation,
    policy: Policy,
    text: str,
    goal: Goal | None = None,
    turn_budget: int = TURN_BUDGET,
    stopped: Callable[[], bool] = lambda: False,
    listener: Listener = lambda kind, payload: None,
    protocol: Protocol | None = None,
) -> Outcome:
    """Run one command and judge it against the task's goal; `goal` None takes the robot's own reading of it.

    The protocol is the one that the policy was made for; SpaceTools' where None.
    """
    agent = Agent(policy, station.toolbox, turn_budget, stopped, listener, protocol)
    return judged(station, text, agent.run, goal)


def judged(station: JudgedStation, text: str, carry_out: Callable[[str], Episode], goal: Goal | None = None) -> Outcome:
    """Judge what is done about a command, whoever does it; `goal` as in `run_episode`."""
    world = station.world
    before, start = world.snapshot(), world.time
    basis = goal_from_text(text, station) if goal is None else Basis(goal, TASK_GOAL)
    station.arm.first_motion_at = None
    began = time.monotonic()
    episode = carry_out(text)
    moved_at = station.arm.first_motion_at
    sim_time = world.time - start
    truth: Truth | None = None
    if episode.error_code not in INFRASTRUCTURE_ERRORS:
        try:
            truth = judge(basis.goal, station, before, start)
        except ToolError as error:
            episode.success, episode.error_code, episode.answer = False, error.code, str(error)
    return Outcome(episode, truth, basis, None if moved_at is None else moved_at - began, sim_time)


def summarize(outcome: Outcome, station: JudgedStation) -> dict[str, Any]:
    """The machine-readable result of a run."""
    episode, truth = outcome.episode, outcome.truth
    first = outcome.time_to_first_motion_s
    return {
        "task": episode.task,
        "answer": episode.answer,
        "success": episode.success,
        "truth": None
        if truth is None
        else {"picked": truth.picked, "placed": truth.placed, "score": truth.score}
        | ({"reasons": list(truth.reasons)} if truth.reasons else {}),
        "judged_against": None if truth is None else outcome.basis.document(),
        "error_code": episode.error_code,
        "tool_calls": episode.tool_calls,
        "turns": len(episode.turns),
        "time_to_first_motion_s": None if first is None else round(first, 3),
        "sim_time_s": round(outcome.sim_time_s, 3),
        "wall_s": round(episode.wall_s, 3),
        "seed": station.config.seed,
        "scene_seed": station.scene.seed,
    }
