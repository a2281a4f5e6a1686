"""What an episode of a task gave as its judge sees it, for benchmarks that let a policy act in a simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolhand.bench.stats import rate_row
from toolhand.sim.tasks.tasks import GeneratedTask
from toolhand.training.env.episode import Outcome


@dataclass(frozen=True, kw_only=True)
class JudgedRecord:
    """What one episode gave.

    Attributes:
        scored: False after an infrastructure error.
        success: The simulator's truth.
        false_success: Success was claimed and the simulator disagrees.
        denied: It was done, and the tools said that it failed.
        reasons: Why it is not a success, in the simulator's words.
    """

    seed: int
    category: str = ""
    text: str = ""
    scored: bool = False
    success: bool = False
    false_success: bool = False
    denied: bool = False
    error_code: str | None = None
    answer: str = ""
    reasons: tuple[str, ...] = ()


def judged(task: GeneratedTask, seed: int, outcome: Outcome) -> dict[str, Any]:
    """The fields of a JudgedRecord."""
    truth = outcome.truth
    return {
        "seed": seed,
        "category": task.category,
        "text": task.text,
        "scored": outcome.scored,
        "success": truth is not None and truth.success,
        "false_success": outcome.false_success,
        "denied": outcome.denied,
        "error_code": outcome.episode.error_code,
        "answer": outcome.episode.answer,
        "reasons": truth.reasons if truth else (),
    }


def claims(scored: Sequence[JudgedRecord]) -> list[dict[str, Any]]:
    """Rows of where tools and judge differ, either way."""
    return [
        rate_row("false_success", sum(r.false_success for r in scored), len(scored)),
        rate_row("done, said to have failed", sum(r.denied for r in scored), len(scored)),
    ]


def told_entries(
    records: Sequence[JudgedRecord], first: Sequence[str] = (), last: Sequence[str] = ()
) -> dict[str, Any]:
    """The entries `unscored`, `error_codes` and `failures` of what the episodes gave.

    Args:
        records: One for every episode.
        first: Names of further attributes that a failure shows, behind its seed.
        last: The same, before its answer.
    """
    return {
        "unscored": sum(not record.scored for record in records),
        "error_codes": dict(Counter(record.error_code for record in records if record.error_code)),
        "failures": [
            {
                "text": record.text,
                "seed": record.seed,
                **{name: _plain(getattr(record, name)) for name in first},
                "error_code": record.error_code,
                "false_success": record.false_success,
                "denied": record.denied,
                **{name: _plain(getattr(record, name)) for name in last},
                "answer": record.answer,
                "truth": list(record.reasons),
            }
            for record in records
            if not record.success or record.denied
        ],
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def told_line(failure: Mapping[str, Any], where: str = "") -> str:
    """A failure of `told_entries` in a line; `where` stands behind its seed."""
    why = failure["answer"] if failure["error_code"] else "; ".join(failure["truth"])
    code = failure["error_code"] or "false success"
    return f"seed {failure['seed']:>3}  {where}{failure['text']!r}: {code}: {why}"
