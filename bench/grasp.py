"""`toolhand bench grasp`: single objects and clutter, each grasped once, lifted and held for 2 s."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from agent_node.console.options import PortOptions, require_at_least
from agent_node.console.terminal import AsJson, say
from bench.grasping import grasp_calls, middle_of
from bench.stats import format_report, machine, publish, rate_row, timing_row, with_unscored
from sim.objects.products import PRODUCTS
from sim.scene.generator import generate_scene
from sim.station import Station, StationConfig
from sim.tasks.predicates import THRESHOLDS, judge_pick
from tool_nodes.port_names import AS_PRESET, DEFAULT_PRESET, PortNames
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, ToolError
from tool_nodes.types import Frame
from training.pool.parallel import run_jobs


@dataclass(frozen=True)
class GraspJob:
    """One grasp: which product, which scene, alone or in clutter."""

    item: str
    seed: int
    clutter: bool
    ports: PortNames = AS_PRESET


@dataclass(frozen=True)
class GraspRecord:
    """What one first attempt gave.

    Attributes:
        reported: The tools said success.
        success: The simulator says success.
        scored: False after an infrastructure error.
        cause: Why not, empty after a success.
        generator_s: Wall time of compute_grasp [s], None if it gave no grasp.
    """

    job: GraspJob
    kind: str
    reported: bool
    success: bool
    scored: bool
    cause: str
    generator_s: float | None


def _visible_point(frame: Frame, index: int) -> tuple[float, float]:
    """Normalized point in the middle of the object's visible pixels."""
    assert frame.ids is not None
    point = middle_of(frame.ids, index)
    if point is None:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, "The object is hidden from the camera.")
    return point


def run_one(job: GraspJob) -> GraspRecord:
    """Grasp one object by the tools alone, no agent: segment, compute_grasp, execute_grasp."""
    scene = generate_scene(job.seed, required=(job.item,), n_objects=None if job.clutter else 1)
    index, target = next((i, p) for i, p in enumerate(scene.objects) if p.item == job.item)
    station = Station(scene, StationConfig(seed=job.seed, ports=job.ports))
    before = station.world.snapshot()
    error, generator_s = grasp_by_tools(station, index)
    kind = PRODUCTS[job.item].kind
    if error is not None and error.code in INFRASTRUCTURE_ERRORS:
        return GraspRecord(job, kind, False, False, False, error.code, generator_s)
    success = judge_pick(before, station.world.hold(THRESHOLDS.hold_s), (target.id,))
    cause = error.code if error is not None else "" if success else "not held up at the end"
    return GraspRecord(job, kind, error is None, success, True, str(cause), generator_s)


def grasp_by_tools(station: Station, index: int) -> tuple[ToolError | None, float | None]:
    """Segment, compute_grasp, execute_grasp for the object of this index, with a point that is surely on it.

    Returns:
        What the tools reported, None for success; and how long the grasp generator took [s], None if it gave no grasp.
    """
    generator_s = None
    try:
        for record in grasp_calls(station, lambda: _visible_point(station.camera.capture(), index)):
            if record.name == "grasp_generator.compute_grasp":
                generator_s = record.wall_s
    except ToolError as error:
        return error, generator_s
    return None, generator_s


def jobs_of(n: int, first_seed: int) -> list[GraspJob]:
    """The first n grasps: kinds take turns, alone and in clutter take turns, and each round swaps those two.

    So any n is spread over both and over the kinds, and two rounds grasp each product alone and in clutter.
    """
    of_kind: dict[str, list[str]] = {}
    for item in sorted(PRODUCTS.values(), key=lambda item: (item.kind, item.name)):
        if not item.container:
            of_kind.setdefault(item.kind, []).append(item.name)
    items = [name for names in zip_longest(*of_kind.values()) for name in names if name is not None]
    jobs = []
    for k in range(n):
        turn, place = divmod(k, len(items))
        jobs.append(GraspJob(items[place], first_seed + k, (turn + place) % 2 == 1))
    return jobs


def crashed(job: GraspJob, why: str) -> GraspRecord:
    """The record of a job that gave none: counted, never scored."""
    return GraspRecord(job, PRODUCTS[job.item].kind, False, False, False, f"{ErrorCode.INTERNAL}: {why}", None)


def _note(records: Sequence[GraspRecord]) -> str:
    return f"{sum(r.success for r in records)} of {len(records)} succeeded"


def bench_grasp(
    n: int = 200, first_seed: int = 0, ports: PortOptions = AS_PRESET, jobs: int = 1, as_json: AsJson = False
) -> int:
    """Grasp things of every kind, in turn alone and in clutter; first attempts only.

    Args:
        n: Grasps; 116 grasp each product once alone and once in clutter.
        first_seed: Seed of the first scene.
        jobs: Processes.
    """
    require_at_least(1, n=n, jobs=jobs)
    require_at_least(0, first_seed=first_seed)
    ports.require_known(DEFAULT_PRESET)
    began = time.monotonic()
    work = [replace(job, ports=ports) for job in jobs_of(n, first_seed)]
    products = len({job.item for job in work})
    say(f"{n} grasps of {products} products, seeds {first_seed}..{first_seed + n - 1}")
    records = run_jobs(run_one, work, jobs, crashed, _note)
    document = {
        "bench": "grasp",
        "ports": vars(ports.over(DEFAULT_PRESET)),
        "machine": machine(),
        "seeds": [job.seed for job in work],
        "jobs": jobs,
        "rows": rows_of(records),
        "unscored": sum(not r.scored for r in records),
        "causes": dict(Counter(r.cause for r in records if not r.success)),
        "failures": [
            {"item": r.job.item, "seed": r.job.seed, "clutter": r.job.clutter, "cause": r.cause}
            for r in records
            if not r.success
        ],
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, lambda document: format_report(document, "causes", _failure_line), as_json)
    return 0


def rows_of(records: Sequence[GraspRecord]) -> list[dict[str, Any]]:
    """Rates of all, of alone and in clutter and of every kind, false successes, and the generator's time."""
    scored = [r for r in records if r.scored]

    def rate(name: str, chosen: Sequence[GraspRecord]) -> dict[str, Any]:
        return rate_row(name, sum(r.success for r in chosen), len(chosen))

    return [
        *with_unscored(rate("all", scored), len(records) - len(scored)),
        rate("single", [r for r in scored if not r.job.clutter]),
        rate("clutter", [r for r in scored if r.job.clutter]),
        *(rate(kind, [r for r in scored if r.kind == kind]) for kind in sorted({r.kind for r in scored})),
        rate_row("false_success", sum(r.reported and not r.success for r in scored), len(scored)),
        timing_row("compute_grasp", [r.generator_s for r in scored if r.generator_s is not None]),
    ]


def _failure_line(failure: Mapping[str, Any]) -> str:
    where = " in clutter" if failure["clutter"] else ""
    return f"seed {failure['seed']:>3}  {failure['item']}{where}: {failure['cause']}"
