"""Masks of what is pointed at, by kind of scene: IoU, what was cut, what was joined, and whether scores are the IoU.

Nothing moves: a scene at rest is pictured once, and each object in it is pointed at where it is surely seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from toolhand.bench.commands.perception import Options
from toolhand.bench.frame import Benchmark, Document
from toolhand.bench.perception.calibration import format_bins, overlap_calibration, save_plot
from toolhand.bench.perception.metrics import mask_iou, mean_row
from toolhand.bench.stats import machine, rate_row
from toolhand.sim.camera.ray import jittered, make_camera, scene_camera
from toolhand.sim.camera.sensor import ideal
from toolhand.sim.scene.clutter import CLUTTER, Clutter, clutter_scene
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.tasks.crowds import crowd_gap, crowded_scene
from toolhand.sim.world import World
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.geometry import pixel
from toolhand.tool_nodes.perception.masks import inner_point
from toolhand.tool_nodes.perception.pixels import PixelPerception
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Frame, PointPrompt, Segmentation

RIGHT = 0.75
"""Overlap from which on a mask is right [-], and share of an object or a mask below which it was cut or joined."""
LEAST_PIXELS = 300
"""Fewer visible pixels of an object are not asked for [px]: as in `bench grasp`."""
MASK_SCORES = "mask scores"
"""Name of the scores of masks in reports and plots."""
KINDS = ("apart", "crowd", *CLUTTER)
"""Kinds of scenes: objects of the catalogue apart or in a row, and clutter of any set."""


@dataclass(frozen=True)
class MaskJob:
    """One scene, seen by one sensor.

    Attributes:
        kind: One of KINDS.
        seed: Seed of the scene and of the sensor's noise.
        objects: Object set of the clutter.
        unknown: True where perception knows none of the products that stand in the scene.
    """

    kind: str
    seed: int
    objects: str = "generated"
    sensor: str = "clean"
    unknown: bool = True


@dataclass(frozen=True)
class MaskRecord:
    """One object that was pointed at.

    Attributes:
        iou: Overlap of its mask with the truth; 0 where there was none.
        cut: The mask misses a quarter of it or more.
        joined: A quarter of the mask or more is something else.
        score: Score of the mask; None where there was none.
        code: Error code, empty for a mask.
        named: A product's name that it was taken for and is not; empty where there is none.
    """

    job: MaskJob
    item: str
    iou: float = 0.0
    cut: bool = False
    joined: bool = False
    score: float | None = None
    code: str = ""
    named: str = ""


def scene_of(kind: str, seed: int, objects: str = "generated") -> Scene:
    """The scene of a kind and a seed. Raises ToolError INVALID_ARGUMENT for an unknown kind or set."""
    if kind == "apart":
        return generate_scene(seed)
    if kind == "crowd":
        return crowded_scene(seed)
    if kind not in KINDS:
        raise invalid(f"The kind of scene must be one of {', '.join(KINDS)}, not {kind[:60]!r}.")
    return clutter_scene(cast(Clutter, kind), seed, (objects,))


def make_images(scene: Scene, sensor: str, seed: int) -> tuple[Frame, Frame]:
    """(ideal with ids, as the sensor measures it) of a scene at rest."""
    world = World(scene)
    lamp = np.asarray(scene.light_position_m)

    def shot(model: Any) -> Frame:
        camera = jittered(scene_camera(), scene)
        made = make_camera(
            "ray", world.model, world.data, camera, world.body_index, seed=seed, lamp_position=lamp, sensor=model
        )
        return made.capture()

    return shot(ideal()), replace(shot(registry.make("sensor", sensor)), ids=None)


def run_one(job: MaskJob) -> list[MaskRecord]:
    """Point at everything in one scene."""
    scene = scene_of(job.kind, job.seed, job.objects)
    true, frame = make_images(scene, job.sensor, job.seed)
    assert true.ids is not None
    here = {placed.item for placed in scene.objects}
    known = [item for item in load_catalogue().values() if not (job.unknown and item.name in here)]
    perception = PixelPerception(known)
    image = SessionImage(frame.rgb, frame)
    views = perception.views(frame)
    records = []
    for k, placed in enumerate(scene.objects):
        own = true.ids == k
        if np.count_nonzero(own) < LEAST_PIXELS or placed.item.startswith("fixtures/"):
            continue
        record = MaskRecord(job, placed.item)
        try:
            best: Segmentation = perception.segment(image, PointPrompt([inner_point(own)])).value[0]
        except ToolError as error:
            records.append(replace(record, code=error.code))
            continue
        both = int(np.count_nonzero(best.mask & own))
        names = [view.name for view in views if view.recognised and own[pixel(view.point, frame.size)[::-1]]]
        records.append(
            replace(
                record,
                iou=mask_iou(best.mask, own),
                cut=bool(both < RIGHT * np.count_nonzero(own)),
                joined=bool(both < RIGHT * np.count_nonzero(best.mask)),
                score=float(best.score),
                named=next((name for name in names if name != placed.item), ""),
            )
        )
    return records


def rows_of(records: Sequence[MaskRecord]) -> list[dict[str, Any]]:
    """Masks that are right, by kind of scene; then what is wrong with the others, and the mean IoU."""
    scored = [record for record in records if record.code != ErrorCode.INTERNAL]
    rows = []
    for kind in dict.fromkeys(record.job.kind for record in scored):
        chosen = [record for record in scored if record.job.kind == kind]
        rows.append(rate_row(f"{kind}: right", sum(r.iou >= RIGHT for r in chosen), len(chosen)))
        rows.append(rate_row(f"{kind}: cut", sum(r.cut for r in chosen), len(chosen)))
        rows.append(rate_row(f"{kind}: joined", sum(r.joined for r in chosen), len(chosen)))
        if kind == "crowd":
            for name, wide in (("0 to 10 mm", False), ("20 mm", True)):
                part = [r for r in chosen if (crowd_gap(r.job.seed) > 0.015) == wide]
                rows.append(rate_row(f"crowd, {name} apart: right", sum(r.iou >= RIGHT for r in part), len(part)))
    n = len(scored)
    rows.append(rate_row("asked which of two", sum(r.code == ErrorCode.AMBIGUOUS for r in scored), n))
    rows.append(rate_row("no mask", sum(r.code not in ("", ErrorCode.AMBIGUOUS) for r in scored), n))
    rows.append(rate_row("named as another product", sum(bool(r.named) for r in scored), n))
    rows.append(rate_row("all: right", sum(r.iou >= RIGHT for r in scored), n))
    scenes = dict.fromkeys(r.job for r in scored)
    rows.append(mean_row("IoU", [[r.iou for r in scored if r.job == job] for job in scenes]))
    return rows


class MaskBench(Benchmark[Options, MaskJob, MaskRecord]):
    """`toolhand bench perception --masks KINDS`."""

    name = "masks"

    def title(self, options: Options) -> str:
        kinds = ", ".join(options.masks.split(","))
        return f"{options.scenes} scenes each of {kinds}, from seed {options.first_seed}, sensor {options.sensor}"

    def jobs(self, options: Options) -> Sequence[MaskJob]:
        kinds = options.masks.split(",")
        for kind in kinds:
            if kind not in KINDS:
                raise invalid(f"The kind of scene must be one of {', '.join(KINDS)}, not {kind[:60]!r}.")
        seeds = _seeds(options)
        return [
            MaskJob(kind, seed, options.objects, options.sensor, not options.known) for kind in kinds for seed in seeds
        ]

    def run(self, job: MaskJob) -> Sequence[MaskRecord]:
        return run_one(job)

    def crashed(self, job: MaskJob, why: str) -> Sequence[MaskRecord]:
        return [MaskRecord(job, why, code=ErrorCode.INTERNAL)]

    def document(self, options: Options, records: Sequence[MaskRecord]) -> dict[str, Any]:
        return {
            "machine": machine(),
            "sensor": options.sensor,
            "objects": options.objects,
            "known": options.known,
            "seeds": list(_seeds(options)),
            "jobs": options.jobs,
            "rows": rows_of(records),
            "scores": {MASK_SCORES: overlap_calibration([(r.score, r.iou) for r in records if r.score is not None])},
            "unscored": sum(r.code == ErrorCode.INTERNAL for r in records),
            "error_codes": dict(Counter(r.code for r in records if r.code)),
            "failures": [
                {"kind": r.job.kind, "seed": r.job.seed, "item": r.item, "iou": round(r.iou, 3), "code": r.code}
                for r in records
                if r.iou < RIGHT
            ],
        }

    def keep(self, options: Options, document: Document, records: Sequence[MaskRecord]) -> None:
        if options.plot is not None:
            save_plot(document["scores"], options.plot, thresholds={})

    def lines(self, document: Document) -> str:
        lines = [format_bins(name, found) for name, found in document["scores"].items()]
        means = [row for row in document["rows"] if "mean" in row]
        lines += [f"{row['name']}: mean {row['mean']:.3f} ({row['low']:.3f} .. {row['high']:.3f})" for row in means]
        return "\n".join([*lines, super().lines(document)])

    def failure_line(self, failure: Mapping[str, Any]) -> str:
        why = failure["code"] or f"IoU {failure['iou']:.2f}"
        return f"{failure['kind']:9} seed {failure['seed']:>6}  {failure['item']}: {why}"


MASKS = MaskBench()


def _seeds(options: Options) -> range:
    return range(options.first_seed, options.first_seed + options.scenes)
