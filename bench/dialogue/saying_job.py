"""Says sentences that were written by hand, each after what was said before it, on one station for those of a kind."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from toolhand.agent_node.console.options import BackendOptions
from toolhand.bench.dialogue.conversation import TalkedTo, UtteranceRecord, station_of
from toolhand.bench.dialogue.expected import Expected, Uttered
from toolhand.bench.dialogue.said import HandwrittenLine, load_lines, said_file, said_of
from toolhand.bench.reader import make_reader
from toolhand.sim.snapshot import Snapshot
from toolhand.sim.tasks.arranged import ArrangedTask, Placing
from toolhand.sim.tasks.places import AtSpot
from toolhand.tool_nodes.results import ErrorCode

_MOVED_M = 0.01
"""What stands so far from where it stood was moved [m]."""


@dataclass(frozen=True)
class SaidJob:
    """Sentences of a file with the same scene, after the same words.

    Attributes:
        source: Name of the file.
        index: Number of the first one in its file.
        reader: Who reads them, see `toolhand.bench.reader.make_reader`.
        undo: True to take back what was done as meant, and measure that.
    """

    source: str
    index: int
    lines: tuple[HandwrittenLine, ...]
    backends: BackendOptions
    reader: str = "learned"
    undo: bool = False

    @property
    def key(self) -> str:
        """Name under which it is kept."""
        return f"{self.source}_{self.index:03d}_{len(self.lines)}{'_undo' if self.undo else ''}"


def said_jobs(
    source: str, backends: BackendOptions, n: int | None = None, reader: str = "learned", undo: bool = False
) -> list[SaidJob]:
    """Jobs for n sentences of a file, see `said_file`, spread evenly over it; for all where None. Raises ToolError."""
    lines = list(enumerate(load_lines(source)))
    count = len(lines) if n is None else min(n, len(lines))
    chosen = [lines[k * len(lines) // count] for k in range(count)]
    talks = {line.group for _, line in chosen if line.talks}
    chosen = [pair for pair in lines if pair in chosen or pair[1].group in talks]
    jobs = []
    # Talks stay whole; the others of a scene are said at the same station.
    for _, group in groupby(
        chosen, key=lambda pair: (pair[1].scene_seed, pair[1].after, pair[1].talks * pair[1].group)
    ):
        first, *rest = list(group)
        said = tuple(line for _, line in (first, *rest))
        jobs.append(SaidJob(said_file(source).stem, first[0], said, backends, reader, undo))
    return jobs


def say_lines(job: SaidJob) -> list[UtteranceRecord]:
    """What came of each sentence, from the same moment; unscored where what was said before it failed.

    A talk ends with the first sentence that is not as meant: what follows rests upon it.
    """
    line = job.lines[0]
    robot = TalkedTo(station_of(line.scene, line.scene_seed, job.backends), make_reader(job.reader))
    station, start = robot.station, robot.station.world.snapshot()
    for words in line.after:
        turn = robot.say(words)
        # A question that is open is what some sentences answer.
        if not turn.success and not (turn.asking or turn.error_code == ErrorCode.AMBIGUOUS):
            return crashed_lines(job, f"before it {words!r} failed: {turn.answer}")
    station.world.hold(0.5)
    if line.talks:
        records = []
        for number, line in enumerate(job.lines):
            record = robot.judged(job.index, said_of(line, start, station.world.snapshot()))
            kind = "first turns" if number == 0 else "follow-ups"
            records.append(replace(record, kind=kind, closed=not line.open))
            if record.outcome != "as meant":
                break
            station.world.hold(0.5)
        return records
    moment = station.save()
    memories = robot.dialogue.robot, robot.dialogue.operator
    records = []
    for line in job.lines:
        station.restore(moment)
        robot.begin(*copy.deepcopy(memories))
        before = station.world.snapshot()
        record = robot.judged(job.index, said_of(line, start, before))
        records.append(replace(record, closed=not line.open))
        if job.undo and record.outcome == "as meant":
            records += _taken_back(job, robot, before)
    return records


def _taken_back(job: SaidJob, robot: TalkedTo, before: Snapshot) -> list[UtteranceRecord]:
    """What came of "undo that", where one object that stood was moved or is held: it is to stand there again."""
    scene, now = robot.station.scene, robot.station.world.snapshot().objects
    moved = [
        name
        for name, state in before.objects.items()
        if np.linalg.norm(now[name].position_m - state.position_m) > _MOVED_M or "gripper" in now[name].touching
    ]
    if len(moved) != 1 or "gripper" in before.objects[moved[0]].touching:
        return []
    x, y, z = (float(value) for value in before.objects[moved[0]].position_m)
    task = ArrangedTask("undo that", scene, (Placing((moved[0],), AtSpot((x, y, z))),))
    record = robot.judged(job.index, Uttered("undo", "undo that", (Expected("deed", task),)))
    stands = robot.station.world.snapshot().objects[moved[0]].position_m
    off = round(1000 * float(np.hypot(stands[0] - x, stands[1] - y)), 2)
    return [replace(record, off_mm=None if record.outcome == "refused usefully" else off)]


def crashed_lines(job: SaidJob, why: str) -> list[UtteranceRecord]:
    """The records of sentences that gave none."""
    return [
        UtteranceRecord(job.index, line.kind, line.words, line.meaning, "unscored", (why,), closed=not line.open)
        for line in job.lines
    ]
