"""`toolhand bench reader`: plans word by word against those of people, certainty against truth, time and memory."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from toolhand.agent_node.plan.grammar import split
from toolhand.agent_node.plan.learned import LearnedReader
from toolhand.agent_node.plan.model import ModelReader
from toolhand.agent_node.plan.reader import CanonicalReader, PlanReader, ShippedReader
from toolhand.agent_node.plan.reading import say
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.protocol import load_protocol
from toolhand.bench.commands.reader import Options
from toolhand.bench.frame import Benchmark
from toolhand.bench.stats import machine, rate_row, timing_row
from toolhand.tool_nodes.files import MIB
from toolhand.tool_nodes.results import invalid
from toolhand.training.reader.corpus import WORDS, SaidPlan, Varied, load

_BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
"""Bounds of the certainties that are counted together [-]."""
_SURE = (0.4, 0.6, 0.8)
"""Certainties from which on a plan is taken [-], of which the rows tell what is kept and what is wrong."""


@dataclass(frozen=True)
class ReadRecord:
    """What one sentence was read as; `plan` is empty where it was not read."""

    reading: SaidPlan
    plan: str
    certainty: float
    seconds: float

    @property
    def right(self) -> bool:
        """Whether it is the author's plan word by word."""
        return split(self.plan) == split(self.reading.plan)


class ReaderBench(Benchmark[Options, Options, ReadRecord]):
    """See `toolhand.bench.commands.reader`."""

    name = "reader"

    def jobs(self, options: Options) -> Sequence[Options]:
        return [options]

    def run(self, job: Options) -> Sequence[ReadRecord]:
        reader, readings = make_reader(job.reader, job.weights), _readings(job)
        reader.read("pick up the red box over there would you")  # weights are read, buffers made
        records = []
        for reading in readings:
            began = time.perf_counter()
            found = reader.read(reading.said, reading.context if job.context else "")
            seconds = time.perf_counter() - began
            plan, certainty = ("", 0.0) if found is None else (say(found.plan), found.certainty)
            records.append(ReadRecord(reading, plan, certainty, seconds))
        return records

    def crashed(self, job: Options, why: str) -> Sequence[ReadRecord]:
        raise invalid(why)

    def document(self, options: Options, records: Sequence[ReadRecord]) -> dict[str, Any]:
        first, later = ([r for r in records if bool(r.reading.context) is talked] for talked in (False, True))
        rows = [
            rate_row("as written: all", sum(r.right for r in records), len(records)),
            rate_row("as written: first words", sum(r.right for r in first), len(first)),
            rate_row("as written: later in a talk", sum(r.right for r in later), len(later)),
        ]
        for low, high in pairwise(_BINS):
            part = [r for r in records if low <= r.certainty < high or r.certainty == high == 1.0]
            rows.append(
                rate_row(f"certainty {low:.1f} to {high:.1f}: as written", sum(r.right for r in part), len(part))
            )
        for sure in _SURE:
            taken = [r for r in records if r.certainty >= sure]
            rows.append(rate_row(f"certainty from {sure:.1f} on: share of all", len(taken), len(records)))
            rows.append(
                rate_row(f"certainty from {sure:.1f} on: not as written", sum(not r.right for r in taken), len(records))
            )
        rows.append(timing_row("a sentence", [record.seconds for record in records]))
        return {
            "reader": options.reader,
            "authors": list(options.authors),
            "context": options.context,
            "noise": options.noise,
            "seed": options.seed,
            "machine": machine(),
            "memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB),
            "rows": rows,
            "unscored": 0,
            "failures": [_failure(record) for record in records if not record.right],
        }

    def failure_line(self, failure: Mapping[str, Any]) -> str:
        before = f" (before: {failure['context']})" if failure["context"] else ""
        read = f"{failure['plan']!r}, written {failure['written']!r}"
        return f"{failure['certainty']:.2f} {failure['said']!r}{before}: {read}"


BENCH = ReaderBench()


def _failure(record: ReadRecord) -> dict[str, Any]:
    reading = record.reading
    return {
        "said": reading.said,
        "context": reading.context,
        "written": reading.plan,
        "plan": record.plan,
        "certainty": round(record.certainty, 3),
    }


def make_reader(spec: str, weights: Path | None = None) -> PlanReader:
    """The reader of a name or of the spec of a policy, see `toolhand.bench.commands.reader`. Raises ToolError."""
    if spec == "canonical":
        return CanonicalReader()
    if spec == "learned":
        return ShippedReader() if weights is None else LearnedReader(weights)
    return ModelReader(make_policy(spec, load_protocol("spacetools"), ()))


def _readings(options: Options) -> list[SaidPlan]:
    readings: list[SaidPlan] = []
    for author in options.authors:
        folder = Path(author) if Path(author).is_dir() else WORDS / author
        if not (folder / "plan.tsv").exists():
            raise invalid(
                f"{author!r} is no author: a folder with said.tsv and plan.tsv, or one of training/reader/words."
            )
        readings += load(folder)
    step = max(1, len(readings) // (options.n or len(readings)))
    varied = Varied((), options.seed, options.noise)
    return [varied.noisy(reading) for reading in readings[::step]]
