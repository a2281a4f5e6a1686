"""What a process does about one rollout: an episode of the plan's policy, its score, and its record as a line."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from toolhand.agent_node.agent import next_turn
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.protocol import load_protocol
from toolhand.sim.objects.chosen import choose_sets
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, ToolError
from toolhand.training.env.failures import ran_out_of_time
from toolhand.training.env.session import EpisodeSession
from toolhand.training.pool.workers import WorkerUnusable
from toolhand.training.rollouts.from_episode import record_of
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.labels import objects_of
from toolhand.training.rollouts.plan import RolloutPlan
from toolhand.training.rollouts.record import RolloutRecord
from toolhand.training.rollouts.replies import Halt, RolloutBrief, RolloutOrder, RolloutReply

NOT_ITS_DOING = INFRASTRUCTURE_ERRORS | {ErrorCode.TIMEOUT, ErrorCode.STOPPED}
"""What ends a policy's turn from outside: such a rollout is dropped and never scored."""


def brief_of(record: RolloutRecord) -> RolloutBrief:
    """The brief of a record."""
    calls = sum(call.run for turn in record.turns for call in turn.calls)
    return RolloutBrief(record.total, record.true_success, len(record.turns), calls, record.times)


def make_work(plan: RolloutPlan, folder: Path) -> Callable[[RolloutOrder], RolloutReply | Halt]:
    """The work of one process on a plan's rollouts: it has an environment of its own, which all of them share.

    The work raises ToolError for a rollout that is to be dropped, and WorkerUnusable where a tool ran out of time:
    what has not ended may still change something.

    Args:
        folder: Folder of the collection: images and long texts are written there.
    """
    choose_sets(plan.objects)
    environment = plan.environment()
    store = ImageStore(folder)
    task_of_group = functools.lru_cache(2)(plan.task)

    def work(order: RolloutOrder) -> RolloutReply | Halt:
        clock = Clock()
        try:
            task = task_of_group(order.group)
            clock.lap("task")
            session = environment.open(task, plan.station_seed(order.group), order.rollout)
        except ToolError as error:
            return _halt_or_raise(error)
        clock.lap("station")
        with session:
            try:
                schemas = session.tools()
                options = plan.options(order.group, order.rollout)
                policy = make_policy(plan.policy, load_protocol(plan.protocol), schemas, options)
            except ToolError as error:
                return Halt(error)
            play(session, policy, clock)
            try:
                played = session.scored()
            except ToolError as error:
                return _halt_or_raise(error)
            clock.lap("judging")
            try:
                record = record_of(
                    played,
                    store,
                    labels=objects_of(session),
                    task=plan.tasks[order.group],
                    policy=plan.policy,
                    group=order.group,
                    seeds={
                        "plan": plan.seed,
                        "station": plan.station_seed(order.group),
                        "policy": plan.policy_seed(order.group, order.rollout),
                    },
                )
                clock.lap("images")
                record = replace(record, times={stage: round(spent, 6) for stage, spent in clock.times.items()})
                line = record.to_json(store)
            except ToolError as error:
                return Halt(error)
        return RolloutReply(line, brief_of(record), clock.cpu_s, _peak_mb())

    return work


def play(session: EpisodeSession, policy: Policy, clock: Clock | None = None, turns: int | None = None) -> None:
    """Play the turns of an episode, all that are left or `turns` more.

    Raises:
        ToolError: The policy cannot speak, through no fault of its own.
        WorkerUnusable: A tool ran out of its time.
    """
    clock = clock or Clock()
    last = None if turns is None else len(session.episode.turns) + turns
    while not session.done and len(session.episode.turns) != last:
        try:
            reply = next_turn(policy, session.messages())
        except ToolError as error:
            clock.lap("policy")
            if error.code in NOT_ITS_DOING:
                raise
            session.abort(error)
            return
        clock.lap("policy")
        session.say(reply)
        clock.lap("agent")
        calls = session.episode.turns[-1].calls
        clock.move(sum(record.wall_s for record in calls), "agent", "tools")
        late = [record.name for record in calls if ran_out_of_time(record)]
        if late:
            raise WorkerUnusable(ToolError(ErrorCode.TIMEOUT, f"{late[0]} ran out of its time."))


class Clock:
    """Wall time by stage."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self._cpu, self._since = time.process_time(), time.perf_counter()

    def lap(self, stage: str) -> float:
        """The time since the lap before counts for a stage [s]."""
        now = time.perf_counter()
        spent, self._since = now - self._since, now
        self.times[stage] = self.times.get(stage, 0.0) + spent
        return spent

    def move(self, seconds: float, source: str, target: str) -> None:
        """So much of one stage was another's."""
        self.times[source] -= seconds
        self.times[target] = self.times.get(target, 0.0) + seconds

    @property
    def cpu_s(self) -> float:
        """CPU time since the beginning [s]."""
        return time.process_time() - self._cpu


def _halt_or_raise(error: ToolError) -> Halt:
    """What is wrong with the plan itself is wrong with every rollout."""
    if error.code is ErrorCode.INVALID_ARGUMENT:
        return Halt(error)
    raise error


def _peak_mb() -> float:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024
