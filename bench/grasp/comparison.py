"""Grasps of any object set, in any clutter, by any generator and segmenter, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from toolhand.agent_node.console.terminal import say
from toolhand.agent_node.runs.folder import write_atomically, write_json
from toolhand.bench.commands.grasp import GraspProtocol, Options
from toolhand.bench.frame import Benchmark, Document
from toolhand.bench.grasp.page import write_page
from toolhand.bench.grasp.plots import scores_of, success_plot
from toolhand.bench.grasp.records import GraspRecord, RunFolder, csv_of, resumed
from toolhand.bench.grasp.rows import (
    FIRST,
    FIRST_CHOSEN,
    cause_rows,
    causes_of,
    format_paired,
    objects_of,
    paired,
    rows_of,
)
from toolhand.bench.grasp.scenes import GraspJob, contents_of, counts_in, jobs_of, kinds_of, sets_of, titled
from toolhand.bench.grasp.sides import GraspSide, GraspWay, sides_of
from toolhand.bench.grasp.trial import run_one
from toolhand.bench.perception.calibration import format_bins, save_plot, save_png
from toolhand.bench.perception.metrics import format_means
from toolhand.bench.stats import failure_lines, format_rows, machine
from toolhand.sim.objects.census import counts_said
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.results import ErrorCode


class GraspBench(Benchmark[Options, GraspJob, GraspRecord]):
    """See `toolhand.bench.commands.grasp`."""

    name = "grasp"

    def title(self, options: Options) -> str:
        return f"{_title(options)}; {', '.join(side.label for side in _sides(options))}"

    def jobs(self, options: Options) -> Sequence[GraspJob]:
        sets, sides = sets_of(options.objects), _sides(options)
        kinds = kinds_of(options.scene, sets)
        if options.out is not None:
            RunFolder(options.out).open(_settings(options))
        out = "" if options.out is None else str(options.out)
        return jobs_of(
            sides, kinds, sets, options.n, options.first_seed, options.protocol, out, options.objects_per_scene or None
        )

    def run(self, job: GraspJob) -> Sequence[GraspRecord]:
        return run_one(job)

    def crashed(self, job: GraspJob, why: str) -> Sequence[GraspRecord]:
        """See Benchmark. Such a job is done again when the run goes on."""
        return [GraspRecord(job.side.role, job.kind, job.seed, code=ErrorCode.INTERNAL, text=why)]

    def note(self, records: Sequence[GraspRecord]) -> str:
        false, denied = sum(r.false_success for r in records), sum(r.held_untold for r in records)
        succeeded = f"{sum(r.success for r in records)} of {len(records)} succeeded"
        return f"{succeeded}, {false} falsely said so, {denied} were held and said to have failed"

    def measure(self, options: Options, jobs: Sequence[GraspJob]) -> list[GraspRecord]:
        """See Benchmark; what the folder of the run has is not done again."""
        done = resumed(
            {job.key: job for job in jobs},
            None if options.out is None else RunFolder(options.out),
            lambda kept, key, job: kept.find(key),
            lambda missing: self.each(missing, options.jobs),
        )
        return [record for records in done for record in records]

    def document(self, options: Options, records: Sequence[GraspRecord]) -> dict[str, Any]:
        sets, sides = sets_of(options.objects), _sides(options)
        jaws_m = load_robot(options.robot.robot).gripper.max_width
        return {
            "title": _title(options),
            **_settings(options),
            "machine": machine(),
            "counts": counts_in(sets, jaws_m),
            "jaws_m": jaws_m,
            "n": options.n,
            "seeds": sorted({record.seed for record in records}),
            "jobs": options.jobs,
            **figures(records, sides, options.protocol),
        }

    def keep(self, options: Options, document: Document, records: Sequence[GraspRecord]) -> None:
        if options.out is not None:
            write_results(RunFolder(options.out), document, _sides(options), records)

    def lines(self, document: Document) -> str:
        return report(document)


BENCH = GraspBench()


def _sides(options: Options) -> list[GraspSide]:
    ways = [way for way in get_args(GraspWay) if getattr(options, way)]
    return sides_of(options.backends, options.robot.robot, options.vs, options.control, options.ideal, ways)


def _settings(options: Options) -> dict[str, Any]:
    """What a run in a folder has to have in common with the one that goes on."""
    sets = sets_of(options.objects)
    return {
        "objects": options.objects,
        "contents": contents_of(sets),
        "scene": kinds_of(options.scene, sets),
        "first_seed": options.first_seed,
        "protocol": options.protocol,
        "objects_per_scene": options.objects_per_scene,
        "robot": options.robot.robot,
        "sides": [side.document() for side in _sides(options)],
    }


def _title(options: Options) -> str:
    sets = sets_of(options.objects)
    what = f"{titled(options.objects, contents_of(sets))}, {' and '.join(kinds_of(options.scene, sets))}"
    return f"{what}, {options.n} scenes each from seed {options.first_seed}, {options.protocol}"


def figures(records: Sequence[GraspRecord], sides: Sequence[GraspSide], protocol: GraspProtocol) -> dict[str, Any]:
    """All figures of the document: rows of each side, paired tables, scores, causes and failures."""
    of = {side.role: [r for r in records if r.side == side.role] for side in sides}
    first, *others = sides
    return {
        "rows": [
            {"side": s.label, **row} for s in sides for row in (*rows_of(of[s.role], protocol), *cause_rows(of[s.role]))
        ],
        "by_object": [{"side": s.label, **row} for s in sides for row in objects_of(of[s.role])],
        "paired": {s.label: paired(of[first.role], of[s.role], protocol) for s in others},
        "scores": scores_of(of[first.role]),
        "unscored": sum(not r.scored for r in records),
        "causes": {s.label: causes_of(of[s.role]) for s in sides},
        "failures": [
            {
                "side": s.label,
                "kind": r.kind,
                "seed": r.seed,
                "attempt": r.attempt,
                "object": r.object,
                "cause": r.cause,
                "up": r.up,
                "mask_iou": r.mask_iou,
                "text": r.text,
            }
            for s in sides
            for r in of[s.role]
            if not r.success
        ],
    }


def write_results(
    folder: RunFolder, document: Mapping[str, Any], sides: Sequence[GraspSide], records: Sequence[GraspRecord]
) -> None:
    """Write tables, plots and the page into the folder of a run."""
    table = folder.write_table(records)
    write_atomically(folder.path / "rows.csv", csv_of([*document["rows"], *document["by_object"]]).encode())
    shown = {
        side.label: [row for row in document["rows"] if row["side"] == side.label and _is_plotted(row)]
        for side in sides
    }
    save_png(success_plot(shown), folder.path / "success.png")
    if document["scores"]:
        bins = [{"scores": name, **row} for name, found in document["scores"].items() for row in found["bins"]]
        errors = [{"scores": name, **row} for name, found in document["scores"].items() for row in found["errors"]]
        write_atomically(folder.path / "reliability.csv", csv_of([*bins, *errors]).encode())
        save_plot(document["scores"], folder.path / "reliability.png", thresholds={})
    write_json(folder.path / "report.json", document)
    page = write_page(folder.path, {**document, "report": report(document)}, sides, records)
    say(f"{page}; every attempt is in {table}")


def _is_plotted(row: Mapping[str, Any]) -> bool:
    whole = (FIRST, FIRST_CHOSEN, "decluttered", "grasp success, of executed")
    return bool(row["n"]) and (row.get("part") in ("kind", "lie") or row["name"] in whole)


def report(document: Mapping[str, Any]) -> str:
    """The document as text."""
    lines = []
    for side in document["causes"]:
        rows = [row for row in document["rows"] if row["side"] == side]
        lines += [f"== {side}", format_rows([{**row, "name": _indented(row)} for row in rows])]
        lines += [f"{row['name']:28}{row['n']:>6}{row['per_hour'] or '-':>9}" for row in rows if "per_hour" in row]
        lines.append(format_means([row for row in rows if "mean" in row]))
    first = next(iter(document["causes"]))
    lines += [format_paired(rows, first, other) for other, rows in document["paired"].items()]
    lines += [format_bins(name, found) for name, found in document["scores"].items()]
    for name, counts in document.get("counts", {}).items():
        lines.append(f"{name}: {counts_said(counts, document['jaws_m'])}")
    if document["unscored"]:
        lines.append(f"unscored, because of infrastructure errors: {document['unscored']}")
    others = "--out DIR shows all of them, --json names them"
    lines += failure_lines(document["failures"], _failure_line, others)
    described = document["machine"]
    lines.append(f"{described['cpu']}, cores {described['cores']}; {document['wall_s']} s")
    return "\n".join(lines)


def _failure_line(failure: Mapping[str, Any]) -> str:
    where = f"{failure['side']}, {failure['kind']} {failure['seed']}, {failure['object']}"
    return f"{where}: {failure['cause']}: {failure['text']}"


def _indented(row: Mapping[str, Any]) -> str:
    return f"  {row['name']}" if "part" in row else str(row["name"])
