"""Does one deed and takes it back: how far from its old spot the thing stands then."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from toolhand.agent_node.console.options import BackendOptions
from toolhand.bench.dialogue.conversation import TalkedTo, UtteranceRecord, station_of, tabletop_of
from toolhand.bench.dialogue.expected import Uttered
from toolhand.bench.dialogue.saying_places import PLACES
from toolhand.bench.dialogue.tabletop import conversation_scene
from toolhand.sim.tasks.places import AtSpot
from toolhand.tool_nodes.results import ErrorCode

UNDONE = ("plain pick", "plain place", "into a container", "part of the table", "on top", "nudge", "somewhere free")
"""Kinds of deeds that are taken back, of seeds in turn."""
_SCENES = 40
"""Scenes that are tried for a deed of a certain kind."""


@dataclass(frozen=True)
class UndoJob:
    """One deed of a seed."""

    seed: int
    backends: BackendOptions

    @property
    def kind(self) -> str:
        """Kind of the deed."""
        return UNDONE[self.seed % len(UNDONE)]

    @property
    def key(self) -> str:
        """Name under which it is kept."""
        return f"undo_{self.seed}"


def undo_once(job: UndoJob) -> list[UtteranceRecord]:
    """The records of a deed and of its undoing; only the first where the deed is not as meant."""
    rng = np.random.default_rng([job.seed, 0x0D0])
    for _ in range(_SCENES):
        robot = TalkedTo(station_of(conversation_scene(rng), job.seed, job.backends))
        table = tabletop_of(rng, robot.station)
        said = next(PLACES[job.kind](table), None)
        if said is not None:
            return _undone(job, robot, said, rng)
    return crashed_undo(job, "no scene was found for it")


def _undone(job: UndoJob, robot: TalkedTo, said: Uttered, rng: np.random.Generator) -> list[UtteranceRecord]:
    before = robot.station.world.snapshot()
    deed = robot.judged(job.seed, said)
    if deed.outcome != "as meant":
        return [deed]
    table = tabletop_of(rng, robot.station)
    (moved,) = (
        name
        for name, state in before.objects.items()
        if np.linalg.norm(table.now.objects[name].position_m - state.position_m) > 0.01
        or "gripper" in table.now.objects[name].touching
    )
    x, y, z = (float(value) for value in before.objects[moved].position_m)
    thing = table.scene.find(moved)
    undo = table.to(f"undo: {job.kind}", table.say("undo", "undo that"), thing, AtSpot((x, y, z)))
    record = robot.judged(job.seed, undo)
    now = robot.station.world.snapshot().objects[moved].position_m
    off = 1000 * float(np.linalg.norm(now[:2] - np.array([x, y])))
    return [deed, replace(record, off_mm=round(off, 2) if record.outcome != "refused usefully" else None)]


def crashed_undo(job: UndoJob, why: str) -> list[UtteranceRecord]:
    """The record of a deed that gave none."""
    return [UtteranceRecord(job.seed, job.kind, "", "", "unscored", (why,), error_code=ErrorCode.INTERNAL)]
