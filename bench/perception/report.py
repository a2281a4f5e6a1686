"""`toolhand bench perception`: what the backends answer about random scenes, against the simulator's truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.bench.commands.perception import Options
from toolhand.bench.frame import Benchmark, Document
from toolhand.bench.perception.calibration import Rating, calibration, format_calibration, save_plot
from toolhand.bench.perception.masks import MASKS
from toolhand.bench.perception.metrics import (
    box_iou,
    box_of_corners,
    depth_errors,
    format_means,
    mask_iou,
    mean_row,
    outline_iou,
)
from toolhand.bench.perception.scores import CONFUSION_RATE, ratings
from toolhand.bench.perception.text import TEXT
from toolhand.bench.perception.truth import ImageTruth, place_fault, side_fault, true_box, truth_of
from toolhand.bench.stats import machine, rate_row
from toolhand.sim.perception import PerceptionNoise
from toolhand.sim.perception import Truth as SimTruth
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.predicates import Relation
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.backends import Ports, make_ports
from toolhand.tool_nodes.geometry import backproject, pixel
from toolhand.tool_nodes.language.places import free_space_phrase
from toolhand.tool_nodes.perception.masks import inner_point
from toolhand.tool_nodes.perception.prompts import segment_by
from toolhand.tool_nodes.port_names import DEFAULT_SENSOR, PortNames, presets
from toolhand.tool_nodes.registry import Setting, Shared
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools
from toolhand.tool_nodes.types import BoolArray, Everything, Frame, PointPrompt

SHARES = (0.5, 0.75)
"""Overlaps from which on an answer is good, or very good."""

SIDES: tuple[Relation, ...] = ("left_of", "right_of", "in_front_of", "behind")


@dataclass
class Findings:
    """What one perception gave in one scene.

    Attributes:
        hits: Right or wrong, by metric.
        values: Overlaps and errors, by metric.
        faults: One sentence for each wrong answer.
        ratings: Scores of what was found for words, and whether it was right.
    """

    hits: dict[str, list[bool]] = field(default_factory=dict)
    values: dict[str, list[float]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    ratings: list[Rating] = field(default_factory=list)

    def hit(self, metric: str, fault: str | None) -> None:
        """Note an answer: right where it has no fault."""
        self.hits.setdefault(metric, []).append(fault is None)
        if fault is not None:
            self.faults.append(f"{metric}: {fault}")

    def value(self, metric: str, value: float) -> None:
        """Note a number."""
        self.values.setdefault(metric, []).append(value)


@dataclass(frozen=True)
class SceneJob:
    """One scene, for some perceptions or for all; `size` is (width, height) of the image [px], `sensor` a name."""

    seed: int
    size: tuple[int, int] = workspace.IMAGE_SIZE
    perceptions: tuple[str, ...] = ()
    sensor: str = DEFAULT_SENSOR


@dataclass(frozen=True)
class SceneRecord:
    """What a job gave, by perception; `crash` says why where it gave nothing."""

    job: SceneJob
    findings: Mapping[str, Findings]
    crash: str = ""


def run_one(job: SceneJob) -> SceneRecord:
    """Show the same image of a generated scene to each perception and compare."""
    station = Station(
        generate_scene(job.seed), StationConfig(ports=PortNames(sensor=job.sensor), seed=job.seed, image_size=job.size)
    )
    truth, frame = truth_of(station), station.camera.capture()
    items = [placed.item for placed in station.scene.objects]
    setting = Setting(job.seed, truth=SimTruth(items))
    unsure = Setting(job.seed, truth=SimTruth(items, PerceptionNoise(confusion_rate=CONFUSION_RATE)))
    findings = {}
    for preset in job.perceptions or presets():
        ports = make_ports(preset, setting=replace(setting, shared=Shared()))
        seen = frame if next(ports.over_truth, None) else replace(frame, ids=None)
        findings[preset] = measure(truth, seen, ports, job.seed)
        asked = make_ports(preset, setting=replace(unsure, shared=Shared()))
        findings[preset].ratings = ratings(truth, seen, asked, job.seed)
    return SceneRecord(job, findings)


def measure(truth: ImageTruth, frame: Frame, ports: Ports, seed: int = 0) -> Findings:
    """Ask a perception about a frame and compare with the truth.

    Args:
        frame: Image that the perception is shown.
        seed: Chooses the object beside which free table is asked for.

    Raises:
        ToolError: UNAVAILABLE or INTERNAL; any other error counts as a wrong answer.
    """
    findings = Findings()
    visible = truth.visible()
    image = SessionImage(frame.rgb, frame)
    depth, focal = ports.depth.estimate(image).value
    for metric, error in zip(("depth_mae_m", "depth_abs_rel"), depth_errors(depth, truth.depth), strict=True):
        if np.isfinite(error):
            findings.value(metric, error)
    cloud = backproject(depth, frame.K).reshape(-1, 3)
    unique = [placed for placed, _ in visible if _count(truth, item=placed.item) == 1]
    for placed, mask in visible:
        if placed in unique:
            findings.hit("pointing", _pointing_fault(ports, image, placed.item, mask))
        _measure_mask(findings, truth, image, ports, placed, mask, cloud, focal)
    _measure_counts(findings, image, ports, visible)
    _measure_free_space(findings, truth, image, ports, unique, seed)
    return findings


def _count(truth: ImageTruth, item: str) -> int:
    return sum(other.item == item for other in truth.scene.objects)


def _pointing_fault(ports: Ports, image: SessionImage, text: str, mask: BoolArray) -> str | None:
    try:
        point = ports.pointer.point(image, text).value[0]
    except ToolError as error:
        return _as_fault(error)
    u, v = pixel(point, image.size)
    return None if mask[v, u] else f"the point for {text!r} is on something else"


def _as_fault(error: ToolError) -> str:
    """A task error as a fault; faults of the system are raised."""
    if error.code in INFRASTRUCTURE_ERRORS:
        raise error
    return f"{error.code}: {error.message}"


def _measure_mask(
    findings: Findings,
    truth: ImageTruth,
    image: SessionImage,
    ports: Ports,
    placed: PlacedObject,
    mask: BoolArray,
    cloud: NDArray[np.float32],
    focal: float,
) -> None:
    """Mask, box in the image and box in space of the object under a point that is surely on it."""
    overlaps = {"mask_iou": 0.0, "box_iou": 0.0, "box3d_iou": 0.0}
    fault = ""
    try:
        best = segment_by(ports.segmenter, image, PointPrompt([inner_point(mask)])).value[0]
        found = best.mask
        overlaps["mask_iou"], overlaps["box_iou"] = mask_iou(found, mask), outline_iou(found, mask)
        findings.value("mask_score", best.score)
        findings.value("mask_score_error", abs(best.score - overlaps["mask_iou"]))
        corners = BoundingBoxTools().box(cloud, found, focal).value["corners_3d"]
        box = box_of_corners(np.asarray(corners, float))
        overlaps["box3d_iou"] = box_iou(box, true_box(truth, image.require_frame(), placed, box))
    except ToolError as error:
        fault = f" ({_as_fault(error)})"
    for metric, overlap in overlaps.items():
        findings.value(metric, overlap)
        for share in SHARES:
            bad = overlap < share
            findings.hit(f"{metric}>={share}", f"{placed.item}: {overlap:.2f}{fault}" if bad else None)


def _measure_counts(
    findings: Findings, image: SessionImage, ports: Ports, visible: Sequence[tuple[PlacedObject, BoolArray]]
) -> None:
    """Whether all objects, and all of each kind, are counted right."""
    n = len(segment_by(ports.segmenter, image, Everything()).value)
    findings.hit("count_all", None if n == len(visible) else f"{n} of {len(visible)} objects")
    kinds = Counter(placed.asset.kind for placed, _ in visible)
    for kind, wanted in sorted(kinds.items()):
        try:
            n = len(ports.pointer.point(image, kind).value)
        except ToolError as error:
            findings.hit("count_kind", f"{kind}: {_as_fault(error)}")
            continue
        findings.hit("count_kind", None if n == wanted else f"{kind}: {n}, there are {wanted}")


def _measure_free_space(
    findings: Findings,
    truth: ImageTruth,
    image: SessionImage,
    ports: Ports,
    unique: Sequence[PlacedObject],
    seed: int,
) -> None:
    """Free table on each side of one object, and anywhere. Scenes promise room on all sides of what is no container."""
    beside = [placed for placed in unique if not placed.asset.container]
    if beside:
        reference = beside[int(np.random.default_rng(seed).integers(len(beside)))]
        for side in SIDES:
            phrase = free_space_phrase(side, [reference.item])
            findings.hit("free_space_beside", _place_fault(truth, image, ports, phrase, side, reference))
    findings.hit("free_space_anywhere", _place_fault(truth, image, ports, free_space_phrase("anywhere"), None, None))


def _place_fault(
    truth: ImageTruth,
    image: SessionImage,
    ports: Ports,
    phrase: str,
    side: Relation | None,
    reference: PlacedObject | None,
) -> str | None:
    """Why the place that is given for a phrase is none, None if it is good."""
    try:
        point = ports.pointer.point(image, phrase).value[0]
    except ToolError as error:
        return _as_fault(error)
    fault = place_fault(truth, point)
    if fault is None and side is not None and reference is not None:
        fault = side_fault(truth, point, side, reference)
    return None if fault is None else f"{phrase!r}: {fault}"


RATES = (
    "pointing",
    *(f"{metric}>={share}" for metric in ("mask_iou", "box_iou", "box3d_iou") for share in SHARES),
    "count_all",
    "count_kind",
    "free_space_beside",
    "free_space_anywhere",
)
MEANS = ("mask_iou", "mask_score", "mask_score_error", "box_iou", "box3d_iou", "depth_mae_m", "depth_abs_rel")


def rows_of(records: Sequence[SceneRecord]) -> list[dict[str, Any]]:
    """For each perception the rates, then the means with intervals over scenes."""
    rows: list[dict[str, Any]] = []
    for perception in presets():
        scored = [r.findings[perception] for r in records if perception in r.findings]
        for metric in RATES if scored else ():
            hits = [hit for findings in scored for hit in findings.hits.get(metric, [])]
            rows.append(rate_row(f"{metric} [{perception}]", sum(hits), len(hits)))
        for metric in MEANS if scored else ():
            rows.append(mean_row(f"{metric} [{perception}]", [f.values.get(metric, []) for f in scored]))
    return rows


def scores_of(records: Sequence[SceneRecord]) -> dict[str, dict[str, Any]]:
    """For each perception whether its scores of found objects are probabilities; see `calibration`."""
    found = {
        name: [rating for r in records if name in r.findings for rating in r.findings[name].ratings]
        for name in presets()
    }
    return {name: calibration(rated) for name, rated in found.items() if rated}


class PerceptionBench(Benchmark[Options, SceneJob, SceneRecord]):
    """See `toolhand.bench.commands.perception`."""

    name = "perception"

    def __call__(self, options: Options) -> int:
        """See Benchmark; masks and text have documents of their own."""
        if options.masks or options.text:
            return (MASKS if options.masks else TEXT)(options)
        return super().__call__(options)

    def title(self, options: Options) -> str:
        last = options.first_seed + options.scenes - 1
        names = " and ".join(_presets(options))
        return f"{options.scenes} scenes, seeds {options.first_seed}..{last}, perceptions {names}"

    def jobs(self, options: Options) -> Sequence[SceneJob]:
        seeds = range(options.first_seed, options.first_seed + options.scenes)
        return [SceneJob(seed, options.size, _presets(options), options.sensor) for seed in seeds]

    def run(self, job: SceneJob) -> Sequence[SceneRecord]:
        return [run_one(job)]

    def crashed(self, job: SceneJob, why: str) -> Sequence[SceneRecord]:
        return [SceneRecord(job, {}, why or "it crashed")]

    def note(self, records: Sequence[SceneRecord]) -> str:
        return f"{sum(bool(r.crash) for r in records)} of {len(records)} crashed"

    def document(self, options: Options, records: Sequence[SceneRecord]) -> dict[str, Any]:
        return {
            "sensor": options.sensor,
            "machine": machine(),
            "seeds": [record.job.seed for record in records],
            "size": options.size,
            "jobs": options.jobs,
            "rows": rows_of(records),
            "scores": scores_of(records),
            "unscored": sum(bool(r.crash) for r in records),
            "crashes": dict(Counter(r.crash for r in records if r.crash)),
            "failures": [
                {"seed": r.job.seed, "perception": perception, "fault": fault}
                for r in records
                for perception, findings in r.findings.items()
                for fault in findings.faults
            ],
        }

    def keep(self, options: Options, document: Document, records: Sequence[SceneRecord]) -> None:
        if options.plot is not None:
            save_plot(document["scores"], options.plot)

    def lines(self, document: Document) -> str:
        means = format_means([row for row in document["rows"] if "mean" in row])
        scores = "\n".join(format_calibration(name, found) for name, found in document["scores"].items())
        return f"{means}\n{scores}\n{super().lines(document)}"

    def failure_line(self, failure: Mapping[str, Any]) -> str:
        return f"seed {failure['seed']:>3}  {failure['perception']:6} {failure['fault']}"


BENCH = PerceptionBench()


def _presets(options: Options) -> tuple[str, ...]:
    return (options.perception,) if options.perception else presets()
