"""The command `toolhand bench spoken`."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from agent_node.console.options import require_at_least
from agent_node.console.terminal import AsJson, say
from bench.stats import format_rows, machine, publish, rate_row, timing_row
from tool_nodes.ros.client import use_client


def bench_spoken(n: int = 20, stops: int = 0, seed: int = 0, as_json: AsJson = False) -> int:
    """Time a graph's answers to an operator and stop sequences; exit status 1 where anything moves after a stop.

    Args:
        n: Samples of each duration: refusal, question, and answer to first motion.
        stops: Also stop this many sequences, at moments spread evenly over them and every second one while the arm
            moves, and say "go on" after the reset.
        seed: Seed of the graph and of the moments.
    """
    require_at_least(1, n=n)
    require_at_least(0, stops=stops, seed=seed)
    began, load = time.monotonic(), os.getloadavg()[0]
    use_client()
    from bench.ros.spoken import measured

    found = measured(n, stops, seed, say)
    samples = found["stops"]
    resumed = [sample for sample in samples if sample.asked is not None]
    rows = [timing_row(name, seconds) for name, seconds in found["timings"].items()]
    if samples:
        rows += [
            rate_row("nothing moved after the stop", sum(sample.quiet for sample in samples), len(samples)),
            rate_row('"go on" asked first', sum(bool(sample.asked) for sample in resumed), len(resumed)),
        ]
    document = {
        "bench": "spoken",
        "machine": machine(),
        "load_before": round(load, 2),
        "seed": seed,
        "rows": rows,
        "codes": found["codes"],
        "stops": [asdict(sample) for sample in samples],
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, _report, as_json)
    return int(any(row["success"] != row["n"] for row in rows if "success" in row))


def _report(document: Mapping[str, Any]) -> str:
    """The rows as a table, and how the stopped sequences ended."""
    ends = ", ".join(f"{code or 'done before'} {count}" for code, count in document["codes"].items())
    phases = sorted(Counter(stop["phase"] for stop in document["stops"]).items())
    came = ", ".join(f"{phase} {count}" for phase, count in phases)
    stopped = f"\nStopped sequences ended: {ends}\nStops came: {came}" if ends else ""
    return format_rows(document["rows"]) + stopped
