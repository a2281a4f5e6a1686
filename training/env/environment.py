"""Tasks on stations as an environment: the caller owns the loop.

    environment = Environment()
    with environment.open(random_task(seed=7), seed=7) as session:
        while not session.done:
            session.say(policy.respond(session.messages()))
        print(session.score().total)

`open` gives any number of episodes at once, each on a station of its own; see
`toolhand.training.env.session.EpisodeSession` for their verbs. `reset` and `step` are the same for one episode at a
time. Environments share nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from toolhand.agent_node.conversation import Conversation
from toolhand.agent_node.conversation_settings import AS_SPACETOOLS, ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.opening import ShownToPolicy
from toolhand.agent_node.policy import Message, Reply
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.judge import JudgedStation
from toolhand.sim.tasks.task import Score, Task
from toolhand.tool_nodes.language.speeds import spoken_share
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.toolbox.toolbox import Tools
from toolhand.tool_nodes.tools.suites import require_installed
from toolhand.training.env.backends import CallbackPool, StationLease, StationPool, make_pool
from toolhand.training.env.failures import FailingToolbox, Failures
from toolhand.training.env.grading import Grader, mean_of_terms
from toolhand.training.env.session import EpisodeSession, SavedEpisode
from toolhand.training.tasks.shown import asked_in, shown_images

Observation = tuple[Message, ...]
"""The whole conversation, as the policy reads it next."""


class Step(NamedTuple):
    """What one turn led to.

    Attributes:
        observation: The conversation with the turn and its results.
        rewards: The terms of the grader when it is done, by default those of the task's score, each in 0..1; empty
            before.
        done: The episode is over.
    """

    observation: Observation
    rewards: Mapping[str, float]
    done: bool


class Environment:
    """Tasks to be done, each on a station that it finds as new.

    Args:
        config: Backends of the stations; the seed is each episode's.
        make_station: Makes a station for each task instead, e.g. one over ROS 2 that is there already.
        settings: Turn budget, protocol, recovery and memory of the conversations.
        failures: Failures to inject, or a function that tells it of an episode's task and seed; nothing where
            None.
        grader: Makes the total of an episode.
        backend: Where the episodes happen, one of `toolhand.training.env.backends.BACKENDS`, or stations of one's own.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown backend, or one that lacks something of the configuration;
            UNAVAILABLE where a tool would need an extra that is not installed.
    """

    def __init__(
        self,
        config: StationConfig | None = None,
        make_station: Callable[[Task, StationConfig], JudgedStation] | None = None,
        settings: ConversationSettings = AS_SPACETOOLS,
        failures: Failures | Callable[[Task, int], Failures] | None = None,
        grader: Grader = mean_of_terms,
        backend: str | StationPool = "physics",
    ) -> None:
        config = config or StationConfig()
        if make_station is not None:
            backend = CallbackPool(make_station, config)
        require_installed(config.suites, config.perception, config.ports)
        self._pool = make_pool(backend, config) if isinstance(backend, str) else backend
        self._settings = settings
        self._failures = failures or Failures()
        self._grader = grader
        self._session: EpisodeSession | None = None
        self.score: Score | None = None
        """Of the episode of `reset` that is over; None before its end, and where there is none."""

    def open(self, task: Task, seed: int = 0, rollout: int = 0) -> EpisodeSession:
        """Begin a task, beside whatever else is open; the same seed and the same turns give the same bytes.

        Args:
            seed: Seed of noise, grasp sampling, planning and failures on purpose; 0 or more.
            rollout: Which of its group it is: each may fail by itself, see `toolhand.training.env.failures.Failures`.

        Raises:
            ToolError: INVALID_ARGUMENT for a bad seed, and for a task that cannot be done or judged there;
                the error that ended the conversation where it was over before its first turn.
        """
        lease = self._pool.take(task, seed)

        def begin(tools: Tools) -> Conversation:
            settings = replace(self._settings, protocol=asked_in(self._settings.protocol, task))
            shown = ShownToPolicy(shown_images(task, lease.camera, lease.toolbox))
            return Conversation(task.text, tools, settings, shown=shown, speed=spoken_share(task.text))

        return self._session_at(lease, task, seed, rollout, begin)

    def resume(self, snapshot: SavedEpisode, rollout: int = 0) -> EpisodeSession:
        """Go on from a saved snapshot, here or in another environment: the same turns give the same bytes.

        Args:
            rollout: Number of the rollout, see `open`.

        Raises:
            ToolError: INVALID_ARGUMENT for a snapshot of another configuration, or where the backend is not `physics`.
        """
        lease = self._pool.resume(snapshot.task, snapshot.station, snapshot.before)
        seed = snapshot.station.config.seed
        return self._session_at(lease, snapshot.task, seed, rollout, snapshot.conversation.fork, snapshot.turn_ends_s)

    def _session_at(
        self,
        lease: StationLease,
        task: Task,
        seed: int,
        rollout: int,
        begin: Callable[[Tools], Conversation],
        turn_ends_s: tuple[float | None, ...] = (),
    ) -> EpisodeSession:
        try:
            failures = self._failures(task, seed) if callable(self._failures) else self._failures
            tools = FailingToolbox(lease.toolbox, failures, seed, rollout)
            return EpisodeSession(task, begin(tools), tools, lease, self._grader, seed, rollout, turn_ends_s)
        except ToolError:
            lease.release(True)
            raise
        except BaseException:  # such as Ctrl-C: a station without an owner is not to be trusted
            lease.release(False)
            raise

    def close(self) -> None:
        """End what the backend has started, such as graphs of ROS 2."""
        self._leave()
        self._pool.close()

    # -- one episode at a time -------------------------------------------------------------------------

    @property
    def episode(self) -> Episode:
        """The record of the episode so far. Raises ToolError INVALID_ARGUMENT before the first reset."""
        return self._begun().episode

    def reset(self, task: Task, seed: int = 0, rollout: int = 0) -> Observation:
        """As `open`, whatever has become of the episode before."""
        self._leave()
        self._session = self.open(task, seed, rollout)
        return self._session.messages()

    def step(self, turn: str | Reply) -> Step:
        """Take one assistant turn; when it is the last, let the task score the episode.

        Args:
            turn: The policy's turn after the last observation, with its tokens where they are to be kept.

        Raises:
            ToolError: INVALID_ARGUMENT before a reset, after the end and for what is no turn; any other is an
                infrastructure error: the episode has no score and is to be dropped.
        """
        session = self._begun()
        if not session.say(turn).done:
            return Step(session.messages(), {}, False)
        score = session.score()
        self.score = score.truth
        return Step(session.messages(), dict(score.terms), True)

    def save(self) -> SavedEpisode:
        """As `EpisodeSession.save`. Raises also ToolError INVALID_ARGUMENT before a reset."""
        return self._begun().save()

    def restore(self, snapshot: SavedEpisode, rollout: int = 0) -> Observation:
        """As `resume`, whatever has become of the episode before."""
        self._leave()
        self._session = self.resume(snapshot, rollout)
        return self._session.messages()

    def _leave(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = self.score = None

    def _begun(self) -> EpisodeSession:
        if self._session is None:
            raise invalid("The environment has no episode.", "Call reset(task) first.")
        return self._session
