"""What the grasp benchmark notes of each attempt, and the folder that keeps it while a run goes on.

DIR/settings.json       what was asked for; a folder of another run is refused
DIR/scenes/KEY.json     the attempts of one scene and side, written when it is over
DIR/failures/KEY.*      images of an attempt that failed, and a film of it
DIR/report.json         the whole document as --json prints it, written at the end
DIR/grasps.csv          all attempts in one table, written at the end
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from toolhand.agent_node.console.terminal import say
from toolhand.agent_node.runs.claims import claim
from toolhand.agent_node.runs.folder import encode, write_atomically, write_json
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import MIB, read_file
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, invalid

Job = TypeVar("Job")
Kept = TypeVar("Kept")
_LONGEST = 16 * MIB
"""Longest file of a run that is read [bytes]: a scene of twenty attempts has 40 kB."""

POOR_IOU = 0.75
"""A mask that shares less than this with the object's true pixels is a poor one; the share that the crowded bench asks
for."""


@dataclass(frozen=True)
class GraspRecord:
    """One attempt, also one that never moved the arm.

    Attributes:
        side: Role of the side, see `toolhand.bench.grasp.sides`.
        attempt: Number in the scene, from 0.
        object: Name of the object as scenes have it.
        family: Family or kind of the object.
        objects: Objects that were in the scene before.
        visible: Share of the object that the image shows, see `toolhand.bench.grasp.lying`; None without an object.
        under: Another object rested on it, by the contact forces of the physics; None without an object.
        fits: The jaws open as wide as the object is narrow, seen from above as it lay; None without an object.
        prompt: Normalized point (x, y) that was segmented; empty where the bench chose among masks.
        mask_iou: Overlap of the mask with the object's visible pixels; None without a mask.
        pose: Grasp, 4x4 by rows, base frame [m]; empty without one.
        width_m: Opening of the jaws that the generator asked for [m].
        approach_deg: Angle between the approach and straight down [deg].
        sampled: Grasps before the collision filter.
        offered: Grasps after it.
        executed: The arm moved.
        opening_m: Jaws on the held object, as the tool measured them [m].
        slip_mm: How far the object moved in the hand during the judge's hold [mm]; None where it was not held.
        up: Objects that were up after the hold: nothing, the target, another, the target and another.
        fell: Objects that lay below the table at the end.
        actions: Grasps that were executed for the object, those of what was in its way with them; 0 where one was all
            that was allowed.
        removed: Objects that were taken away because they were up.
        reported: The tools said success.
        success: The judge says success.
        code: Error code at the end, empty where the tools said success.
        text: Last text of the tools.
        computed: Calls of compute_grasp; clearing asks for a grasp of several masks.
        segment_s, compute_s, plan_s: Processor time of the segmenter, of all calls of compute_grasp and of all
            planning [s]; None for a stage that was not reached.
        robot_s: Simulated time from the image to the end of the attempt [s].
        check_s: Part of it in which the robot made sure of what it holds [s].
        images: Files of the failure, in `failures/`.
    """

    side: str
    kind: str
    seed: int
    attempt: int = 0
    object_set: str = ""
    object: str = ""
    family: str = ""
    objects: int = 0
    visible: float | None = None
    under: bool | None = None
    fits: bool | None = None
    prompt: tuple[float, ...] = ()
    mask_iou: float | None = None
    mask_score: float | None = None
    pose: tuple[float, ...] = ()
    grasp_score: float | None = None
    width_m: float | None = None
    approach_deg: float | None = None
    sampled: int | None = None
    offered: int | None = None
    executed: bool = False
    opening_m: float | None = None
    slip_mm: float | None = None
    up: str = ""
    fell: int = 0
    actions: int = 0
    removed: int = 0
    reported: bool = False
    success: bool = False
    code: str = ""
    text: str = ""
    computed: int = 0
    segment_s: float | None = None
    compute_s: float | None = None
    plan_s: float | None = None
    robot_s: float = 0.0
    check_s: float | None = None
    images: tuple[str, ...] = ()

    @property
    def scored(self) -> bool:
        """False after an infrastructure error."""
        return self.code not in INFRASTRUCTURE_ERRORS

    @property
    def false_success(self) -> bool:
        """The tools said success and the judge denies it."""
        return self.reported and not self.success

    @property
    def held_untold(self) -> bool:
        """The target alone was up at the end, and the tools reported a failure."""
        return not self.reported and self.up == "the target"

    @property
    def poor_mask(self) -> bool:
        """There was a mask, and it is not that of the object."""
        return self.mask_iou is not None and self.mask_iou < POOR_IOU

    @property
    def cause(self) -> str:
        """Why it failed; empty after a success."""
        if self.success:
            return ""
        why = self.code
        if self.reported:
            why = "slipped out after success was reported" if self.up == "nothing" else f"success claimed, {self.up} up"
        return f"{why}, poor mask" if self.poor_mask else why


def from_document(document: Mapping[str, Any]) -> GraspRecord:
    """The record of a line that `asdict` and JSON made of one. Raises TypeError for another document."""
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in document.items()
    }
    return GraspRecord(**values)


class RunFolder:
    """The folder of a run; the same command goes on where it was interrupted.

    Args:
        path: The folder; made where it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failures = path / "failures"
        self._scenes = path / "scenes"

    def open(self, settings: Mapping[str, Any]) -> None:
        """Begin a run with these settings, or go on with one.

        Raises:
            ToolError: INVALID_ARGUMENT where the folder holds something else; UNAVAILABLE where it cannot be written.
        """
        claim(self.path, "settings.json", settings, _LONGEST)
        try:
            for folder in (self._scenes, self.failures):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise invalid(f"The folder {self.path} cannot be made: {error.strerror}.") from error

    def find(self, key: str) -> list[GraspRecord] | None:
        """The attempts of a scene that is over; None where it is not."""
        return self.find_as(key, lambda documents: [from_document(document) for document in documents])

    def keep(self, key: str, records: Sequence[GraspRecord]) -> None:
        """Write the attempts of a scene that is over."""
        self.keep_document(key, [asdict(record) for record in records])

    def find_as(self, key: str, read: Callable[[Any], Kept]) -> Kept | None:
        """What `read` makes of what was kept of a scene; None where nothing was.

        Raises:
            ToolError: INVALID_ARGUMENT where `read` raises TypeError or KeyError, or the file cannot be read.
        """
        path = self._scenes / f"{key}.json"
        if not path.exists():
            return None
        try:
            return read(self._read(path))
        except (KeyError, TypeError) as error:
            raise invalid(f"{path} is of another version of this benchmark: name another folder.") from error

    def keep_document(self, key: str, document: Any) -> None:
        """Write what there is to keep of a scene that is over, as JSON has it."""
        write_json(self._scenes / f"{key}.json", document)

    def _read(self, path: Path) -> Any:
        try:
            return plain_json.load(read_file(path, _LONGEST, self.path))
        except (OSError, ValueError) as error:
            raise invalid(f"{path} cannot be read: {error}.") from error

    def write_table(self, records: Sequence[GraspRecord]) -> Path:
        """All attempts as one table."""
        path = self.path / "grasps.csv"
        write_atomically(path, encode(csv_of([asdict(record) for record in records])))
        return path


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV, a column for each key that any of them has; lists are JSON."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        plain = {key: json.dumps(value) if isinstance(value, (tuple, list)) else value for key, value in row.items()}
        writer.writerow(plain)
    return text.getvalue()


def resumed(
    work: Mapping[str, Job],
    folder: RunFolder | None,
    find: Callable[[RunFolder, str, Job], Kept | None],
    run: Callable[[list[Job]], Sequence[Kept]],
) -> list[Kept]:
    """What every job gave, in order; those that the folder has are not done again.

    Args:
        work: Jobs by the keys that they are kept under.
        find: (folder, key, job) -> what was kept of a job; None where it is not over.
        run: Does the jobs that are missing, in order.
    """
    found = {key: None if folder is None else find(folder, key, job) for key, job in work.items()}
    missing = [key for key, kept in found.items() if kept is None]
    if folder is not None and len(missing) < len(work):
        say(f"{len(work) - len(missing)} of {len(work)} are in {folder.path} already")
    found.update(zip(missing, run([work[key] for key in missing]), strict=True))
    return [kept for kept in found.values() if kept is not None]
