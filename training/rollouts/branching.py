"""A group whose rollouts begin in the middle of an episode, all in one saved state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolhand.agent_node.console.options import require_at_least
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.protocol import load_protocol
from toolhand.agent_node.runs.claims import require_empty
from toolhand.sim.objects.chosen import choose_sets
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import read_file
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.training.env.environment import Environment
from toolhand.training.env.session import EpisodeSession, SavedEpisode
from toolhand.training.rollouts.collection import write_shard
from toolhand.training.rollouts.from_episode import record_of
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.labels import objects_of
from toolhand.training.rollouts.plan import PLAN_BYTES, PLAN_FILE, RolloutPlan
from toolhand.training.rollouts.record import RolloutRecord
from toolhand.training.rollouts.work import play


def plan_of(folder: Path) -> RolloutPlan:
    """The plan that a folder was collected by. Raises ToolError INVALID_ARGUMENT where it has none."""
    path = folder / PLAN_FILE
    try:
        document = plain_json.load(read_file(path, PLAN_BYTES, folder))
    except (OSError, ValueError) as error:
        raise invalid(f"{path} is no plan of rollouts that can be read.") from error
    try:
        return RolloutPlan.of_document(document)
    except ToolError as error:
        message = f"{path} is no plan of rollouts: {error.message.rstrip('.')}."
        raise ToolError(error.code, message, error.hint) from error


def branch(
    plan: RolloutPlan,
    group: int,
    after: int,
    folder: Path,
    count: int = 8,
    on_record: Callable[[RolloutRecord], None] = lambda record: None,
) -> list[RolloutRecord]:
    """Play the first turns of a group's task once, and go on from there several times; all in this process.

    The first turns are those of the group's rollout 0. From there on each rollout has a policy with a seed of its own
    and fails on purpose by itself, as in `toolhand.training.rollouts.engine.collect`.

    Args:
        plan: Plan with the task, world, policy and reward; on physics.
        group: Which task of the plan.
        after: Number of turns that are played before the state is saved, 0 or more.
        folder: Where the records go, as shard 0 of a collection; a new one, or an empty one.
        count: Rollouts, 2 or more.

    Raises:
        ToolError: INVALID_ARGUMENT for numbers out of range, a folder that holds something, or an episode that is over
            by then; as of `toolhand.training.env.session`.
    """
    if not 0 <= group < len(plan.tasks):
        raise invalid(f"The group must be 0 to {len(plan.tasks) - 1}, got {group}.")
    require_at_least(0, after=after)
    require_at_least(2, n=count)
    require_empty(folder)
    choose_sets(plan.objects)
    environment = plan.environment()
    snapshot, labels = _snapshot(environment, plan, group, after)
    store = ImageStore(folder)
    records = []
    for number in range(count):
        with environment.resume(snapshot, number) as session:
            play(session, _policy(session, plan, group, number))
            record = record_of(
                session.scored(),
                store,
                labels=[*labels, *objects_of(session)[len(labels) :]],
                task=plan.tasks[group],
                policy=plan.policy,
                seeds={"plan": plan.seed, "policy": plan.policy_seed(group, number)},
            )
        records.append(record)
        on_record(record)
    write_shard(folder, 0, [record.to_json(store) for record in records])
    return records


def _snapshot(
    environment: Environment, plan: RolloutPlan, group: int, after: int
) -> tuple[SavedEpisode, list[Mapping[str, Any]]]:
    """The state after the first turns, and what their points lay on."""
    with environment.open(plan.task(group), plan.station_seed(group)) as session:
        play(session, _policy(session, plan, group, 0), turns=after)
        if session.done:
            turns = len(session.episode.turns)
            raise invalid(f"The episode is over after {turns} turns: save it earlier.")
        return session.save(), objects_of(session)


def _policy(session: EpisodeSession, plan: RolloutPlan, group: int, number: int) -> Policy:
    return make_policy(plan.policy, load_protocol(plan.protocol), session.tools(), plan.options(group, number))
