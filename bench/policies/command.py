"""`toolhand bench policy`: any policies on the same tasks of all kinds, one table, resumable."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from toolhand.agent_node.console.terminal import say
from toolhand.agent_node.policies.registry import protocol_of, require_form
from toolhand.agent_node.runs.folder import encode, write_atomically, write_json
from toolhand.bench.commands.policy import Options
from toolhand.bench.frame import Benchmark
from toolhand.bench.policies.outcome import PAGE, TABLE, OutcomeFolder, PolicyOutcome
from toolhand.bench.policies.page import policies_page
from toolhand.bench.policies.papers import NOT_THE_SAME, PAPER_ROWS
from toolhand.bench.policies.playing import Player, PlaySettings, PolicyGone
from toolhand.bench.policies.table import (
    ABSENT,
    differences,
    differences_markdown,
    kind_rows,
    kinds_markdown,
    policies_markdown,
    policy_row,
)
from toolhand.bench.stats import machine, publish
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.generation import TASKS_VERSION
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.port_names import AS_PRESET, DEFAULT_PRESET, PortNames
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.tools.suites import parse_suites, require_installed
from toolhand.training.env.difficulty import Difficulty
from toolhand.training.env.worlds import world_named
from toolhand.training.pool.parallel import ProgressLine
from toolhand.training.tasks.kinds import MANIPULATION, QUESTIONS, TASK_KINDS
from toolhand.training.tasks.splits import split_named

ALL_KINDS = (*TASK_KINDS, ABSENT)
"""Every kind, and commands that are rightly refused."""
_OWN_KINDS = {"all": ALL_KINDS, "questions": QUESTIONS, "deeds": (*MANIPULATION, ABSENT)}
IMAGE = (320, 240)
"""(width, height) of the camera's images, as in rollouts [px]."""
WORLD_STEP_S = 0.004
"""Time step of the physics in a named world, as rollouts there have it [s]."""
GIVEN_UP = 3
"""Tasks in a row for which a policy could not be asked, after which no more are given to it [-]; a policy makes several
attempts at each turn itself."""


@dataclass
class PolicyProgress:
    """Where one policy stands.

    Attributes:
        in_a_row: Tasks in a row for which it could not be asked.
        error: The last reason of that.
    """

    in_a_row: int = 0
    error: ToolError | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def gone(self) -> bool:
        """It is asked no more."""
        return self.in_a_row >= GIVEN_UP

    def note(self, error: ToolError | None) -> None:
        """A task was done, or could not be given to it."""
        with self.lock:
            self.in_a_row = 0 if error is None else self.in_a_row + 1
            self.error = error or self.error


def task_list(kinds: Sequence[str], n: int, first_seed: int) -> list[tuple[str, int]]:
    """(kind, seed) of n tasks, the kinds in turn: those of a smaller n are the first of a larger one."""
    return [(kinds[k % len(kinds)], first_seed + k // len(kinds)) for k in range(n)]


class PolicyBench(Benchmark[Options, tuple[str, int], PolicyOutcome]):
    """See `toolhand.bench.commands.policy`; a job is the kind and seed of a task."""

    name = "policy"

    def jobs(self, options: Options) -> Sequence[tuple[str, int]]:
        split_named(options.split)
        Difficulty(options.difficulty)
        if options.world:
            world_named(options.world)
            if options.difficulty or options.perception != DEFAULT_PRESET:
                raise invalid("A world has a perception and a difficulty of its own: leave out both.")
        for spec in options.policies:
            require_form(spec)
            registry.require_installed("policy", spec)
            protocol_of(spec, options.protocol)
        require_installed(parse_suites(options.suite), options.perception, AS_PRESET)
        return task_list(_chosen_kinds(options.kinds), options.n, options.first_seed)

    def __call__(self, options: Options) -> int:
        """See Benchmark; outcomes are written at once, and tables are made of all that the folder has."""
        began = time.monotonic()
        tasks, suites, model = self.jobs(options), parse_suites(options.suite), options.model
        ports = PortNames(sensor=options.sensor)
        step = WORLD_STEP_S if options.world else None
        config = StationConfig(options.perception, ports, suites=suites, image_size=IMAGE, timestep=step, sleep=True)
        noted = {
            "split": options.split,
            "kinds": list(_chosen_kinds(options.kinds)),
            "first_seed": options.first_seed,
            "perception": options.perception,
            "sensor": options.sensor,
            "suites": list(suites),
            "difficulty": options.difficulty,
            "world": options.world,
            "tasks_version": TASKS_VERSION,
        }
        shared = {"turns": options.turns, **{k: v for k, v in asdict(model).items() if k not in _FREE}}
        settings = {spec: {"protocol": protocol_of(spec, options.protocol).name, **shared} for spec in options.policies}
        play = PlaySettings(
            config, options.difficulty, options.protocol, options.turns, options.split, model, options.world
        )
        with OutcomeFolder(options.out) as folder:
            folder.settle(noted, settings)
            player = Player(play)
            try:
                broken = _play_all(folder, player, options.policies, tasks, options.workers)
            finally:
                player.close()
            document = tables(folder.outcomes, noted, tasks, options.bootstrap_seed, broken)
            document |= {"load": round(os.getloadavg()[0], 1), "workers": options.workers}
            document["wall_s"] = round(time.monotonic() - began, 1)
            write_json(options.out / TABLE, document)
            write_atomically(options.out / PAGE, encode(policies_page(document)))
        for line in broken:
            say(line)
        say(f"The outcomes, tables and page are in {options.out}.")
        publish(document, report, options.as_json)
        return 1 if broken else 0


BENCH = PolicyBench()


_FREE = frozenset({"deadline_s", "price_prompt", "price_completion", "price_cached", "logprobs"})
"""Settings of a model that change nothing that it says."""


def _chosen_kinds(kinds: str) -> tuple[str, ...]:
    if kinds in _OWN_KINDS:
        return _OWN_KINDS[kinds]
    names = tuple(dict.fromkeys(name.strip() for name in kinds.split(",")))
    for name in names:
        registry.find("task", name)
    return names


def _play_all(
    folder: OutcomeFolder, player: Player, policies: Sequence[str], tasks: Sequence[tuple[str, int]], workers: int
) -> list[str]:
    """Give every policy the tasks that it has no outcome of; a sentence for each that could not be asked for all."""
    known = {(outcome.policy, *outcome.task) for outcome in folder.outcomes}
    todo = [(spec, *task) for spec in policies for task in tasks if (spec, *task) not in known]
    done = len(policies) * len(tasks) - len(todo)
    say(f"{len(tasks)} tasks for {', '.join(policies)}; {done} of {len(policies) * len(tasks)} outcomes are there.")
    progress = {spec: PolicyProgress() for spec in policies}
    line, count, shown = ProgressLine(len(todo)), 0, threading.Lock()

    def work(job: tuple[str, str, int]) -> None:
        nonlocal count
        spec, kind, seed = job
        if not progress[spec].gone:
            _play_one(folder, player, progress[spec], spec, kind, seed)
        with shown:
            count += 1
            line.show(count, spec)

    if workers == 1:
        for job in todo:
            work(job)
    else:
        with ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(work, job) for job in todo]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    line.end()
    wanted = set(tasks)
    sentences = []
    for spec in policies:
        have = sum(outcome.policy == spec and outcome.task in wanted for outcome in folder.outcomes)
        error = progress[spec].error
        if have < len(tasks) and error is not None:
            why = error.message.rstrip(".")
            sentences.append(
                f"{spec} could not be asked for {len(tasks) - have} of {len(tasks)} tasks ({error.code}: {why}); its "
                f"{have} outcomes are kept, and the same command goes on."
            )
    return sentences


def _play_one(folder: OutcomeFolder, player: Player, progress: PolicyProgress, spec: str, kind: str, seed: int) -> None:
    try:
        outcome = player.play(spec, kind, seed)
    except PolicyGone as gone:
        progress.note(gone.error)
        return
    except ToolError as error:
        if error.code is ErrorCode.INVALID_ARGUMENT:
            raise
        progress.note(error)
        return
    progress.note(None)
    folder.add(outcome)


def tables(
    outcomes: Sequence[PolicyOutcome],
    noted: Mapping[str, Any],
    tasks: Sequence[tuple[str, int]],
    bootstrap_seed: int,
    broken: Sequence[str] = (),
) -> dict[str, Any]:
    """The document of some outcomes: those of the tasks, by every policy that has one."""
    wanted = set(tasks)
    by_policy: dict[str, list[PolicyOutcome]] = {}
    for outcome in outcomes:
        if outcome.task in wanted:
            by_policy.setdefault(outcome.policy, []).append(outcome)
    kinds = list(dict.fromkeys(kind for kind, _ in tasks))
    rows = [policy_row(policy, own, len(tasks)) for policy, own in by_policy.items()]
    rows.sort(key=lambda row: -(row["success"]["rate"] or 0.0))
    return {
        "bench": "policy",
        "tasks": dict(noted),
        "planned": len(tasks),
        "machine": machine(),
        "rows": rows,
        "kinds": kind_rows({row["policy"]: by_policy[row["policy"]] for row in rows}, kinds),
        "bootstrap_seed": bootstrap_seed,
        "differences": differences({row["policy"]: by_policy[row["policy"]] for row in rows}, bootstrap_seed),
        "papers": [asdict(row) for row in PAPER_ROWS if row.kind in kinds],
        "not_the_same": NOT_THE_SAME,
        "broken_off": list(broken),
    }


def report(document: Mapping[str, Any]) -> str:
    """The document as text."""
    parts: list[Callable[[Mapping[str, Any]], str]] = [policies_markdown, kinds_markdown, differences_markdown]
    machine_line = f"{document['machine']['cpu']}, {document['machine']['cores']} cores, load {document['load']}"
    lines = [part(document) for part in parts]
    lines.append(f"Bootstrap over tasks, seed {document['bootstrap_seed']}. {machine_line}; {document['wall_s']} s.")
    return "\n\n".join(lines)
