"""Says one sentence that was written by hand, after what was said before it, on a station of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent_node.console.options import BackendOptions
from bench.dialogue.conversation import TalkedTo, UtteranceRecord, station_of
from bench.dialogue.said import HandwrittenLine, SaidHalf, load_lines, said_of
from tool_nodes.results import ErrorCode


@dataclass(frozen=True)
class SaidJob:
    """One sentence of a half."""

    half: SaidHalf
    index: int
    line: HandwrittenLine
    backends: BackendOptions

    @property
    def key(self) -> str:
        """Name under which it is kept."""
        return f"{self.half}_{self.index:03d}"


def said_jobs(half: SaidHalf, backends: BackendOptions) -> list[SaidJob]:
    """A job for every sentence of a half."""
    return [SaidJob(half, index, line, backends) for index, line in enumerate(load_lines(half))]


def say_line(job: SaidJob) -> list[UtteranceRecord]:
    """What came of a sentence; unscored where what was to be done before it failed."""
    line = job.line
    robot = TalkedTo(station_of(line.scene, line.scene_seed, job.backends))
    start = robot.station.world.snapshot()
    for words in line.after:
        turn = robot.say(words)
        # A question that is open is what some sentences answer.
        if not turn.success and turn.error_code not in (ErrorCode.AMBIGUOUS, ErrorCode.NOT_UNDERSTOOD):
            return crashed_line(job, f"before it {words!r} failed: {turn.answer}")
    robot.station.world.hold(0.5)
    said = said_of(line, start, robot.station.world.snapshot())
    return [replace(robot.judged(job.index, said), closed=not line.open)]


def crashed_line(job: SaidJob, why: str) -> list[UtteranceRecord]:
    """The record of a sentence that gave none."""
    line = job.line
    return [UtteranceRecord(job.index, line.kind, line.words, line.meaning, "unscored", (why,), closed=not line.open)]
