"""The table of a synthesis: how many of each method and kind were kept, why others were not, and what they took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.training.data.synthesis.collecting import AttemptEntry
from toolhand.training.data.synthesis.making import CHARACTERS_PER_TOKEN

ALL = "all"


def summary(entries: Sequence[AttemptEntry]) -> dict[str, Any]:
    """The document of a synthesis: rows for each method and kind, each method, each kind, and all together."""
    groups: dict[tuple[str, str], list[AttemptEntry]] = {}
    for entry in entries:
        for key in ((entry.method, entry.kind), (entry.method, ALL), (ALL, entry.kind), (ALL, ALL)):
            groups.setdefault(key, []).append(entry)
    rows = [{"method": method, "kind": kind, **_row(groups[method, kind])} for method, kind in sorted(groups)]
    kept = [entry for entry in entries if not entry.why]
    return {
        "accepted": len(kept),
        "rejected": len(entries) - len(kept),
        "jobs": len({entry.job for entry in entries}),
        "token_rule": f"characters / {CHARACTERS_PER_TOKEN} of what the policy wrote, pictures left out",
        "cpu_s": round(sum(entry.cpu_s for entry in entries), 1),
        "calls_per_tool": _calls(kept),
        "troubles": dict(Counter(entry.trouble for entry in entries if entry.trouble)),
        "rows": rows,
    }


def _row(entries: Sequence[AttemptEntry]) -> dict[str, Any]:
    kept = [entry for entry in entries if not entry.why]
    count = max(len(kept), 1)
    return {
        "accepted": len(kept),
        "rejected": len(entries) - len(kept),
        "why": dict(sorted(Counter(entry.why for entry in entries if entry.why).items())),
        "turns": round(sum(entry.turns for entry in kept) / count, 2),
        "calls": round(sum(sum(entry.calls.values()) for entry in kept) / count, 2),
        "tools": len(_calls(kept)),
        "tokens": round(sum(entry.tokens for entry in kept) / count, 1),
        "cpu_s": round(sum(entry.cpu_s for entry in entries), 2),
    }


def _calls(entries: Sequence[AttemptEntry]) -> dict[str, int]:
    """Calls per tool, the most used first."""
    total: Counter[str] = Counter()
    for entry in entries:
        total.update(entry.calls)
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def table(document: Mapping[str, Any]) -> str:
    """The document as text for people."""
    head = f"{'method':10}{'kind':18}{'accepted':>9}{'rejected':>9}{'turns':>7}{'calls':>7}{'tools':>7}{'tokens':>8}"
    lines = [f"{head}{'CPU s':>9}   rejected because"]
    for row in document["rows"]:
        why = ", ".join(f"{reason} {count}" for reason, count in row["why"].items())
        lines.append(
            f"{row['method']:10}{row['kind']:18}{row['accepted']:>9}{row['rejected']:>9}{row['turns']:>7.1f}"
            f"{row['calls']:>7.1f}{row['tools']:>7}{row['tokens']:>8.0f}{row['cpu_s']:>9.1f}   {why}".rstrip()
        )
    calls = ", ".join(f"{name} {count}" for name, count in document["calls_per_tool"].items())
    lines += [
        f"calls in the accepted: {calls}",
        f"turns, calls and tokens are means of the accepted; tokens: {document['token_rule']}",
    ]
    lines += [f"trouble, {count} times: {trouble}" for trouble, count in document["troubles"].items()]
    return "\n".join(lines)
