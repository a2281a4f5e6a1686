"""`toolhand bench redteam`: attacks by a policy that has been taken over, and calls and turns made by chance."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolhand.agent_node.console.terminal import say
from toolhand.bench.commands.redteam import Options
from toolhand.bench.frame import Benchmark, Document
from toolhand.bench.redteam.attacks import all_attacks
from toolhand.bench.redteam.direct import direct_attacks, direct_attempt
from toolhand.bench.redteam.fuzz import fuzz_calls
from toolhand.bench.redteam.range import HostileStation, Range
from toolhand.bench.redteam.sequences import Sequences, run_sequences
from toolhand.bench.redteam.trial import Trial, attempt
from toolhand.bench.redteam.turns import fuzz_turns
from toolhand.bench.stats import machine
from toolhand.tool_nodes.motion.guard import Mode
from toolhand.tool_nodes.results import invalid

FUZZED_SIZE = (320, 240)
"""Images of the calls made by chance [px]; what is called is the same, and takes less time."""


def families() -> list[str]:
    """The kinds of tricks that there are."""
    written = [attack.family for attack in all_attacks(np.eye(4), np.eye(4))]
    return list(dict.fromkeys([*written, *(attack.family for attack in direct_attacks())]))


def run_attacks(
    ground: Range, chosen: Collection[str], progress: Callable[[str], None] = lambda name: None
) -> list[Trial]:
    """The attacks of some families: a policy's in each mode of the operator's, those in the process in their own."""
    trials = []
    for attack in all_attacks(ground.T_camera_gripper, ground.T_base_camera):
        if attack.family in chosen:
            progress(f"{attack.family}: {attack.name}")
            trials += [attempt(attack, mode, ground) for mode in Mode]
    for direct in direct_attacks():
        if direct.family in chosen:
            progress(f"{direct.family}: {direct.name}")
            trials.append(direct_attempt(direct, ground))
    return trials


def parse_families(text: str) -> list[str]:
    """Families separated by commas; "all" is every one. Raises ToolError INVALID_ARGUMENT."""
    known = families()
    named = known if text == "all" else [name.strip() for name in text.split(",")]
    unknown = [name for name in named if name not in known]
    if unknown:
        raise invalid(f"There is no family of attacks {unknown[0][:60]!r}: give all, or some of {', '.join(known)}.")
    return named


def attack_rows(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """One row for each family and mode: attacks, motions that were let through, codes, violations."""
    rows = []
    for family, mode in dict.fromkeys((trial.family, trial.mode) for trial in trials):
        chosen = [trial for trial in trials if (trial.family, trial.mode) == (family, mode)]
        codes = sum((trial.codes for trial in chosen), Counter[str]())
        rows.append(
            {
                "family": family,
                "mode": mode,
                "attacks": len(chosen),
                "motions": sum(trial.motions for trial in chosen),
                "codes": _named(codes),
                "violations": sum(len(trial.violations) for trial in chosen),
            }
        )
    return rows


@dataclass(frozen=True)
class RedTeamFound:
    """What all of it gave: attacks; calls and turns by chance; orders by chance here, and over a graph."""

    trials: Sequence[Trial]
    calls: Any
    turns: Any
    ordered: Sequences
    on_graph: Sequences


class RedTeamBench(Benchmark[Options, Options, RedTeamFound]):
    """See `toolhand.bench.commands.redteam`; one after the other, on stations that are made once."""

    name = "redteam"

    def measure(self, options: Options, jobs: Sequence[Options]) -> list[RedTeamFound]:
        chosen, seed = parse_families(options.family), options.seed
        with _quiet():
            trials = run_attacks(Range(), chosen, _sometimes())
            say(f"{options.turns} turns")
            parsed = fuzz_turns(options.turns, seed)
            between, every = max(1, options.n // 10), max(1, options.sequences // 10)
            small = Range(HostileStation(FUZZED_SIZE))
            calls = fuzz_calls(options.n, seed, small, lambda k: None if k % between else say(f"call {k}"))
            ordered = run_sequences(
                options.sequences, seed, small, lambda k: None if k % every else say(f"sequence {k}")
            )
            return [RedTeamFound(trials, calls, parsed, ordered, _on_graph(options.graph_sequences, seed))]

    def document(self, options: Options, records: Sequence[RedTeamFound]) -> dict[str, Any]:
        (found,) = records
        trials, calls, turns = found.trials, found.calls, found.turns
        violations = [f"{trial.mode}, {trial.name}: {text}" for trial in trials for text in trial.violations]
        violations += [*calls.violations, *turns.violations, *found.ordered.violations, *found.on_graph.violations]
        return {
            "machine": machine(),
            "seeds": [options.seed],
            "attacks": {
                "attacks": len({(trial.family, trial.name) for trial in trials}),
                "trials": len(trials),
                "rows": attack_rows(trials),
            },
            "calls": {
                "n": calls.n,
                "codes": _named(calls.codes),
                "motions": calls.motions,
                "commands": calls.commands,
                "pressed_mm": round(1000 * calls.pressed_m, 1),
                "calls_per_s": round(calls.calls_per_s, 1),
                "slowest_s": round(calls.slowest_s, 2),
                "violations": len(calls.violations),
            },
            "turns": {"n": turns.n, "parsed": dict(turns.outcomes), "violations": len(turns.violations)},
            "sequences": _sequence_row(found.ordered),
            "graph_sequences": _sequence_row(found.on_graph),
            "violations": violations,
        }

    def lines(self, document: Document) -> str:
        return _report(document)

    def status(self, document: Document) -> int:
        return int(bool(document["violations"]))


BENCH = RedTeamBench()


def _on_graph(n: int, seed: int) -> Sequences:
    """Sequences over a graph of their own; it needs rclpy, which is loaded only here."""
    if not n:
        return Sequences()
    from importlib import import_module

    from toolhand.tool_nodes.ros.client import use_client

    use_client()
    found: Sequences = import_module("toolhand.bench.redteam.ros_sequences").run_graph_sequences(
        n, seed, lambda k: say(f"graph sequence {k}")
    )
    return found


def _sequence_row(found: Sequences) -> dict[str, Any]:
    return {
        "n": found.n,
        "events": dict(found.events.most_common()),
        "codes": dict(found.codes.most_common()),
        "stopped": found.stale,
        "braked": found.braked,
        "moved": found.moved,
        "violations": len(found.violations),
        "wall_s": round(found.wall_s, 1),
    }


def _named(codes: Counter[str]) -> dict[str, int]:
    return {code or "carried out": count for code, count in codes.most_common()}


def _sometimes() -> Callable[[str], None]:
    """Reports every twentieth attack."""
    count = Counter[str]()

    def progress(name: str) -> None:
        count["attacks"] += 1
        if count["attacks"] % 20 == 1:
            say(f"attack {count['attacks']}: {name}")

    return progress


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the agent's warnings, of which attacks make many, off the terminal."""
    logger = logging.getLogger("toolhand")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _report(document: Mapping[str, Any]) -> str:
    attacks, calls, turns = document["attacks"], document["calls"], document["turns"]
    lines = [f"{'family':18}{'mode':12}{'attacks':>8}{'motions':>9}{'violations':>12}"]
    lines += [
        f"{row['family']:18}{row['mode']:12}{row['attacks']:8}{row['motions']:9}{row['violations']:12}"
        for row in attacks["rows"]
    ]
    lines.append(
        f"{calls['n']} calls by chance, {calls['calls_per_s']} a second, slowest {calls['slowest_s']} s: "
        f"{calls['motions']} motions, {calls['commands']} commands, {calls['violations']} violations"
    )
    lines.append("  " + ", ".join(f"{code} {count}" for code, count in calls["codes"].items()))
    lines.append(f"{turns['n']} turns by chance through every parser: {turns['violations']} violations")
    for where, name in (("in process", "sequences"), ("over a graph", "graph_sequences")):
        row = document[name]
        lines.append(
            f"{row['n']} sequences of stops, resets and requests {where}: {row['moved']} requests moved the arm, "
            f"{row['stopped']} were stopped, {row['braked']} of them in motion; {row['violations']} motions "
            "after a stop that nobody had asked for since"
        )
    lines += [f"VIOLATION: {text}" for text in document["violations"]]
    return "\n".join([*lines, f"{document['machine']['cpu']}; {document['wall_s']} s"])
