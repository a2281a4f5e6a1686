"""A task on a simulated station as an environment: whoever trains owns the loop.

    environment = Environment()
    observation = environment.reset(random_task(seed=7), seed=7)
    done = False
    while not done:
        observation, rewards, done = environment.step(policy.respond(observation))

The rewards are the named terms of the task's own score, all at the end; what training adds, such as a cost of malformed
turns, it reads from `episode`. One environment has one episode at a time; steps may come from
any thread, one after the other. Environments share nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from agent_node.conversation import TURN_BUDGET, Conversation
from agent_node.episode import Episode
from agent_node.memory import Memory
from agent_node.policy import Message, Reply
from agent_node.protocol import Protocol
from agent_node.recovery import Recovery
from sim.station import Station, StationConfig, StationState
from sim.tasks.judge import Judge, JudgedStation
from sim.tasks.predicates import Snapshot
from sim.tasks.task import Score, Task
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, ToolError
from tool_nodes.toolbox.toolbox import CallRecord
from training.episode import require_scene
from training.failures import FACT, FailingToolbox, Failures
from training.tasks.shown import shown_picture

Observation = tuple[Message, ...]
"""The whole conversation, as the policy reads it next."""


class Step(NamedTuple):
    """What one turn led to.

    Attributes:
        observation: The conversation with the turn and its results.
        rewards: The terms of the task's score, each in 0..1 (a bool where there is nothing in between), when it is
            done; empty before.
        done: The episode is over.
    """

    observation: Observation
    rewards: Mapping[str, float]
    done: bool


@dataclass(frozen=True)
class SavedEpisode:
    """An episode so far, with the station that it is at; any number of environments can go on from it.

    Attributes:
        station: The physics, the cameras and what the robot knows; this part can be pickled.
        conversation: What was said and collected.
        task: What is to be done.
        before: The things before the robot moved.
    """

    station: StationState
    conversation: Conversation
    task: Task
    before: Snapshot


class Environment:
    """Tasks to be done one after the other, on one station that each of them finds as new.

    An infrastructure error (UNAVAILABLE or INTERNAL: a backend that is gone, a crash inside, physics that broke) is
    never a reward: `step` raises it, and that episode is to be dropped. The environment can be reset after it.

    Args:
        config: Backends of the stations; the seed is that of `reset`.
        make_station: Makes a station for each task instead, e.g. one over ROS 2.
        turn_budget, protocol, recovery, memory: Of the conversations, see `agent_node.conversation.Conversation`.
        failures: What fails on purpose; nothing where None.
    """

    def __init__(
        self,
        config: StationConfig | None = None,
        make_station: Callable[[Task, StationConfig], JudgedStation] | None = None,
        turn_budget: int = TURN_BUDGET,
        protocol: Protocol | None = None,
        recovery: Recovery | None = None,
        memory: Memory | None = None,
        failures: Failures | None = None,
    ) -> None:
        self._config = config or StationConfig()
        self._make_station = make_station
        self._station: Station | None = None
        self._turn_budget = turn_budget
        self._protocol = protocol
        self._recovery = recovery
        self._memory = memory
        self._failures = failures or Failures()
        self._running: tuple[Conversation, Task, Judge] | None = None
        self.score: Score | None = None
        """Of the episode that is over; None before its end, and where there is none."""

    @property
    def episode(self) -> Episode:
        """The record of the episode so far. Raises ToolError INVALID_ARGUMENT before the first reset."""
        return self._begun()[0].episode

    def reset(self, task: Task, seed: int = 0, rollout: int = 0) -> Observation:
        """Begin a task, whatever has become of the one before; the same seed and the same turns give the same bytes.

        Args:
            task: What is to be done.
            seed: Of noise, grasp sampling, planning and failures on purpose; 0 or more.
            rollout: Which of its group it is: each may fail by itself, see `training.failures.Failures`.

        Raises:
            ToolError: INVALID_ARGUMENT for a bad seed, and where `make_station` shows another scene;
                the error that ended the conversation where it was over before its first turn.
        """
        self._running = self.score = None
        if self._make_station is not None:
            station = self._make_station(task, replace(self._config, seed=seed))
        else:
            station = self._own_station(task, seed)
        require_scene(station, task)
        judge = Judge(station)
        conversation = Conversation(
            task.text,
            FailingToolbox(station.toolbox, self._failures, seed, rollout),
            self._turn_budget,
            protocol=self._protocol,
            recovery=self._recovery,
            memory=self._memory,
            picture=shown_picture(task, station),
        )
        if conversation.done:
            raise ToolError(conversation.episode.error_code or ErrorCode.INTERNAL, conversation.episode.answer)
        self._running = conversation, task, judge
        return conversation.messages

    def step(self, turn: Reply) -> Step:
        """Take one assistant turn; when it is the last, let the task score the episode.

        Args:
            turn: What the policy says to the last observation, with its tokens where they are to be kept.

        Raises:
            ToolError: INVALID_ARGUMENT before a reset, after the end and for what is no Reply; any other is an
                infrastructure error: the episode has no score.
        """
        conversation, task, judge = self._begun()
        conversation.step(turn)
        episode = conversation.episode
        if any(_late(record) for record in episode.turns[-1].calls):
            self._station = None  # what did not end in time may still change something
        if not conversation.done:
            return Step(conversation.messages, {}, False)
        try:
            if episode.error_code in INFRASTRUCTURE_ERRORS:
                raise ToolError(episode.error_code, f"The episode has no score: {episode.answer}")
            self.score = judge.score(task, episode)
        except ToolError:
            self._station = None
            raise
        return Step(conversation.messages, dict(self.score.terms), True)

    def save(self) -> SavedEpisode:
        """The episode so far, between two steps: a whole group can start from it.

        Raises:
            ToolError: INVALID_ARGUMENT before a reset, and for a station that is not in this process.
        """
        conversation, task, judge = self._begun()
        if self._station is None:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, "Only an episode on a sound station of its own can be saved.")
        return SavedEpisode(self._station.save(), conversation.fork(), task, judge.before)

    def restore(self, moment: SavedEpisode, rollout: int = 0) -> Observation:
        """Go on from a saved moment, here or in another environment: the same turns give the same bytes.

        Args:
            moment: Where to go on.
            rollout: As of `reset`.

        Raises:
            ToolError: INVALID_ARGUMENT for a moment of another configuration, or where `make_station` was given.
        """
        if self._make_station is not None:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, "Only an environment with stations of its own restores.")
        if self._station is None or self._station.scene != moment.task.scene:
            self._station = self._own_station(moment.task, moment.station.config.seed)
        self._station.restore(moment.station)
        seed = moment.station.config.seed
        conversation = moment.conversation.fork(FailingToolbox(self._station.toolbox, self._failures, seed, rollout))
        self._running = conversation, moment.task, Judge(self._station, moment.before)
        self.score = None
        return conversation.messages

    def _own_station(self, task: Task, seed: int) -> Station:
        """The station as new, with a task's things on its table."""
        if self._station is None:
            self._station = Station(task.scene, replace(self._config, seed=seed))
        else:
            self._station.reset(seed, task.scene)
        return self._station

    def _begun(self) -> tuple[Conversation, Task, Judge]:
        if self._running is None:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, "The environment has no episode.", "Call reset(task) first.")
        return self._running


def _late(record: CallRecord) -> bool:
    error = record.result.error
    return error is not None and error.code is ErrorCode.TIMEOUT and FACT not in record.result.facts
