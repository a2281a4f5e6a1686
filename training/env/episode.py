"""One episode: a policy carries out a task on a station, and the task scores it by the simulator's truth."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from toolhand.agent_node.agent import Agent
from toolhand.agent_node.conversation_settings import AS_SPACETOOLS, ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.episode import summarize as summarize_episode
from toolhand.agent_node.events import Listener, ignore
from toolhand.agent_node.policy import Policy
from toolhand.sim.tasks.judge import Judge, JudgedStation
from toolhand.sim.tasks.task import Score, Task
from toolhand.tool_nodes.language.speeds import spoken_share
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ToolError, invalid
from toolhand.tool_nodes.toolbox.toolbox import Tools
from toolhand.training.tasks.shown import asked_in, shown_images


class NotJudged(Exception):
    """A task cannot say what would be right: its own reader lacks a word, or finds no goal. The message says which."""


@dataclass(frozen=True)
class Outcome:
    """An episode with its truth.

    Attributes:
        truth: The task's score; None when an infrastructure error made the episode unscorable, and where the task
            cannot judge it.
        task: Task that `truth` was judged against.
        time_to_first_motion_s: Wall time from the command to the arm's first motion, or None.
        sim_time_s: Simulated time of the motions [s].
        judged: The task has said what is right; False where it cannot.
    """

    episode: Episode
    truth: Score | None
    task: Task
    time_to_first_motion_s: float | None
    sim_time_s: float
    judged: bool = True

    @property
    def scored(self) -> bool:
        """False after an infrastructure error, and for what is not judged: it is counted but never scored."""
        return self.truth is not None

    @property
    def false_success(self) -> bool:
        """The tools reported success and the simulator disagrees."""
        return self.episode.success and self.truth is not None and not self.truth.success

    @property
    def denied(self) -> bool:
        """The simulator says success and the tools reported a failure."""
        return not self.episode.success and self.truth is not None and self.truth.success


def run_episode(
    station: JudgedStation,
    policy: Policy,
    task: Task,
    settings: ConversationSettings = AS_SPACETOOLS,
    stopped: Callable[[], bool] = lambda: False,
    listener: Listener = ignore,
    toolbox: Tools | None = None,
) -> Outcome:
    """Let a policy carry out a task on a station that shows its scene, and let the task score what came of it.

    `toolhand.training.env.goal_from_text` makes a task of a sentence alone. The other arguments are those of
    `toolhand.agent_node.agent.Agent`; the protocol is the one that the policy was made for, and the
    toolbox the station's own, where None, or one around it such as `toolhand.training.env.failures.FailingToolbox`.

    Raises:
        ToolError: INVALID_ARGUMENT where the station shows another scene.
    """
    settings = replace(settings, protocol=asked_in(settings.protocol, task))
    require_scene(station, task)
    agent = Agent(policy, toolbox or station.toolbox, settings, stopped, listener)
    camera = getattr(station, "camera", None)  # in another process there is none
    images = shown_images(task, camera, station.toolbox)
    return judged(station, lambda: agent.run(task.text, images, speed=spoken_share(task.text)), lambda episode: task)


def judged(station: JudgedStation, carry_out: Callable[[], Episode], task_of: Callable[[Episode], Task]) -> Outcome:
    """Score what is done about a task, by any policy or person.

    Args:
        task_of: Gives the task, once it is done.
    """
    judge = Judge(station)
    station.arm.first_motion_at = None
    began = time.monotonic()
    episode = carry_out()
    moved_at = station.arm.first_motion_at
    sim_time = judge.sim_time_s
    task, truth, knows = task_of(episode), None, True
    if episode.error_code not in INFRASTRUCTURE_ERRORS:
        try:
            truth = judge.score(task, episode)
        except NotJudged:
            knows = False
        except ToolError as error:
            episode.success, episode.error_code, episode.answer = False, error.code, str(error)
    return Outcome(episode, truth, task, None if moved_at is None else moved_at - began, sim_time, knows)


def require_scene(station: JudgedStation, task: Task) -> None:
    """Raises ToolError INVALID_ARGUMENT where the station shows other objects than the task's scene has."""
    if isinstance(task, str):
        raise invalid(
            "A sentence alone is no task: nothing says what it means.",
            "Take one of toolhand.sim.tasks, or make one with toolhand.training.env.goal_from_text.task_from_text.",
        )
    shown, needed = ({(placed.id, placed.item) for placed in scene.objects} for scene in (station.scene, task.scene))
    if shown != needed:
        raise invalid(
            f"The station shows {station.scene.name or 'a scene'} with other things than the task's scene.",
            "Make it with Station(task.scene).",
        )


def summarize(outcome: Outcome, station: JudgedStation) -> dict[str, Any]:
    """The machine-readable result of a run."""
    truth, first = outcome.truth, outcome.time_to_first_motion_s
    return {
        **summarize_episode(outcome.episode),
        "truth": None if truth is None else truth_document(truth),
        "judged_against": None
        if truth is None and outcome.judged
        else {"goal": outcome.task.goal, "source": outcome.task.source},
        "time_to_first_motion_s": None if first is None else round(first, 3),
        "sim_time_s": round(outcome.sim_time_s, 3),
        "seed": station.config.seed,
        "scene_seed": station.scene.seed,
    }


def truth_document(truth: Score) -> dict[str, Any]:
    """A score as `result.json` has it: its terms, its points, and what was not as it should be.

    `picked` and `placed` are always there: None where the task does not ask for them.
    """
    asked_for_or_not: dict[str, float | None] = {"picked": None, "placed": None, **truth.terms}
    return {**asked_for_or_not, "score": truth.points} | ({"reasons": list(truth.reasons)} if truth.reasons else {})
