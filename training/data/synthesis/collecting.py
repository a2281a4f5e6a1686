"""Many trajectories by many processes, into a folder that always holds whole blocks.

    DIR/synthesis.json              what was asked for; a call for the same, or for more of it, goes on from there
    DIR/shards/, images/, texts/  the kept ones, a collection as `toolhand.training.rollouts.collection` reads it
    DIR/rejected/                   the others, one more collection, each with its reason among its labels
    DIR/jobs/00012.json             what became of each job of a block; written last, so that a block counts with it

Jobs are numbered, and judged in that order: how many processes there are, and which is faster, changes nothing.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from toolhand.agent_node.console.options import SensorName, listed, require_at_least
from toolhand.agent_node.policies.registry import require_form
from toolhand.agent_node.runs.claims import claim
from toolhand.agent_node.runs.folder import write_atomically
from toolhand.sim.tasks.generation import TASKS_VERSION
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import NOTES_BYTES, read_file
from toolhand.tool_nodes.port_names import DEFAULT_SENSOR, require_sensor
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.training.data.synthesis import checks
from toolhand.training.data.synthesis.making import REJECTED, JobResult, Made, Maker
from toolhand.training.data.synthesis.methods import RECIPES, SynthesisJob, chosen_shares, job_of
from toolhand.training.pool.workers import JobEnd, Workers
from toolhand.training.rollouts.collection import write_shard
from toolhand.training.tasks.kinds import other_version
from toolhand.training.tasks.splits import Split, split_named

BLOCK = 20
"""Jobs of a block: a killed run loses no more. Some ten seconds of work."""
DEADLINE_S = 300.0
"""A job that takes longer costs its process [s], ten times the longest on a busy machine."""
PATIENCE = 5
"""Jobs for each requested trajectory after which the collection gives up [-]; a round figure."""

PLAN, JOBS = "synthesis.json", "jobs"


@dataclass(frozen=True)
class SynthesisPlan:
    """What is asked for.

    Attributes:
        n: Trajectories that are kept.
        seed: Seed of everything else; 0 or more.
        policy: Who does the tasks, such as openai:MODEL@URL; scripted teachers where it is left out. As the teacher of
            points it is offered the pointing tool alone.

    Raises:
        ToolError: INVALID_ARGUMENT for another recipe, method, policy or split, a number below 1, and a negative seed.
    """

    recipe: Annotated[
        str, tyro.conf.arg(help=f"Recipe whose methods are used: {listed(RECIPES)}; mixed has shares of all.")
    ] = "mixed"
    n: int = 1000
    seed: int = 0
    split: Annotated[
        Split,
        tyro.conf.arg(help="Split of the tasks; they share no product that is asked for, no layout and no wording."),
    ] = "train"
    methods: Annotated[
        tuple[str, ...],
        tyro.conf.arg(name="method", help="Use these methods alone, e.g. points; all of them where it is left out."),
    ] = ()
    policy: str = ""
    sensor: SensorName = DEFAULT_SENSOR

    def __post_init__(self) -> None:
        require_sensor(self.sensor)
        chosen_shares(self.recipe, self.methods)
        if self.policy:
            require_form(self.policy)
        split_named(self.split)
        require_at_least(1, n=self.n)
        require_at_least(0, seed=self.seed)


@dataclass(frozen=True)
class AttemptEntry:
    """What became of one attempt; the line of a table is made of many.

    Attributes:
        job: Number of the job.
        why: One of `checks.REASONS`, or empty: it is kept.
        turns, tokens, calls, trouble: Counts of the attempt, see `making.Made`.
        cpu_s: Processor time of the whole job, with its first attempt; 0 with the others [s].
    """

    job: int
    method: str
    kind: str
    why: str
    turns: int
    tokens: int
    calls: dict[str, int]
    trouble: str
    cpu_s: float


def collect_data(
    plan: SynthesisPlan, folder: Path, workers: int, on_block: Callable[[int, int], None] = lambda kept, jobs: None
) -> list[AttemptEntry]:
    """Make trajectories until as many are kept as asked for, and write them.

    Args:
        folder: Where to; it may hold a part of the same plan, which is gone on from.
        workers: Number of processes.
        on_block: Called after each block with the numbers of trajectories kept and of jobs done.

    Returns:
        What became of every attempt.

    Raises:
        ToolError: INVALID_ARGUMENT where the folder holds something else; UNAVAILABLE where it cannot be written;
            EXECUTION_FAILED where fewer than one of PATIENCE jobs are worth keeping: what there is stays.
    """
    asked = {key: value for key, value in asdict(plan).items() if key != "n"}
    claim(folder, PLAN, asked | {"tasks_version": TASKS_VERSION}, other=_version_of)
    entries, seen = _done(folder, plan.n)
    kept = sum(not entry.why for entry in entries)
    first = len({entry.job for entry in entries}) // BLOCK
    if kept >= plan.n:
        return entries
    jobs = [
        job_of(plan.recipe, plan.seed, number, plan.methods)
        for number in range(first * BLOCK, PATIENCE * plan.n + BLOCK)
    ]
    with Workers(
        functools.partial(Maker, folder, plan.split, policy=plan.policy, sensor=plan.sensor), workers, DEADLINE_S
    ) as pool:
        for number, block in enumerate(_blocks(pool.run(jobs), first * BLOCK), start=first):
            fresh = _write_block(folder, number, block, plan.n - kept, seen)
            entries += fresh
            kept += sum(not entry.why for entry in fresh)
            on_block(kept, (number + 1) * BLOCK)
            if kept >= plan.n:
                return entries
    raise ToolError(
        ErrorCode.EXECUTION_FAILED,
        f"Only {kept} of {plan.n} trajectories could be kept after {len(jobs)} jobs.",
        "What there is stays in the folder.",
    )


def _blocks(
    ends: Iterator[JobEnd[SynthesisJob, JobResult]], first: int
) -> Iterator[list[JobEnd[SynthesisJob, JobResult]]]:
    """Whole blocks in order, of ends in no order."""
    waiting: dict[int, JobEnd[SynthesisJob, JobResult]] = {}
    for end in ends:
        waiting[end.job.number] = end
        while all(number in waiting for number in range(first, first + BLOCK)):
            yield [waiting.pop(number) for number in range(first, first + BLOCK)]
            first += BLOCK


def _write_block(
    folder: Path, number: int, block: list[JobEnd[SynthesisJob, JobResult]], wanted: int, seen: set[str]
) -> list[AttemptEntry]:
    """Write a block whose first `wanted` are kept; `seen` learns of their fingerprints."""
    lines: dict[bool, list[str]] = {True: [], False: []}
    entries: list[tuple[AttemptEntry, str]] = []
    for end in block:
        if len(lines[True]) >= wanted:
            break
        made: tuple[Made, ...] = (Made(checks.INFRASTRUCTURE, trouble=str(end.problem)),)
        cpu_s = 0.0
        if end.result is not None:
            made, cpu_s = end.result.made, end.result.cpu_s
        for k, one in enumerate(made):
            why = one.why or (checks.DUPLICATE if one.fingerprint in seen else "")
            if not why:
                seen.add(one.fingerprint)
            if one.line and why != checks.DUPLICATE:
                lines[not why].append(one.line)
            entry = AttemptEntry(
                end.job.number,
                end.job.method,
                end.job.kind,
                why,
                one.turns,
                one.tokens,
                dict(one.calls),
                one.trouble,
                round(cpu_s, 3) if k == 0 else 0.0,
            )
            entries.append((entry, "" if why else one.fingerprint))
    write_shard(folder / REJECTED, number, lines[False])
    write_shard(folder, number, lines[True])
    document = [{**asdict(entry), "fingerprint": fingerprint} for entry, fingerprint in entries]
    write_atomically(folder / JOBS / f"{number:05d}.json", f"{json.dumps(document)}\n".encode())
    return [entry for entry, _ in entries]


def _version_of(document: Mapping[str, Any]) -> str:
    """A sentence about a plan whose tasks are of another version of the generator; else empty."""
    return other_version({"version": document.get("tasks_version", 1)})


def _done(folder: Path, wanted: int) -> tuple[list[AttemptEntry], set[str]]:
    """The attempts that are written, and the fingerprints of the kept ones; without a last block that was ended early,
    because it had as many as were asked for then, where more are wanted now."""
    blocks: list[list[tuple[AttemptEntry, str]]] = []
    for path in sorted((folder / JOBS).glob("*.json")):
        try:
            rows: list[dict[str, Any]] = plain_json.load(read_file(path, NOTES_BYTES, folder))
            blocks.append([_entry(row) for row in rows])
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise invalid(f"{path} cannot be read: {error}.") from error
    kept = sum(not entry.why for block in blocks for entry, _ in block)
    if kept < wanted and blocks and len({entry.job for entry, _ in blocks[-1]}) < BLOCK:
        blocks.pop()
    entries = [entry for block in blocks for entry, _ in block]
    return entries, {fingerprint for block in blocks for _, fingerprint in block} - {""}


def _entry(row: dict[str, Any]) -> tuple[AttemptEntry, str]:
    fingerprint = str(row.pop("fingerprint"))
    return AttemptEntry(**row), fingerprint
