"""`toolhand bench sensors`: what each noise term of a simulated sensor, alone, does to perception and to grasps."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from agent_node.console.options import COLOUR_AND_DEPTH, BackendOptions, Unprefixed, require_at_least
from agent_node.console.terminal import AsJson, say
from agent_node.runs.folder import write_atomically, write_json
from bench.grasp.records import GraspRecord, RunFolder, csv_of, from_document, resumed
from bench.grasp.rows import sign_test
from bench.grasp.scenes import GraspJob, contents_of, sets_of, titled
from bench.grasp.sides import GraspSide
from bench.grasp.trial import attempts
from bench.grasp.watch import Watch
from bench.perception.metrics import box_of_corners, format_means, mask_iou, mean_row
from bench.perception.truth import PictureTruth, true_box, truth_of
from bench.stats import format_report, machine, publish, rate_row
from sim.camera.sensor import make_sensor
from sim.camera.sensors.noise import NoiseTerms
from sim.scene.clutter import Clutter
from sim.station import Station
from tool_nodes.geometry import backproject
from tool_nodes.motion.robot_model import DEFAULT_ROBOT
from tool_nodes.perception.masks import inner_point
from tool_nodes.perception.prompts import segment_by
from tool_nodes.port_names import PortNames
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, ToolError, invalid
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools
from tool_nodes.types import PointPrompt
from training.pool.parallel import run_jobs

NONE, ALL = "clean", "all"
"""The rows without any noise, and with the whole sensor."""

METRICS = {"iou": "mask IoU", "box_mm": "3D box centre error [mm]"}
"""What is measured of each thing, and its words."""

AS_DEVICE = replace(COLOUR_AND_DEPTH, ports=PortNames(sensor="realsense_d435"))
"""Colour and depth as a sensor with noise gives them, where nothing is said."""

_PANEL_PX, _ROW_PX, _LEFT_PX, _TOP_PX = 300, 22, 120, 46
"""Width of a panel of the plot, height of a row, room for names and room for titles [px]; chosen to look at."""
_BARS = {"iou": "#2f5f9e", "box_mm": "#c08a2e", "grasp": "#4d8b4d"}
"""Colours of the panels."""


@dataclass(frozen=True)
class SensorJob:
    """One scene seen through one sensor; `grasps` for one attempt at one thing of it, too."""

    seed: int
    term: str
    kind: Clutter
    sets: tuple[str, ...]
    backends: BackendOptions
    grasps: bool
    out: str = ""

    @property
    def grasp(self) -> GraspJob:
        """The same scene for the benchmark of grasps, the term as its side: each term is asked for the same thing."""
        backends = replace(self.backends, ports=replace(self.backends.ports, sensor=sensor_name(self)))
        return GraspJob(GraspSide(self.term, self.term, backends, DEFAULT_ROBOT), self.kind, self.seed, self.sets)


@dataclass(frozen=True)
class SensorRecord:
    """What one scene gave.

    Attributes:
        values: A value for each visible thing, by metric; an IoU of 0 and no box where a tool failed.
        attempt: The first attempt at one thing; None where there was none.
        code: Error code of what could not be scored.
    """

    job: SensorJob
    values: Mapping[str, list[float]] = field(default_factory=dict)
    attempt: GraspRecord | None = None
    code: str = ""

    @property
    def grasped(self) -> bool | None:
        """Whether the attempt succeeded; None where there was none that could be scored."""
        return self.attempt.success if self.attempt is not None and self.attempt.scored else None


def run_one(job: SensorJob) -> SensorRecord:
    """Segment every visible thing of a scene by a true point, box it, and grasp one of them."""
    watch = Watch(job.grasp)
    values = _measure(watch.station, truth_of(watch.station))
    attempt = attempts(watch, job.grasp)[0] if job.grasps else None
    if job.out:
        kept = {"values": values, "attempt": attempt and asdict(attempt)}
        RunFolder(Path(job.out)).keep_document(job.grasp.key, kept)
    return SensorRecord(job, values, attempt)


def _kept(job: SensorJob) -> Callable[[Any], SensorRecord]:
    """Makes the record of a job of what was kept of it."""
    return lambda kept: SensorRecord(job, kept["values"], kept["attempt"] and from_document(kept["attempt"]))


def sensor_name(job: SensorJob) -> str:
    """The name of the job's sensor: one term of the sensor of the options, all of it, or none."""
    sensor = job.backends.ports.sensor
    return {NONE: "clean", ALL: sensor}.get(job.term, f"{sensor}:{job.term}")


def _measure(station: Station, truth: PictureTruth) -> dict[str, list[float]]:
    frame = station.camera.capture()
    image, ports = SessionImage(frame.rgb, frame), station.ports
    depth, focal = ports.depth.estimate(image).value
    cloud = backproject(depth, frame.K).reshape(-1, 3)
    values: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for placed, mask in truth.visible():
        overlap = 0.0
        try:
            found = segment_by(ports.segmenter, image, PointPrompt([inner_point(mask)])).value[0].mask
            overlap = mask_iou(found, mask)
            box = box_of_corners(np.asarray(BoundingBoxTools().box(cloud, found, focal).value["corners_3d"], float))
            true = true_box(truth, frame, placed, box)
            values["box_mm"].append(1000.0 * float(np.linalg.norm(box.T_parent_box[:3, 3] - true.T_parent_box[:3, 3])))
        except ToolError as error:
            if error.code in INFRASTRUCTURE_ERRORS:
                raise
        values["iou"].append(overlap)
    return values


def crashed(job: SensorJob, why: str) -> SensorRecord:
    """The record of a job that gave none: counted, never scored."""
    return SensorRecord(job, code=why or ErrorCode.INTERNAL)


def _note(records: Sequence[SensorRecord]) -> str:
    return f"{sum(bool(r.code) for r in records)} of {len(records)} could not be scored"


def bench_sensors(
    scenes: int = 10,
    first_seed: int = 0,
    scene: Clutter = "packed",
    objects: str = "generated",
    terms: str = "",
    grasping: bool = False,
    backends: Unprefixed[BackendOptions] = AS_DEVICE,
    out: Path | None = None,
    jobs: int = 1,
    plot: Path | None = None,
    as_json: AsJson = False,
) -> int:
    """Switch the noise terms of a sensor on one at a time, over the same scenes: masks, 3D boxes and grasps.

    Args:
        scenes: Scenes, each seen through every sensor.
        first_seed: Seed of the first scene.
        scene: Kind of clutter.
        objects: Sets that the things come from, SET+SET.
        terms: Only these noise terms, with commas.
        grasping: Grasp one thing of each scene, too, the same one for each term.
        out: Folder for tables, plot and every attempt; the same command goes on after a break.
        jobs: Processes.
        plot: Where to write a picture of the table (PNG).
    """
    require_at_least(1, scenes=scenes, jobs=jobs)
    require_at_least(0, first_seed=first_seed)
    backends.require_known()
    rows = (NONE, *chosen_terms(backends.ports.sensor, terms), ALL)
    began = time.monotonic()
    seeds = range(first_seed, first_seed + scenes)
    sets = sets_of(objects)
    contents = contents_of(sets)
    settings = {
        **backends.document(),
        "scene": scene,
        "objects": sets,
        "contents": contents,
        "grasping": grasping,
    }
    folder = None if out is None else RunFolder(out)
    if folder is not None:
        folder.open(settings)
    title = f"{scenes} scenes ({scene}) of {titled(objects, contents)}"
    say(f"{title}, seeds {seeds[0]}..{seeds[-1]}, sensor {backends.ports.sensor}: {', '.join(rows)}")
    where = "" if out is None else str(out)
    work = [SensorJob(seed, term, scene, sets, backends, grasping, where) for seed in seeds for term in rows]
    records = _records(work, jobs, folder)
    document = {
        "bench": "sensors",
        **settings,
        "machine": machine(),
        "seeds": list(seeds),
        "jobs": jobs,
        "rows": rows_of(records, rows),
        "unscored": sum(bool(r.code) for r in records),
        "crashes": dict(Counter(r.code for r in records if r.code)),
        "failures": [],
        "wall_s": round(time.monotonic() - began, 1),
    }
    if folder is not None:
        tried = [record.attempt for record in records if record.attempt is not None]
        table = folder.write_table(tried) if tried else folder.path
        write_atomically(folder.path / "rows.csv", csv_of([_flat(row) for row in document["rows"]]).encode())
        write_json(folder.path / "report.json", document)
        save_plot(document["rows"], folder.path / "terms.png")
        say(f"{folder.path / 'rows.csv'}, {folder.path / 'terms.png'}; attempts in {table}")
    publish(document, _report, as_json)
    if plot is not None:
        save_plot(document["rows"], plot)
    return 0


def _records(work: Sequence[SensorJob], jobs: int, folder: RunFolder | None) -> list[SensorRecord]:
    """The records of all jobs; those that the folder has are not done again."""
    return resumed(
        {job.grasp.key: job for job in work},
        folder,
        lambda kept, key, job: kept.find_as(key, _kept(job)),
        lambda missing: run_jobs(run_one, missing, jobs, crashed, _note),
    )


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without rows in it, as CSV has it."""
    change = {f"change_{key}": value for key, value in row.get("change", {}).items()}
    return {**{key: value for key, value in row.items() if key != "change"}, **change}


def chosen_terms(sensor: str, terms: str) -> tuple[str, ...]:
    """The terms of a sensor that are on; some of them where they are named. Raises ToolError INVALID_ARGUMENT."""
    model = make_sensor(sensor, "scene", 0)
    if not isinstance(model, NoiseTerms) or ":" in sensor or "+" in sensor:
        raise invalid(f"The sensor {sensor[:60]!r} has no noise terms of its own that could be switched on one by one.")
    if not terms:
        return model.terms()
    return tuple(term for term in terms.split(",") if model.only(term))


def rows_of(records: Sequence[SensorRecord], terms: Sequence[str]) -> list[dict[str, Any]]:
    """For each term the mean of each metric, its difference to the clean picture of the same scenes, and grasps."""
    scored = [r for r in records if not r.code]
    rows: list[dict[str, Any]] = []
    clean = {r.job.seed: r for r in scored if r.job.term == NONE}
    for metric in METRICS:
        for term in terms:
            mine = [r for r in scored if r.job.term == term and r.job.seed in clean]
            row = mean_row(f"{metric} {term}", [r.values[metric] for r in mine], term=term, metric=metric)
            pairs = [[_mean(r.values[metric]) - _mean(clean[r.job.seed].values[metric])] for r in mine]
            change = mean_row("", [pair for pair in pairs if np.isfinite(pair).all()])
            rows.append(row | {"change": {key: change[key] for key in ("mean", "low", "high")}})
    tried = {(r.job.term, r.job.seed): grasped for r in scored if (grasped := r.grasped) is not None}
    for term in terms:
        by_seed = {seed: success for (of, seed), success in tried.items() if of == term}
        if by_seed:
            rows.append(rate_row(f"grasp {term}", sum(by_seed.values()), len(by_seed), term=term))
            beside = [(success, tried[NONE, seed]) for seed, success in by_seed.items() if (NONE, seed) in tried]
            rows[-1] |= paired_with_clean(beside)
    return rows


def paired_with_clean(pairs: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    """What a term does to success in the same scenes: the change of the rate, and a sign test over those that differ.

    Args:
        pairs: Success with the term and with the clean picture of each scene.
    """
    change = mean_row("", [[float(mine) - float(clean)] for mine, clean in pairs])
    lost, gained = (sum(pair == one for pair in pairs) for one in ((False, True), (True, False)))
    return {
        "change": {key: change[key] for key in ("mean", "low", "high")},
        "pairs": len(pairs),
        "lost": lost,
        "gained": gained,
        "p": sign_test(lost, gained),
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _report(document: Mapping[str, Any]) -> str:
    means = [row for row in document["rows"] if "mean" in row]
    lines = format_means(means).splitlines()
    lines[0] += "   change against clean"
    for k, row in enumerate(means, 1):
        change = row["change"]
        if change["mean"] is not None:
            lines[k] += f"   {change['mean']:+.3f} ({change['low']:+.3f} .. {change['high']:+.3f})"
    lines.append(_grasp_table([row for row in document["rows"] if "lost" in row]))
    return "\n".join(lines) + "\n" + format_report(document, "crashes", lambda failure: str(failure))


def _grasp_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Success of first attempts by term as text, paired with the clean picture of the same scenes."""
    if not rows:
        return "grasps were not tried: --grasping"
    lines = [f"{'success, paired with clean':28}{'pairs':>6}{'lost':>6}{'gained':>8}{'p':>8}   change (95 % interval)"]
    for row in rows:
        change, p = row["change"], f"{row['p']:.2g}"
        shown = "-"
        if change["mean"] is not None:
            shown = f"{change['mean']:+.3f} ({change['low']:+.3f} .. {change['high']:+.3f})"
        lines.append(f"{row['name']:28}{row['pairs']:>6}{row['lost']:>6}{row['gained']:>8}{p:>8}   {shown}")
    return "\n".join(lines)


def save_plot(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write bars of every metric by term, with 95 % intervals, as a PNG. Raises ToolError INVALID_ARGUMENT."""
    panels: dict[str, list[tuple[str, int, float, float, float]]] = {}
    for row in rows:
        metric, keys = row.get("metric", "grasp"), ("mean", "low", "high") if "mean" in row else ("rate", "low", "high")
        if row[keys[0]] is not None:
            panels.setdefault(metric, []).append((row["term"], row["n"], *(float(row[key]) for key in keys)))
    terms = list(dict.fromkeys(term for panel in panels.values() for term, *_ in panel))
    size = (_LEFT_PX + len(panels) * (_PANEL_PX + 30), _TOP_PX + _ROW_PX * len(terms) + 24)
    plot = Image.new("RGB", size, "white")
    draw, font = ImageDraw.Draw(plot), ImageFont.load_default(size=13)
    for k, term in enumerate(terms):
        draw.text((_LEFT_PX - 8, _TOP_PX + _ROW_PX * (k + 0.5)), term, "black", font, "rm")
    for k, (metric, panel) in enumerate(panels.items()):
        left = _LEFT_PX + k * (_PANEL_PX + 30)
        most = max(max(high for *_, high in panel), 1e-6) if metric == "box_mm" else 1.0
        draw.text((left, 12), METRICS.get(metric, "grasp success, first attempt"), "black", font)
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            x = left + share * _PANEL_PX
            draw.line([x, _TOP_PX, x, size[1] - 22], fill="#e4e4e4")
            draw.text((x, size[1] - 18), f"{share * most:.3g}", "black", font, "ma")
        for term, n, mean, low, high in panel:
            middle = _TOP_PX + _ROW_PX * (terms.index(term) + 0.5)
            ends = [left + _PANEL_PX * value / most for value in (mean, low, high)]
            draw.rectangle([left, middle - 6, ends[0], middle + 6], fill=_BARS[metric])
            draw.line([ends[1], middle, ends[2], middle], fill="black", width=2)
            draw.text((left + 4, middle), f"n {n}", "white", font, "lm")
    try:
        plot.quantize(32).save(path, format="PNG", optimize=True)
    except OSError as error:
        raise invalid(f"The plot cannot be written to {path}: {error}.") from error
