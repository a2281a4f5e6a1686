"""One task by one policy, judged by the simulator's truth and by nothing that the policy says or shares."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from toolhand.agent_node.agent import next_turn
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policies.options import ModelSettings, PolicyOptions
from toolhand.agent_node.policies.registry import make_policy, protocol_of
from toolhand.agent_node.policy import Policy, Reply
from toolhand.agent_node.protocol import Protocol
from toolhand.bench.policies.outcome import SHOWN, PolicyOutcome
from toolhand.bench.policies.table import ABSENT
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.task import Score, Task
from toolhand.tool_nodes.names import stream_of
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.backends import make_pool
from toolhand.training.env.difficulty import Difficulty
from toolhand.training.env.environment import Environment
from toolhand.training.env.failures import ran_out_of_time
from toolhand.training.env.session import EpisodeSession
from toolhand.training.env.worlds import world_named
from toolhand.training.rewards.stages import stage_reward
from toolhand.training.tasks.kinds import make_task
from toolhand.training.tasks.shown import ShownTask

_IN_PROCESS = ("transformers:", "smollm2")
"""Policies whose model is in this process: it is loaded once, and writes one conversation at a time."""
_GONE = frozenset({ErrorCode.UNAVAILABLE, ErrorCode.TIMEOUT})
"""Codes of a policy that cannot be asked."""
_MALFORMED = frozenset({ErrorCode.INVALID_ARGUMENT, ErrorCode.UNKNOWN_TOOL})


class PolicyGone(Exception):
    """The policy could not be asked: the task has no outcome, and is to be given to it again."""

    def __init__(self, error: ToolError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True)
class PlaySettings:
    """How tasks are played.

    Attributes:
        difficulty: Level, see `toolhand.training.env.difficulty`.
        world: In place of the difficulty, a name of `toolhand.training.env.worlds`; empty for none.
        protocol: How the policies write, see `toolhand.agent_node.policies.registry.protocol_of`.
        turns: Assistant turns of a conversation.
    """

    config: StationConfig
    difficulty: float
    protocol: str
    turns: int
    split: str
    model: ModelSettings
    world: str = ""


class Player:
    """Plays tasks, from any number of threads.

    Raises:
        ToolError: As of `toolhand.training.env.environment.Environment`.
    """

    def __init__(self, settings: PlaySettings) -> None:
        self._settings = settings
        self._difficulty = Difficulty(settings.difficulty)
        self._world = world_named(settings.world) if settings.world else None
        hard = self._world or self._difficulty
        self._config, self._failures = hard.config(settings.config), hard.failures()
        self._pool = make_pool("physics", self._config)
        self._kept: dict[str, Policy] = {}
        self._one_at_a_time = threading.Lock()

    def play(self, spec: str, kind: str, seed: int) -> PolicyOutcome:
        """What a policy does with a task.

        Raises:
            PolicyGone: It could not be asked.
            ToolError: As of `make_policy`; no task was begun.
        """
        task, protocol = self._task(kind, seed), protocol_of(spec, self._settings.protocol)
        with self._environment(protocol).open(task, seed=seed, rollout=stream_of(kind)) as session:
            if not spec.startswith(_IN_PROCESS):
                return self._played(session, spec, self._policy(spec, kind, seed, session.tools()), (kind, seed))
            with self._one_at_a_time:
                if spec not in self._kept:
                    self._kept[spec] = self._policy(spec, kind, 0, session.tools())
                return self._played(session, spec, self._kept[spec], (kind, seed))

    def close(self) -> None:
        """End what the stations have started."""
        self._pool.close()

    def _environment(self, protocol: Protocol) -> Environment:
        """Where the episodes of a protocol happen, on the stations of all."""
        return Environment(
            self._config,
            settings=ConversationSettings(self._settings.turns, protocol),
            failures=self._failures,
            backend=self._pool,
        )

    def _task(self, kind: str, seed: int) -> Task:
        task = make_task(kind, seed, self._settings.split)
        with_scene = getattr(task, "with_scene", None)
        return task if with_scene is None else with_scene(self._difficulty.scene(task.scene, seed))

    def _policy(self, spec: str, kind: str, seed: int, schemas: Sequence[Mapping[str, Any]]) -> Policy:
        settings = self._settings
        told = () if self._world is None else tuple(self._world.causes(kind, settings.split, seed))
        options = PolicyOptions(**asdict(settings.model), seed=seed, turns=settings.turns, told=told)
        return make_policy(spec, protocol_of(spec, settings.protocol), schemas, options)

    def _played(self, session: EpisodeSession, spec: str, policy: Policy, given: tuple[str, int]) -> PolicyOutcome:
        began, policy_s = time.monotonic(), 0.0
        while not session.done:
            asked = time.monotonic()
            try:
                reply = next_turn(policy, session.messages())
            except ToolError as error:
                if error.code in _GONE:
                    raise PolicyGone(error) from error
                session.abort(error)
            else:
                policy_s += time.monotonic() - asked
                session.say(reply)
        wall_s = time.monotonic() - began
        late = [record.name for record in session.episode.records if ran_out_of_time(record)]
        score: Score | None = None
        try:
            score, why = session.score().truth, ""
        except ToolError as error:
            why = str(error)
        if late:
            score, why = None, f"{late[0]} ran out of wall time: this machine is too busy to tell"
        begun = PolicyOutcome(spec, *given, self._settings.split, session.task.text)
        begun = replace(begun, policy_s=round(policy_s, 4), wall_s=round(wall_s, 4))
        return outcome_of(begun, not isinstance(session.task, ShownTask), session.episode, score, why)


def _least_likely(reply: Reply) -> float | None:
    """Probability of the least likely token of a turn; None where nothing is known of its tokens."""
    known = reply.details.get("probability")
    if known is not None or not reply.logprobs:
        return known
    return round(math.exp(min(reply.logprobs)), 4)


def outcome_of(begun: PolicyOutcome, deed: bool, episode: Episode, score: Score | None, why: str = "") -> PolicyOutcome:
    """What there is to say of an episode.

    Args:
        begun: With the policy, the task and the times.
        deed: The arm is to do something; else the task is a question.
        episode: The whole conversation.
        score: The task's own score; None where an infrastructure error left none.
        why: Why there is no score; empty where there is one.
    """
    right = score is not None and score.success
    replies = [turn.as_sampled for turn in episode.turns]
    answered = bool(episode.answer.strip()) and episode.error_code is None
    outcome = replace(
        begun,
        scored=score is not None,
        success=right,
        deed=deed,
        refused=not answered,
        looked=any(record.image_index is not None for record in episode.records),
        error_code=None if episode.error_code is None else str(episode.error_code),
        calls=episode.tool_calls,
        invalid=sum(exchange.error_code in _MALFORMED for turn in episode.turns for exchange in turn.exchanges),
        turns=len(episode.turns),
        probability=_least_likely(replies[0]) if replies else None,
        prompt_tokens=sum(reply.prompt_tokens for reply in replies),
        completion_tokens=sum(reply.completion_tokens for reply in replies),
        cost=round(sum(reply.cost for reply in replies), 8),
        answer=episode.answer[:SHOWN],
        reasons=why[:SHOWN],
    )
    if score is None:
        return outcome
    terms = [float(value) for value in score.terms.values()]
    reward = stage_reward(score.stages) if score.stages else sum(terms) / len(terms) if deed else terms[0]
    return replace(
        outcome,
        wrong_object=bool(score.wrong_objects),
        false_success=deed and episode.success and not right,
        denied=deed and begun.kind != ABSENT and right and not episode.success,
        wrong_answer=not deed and answered and not right,
        reward=round(reward, 6),
        reasons="; ".join(score.reasons)[:SHOWN],
    )
