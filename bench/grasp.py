"""`toolhand bench grasp`: single objects and clutter, each grasped once, lifted and held for 2 s."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import tyro

from bench.parallel import run_jobs
from bench.stats import format_rows, machine, rate_row, timing_row
from sim.predicates import THRESHOLDS, judge_pick
from sim.scene_generator import generate_scene
from sim.station import Station, StationConfig
from tool_nodes.catalogue import load_catalogue
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.toolbox import Session
from tool_nodes.types import Frame


@dataclass(frozen=True)
class Job:
    """One grasp: which product, which scene, alone or in clutter."""

    item: str
    seed: int
    clutter: bool


@dataclass(frozen=True)
class Record:
    """What one first attempt gave. `reported`: the tools said success; `success`: the simulator agrees."""

    job: Job
    kind: str
    reported: bool
    success: bool
    scored: bool
    cause: str
    generator_s: float | None


def _visible_point(frame: Frame, index: int) -> list[float]:
    """Normalized point in the middle of the object's visible pixels."""
    assert frame.ids is not None
    rows, columns = np.nonzero(frame.ids == index)
    if not rows.size:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, "The object is hidden from the camera.")
    middle = np.argmin((rows - np.median(rows)) ** 2 + (columns - np.median(columns)) ** 2)
    width, height = frame.size
    return [float((columns[middle] + 0.5) / width), float((rows[middle] + 0.5) / height)]


def run_one(job: Job) -> Record:
    """Grasp one object by the tools alone, no agent: segment, compute_grasp, execute_grasp."""
    scene = generate_scene(job.seed, required=(job.item,), n_objects=None if job.clutter else 1)
    index, target = next((i, p) for i, p in enumerate(scene.objects) if p.item == job.item)
    station = Station(scene, StationConfig(seed=job.seed))
    session = Session()
    before = station.world.snapshot()
    generator_s = None
    reported, scored, cause = False, True, ""
    calls: tuple[tuple[str, dict[str, object]], ...] = (
        ("robot.capture_image", {}),
        ("robot.get_depth_with_pointcloud", {}),
        ("sam2.segment_from_point", {}),
        ("grasp_generator.compute_grasp", {
            "point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px",
            "image_index": 0,
        }),
        ("robot.execute_grasp", {"grasp_pose": "$grasp_pose"}),
    )  # fmt: skip
    for name, arguments in calls:
        if name == "sam2.segment_from_point":
            x, y = _visible_point(station.camera.capture(), index)
            arguments = {"x": x, "y": y, "image_index": 0}
        record = station.toolbox.call(name, arguments, session)
        if name == "grasp_generator.compute_grasp":
            generator_s = record.wall_s
        if record.result.error is not None:
            cause = str(record.result.error.code)
            scored = record.result.error.code is not ErrorCode.INTERNAL
            break
    else:
        reported = True
    success = judge_pick(before, station.world.hold(THRESHOLDS.hold_s), (target.id,)) if scored else False
    if reported and not success:
        cause = "not held up at the end"
    return Record(job, load_catalogue()[job.item].kind, reported, success, scored, cause, generator_s)


def _note(records: Sequence[Record]) -> str:
    return f"{sum(r.success for r in records)} of {len(records)} succeeded"


def bench_grasp(
    n: int = 200,
    first_seed: int = 0,
    jobs: int = 1,
    as_json: Annotated[bool, tyro.conf.arg(name="json", help="Print exactly one JSON document on stdout.")] = False,
) -> int:
    """Grasp every kind of object once per trial, half alone and half in clutter; first attempts only.

    Args:
        n: Grasps.
        first_seed: Seed of the first scene.
        jobs: Processes.
    """
    if n < 1 or jobs < 1 or first_seed < 0:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "n and jobs must be 1 or more and first-seed 0 or more.")
    began = time.monotonic()
    items = sorted(item.name for item in load_catalogue().values() if not item.container)
    work = [Job(items[k % len(items)], first_seed + k, (k // len(items)) % 2 == 1) for k in range(n)]
    print(f"{n} grasps of {len(items)} products, seeds {first_seed}..{first_seed + n - 1}", file=sys.stderr)
    records = [r for r in run_jobs(run_one, work, jobs, _note) if r.scored]

    def rate(name: str, chosen: list[Record]) -> dict[str, Any]:
        return rate_row(name, sum(r.success for r in chosen), len(chosen))

    rows = [
        rate("all", records),
        rate("single", [r for r in records if not r.job.clutter]),
        rate("clutter", [r for r in records if r.job.clutter]),
    ]
    rows += [rate(kind, [r for r in records if r.kind == kind]) for kind in sorted({r.kind for r in records})]
    rows.append(rate_row("false_success", sum(r.reported and not r.success for r in records), len(records)))
    rows.append(timing_row("compute_grasp", [r.generator_s for r in records if r.generator_s is not None]))
    failures = [
        {"item": r.job.item, "seed": r.job.seed, "clutter": r.job.clutter, "cause": r.cause}
        for r in records if not r.success
    ]  # fmt: skip
    document = {
        "bench": "grasp",
        "machine": machine(),
        "seeds": [first_seed, first_seed + n - 1],
        "jobs": jobs,
        "rows": rows,
        "unscored": n - len(records),
        "causes": dict(Counter(f["cause"] for f in failures)),
        "failures": failures,
        "wall_s": round(time.monotonic() - began, 1),
    }
    if as_json:
        print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))
    else:
        print(format_rows(rows))
        print(f"causes: {document['causes'] or 'none'}")
        for failure in failures:
            where = " in clutter" if failure["clutter"] else ""
            print(f"  seed {failure['seed']:>3}  {failure['item']}{where}: {failure['cause']}")
        print(f"{document['machine']}  {document['wall_s']} s")
    return 0
