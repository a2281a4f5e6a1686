"""Folders of rollouts beside one another: measures, paired differences, and what policies do about tools that err.

    found = compare([Path("before"), Path("after")])
    print(found.text)

A world (`toolhand.training.env.worlds`) has causes by episode, and a tool that errs in an episode says a sign of it
with each answer. How a policy reacts is told by which tool it takes the next time that it needs the same, in a later
turn, and for the same words where it asks in words:

| reaction | what comes next |
|---|---|
| another | a tool that does the same |
| again | the same tool, without a new picture |
| look | the same tool, after a new picture |
| refused | neither, and the episode ends with an answer that begins with a code |
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from toolhand.training.env.worlds import CAUSES, ErrorCause, world_named
from toolhand.training.intervals import paired_difference
from toolhand.training.rollouts.collection import BadRow, read_rollouts
from toolhand.training.rollouts.labels import GRASP
from toolhand.training.rollouts.measures import LOOK, Measures, Share, markdown_table, measure, refuses, summarise
from toolhand.training.rollouts.plan import planned_in
from toolhand.training.rollouts.record import CallEntry, RolloutRecord

Reactions = Mapping[str, Mapping[str, Mapping[str, Share]]]
"""cause -> "errs" or "does not" -> reaction -> its rate of the answers that the tools of the cause gave."""
REACTIONS = ("another", "again", "look", "refused")
"""In the order of the table."""


def causes_of(record: RolloutRecord, world: str) -> tuple[str, ...]:
    """The causes of an episode in a world of this name, sorted; none where it is empty."""
    if not world:
        return ()
    return tuple(sorted(world_named(world).causes(record.kind, str(record.task.get("split", "")), record.seed)))


def outcome_row(name: str, record: RolloutRecord, world: str) -> dict[str, Any]:
    """An episode as a row of a table, flags as 0 and 1."""
    found = measure(record)
    flags = ("true_success", "reported", "wrong_object", "false_success", "refused")
    row: dict[str, Any] = {"rollouts": name, "id": record.id, "kind": record.kind, "seed": record.seed}
    row |= {"causes": " ".join(causes_of(record, world)), **{flag: int(getattr(found, flag)) for flag in flags}}
    return row | {"calls": found.calls, "invalid": found.invalid, "turns": found.turns, "looks": found.looks}


def reactions(records: Iterable[RolloutRecord], world: str) -> Reactions:
    """How the policy of some episodes in a world reacted; of a motion those answers count that it failed."""
    counts: Counter[tuple[str, bool, str]] = Counter()
    for record in records:
        causes = causes_of(record, world)
        for k, turn in enumerate(record.turns[:-1]):
            for call in turn.calls:
                for name, cause in CAUSES.items():
                    if call.run and call.tool in cause.tools and (call.tool != GRASP or call.error_code):
                        counts[name, name in causes, ""] += 1
                        counts[name, name in causes, _reaction(record, k + 1, call, cause)] += 1
    return {
        name: {
            title: {each: Share(counts[name, errs, each], counts[name, errs, ""]) for each in REACTIONS}
            for errs, title in ((True, "errs"), (False, "does not"))
        }
        for name in CAUSES
    }


def _reaction(record: RolloutRecord, begin: int, call: CallEntry, cause: ErrorCause) -> str:
    """What came next of a call, in the turns from this number on."""
    looked = False
    for after in (each for turn in record.turns[begin:] for each in turn.calls if each.run):
        looked |= after.tool == LOOK
        if _words(after) == _words(call):
            if cause.twin and after.tool in CAUSES[cause.twin].tools:
                return "another"
            if after.tool == call.tool:
                return "look" if looked else "again"
    return "refused" if refuses(record) else "else"


def _words(call: CallEntry) -> object:
    return call.arguments.get("obj_name") if isinstance(call.arguments, Mapping) else None


def paired_rows(folders: Mapping[str, Sequence[Mapping[str, Any]]], seed: int = 0) -> list[dict[str, Any]]:
    """True and false success of one folder minus those of another, over the episodes that both have.

    Args:
        folders: Rows of `outcome_row` by folder.
        seed: Seed of the bootstrap over episodes.
    """
    made = []
    for first, second in combinations(folders, 2):
        ours, theirs = ({(r["kind"], r["id"], r["seed"]): r for r in folders[name]} for name in (first, second))
        both = sorted(ours.keys() & theirs.keys())
        for flag in ("true_success", "false_success") if both else ():
            gain = np.array([ours[key][flag] - theirs[key][flag] for key in both])
            mean, low, high = paired_difference(gain, seed)
            alone = {"first_alone": int((gain > 0).sum()), "second_alone": int((gain < 0).sum())}
            row = {"first": first, "second": second, "of": flag, "n": len(both), **alone}
            made.append(row | {"difference": mean, "low": low, "high": high})
    return made


@dataclass(frozen=True)
class RolloutComparison:
    """Of some folders.

    Attributes:
        document: "rows", the measures of each folder; "differences", see `paired_rows`; and where a world is named
            "by_cause", true success, and "reactions", by folder.
        outcomes: See `outcome_row`.
        text: The same as Markdown tables.
    """

    document: Mapping[str, Any]
    outcomes: Sequence[Mapping[str, Any]]
    text: str

    def csv(self) -> str:
        """The outcomes, a line an episode below their names."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.outcomes[0] if self.outcomes else (), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.outcomes)
        return text.getvalue()


def compare(folders: Sequence[Path], bad_row: BadRow | None = None) -> RolloutComparison:
    """Measure folders of collected rollouts, whose names differ; `bad_row` and errors as of `read_rollouts`."""
    measured: dict[str, Measures] = {}
    outcomes: dict[str, list[dict[str, Any]]] = {}
    reacted: dict[str, Reactions] = {}
    for folder in folders:
        planned, world = planned_in(folder)
        records = list(read_rollouts(folder, bad_row))
        measured[folder.name] = summarise(records, planned)
        outcomes[folder.name] = [outcome_row(folder.name, record, world) for record in records]
        if world:
            reacted[folder.name] = reactions(records, world)
    pairs = paired_rows(outcomes)
    by_cause = {name: _by_cause(outcomes[name]) for name in reacted}
    document: dict[str, Any] = {
        "rows": [{"name": name, **measures.document()} for name, measures in measured.items()],
        "differences": pairs,
    }
    tables = [markdown_table(list(measured.items()), "rollouts")]
    if pairs:
        tables.append(_pair_table(pairs))
    if reacted:
        document |= {"by_cause": _documents(by_cause), "reactions": _documents(reacted)}
        tables += [_cause_table(by_cause), _reaction_table(reacted)]
    return RolloutComparison(document, [row for rows in outcomes.values() for row in rows], "\n\n".join(tables))


def _documents(found: Any) -> Any:
    return found.document() if isinstance(found, Share) else {name: _documents(value) for name, value in found.items()}


def _by_cause(rows: Sequence[Mapping[str, Any]]) -> dict[str, Share]:
    """True success of the episodes that have a cause."""
    found = {cause: [row["true_success"] for row in rows if cause in row["causes"].split()] for cause in CAUSES}
    return {cause: Share(sum(of), len(of)) for cause, of in found.items()}


def _cause_table(folders: Mapping[str, Mapping[str, Share]]) -> str:
    rows = [[name, *(f"{share.count}/{share.n}" for share in found.values())] for name, found in folders.items()]
    return _table(["true success where it errs", *CAUSES], rows)


def _reaction_table(folders: Mapping[str, Reactions]) -> str:
    rows = []
    for cause in CAUSES:
        for name, found in folders.items():
            for title, rates in found[cause].items():
                cells = ["-" if share.rate is None else f"{100 * share.rate:.0f} %" for share in rates.values()]
                rows.append([cause, name, title, str(rates["again"].n), *cells])
    return _table(["cause", "rollouts", "tool", "answers", *REACTIONS], rows)


def _pair_table(pairs: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for row in pairs:
        points = f"{100 * row['difference']:+.1f} ({100 * row['low']:+.1f}..{100 * row['high']:+.1f})"
        pair = f"{row['first']} - {row['second']}"
        rows.append([pair, row["of"], str(row["n"]), points, str(row["first_alone"]), str(row["second_alone"])])
    return _table(["pair", "of", "n", "points", "first alone", "second alone"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])
