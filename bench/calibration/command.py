"""`toolhand bench calibration`: how near a hand-eye calibration comes to the simulator's truth, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from toolhand.bench.calibration.picks import PickJob, PickRecord, pick
from toolhand.bench.calibration.rig import DEGENERATE, Rig, Taken
from toolhand.bench.commands.calibration import Options
from toolhand.bench.frame import Benchmark, Document
from toolhand.bench.stats import format_rows, machine, rate_row
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.calibration.charuco import CharucoBoard
from toolhand.tool_nodes.calibration.solving import FEWEST_POSES, HandEye, solve
from toolhand.tool_nodes.calibration.table_check import check_table
from toolhand.tool_nodes.calibration.viewpoints import CameraPlace
from toolhand.tool_nodes.geometry import invert
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import FloatArray
from toolhand.training.pool.parallel import run_jobs

TARGETS = {"mm": (0.2, 0.6), "deg": (0.05, 0.08)}
"""Largest median and 95th percentile of the error."""
INSIDE = float(chi2.ppf(0.95, 6))
"""Squared error in standard deviations below which the stated deviation covers the truth [-]: the ellipsoid that holds
95 % of what six normal errors give."""
FAULT_SEEDS = 5
"""Seeds of which each fault that needs images of its own is drawn [-]."""
_NAMED = {
    "pedestal of +12 cm": ("120 mm below", "119 mm below", "121 mm below"),
    "pedestal of -12 cm": ("120 mm above", "119 mm above", "121 mm above"),
    "squares printed at 97 %": ("squares of the board",),
    "mirrored board": ("mirrored",),
    "intrinsics of another camera": ("another camera's",),
}
"""Words that name each fault; millimetres by which a height is off are rounded."""


@dataclass(frozen=True)
class CalibrationJob:
    """One calibration of one camera.

    Attributes:
        seed: Seed of places and noise.
        faults: Try the faults that need images of their own.
    """

    camera: CameraPlace
    seed: int
    poses: int
    faults: bool


@dataclass(frozen=True)
class CalibrationRecord:
    """What came of it.

    Attributes:
        mm, deg: Error of position and rotation.
        work_mm: Error of a point where the board was, seen by the camera.
        sd_mm, sd_deg: Stated standard deviations.
        squared: Squared error in the stated standard deviations, of six.
        offset: (16,) true camera to calibrated camera, row by row.
        degenerate: Kind of degenerate poses that were tried, and what was said of them.
        faults: Whether each fault that was tried was named; what was said otherwise.
        error: Why there was no calibration; then the figures are 0.
    """

    job: CalibrationJob
    mm: float = 0.0
    deg: float = 0.0
    work_mm: float = 0.0
    sd_mm: float = 0.0
    sd_deg: float = 0.0
    squared: float = 0.0
    offset: tuple[float, ...] = ()
    degenerate: tuple[str, str] = ("", "")
    faults: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


def calibrate_once(job: CalibrationJob) -> CalibrationRecord:
    """Measure, solve, compare with the truth, and try what must be refused."""
    rig = Rig(job.camera, job.seed)
    taken = rig.take(job.poses)
    try:
        found = _solve(rig, taken)
    except ToolError as error:
        return CalibrationRecord(job, error=error.message)
    off = invert(found.X) @ rig.X
    miss = np.concatenate([off[:3, 3], Rotation.from_matrix(off[:3, :3]).as_rotvec()])
    faults = _faults_of_given(rig, taken)
    if job.faults:
        faults |= _faults_of_images(job)
    position, rotation = found.sd
    return CalibrationRecord(
        job,
        mm=1000.0 * float(np.linalg.norm(miss[:3])),
        deg=float(np.degrees(np.linalg.norm(miss[3:]))),
        work_mm=1000.0 * _at_work(rig, found),
        sd_mm=1000.0 * position,
        sd_deg=float(np.degrees(rotation)),
        squared=float(miss @ np.linalg.solve(found.covariance, miss)),
        offset=tuple((invert(rig.X) @ found.X).ravel().tolist()),
        degenerate=_degenerate(job),
        faults=faults,
    )


def _solve(rig: Rig, taken: Taken, board: CharucoBoard | None = None, K: FloatArray | None = None) -> HandEye:
    K = rig.model.K if K is None else K
    return solve(rig.robot, taken.joints, taken.seen, board or rig.said.board, K, rig.model.size, rig.said.on_hand)


def _at_work(rig: Rig, found: HandEye) -> float:
    """By how much what the camera sees is off [m] where the board was in the last image."""
    rig_board = rig.true_board()
    T_base_camera = rig.hand() @ rig.X if rig.said.on_hand else rig.X
    believed = rig.hand() @ found.X if rig.said.on_hand else found.X
    middle = rig_board @ np.append(rig.said.board.centre, 1.0)
    return float(np.linalg.norm((believed @ invert(T_base_camera) @ middle - middle)[:3]))


def _degenerate(job: CalibrationJob) -> tuple[str, str]:
    rig = Rig(job.camera, job.seed)
    kind = DEGENERATE[job.seed % len(DEGENERATE)]
    taken = rig.degenerate(job.poses, kind)
    try:
        _solve(rig, taken)
    except ToolError as error:
        return kind, error.message
    return kind, ""


def _faults_of_given(rig: Rig, taken: Taken) -> dict[str, str]:
    """Faults that the same images show: what is said of the board and of the camera is wrong."""
    board = rig.said.board
    larger = replace(board, square_m=board.square_m / 0.97)
    K = rig.model.K.copy()
    K[:2, :2] *= 1.05
    return {
        "squares printed at 97 %": _said_of(lambda: _solve(rig, taken, board=larger)),
        "intrinsics of another camera": _said_of(lambda: _solve(rig, taken, K=K)),
    }


def _faults_of_images(job: CalibrationJob) -> dict[str, str]:
    said = {}
    for name, height in (("pedestal of +12 cm", -0.12), ("pedestal of -12 cm", 0.12)):
        rig = Rig(job.camera, job.seed, table_m=height)
        taken = rig.take(FEWEST_POSES)
        said[name] = _said_of(partial(_check_table, rig, taken))
    mirrored = Rig(job.camera, job.seed, mirrored=True).take(job.poses, tries=3)
    said["mirrored board"] = mirrored.refused[0] if mirrored.refused and not mirrored.seen else ""
    return said


def _check_table(rig: Rig, taken: Taken) -> None:
    check_table(_solve(rig, taken), rig.said, taken.frames, taken.seen)


def _said_of(work: Callable[[], object]) -> str:
    try:
        work()
    except ToolError as error:
        return error.message
    return ""


class CalibrationBench(Benchmark[Options, CalibrationJob, CalibrationRecord]):
    """See `toolhand.bench.commands.calibration`."""

    name = "calibration"

    def title(self, options: Options) -> str:
        cameras = ", ".join(dict.fromkeys(options.camera))
        return f"{options.seeds} calibrations of each of {cameras}, {options.poses} poses each"

    def jobs(self, options: Options) -> Sequence[CalibrationJob]:
        return [
            CalibrationJob(one, options.first_seed + k, options.poses, k < FAULT_SEEDS)
            for one in dict.fromkeys(options.camera)
            for k in range(options.seeds)
        ]

    def run(self, job: CalibrationJob) -> Sequence[CalibrationRecord]:
        return [calibrate_once(job)]

    def crashed(self, job: CalibrationJob, why: str) -> Sequence[CalibrationRecord]:
        return [CalibrationRecord(job, error=why)]

    def document(self, options: Options, records: Sequence[CalibrationRecord]) -> dict[str, Any]:
        pairs = _picks(options, records)
        cameras = dict.fromkeys(options.camera)
        return {
            "machine": machine(),
            "poses": options.poses,
            "first_seed": options.first_seed,
            "table_z": workspace.TABLE_Z,
            "errors": [_errors(one, [r for r in records if r.job.camera == one]) for one in cameras],
            "rows": [*_refusals(records), *_pick_rows(pairs)],
            "failures": _failures(records, pairs),
        }

    def lines(self, document: Document) -> str:
        return _report(document)

    def status(self, document: Document) -> int:
        return int(any(not row["met"] for row in document["errors"]))


BENCH = CalibrationBench()


def _picks(options: Options, records: Sequence[CalibrationRecord]) -> list[PickRecord]:
    """Picks by the true scene camera and by calibrated ones."""
    offsets = [record.offset for record in records if record.job.camera == "scene" and record.offset]
    if not options.picks or not offsets:
        return []
    asked = [PickJob(options.first_seed + k, offsets[k % len(offsets)]) for k in range(options.picks)]
    return run_jobs(pick, asked, options.jobs, lambda job, why: PickRecord(job.seed, why, why))


def _errors(camera: str, records: Sequence[CalibrationRecord]) -> dict[str, Any]:
    done = [record for record in records if not record.error]
    row: dict[str, Any] = {"camera": camera, "n": len(records), "failed": len(records) - len(done)}
    for name in ("mm", "deg", "work_mm", "sd_mm", "sd_deg"):
        values = [getattr(record, name) for record in done]
        for suffix, percent in (("median", 50), ("p95", 95)):
            row[f"{name}_{suffix}"] = round(float(np.percentile(values, percent)), 4) if values else None
    inside = sum(record.squared <= INSIDE for record in done)
    row["covered"] = rate_row(f"{camera}: deviation covers the truth", inside, len(done))
    share = inside / len(done) if done else 0.0
    row["met"] = (
        bool(done)
        and 0.90 <= share <= 0.99
        and all(
            row[f"{name}_median"] <= median and row[f"{name}_p95"] <= p95 for name, (median, p95) in TARGETS.items()
        )
    )
    return row


def _refusals(records: Sequence[CalibrationRecord]) -> list[dict[str, Any]]:
    tried = [record for record in records if record.degenerate[0]]
    rows = [rate_row("degenerate poses refused", sum(bool(r.degenerate[1]) for r in tried), len(tried))]
    for name, words in _NAMED.items():
        said = [record.faults[name] for record in records if name in record.faults]
        rows.append(rate_row(f"named: {name}", sum(any(w in text for w in words) for text in said), len(said)))
    return rows


def _pick_rows(pairs: Sequence[PickRecord]) -> list[dict[str, Any]]:
    if not pairs:
        return []
    return [
        rate_row("picks by the true camera", sum(not pair.true for pair in pairs), len(pairs)),
        rate_row("picks by the calibrated camera", sum(not pair.calibrated for pair in pairs), len(pairs)),
    ]


def _failures(records: Sequence[CalibrationRecord], pairs: Sequence[PickRecord]) -> list[str]:
    lines = [f"{r.job.camera} {r.job.seed}: {r.error}" for r in records if r.error]
    lines += [
        f"{r.job.camera} {r.job.seed}: the poses of kind {r.degenerate[0]!r} were not refused"
        for r in records
        if r.degenerate[0] and not r.degenerate[1]
    ]
    for record in records:
        lines += [
            f"{record.job.camera} {record.job.seed}: {name}: {text or 'not noticed'}"
            for name, text in record.faults.items()
            if not any(words in text for words in _NAMED[name])
        ]
    lines += [
        f"pick {p.seed}: true camera: {p.true or 'picked'}; calibrated: {p.calibrated or 'picked'}"
        for p in pairs
        if bool(p.true) != bool(p.calibrated)
    ]
    return lines


def _report(document: Mapping[str, Any]) -> str:
    lines = [f"{'':8}{'n':>5}{'error, median / p95':>34}{'where the board was':>24}{'stated deviation':>24}"]
    for row in document["errors"]:
        if row["n"] == row["failed"]:
            lines.append(f"{row['camera']:8}{row['n']:>5}  none succeeded")
            continue
        error = f"{row['mm_median']:.3f} / {row['mm_p95']:.3f} mm, {row['deg_median']:.3f} / {row['deg_p95']:.3f} deg"
        work = f"{row['work_mm_median']:.3f} / {row['work_mm_p95']:.3f} mm"
        stated = f"{row['sd_mm_median']:.3f} mm, {row['sd_deg_median']:.3f} deg"
        lines.append(f"{row['camera']:8}{row['n']:>5}{error:>38}{work:>22}{stated:>24}")
    lines += ["", format_rows([*(row["covered"] for row in document["errors"]), *document["rows"]])]
    lines += [f"  {line}" for line in document["failures"]]
    described = document["machine"]
    return "\n".join([*lines, f"{described['cpu']}, cores {described['cores']}; {document['wall_s']} s"])
