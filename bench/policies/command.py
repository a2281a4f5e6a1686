"""`toolhand bench policy`: any policies on the same tasks of all kinds, one table, resumable."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from agent_node.console.options import (
    Perception,
    ProtocolName,
    SensorName,
    Suite,
    installed,
    require_at_least,
)
from agent_node.console.terminal import AsJson, say
from agent_node.conversation_settings import TURN_BUDGET
from agent_node.policies.options import ModelSettings
from agent_node.policies.registry import protocol_of, require_form
from agent_node.protocol import OWN
from agent_node.runs.folder import encode, write_atomically, write_json
from bench.policies.outcome import PAGE, TABLE, OutcomeFolder, PolicyOutcome
from bench.policies.page import policies_page
from bench.policies.papers import NOT_THE_SAME, PAPER_ROWS
from bench.policies.playing import Player, PlaySettings, PolicyGone
from bench.policies.table import (
    ABSENT,
    differences,
    differences_markdown,
    kind_rows,
    kinds_markdown,
    policies_markdown,
    policy_row,
)
from bench.stats import machine, publish
from sim.station import StationConfig
from sim.tasks.generation import TASKS_VERSION
from tool_nodes import registry
from tool_nodes.port_names import AS_PRESET, DEFAULT_PRESET, DEFAULT_SENSOR, PortNames, require_sensor
from tool_nodes.results import ErrorCode, ToolError, invalid
from tool_nodes.tools.suites import parse_suites, require_installed
from training.env.difficulty import Difficulty
from training.pool.parallel import ProgressLine
from training.tasks.kinds import MANIPULATION, QUESTIONS, TASK_KINDS
from training.tasks.splits import split_named

ALL_KINDS = (*TASK_KINDS, ABSENT)
"""Every kind, and commands that are rightly refused."""
_OWN_KINDS = {"all": ALL_KINDS, "questions": QUESTIONS, "deeds": (*MANIPULATION, ABSENT)}
PICTURE = (320, 240)
"""(width, height) of the camera's pictures, as in rollouts [px]."""
GIVEN_UP = 3
"""Tasks in a row for which a policy could not be asked, after which no more are given to it [-]; a policy makes several
attempts at each turn itself."""
_DEFAULT_MODEL = ModelSettings()

Kinds = Annotated[
    str,
    tyro.conf.arg(
        help='"all" of this project and commands whose thing is absent, its "questions", its "deeds", or kinds '
        f"separated by commas: {installed('task', {})}."
    ),
]
Policies = Annotated[
    tuple[str, ...],
    tyro.conf.arg(metavar="POLICY", help="Policies as `toolhand run --policy` takes them, several with spaces."),
]


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


def bench_policy(
    policies: Policies = ("scripted", "careful", "blind"),
    kinds: Kinds = "all",
    split: str = "test",
    n: int = 100,
    first_seed: int = 0,
    out: Path = Path("runs/policies"),
    workers: int = 1,
    perception: Perception = DEFAULT_PRESET,
    sensor: SensorName = DEFAULT_SENSOR,
    suite: Suite = "spacetools,peria",
    protocol: ProtocolName = OWN,
    turns: int = TURN_BUDGET,
    difficulty: float = 0.0,
    bootstrap_seed: int = 0,
    model: ModelSettings = _DEFAULT_MODEL,
    as_json: AsJson = False,
) -> int:
    """Give the same tasks of all kinds to any policies: one table, paired differences, a page; resumable.

    Each outcome is written at once; the same command goes on where it was broken off, and other policies can be added
    to the same folder. Exit status 1 where a policy could not be asked for all tasks.

    Args:
        split: Split with the products, layouts and wordings: train, validation or test.
        n: Tasks in all, the kinds in turn.
        first_seed: Seed of the first task of each kind.
        out: Folder of the outcomes (a line of JSON each), the tables and the page.
        workers: Conversations at once, in threads of this process: for servers, which wait for one another.
        turns: Assistant turns of a conversation.
        difficulty: From 0 to 1: noise of the perception sim, calls that fail on purpose, things that slip; see
            training.env.difficulty.
        bootstrap_seed: Seed of the intervals of paired differences.
    """
    chosen = _chosen_kinds(kinds)
    split_named(split)
    Difficulty(difficulty)
    require_at_least(1, n=n, workers=workers, turns=turns)
    require_at_least(0, first_seed=first_seed, bootstrap_seed=bootstrap_seed)
    if not policies or len(set(policies)) != len(policies):
        raise invalid("Give one or more policies, each once.")
    for spec in policies:
        require_form(spec)
        registry.require_installed("policy", spec)
        protocol_of(spec, protocol)
    suites = parse_suites(suite)
    require_installed(suites, perception, AS_PRESET)
    require_sensor(sensor)
    began = time.monotonic()
    config = StationConfig(perception, PortNames(sensor=sensor), suites=suites, image_size=PICTURE, sleep=True)
    tasks = task_list(chosen, n, first_seed)
    noted = {
        "split": split,
        "kinds": list(chosen),
        "first_seed": first_seed,
        "perception": perception,
        "sensor": sensor,
        "suites": list(suites),
        "difficulty": difficulty,
        "tasks_version": TASKS_VERSION,
    }
    shared = {"turns": turns, **{k: v for k, v in asdict(model).items() if k not in _FREE}}
    settings = {spec: {"protocol": protocol_of(spec, protocol).name, **shared} for spec in policies}
    with OutcomeFolder(out) as folder:
        folder.settle(noted, settings)
        player = Player(PlaySettings(config, difficulty, protocol, turns, split, model))
        try:
            broken = _play_all(folder, player, policies, tasks, workers)
        finally:
            player.close()
        document = tables(folder.outcomes, noted, tasks, bootstrap_seed, broken)
        document |= {"load": round(os.getloadavg()[0], 1), "workers": workers}
        document["wall_s"] = round(time.monotonic() - began, 1)
        write_json(out / TABLE, document)
        write_atomically(out / PAGE, encode(policies_page(document)))
    for line in broken:
        say(line)
    say(f"The outcomes, tables and page are in {out}.")
    publish(document, report, as_json)
    return 1 if broken else 0


_FREE = frozenset({"deadline_s", "price_prompt", "price_completion", "logprobs"})
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
