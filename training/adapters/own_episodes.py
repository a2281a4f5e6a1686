"""Episodes that a model with an adapter plays itself, as tokens to be learned: in this process, or in several.

Word for word as `toolhand rollouts collect` plays them, in the protocol of the policy, several at once, whose tokens a
model computes together (`toolhand.training.adapters.packed`). Where there are several processes, each has a copy of the
model on one processor core, and takes the adapter from a file; a GPU is left to the training.
"""

from __future__ import annotations

import functools
import json
import math
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from toolhand.agent_node.policies.chat import ChatTurn
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.transformers_chat import TransformersChat
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.adapters.endings import scored_or_dropped
from toolhand.training.adapters.episodes import Episodes
from toolhand.training.adapters.packed import PackedModel
from toolhand.training.pool.workers import Workers
from toolhand.training.rollouts.plan import tasks_of
from toolhand.training.rollouts.work import WorkerUnusable, play

KINDS = ("pick", "relational_pick", "pick_and_place", "absent")
"""Kinds of tasks, in turn."""

_FIRST_TASK = 50_000
"""Tasks of the seed 0 begin here: none that trajectories are made of by hand or by the tests [-]."""
_EPISODE_S = 300.0
"""Longest wall time of an episode in a process of its own [s]; most take 5."""

_LOST = frozenset({ErrorCode.TIMEOUT, ErrorCode.INTERNAL})
"""Codes of an episode that cost its process, by a tool that did not end or by its death: it is dropped."""

TokenTurn = tuple[list[int], tuple[int, ...], tuple[float, ...]]
"""Tokens that were read, tokens that were written, and their log-probabilities."""


@dataclass(frozen=True)
class EpisodeSettings:
    """What is played, and how.

    Attributes:
        model: Folder of the base model.
        adapter: Folder of the adapter that is begun with.
        rounds: Steps; each has new tasks.
        groups: Tasks of a step.
        group_size: Rollouts of a task.
        max_tokens: Tokens of a turn, at most.
        turns: Turns of an episode, at most.
        protocol, reward, backend, difficulty, world, timestep: Those of `toolhand.training.rollouts.plan.RolloutPlan`.
        seed: Seed of tasks, noise and sampling.
        workers: Processes that play; 1 is this one, with the model itself.
        lanes: Episodes that each plays at once.
        bf16: Processes compute in bfloat16 and not in float32: three times as fast where the processor multiplies it.
    """

    model: str
    adapter: str
    rounds: int = 1
    groups: int = 4
    group_size: int = 4
    temperature: float = 1.0
    max_tokens: int = 60
    turns: int = 12
    protocol: str = "compact"
    reward: str = "safe_stages"
    backend: str = "physics"
    difficulty: float = 0.2
    world: str = ""
    timestep: float = 0.002
    seed: int = 0
    workers: int = 1
    lanes: int = 16
    bf16: bool = False

    def episodes(self) -> Episodes:
        """Where they happen."""
        own = ("protocol", "reward", "backend", "difficulty", "world", "timestep", "turns")
        return Episodes({name: getattr(self, name) for name in own})

    def tasks(self) -> list[str]:
        """The tasks of all rounds as rows of JSON, the same for all that have this seed."""
        tasks = tasks_of(KINDS, self.rounds * self.groups, _FIRST_TASK + self.seed, "train")
        return [json.dumps({"task": task, "seed": k}, sort_keys=True) for k, task in enumerate(tasks)]


class LearningChat(TransformersChat):
    """The policy of a model that is being trained, as it is now.

    Attributes:
        turns: Those since `begin`.
    """

    def __init__(self, model: Any, settings: EpisodeSettings, protocol: Protocol) -> None:
        self._given = model
        self.turns: list[TokenTurn] = []
        options = PolicyOptions(temperature=settings.temperature, max_tokens=settings.max_tokens)
        super().__init__(settings.model, protocol, options)

    def _weights(self, name: str, factory: Any) -> Any:
        self._device = str(self._given.device)
        return self._given

    def begin(self, seed: int) -> None:
        """Forget the conversation before, and what weights before these made of it; sample from this seed."""
        self._options, self.turns = replace(self._options, seed=seed), []
        self._clear_cache()

    def _prompt(self, turns: Sequence[ChatTurn]) -> Any:
        self._read = super()._prompt(turns)
        return self._read

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """See TransformersChat."""
        with self._given.writing():
            reply = super().respond(conversation)
        self.turns.append((list(self._read.ids), reply.token_ids, reply.logprobs))
        return reply


@dataclass(frozen=True)
class OwnEpisodeJob:
    """One episode: a row of `EpisodeSettings.tasks`, and which of its group."""

    row: str
    which: int


@dataclass(frozen=True)
class _Part:
    """What a process is given at once, and the folder of the adapter that plays it."""

    jobs: tuple[OwnEpisodeJob, ...]
    adapter: str


@dataclass(frozen=True)
class OwnEpisode:
    """What the model has done.

    Attributes:
        turns: The turns, as tokens.
        reward: None where something broke from outside: nothing is to be learned of it.
        right: The task's own score calls it a success.
    """

    turns: Sequence[TokenTurn]
    reward: float | None = None
    right: bool = False


def play_episode(policy: LearningChat, episodes: Episodes, settings: EpisodeSettings, job: OwnEpisodeJob) -> OwnEpisode:
    """Play one.

    Raises:
        WorkerUnusable: A tool ran out of its time.
        ToolError: The model cannot be asked, through no fault of its own.
    """
    row: Mapping[str, Any] = json.loads(job.row)
    policy.begin((settings.seed * 1009 + int(row["seed"])) * settings.group_size + job.which)
    with episodes.open(row, job.which) as session:
        play(session, policy)
        scored, _ = scored_or_dropped(session)
        if scored is None:
            return OwnEpisode(policy.turns)
        return OwnEpisode(policy.turns, scored.total, scored.truth.success)


class OwnEpisodes:
    """Plays episodes; used as a context manager.

    Args:
        settings: How many processes, and all else.
    """

    def __init__(self, settings: EpisodeSettings) -> None:
        self._settings = settings
        self.here = settings.episodes()
        self._workers: Workers[_Part, list[OwnEpisode]] | None = None
        if settings.workers > 1:
            make = functools.partial(_make_player, settings)
            self._workers = Workers(make, settings.workers, deadline_s=2 * _EPISODE_S)

    def __enter__(self) -> OwnEpisodes:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End what was started."""
        self.here.close()
        if self._workers is not None:
            self._workers.close()

    def in_processes(self, jobs: Sequence[OwnEpisodeJob], adapter: str) -> list[OwnEpisode]:
        """Play jobs in the processes, with the adapter of a folder; episodes that broke have no reward.

        Raises:
            ToolError: No process can begin, or the model cannot be asked.
        """
        assert self._workers is not None
        step = min(2 * self._settings.lanes, math.ceil(len(jobs) / self._settings.workers))
        parts = [_Part(tuple(jobs[k : k + step]), adapter) for k in range(0, len(jobs), step)]
        made = {}
        for end in self._workers.run(parts):
            if end.problem is not None and end.problem.code not in _LOST:
                raise end.problem
            made[end.job] = end.result or [OwnEpisode(())] * len(end.job.jobs)
        return [episode for part in parts for episode in made[part]]

    def with_model(self, model: Any, jobs: Sequence[OwnEpisodeJob]) -> list[OwnEpisode]:
        """Play jobs in this process by a model as it is now."""
        return play_together(model, self.here, self._settings, jobs)


def play_together(
    model: Any, episodes: Episodes, settings: EpisodeSettings, jobs: Sequence[OwnEpisodeJob]
) -> list[OwnEpisode]:
    """Play jobs by one model, `lanes` at once. Raises ToolError where the model cannot be asked."""
    own = threading.local()
    lanes = min(settings.lanes, len(jobs))
    with PackedModel(model) as shared, ThreadPoolExecutor(lanes) as pool:

        def play_one(job: OwnEpisodeJob) -> OwnEpisode:
            if not hasattr(own, "policy"):
                own.policy = LearningChat(shared, settings, episodes.protocol)
            try:
                return play_episode(own.policy, episodes, settings, job)
            except WorkerUnusable:
                return OwnEpisode(own.policy.turns)  # it has no reward, and is dropped as any other that broke

        return list(pool.map(play_one, jobs))


def _make_player(settings: EpisodeSettings) -> Any:
    """What one process does about a job."""
    import torch

    torch.set_num_threads(1)
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    player = _Player(settings)
    return player.play


class _Player:
    """A model on the processor whose adapter can be exchanged."""

    def __init__(self, settings: EpisodeSettings) -> None:
        self._loaded, self._settings, self._episodes = "", settings, settings.episodes()

    def play(self, part: _Part) -> list[OwnEpisode]:
        """Play what it is given."""
        if part.adapter != self._loaded:
            self._model, self._loaded = self._merged(part.adapter), part.adapter
        return play_together(self._model, self._episodes, self._settings, part.jobs)

    def _merged(self, adapter: str) -> Any:
        import torch
        from peft import PeftModel
        from transformers import AutoModelForCausalLM

        base = AutoModelForCausalLM.from_pretrained(self._settings.model, dtype=torch.float32, use_safetensors=True)
        merged = PeftModel.from_pretrained(base, adapter).merge_and_unload().eval()
        return merged.to(torch.bfloat16 if self._settings.bf16 else torch.float32)


def as_rollout(turns: Sequence[TokenTurn], end: int) -> tuple[list[int], list[int], list[float], list[int]]:
    """(prompt, completion, log-probabilities, mask) of an episode.

    The mask leaves out what tools answered, and a turn whose tokens the next prompt reads otherwise.

    Args:
        turns: Turns of the episode; none where the model could not be asked.
        end: Token that stands for an episode without a turn, which is not learned.
    """
    if not turns:
        return [end], [end], [0.0], [0]
    first, (last, written, _) = turns[0][0], turns[-1]
    ids = [*last, *written]
    if ids[: len(first)] != first:
        first = last  # the conversation begins otherwise: its last turn alone can be learned
    logprobs, mask = [0.0] * len(ids), [0] * len(ids)
    for read, wrote, likely in turns:
        begin, after = len(read), len(read) + len(wrote)
        if begin >= len(first) and ids[:after] == [*read, *wrote]:
            logprobs[begin:after], mask[begin:after] = list(likely), [1] * len(wrote)
    at = len(first)
    return first, ids[at:], logprobs[at:], mask[at:]
