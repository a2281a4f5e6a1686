"""What is served and how it goes: clients report it about once a second, for the status. Nothing here knows Ray."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from toolhand.tool_nodes.serve.config import ServedEntry

KEPT = 2000
"""The latest calls of an entry, over which percentiles are taken; a round figure."""

SILENT_S = 5.0
"""A client that has not been heard of for so long is gone, and waits for nothing [s]; they report every second."""

OK = "ok"


@dataclass(frozen=True)
class ReplicaStats:
    """What a client reports of one entry since its report before.

    Attributes:
        waiting: Calls that have no answer yet.
        ends: How each call ended that has since: "ok", an error's code, or the cause of an UNAVAILABLE; and seconds.
    """

    waiting: int
    ends: Sequence[tuple[str, float]] = ()


@dataclass
class _Kept:
    waiting: dict[str, tuple[float, int]] = field(default_factory=dict)
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    ends: Counter[str] = field(default_factory=Counter)
    spent_s: float = 0.0


class MetricsActor:
    """What is served, and what its clients have met.

    Args:
        entries: By name.
    """

    def __init__(self, entries: Mapping[str, ServedEntry]) -> None:
        self._entries = dict(entries)
        self._kept = {name: _Kept() for name in entries}
        self._failures: dict[str, str] = {}

    def entries(self) -> dict[str, ServedEntry]:
        """What is served, by name."""
        return self._entries

    def failed(self, name: str, sentence: str) -> None:
        """Take down why a backend could not be made."""
        self._failures[name] = sentence

    def failure(self, name: str) -> str:
        """Why it could not be made the last time; empty where it could."""
        return self._failures.get(name, "")

    def report(self, client: str, stats: Mapping[str, ReplicaStats]) -> None:
        """Note what a client has met; what is not served any more is left out."""
        for name in set(stats) & set(self._kept):
            kept = self._kept[name]
            kept.waiting[client] = (time.monotonic(), stats[name].waiting)
            for end, seconds in stats[name].ends:
                kept.ends[end] += 1
                kept.spent_s += seconds
                kept.seconds.append(seconds)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each entry: `name`, `port`, `backend`, `run`, `waiting`, `calls`, `errors` by code or cause,
        `seconds` in all, and `p50_ms`, `p95_ms`, `p99_ms` of the latest calls, None before the first.
        """
        now = time.monotonic()
        rows = []
        for name, entry in self._entries.items():
            kept = self._kept[name]
            waiting = sum(count for since, count in kept.waiting.values() if now - since < SILENT_S)
            levels = np.percentile(kept.seconds, [50, 95, 99]) * 1e3 if kept.seconds else [None] * 3
            rows.append(
                {
                    "name": name,
                    "port": entry.port,
                    "backend": entry.backend,
                    "run": entry.run,
                    "waiting": waiting,
                    "calls": sum(kept.ends.values()),
                    "errors": {end: n for end, n in sorted(kept.ends.items()) if end != OK},
                    "seconds": kept.spent_s,
                    **{f"p{k}_ms": None if x is None else float(x) for k, x in zip((50, 95, 99), levels, strict=True)},
                }
            )
        return rows
