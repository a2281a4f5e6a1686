"""Grasps of any object set, in any clutter, by any generator and segmenter, side by side."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_node.console.options import BackendOptions
from agent_node.console.terminal import say
from agent_node.runs.folder import write_atomically, write_json
from bench.grasp.page import write_page
from bench.grasp.plots import save_reliability, save_success, scores_of
from bench.grasp.protocol import GraspProtocol
from bench.grasp.records import GraspRecord, RunFolder, csv_of, resumed
from bench.grasp.rows import FIRST, FIRST_CHOSEN, cause_rows, causes_of, format_paired, paired, rows_of, things_of
from bench.grasp.scenes import GraspJob, contents_of, counts_in, jobs_of, kinds_of, sets_of, titled
from bench.grasp.sides import GraspSide, sides_of
from bench.grasp.trial import crashed, run_one
from bench.perception.calibration import format_bins
from bench.perception.metrics import format_means
from bench.stats import LINE_WIDTH, SHOWN_FAILURES, format_rows, machine, publish
from sim.objects.census import counts_said
from tool_nodes.motion.robot_model import load_robot
from training.pool.parallel import run_jobs


def compare(
    *,
    objects: str,
    scene: str,
    n: int,
    first_seed: int,
    backends: BackendOptions,
    robot: str,
    protocol: GraspProtocol,
    vs: str,
    control: bool,
    ideal: bool,
    second_view: bool,
    out: Path | None,
    jobs: int,
    as_json: bool,
) -> int:
    """Run the benchmark; arguments and exit status as for `bench_grasp`. Raises ToolError INVALID_ARGUMENT."""
    sets = sets_of(objects)
    kinds = kinds_of(scene, sets)
    sides = sides_of(backends, robot, vs, control, ideal, second_view)
    jaws_m = load_robot(robot).gripper.max_width
    began = time.monotonic()
    contents = contents_of(sets)
    settings = {
        "objects": objects,
        "contents": contents,
        "scene": kinds,
        "first_seed": first_seed,
        "protocol": protocol,
        "robot": robot,
        "sides": [side.document() for side in sides],
    }
    folder = None if out is None else RunFolder(out)
    if folder is not None:
        folder.open(settings)
    title = f"{titled(objects, contents)}, {' and '.join(kinds)}, {n} scenes each from seed {first_seed}, {protocol}"
    say(f"{title}; {', '.join(side.label for side in sides)}")
    work = jobs_of(sides, kinds, sets, n, first_seed, protocol, "" if out is None else str(out))
    records = _records(work, jobs, folder)
    document = {
        "bench": "grasp",
        "title": title,
        **settings,
        "machine": machine(),
        "counts": counts_in(sets, jaws_m),
        "jaws_m": jaws_m,
        "n": n,
        "seeds": sorted({job.seed for job in work}),
        "jobs": jobs,
        **figures(records, sides, protocol),
        "wall_s": round(time.monotonic() - began, 1),
    }
    if folder is not None:
        write_results(folder, document, sides, records)
    publish(document, report, as_json)
    return 0


def _records(work: Sequence[GraspJob], jobs: int, folder: RunFolder | None) -> list[GraspRecord]:
    """The records of all jobs; those that the folder has are not done again."""
    done = resumed(
        {job.key: job for job in work},
        folder,
        lambda kept, key, job: kept.find(key),
        lambda missing: run_jobs(run_one, missing, jobs, crashed, _note),
    )
    return [record for records in done for record in records]


def _note(scenes: Sequence[Sequence[GraspRecord]]) -> str:
    records = [record for records in scenes for record in records]
    false, denied = sum(r.false_success for r in records), sum(r.held_untold for r in records)
    succeeded = f"{sum(r.success for r in records)} of {len(records)} succeeded"
    return f"{succeeded}, {false} falsely said so, {denied} were held and said to have failed"


def figures(records: Sequence[GraspRecord], sides: Sequence[GraspSide], protocol: GraspProtocol) -> dict[str, Any]:
    """All figures of the document: rows of each side, paired tables, scores, causes and failures."""
    of = {side.role: [r for r in records if r.side == side.role] for side in sides}
    first, *others = sides
    return {
        "rows": [
            {"side": s.label, **row} for s in sides for row in (*rows_of(of[s.role], protocol), *cause_rows(of[s.role]))
        ],
        "things": [{"side": s.label, **row} for s in sides for row in things_of(of[s.role])],
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
                "thing": r.thing,
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
    write_atomically(folder.path / "rows.csv", csv_of([*document["rows"], *document["things"]]).encode())
    shown = {
        side.label: [row for row in document["rows"] if row["side"] == side.label and _is_plotted(row)]
        for side in sides
    }
    save_success(shown, folder.path / "success.png")
    if document["scores"]:
        bins = [{"scores": name, **row} for name, found in document["scores"].items() for row in found["bins"]]
        errors = [{"scores": name, **row} for name, found in document["scores"].items() for row in found["errors"]]
        write_atomically(folder.path / "reliability.csv", csv_of([*bins, *errors]).encode())
        save_reliability(document["scores"], folder.path / "reliability.png")
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
    failures = document["failures"]
    for failure in failures[:SHOWN_FAILURES]:
        where = f"{failure['side']}, {failure['kind']} {failure['seed']}, {failure['thing']}"
        line = f"  {where}: {failure['cause']}: {failure['text']}"
        lines.append(line if len(line) <= LINE_WIDTH else line[: LINE_WIDTH - 3] + "...")
    if len(failures) > SHOWN_FAILURES:
        lines.append(f"  and {len(failures) - SHOWN_FAILURES} more; --out DIR shows all of them, --json names them")
    described = document["machine"]
    lines.append(f"{described['cpu']}, cores {described['cores']}; {document['wall_s']} s")
    return "\n".join(lines)


def _indented(row: Mapping[str, Any]) -> str:
    return f"  {row['name']}" if "part" in row else str(row["name"])
