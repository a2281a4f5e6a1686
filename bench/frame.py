"""What all benchmarks have in common: jobs over processes, one document, a report for people, an exit status.

A benchmark is a subclass of `Benchmark` and its options, a dataclass in `bench/commands/NAME.py`; the folder is the
list of benchmarks. `toolhand bench NAME` parses the options, measures, prints the document and keeps it in a file
(`toolhand.bench.results`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from toolhand.agent_node.console.terminal import say
from toolhand.bench.options import BenchOptions
from toolhand.bench.stats import format_report, publish
from toolhand.training.pool.parallel import run_jobs

Chosen = TypeVar("Chosen", bound=BenchOptions)
Job = TypeVar("Job")
Record = TypeVar("Record")

Document = Mapping[str, Any]
"""What a benchmark found, as JSON has it."""


class Benchmark(Generic[Chosen, Job, Record]):
    """One benchmark; instances hold no state, so that other processes can be given their methods.

    Attributes:
        name: Entry `bench` of the document.
    """

    name: str

    def title(self, options: Chosen) -> str:
        """What is said before it begins; nothing where empty."""
        return ""

    def jobs(self, options: Chosen) -> Sequence[Job]:
        """What is to be done, each independent of the others. Raises ToolError INVALID_ARGUMENT."""
        return ()

    def run(self, job: Job) -> Sequence[Record]:
        """The records of a job; in another process where several are asked for."""
        raise NotImplementedError

    def crashed(self, job: Job, why: str) -> Sequence[Record]:
        """The records of a job that raised or whose process died: counted, never scored."""
        raise NotImplementedError

    def note(self, records: Sequence[Record]) -> str:
        """The records so far in a few words, beside the progress bar."""
        return ""

    def measure(self, options: Chosen, jobs: Sequence[Job]) -> list[Record]:
        """The records of all jobs, in their order."""
        return self.over_processes(jobs, getattr(options, "jobs", 1))

    def over_processes(self, jobs: Sequence[Job], processes: int) -> list[Record]:
        """`run` for every job. One process is this one."""
        return [record for records in self.each(jobs, processes) for record in records]

    def each(self, jobs: Sequence[Job], processes: int) -> list[Sequence[Record]]:
        """The same, the records of each job by themselves."""

        def so_far(done: Sequence[Sequence[Record]]) -> str:
            return self.note([record for records in done for record in records])

        return run_jobs(self.run, jobs, processes, self.crashed, so_far)

    def document(self, options: Chosen, records: Sequence[Record]) -> dict[str, Any]:
        """Entries of the document between `bench` and `wall_s`."""
        raise NotImplementedError

    def keep(self, options: Chosen, document: Document, records: Sequence[Record]) -> None:
        """Write what there is to write beside the document."""

    def lines(self, document: Document) -> str:
        """The document as text for people: rows, causes, failures, machine."""
        return format_report(document, self.failure_line)

    def failure_line(self, failure: Mapping[str, Any]) -> str:
        """One of the document's `failures` in a line."""
        raise NotImplementedError

    def status(self, document: Document) -> int:
        """The exit status: 1 where what was measured is not as it has to be."""
        return 0

    def __call__(self, options: Chosen) -> int:
        """Measure and print.

        Args:
            options: Have been checked.

        Returns:
            The exit status.

        Raises:
            ToolError: INVALID_ARGUMENT for what cannot be measured; UNAVAILABLE where something is not there.
        """
        began = time.monotonic()
        jobs = self.jobs(options)
        if title := self.title(options):
            say(title)
        records = self.measure(options, jobs)
        document = {"bench": self.name, **self.document(options, records)}
        document["wall_s"] = round(time.monotonic() - began, 1)
        self.keep(options, document, records)
        publish(document, self.lines, options.as_json)
        return self.status(document)
