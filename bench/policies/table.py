"""Tables of outcomes: a row a policy, rates with Wilson intervals, and paired differences by a bootstrap over tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from toolhand.bench.policies.outcome import PolicyOutcome
from toolhand.training.intervals import RESAMPLES, paired_difference, wilson

ABSENT, REFUSALS = "absent", "refusals"
"""Kinds of tasks that are rightly refused: an object that is not there, and words that bind more than a pick."""

RATES: Mapping[str, tuple[str, str, Callable[[PolicyOutcome], bool], Callable[[PolicyOutcome], bool]]] = {
    "success": ("true success", "all tasks", lambda o: True, lambda o: o.success),
    "deeds": (
        "deeds done",
        "what the arm can carry out",
        lambda o: o.deed and o.kind not in (ABSENT, REFUSALS),
        lambda o: o.success,
    ),
    "questions": ("questions right", "questions", lambda o: not o.deed, lambda o: o.success),
    "refused_rightly": (
        "refused rightly after a look",
        "commands whose object is not there",
        lambda o: o.kind == ABSENT,
        lambda o: o.success,
    ),
    "wrong_object": ("wrong object", "commands", lambda o: o.deed, lambda o: o.wrong_object),
    "false_success": ("false success", "commands", lambda o: o.deed, lambda o: o.false_success),
    "denied": (
        "done, said to have failed",
        "what the arm can carry out",
        lambda o: o.deed and o.kind != ABSENT,
        lambda o: o.denied,
    ),
    "wrong_answer": ("wrong answer", "questions", lambda o: not o.deed, lambda o: o.wrong_answer),
    "wrongly_acted": (
        "acted against what was said",
        "words that bind",
        lambda o: o.kind == REFUSALS,
        lambda o: o.scored and not o.success,
    ),
    "gave_up": (
        "gave up what can be done",
        "other tasks",
        lambda o: o.kind not in (ABSENT, REFUSALS),
        lambda o: o.refused,
    ),
}
"""Measure -> (title, of what, which outcomes count, which of them are meant). Without a score is without success."""

MEANS: Mapping[str, tuple[str, Callable[[PolicyOutcome], float]]] = {
    "calls": ("calls", lambda o: o.calls),
    "invalid": ("invalid", lambda o: o.invalid),
    "turns": ("turns", lambda o: o.turns),
    "prompt_tokens": ("tokens read", lambda o: o.prompt_tokens),
    "completion_tokens": ("tokens written", lambda o: o.completion_tokens),
    "policy_s": ("policy [s]", lambda o: o.policy_s),
    "wall_s": ("task [s]", lambda o: o.wall_s),
    "cost": ("cost", lambda o: o.cost),
}
"""Measure -> (title, its value); the tables have means of a task."""


def share(count: int, n: int) -> dict[str, Any]:
    """A rate with its interval; None where nothing was tried."""
    low, high = wilson(count, n)
    if not n:
        return {"count": 0, "n": 0, "rate": None, "low": None, "high": None}
    return {"count": count, "n": n, "rate": round(count / n, 4), "low": round(low, 4), "high": round(high, 4)}


def policy_row(policy: str, outcomes: Sequence[PolicyOutcome], planned: int) -> dict[str, Any]:
    """What a policy did.

    Args:
        planned: Tasks that there are to be.
    """
    row: dict[str, Any] = {"policy": policy, "n": len(outcomes), "missing": max(0, planned - len(outcomes))}
    row["unscored"] = sum(not outcome.scored for outcome in outcomes)
    for name, (_, _, counts, meant) in RATES.items():
        of = [outcome for outcome in outcomes if counts(outcome)]
        row[name] = share(sum(meant(outcome) for outcome in of), len(of))
    for name, (_, value) in MEANS.items():
        row[name] = round(float(np.mean([value(outcome) for outcome in outcomes])), 6) if outcomes else None
    row["total_cost"] = round(sum(outcome.cost for outcome in outcomes), 6)
    return row


def kind_rows(policies: Mapping[str, Sequence[PolicyOutcome]], kinds: Sequence[str]) -> list[dict[str, Any]]:
    """For each kind of task the true success of each policy, with its mean reward of the kind."""
    rows = []
    for kind in kinds:
        row: dict[str, Any] = {"kind": kind}
        for policy, outcomes in policies.items():
            of = [outcome for outcome in outcomes if outcome.kind == kind]
            row[policy] = share(sum(outcome.success for outcome in of), len(of))
            row[policy]["reward"] = round(float(np.mean([outcome.reward for outcome in of])), 4) if of else None
        rows.append(row)
    return rows


def differences(policies: Mapping[str, Sequence[PolicyOutcome]], seed: int) -> list[dict[str, Any]]:
    """True success of one policy minus that of another, over the tasks that both were given.

    Args:
        seed: Seed of the bootstrap: whole tasks are drawn, so that what both find hard moves both.

    Returns:
        For each pair n, the difference with its 95 % percentile interval, and how many tasks one alone did.
    """
    rows = []
    for first, second in combinations(policies, 2):
        ours, theirs = ({o.task: o.success for o in policies[name]} for name in (first, second))
        both = sorted(ours.keys() & theirs.keys())
        gain = np.array([int(ours[task]) - int(theirs[task]) for task in both])
        row: dict[str, Any] = {"first": first, "second": second, "n": len(both), "resamples": RESAMPLES, "seed": seed}
        row |= {"first_alone": int((gain > 0).sum()), "second_alone": int((gain < 0).sum())}
        found = [round(value, 4) for value in paired_difference(gain, seed)] if both else [None] * 3
        row |= dict(zip(("difference", "low", "high"), found, strict=True))
        rows.append(row)
    return rows


# -- text ----------------------------------------------------------------------------------------------


def percent(found: Mapping[str, Any], interval: bool = True) -> str:
    """A rate as tables have it, such as "66.7 % (40/60; 54.1..77.3)"."""
    if not found["n"]:
        return "-"
    counts = f"{found['count']}/{found['n']}"
    if interval:
        counts += f"; {100 * found['low']:.1f}..{100 * found['high']:.1f}"
    return f"{100 * found['rate']:.1f} % ({counts})"


def mean_text(name: str, value: float | None) -> str:
    """A mean as tables have it; "-" where nothing counts."""
    if value is None or (not value and name in ("prompt_tokens", "completion_tokens", "cost")):
        return "-"
    return f"{value:.4g}" if name == "cost" else f"{value:.0f}" if "tokens" in name else f"{value:.2f}"


def points(row: Mapping[str, Any]) -> str:
    """A paired difference as tables have it."""
    if not row["n"]:
        return "-"
    return f"{100 * row['difference']:+.1f} ({100 * row['low']:+.1f}..{100 * row['high']:+.1f})"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def policies_markdown(document: Mapping[str, Any]) -> str:
    """The table of policies, a row each; cost only where there is one."""
    means = [name for name in MEANS if name != "cost" or any(row["cost"] for row in document["rows"])]
    head = ["policy", "n", "unscored", *(title for title, *_ in RATES.values()), *(MEANS[name][0] for name in means)]
    rows = []
    for row in document["rows"]:
        n = f"{row['n']} of {row['n'] + row['missing']}" if row["missing"] else str(row["n"])
        cells = [row["policy"], n, str(row["unscored"]), *(percent(row[name]) for name in RATES)]
        rows.append([*cells, *(mean_text(name, row[name]) for name in means)])
    return markdown(head, rows)


def kinds_markdown(document: Mapping[str, Any]) -> str:
    """The table of kinds: successes of how many, and the mean reward of the kind."""
    policies = [row["policy"] for row in document["rows"]]
    rows = []
    for row in document["kinds"]:
        found = [row[policy] for policy in policies]
        rows.append([row["kind"], *(f"{percent(f, False)} {f['reward']:.2f}" if f["n"] else "-" for f in found)])
    return markdown(["kind", *(f"{policy}, reward" for policy in policies)], rows)


def differences_markdown(document: Mapping[str, Any]) -> str:
    """The table of paired differences."""
    rows = [
        [f"{r['first']} - {r['second']}", str(r["n"]), points(r), str(r["first_alone"]), str(r["second_alone"])]
        for r in document["differences"]
    ]
    return markdown(["pair", "n", "points of true success", "first alone", "second alone"], rows)
