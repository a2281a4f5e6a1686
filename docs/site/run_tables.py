"""The figures of docs/results/grasps.md and perception.md, from what the benchmarks have written.

python -m docs.site.run_tables RUN ...

Each RUN is the folder of a `bench grasp` with --out, or a file that `bench perception --masks KINDS --json` printed.
The grasp runs that are named become the whole of the figures of grasps.md, in their order; perception.md gets the last
run of masks. What a page says beside its figures is written by hand.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.site.blocks import filled
from docs.site.tables import cell
from toolhand.bench.commands.grasp import AS_MEASURED
from toolhand.bench.grasp.rows import DISAGREEMENTS
from toolhand.sim.objects.census import counts_said
from toolhand.tool_nodes.motion.robot_model import DEFAULT_ROBOT
from toolhand.tool_nodes.results import ToolError, invalid

Document = Mapping[str, Any]
RESULTS = Path(__file__).parents[1] / "results"
_LEFT_OUT = (
    "planning, processor",
    "check, robot's time",
    "segment, processor",
    "compute_grasp, processor",
    "a mask was given",
)
"""Rows of a grasp run that the page leaves out: `rows.csv` of the run has them."""
_CAUSES = 8
"""Causes of failure that a section names, the commonest ones [-]."""


def main(runs: Sequence[str]) -> int:
    """Fill the pages. Raises ToolError INVALID_ARGUMENT for what is no run that is over."""
    if not runs:
        raise invalid("Name folders of runs, or JSON files of bench perception --masks.")
    sections: list[str] = []
    images: set[Path] = set()
    for run in runs:
        path = Path(run)
        document = _document(path)
        if document["bench"] == "grasp":
            image = RESULTS / f"grasps_{re.sub(r'[^a-z0-9]+', '_', path.name.lower())}.png"
            shown = _copied(path / "reliability.png", image)
            images.add(image)
            sections.append(grasp_section(document, image.name if shown else ""))
        else:
            _fill("perception.md", mask_table(document))
    if sections:
        _fill("grasps.md", "\n".join(sections))
        for image in set(RESULTS.glob("grasps_*.png")) - images:
            image.unlink()  # of a run that the page no longer shows
    return 0


def _document(path: Path) -> Document:
    file = path / "report.json" if path.is_dir() else path
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise invalid(f"{path} is no run of a benchmark that is over: {error}.") from error
    if not isinstance(document, dict) or document.get("bench") not in ("grasp", "masks"):
        raise invalid(f"{path} must be a run of bench grasp or of bench perception --masks.")
    return document


def _copied(source: Path, target: Path) -> bool:
    if source.exists():
        shutil.copyfile(source, target)
    return source.exists()


def _fill(page: str, text: str) -> None:
    """Put text between the markers of a page."""
    path = RESULTS / page
    path.write_text(filled(path.read_text(encoding="utf-8"), {"runs": text}), encoding="utf-8")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))


# ---- Grasps ----


def _sets(document: Document) -> str:
    """The object sets of a run; of a folder its name alone, for its path is of no use elsewhere."""
    return "+".join(part.rstrip("/").rpartition("/")[2] for part in re.split(r"[+:]", document["objects"]))


def command_of(document: Document) -> str:
    """What was typed for a grasp run, but for --out and --jobs."""
    main_side, *others = document["sides"]
    roles = {side["role"]: side for side in others}
    words = ["toolhand bench grasp --objects", _sets(document), "--scene", ",".join(document["scene"])]
    words += ["--n", str(document["n"]), "--first-seed", str(document["first_seed"])]
    number = document.get("objects_per_scene", 0)
    words += ["--objects-per-scene", str(number)] if number else []
    words += [] if document["protocol"] == "attempt" else ["--protocol", document["protocol"]]
    words += [] if main_side["robot"] == DEFAULT_ROBOT else ["--robot", main_side["robot"]]
    words += [] if main_side["perception"] == AS_MEASURED.perception else ["--perception", main_side["perception"]]
    usual = AS_MEASURED.document()["ports"]
    for port, name in main_side["ports"].items():
        words += [] if name == usual[port] else [f"--{port.replace('_', '-')}", name]
    if "vs" in roles:
        theirs = roles["vs"]["ports"]
        words += ["--vs", next(f"{port}:{name}" for port, name in theirs.items() if name != main_side["ports"][port])]
    words += ["--second-view"] * ("second_view" in roles) + ["--clearing"] * ("clearing" in roles)
    words += ["--ideal"] * ("ideal" in roles) + ["--no-control"] * ("control" not in roles)
    return " ".join(words)


def grasp_section(document: Document, image: str) -> str:
    """A section of grasps.md.

    Args:
        document: What the benchmark has written.
        image: File of its reliability plot beside the page; empty for none.
    """
    sides = [side["label"] for side in document["sides"]]
    held = "".join(f"; the folder `{name}` held {content}" for name, content in document["contents"].items())
    kinds = " and ".join(document["scene"])
    seeds = f"seeds {document['seeds'][0]} to {document['seeds'][-1]}"
    lines = [f"## `{_sets(document)}`, {kinds}, {document['protocol']}", ""]
    lines += [f"    {command_of(document)}", ""]
    lines += [f"{seeds[0].upper()}{seeds[1:]}{held}. Unscored: {document['unscored']}.", ""]
    lines += [_table(["", *sides], list(_rates(document, sides)))]
    lines += [f"- {text}" for text in _sentences(document)]
    lines += ["", f"![scores of masks and grasps, {kinds}]({image})"] if image else []
    return "\n".join(lines) + "\n"


def _rates(document: Document, sides: Sequence[str]) -> Iterator[list[str]]:
    rows: dict[str, dict[str, Mapping[str, Any]]] = {}
    several = len(document["scene"]) > 1  # how targets lie is then said for each kind alone
    parts_left_out = ("family", "cause", "first attempt") if several else ("family", "cause")
    for row in document["rows"]:
        shown = bool({"rate", "p50_ms", "per_hour"} & set(row)) and row["name"] not in _LEFT_OUT
        shown = shown and not (several and row["name"].startswith("first attempt, "))
        if shown and row.get("part") not in parts_left_out:
            part = row.get("part", "")
            name = f"{part}, {row['name']}" if part in (*DISAGREEMENTS, "first attempt") else str(row["name"])
            rows.setdefault(name, {})[row["side"]] = row
    for name, of_side in rows.items():
        cells = [_cell(of_side.get(side)) for side in sides]
        if any(cells):
            timed = any("p50_ms" in row for row in of_side.values())
            yield [f"{name}, p50 / p95 / p99 [ms]" if timed else name, *cells]


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is not None and "per_hour" in row:
        return f"{row['per_hour']:g}" if row["per_hour"] is not None else ""
    return cell(row)


def _sentences(document: Document) -> Iterator[str]:
    first = document["sides"][0]["label"]
    for name, counts in document.get("counts", {}).items():
        yield f"`{name}`: {counts_said(counts, document['jaws_m'])}"
    what = "took away more" if document["protocol"] == "clear" else "alone succeeded"
    for other, rows in document["paired"].items():
        whole = rows[0]
        yield (
            f"Of {whole['n']} scenes `{first}` {what} in {whole['first']}, `{other}` in {whole['second']}: "
            f"p = {whole['p']:.2g} (sign test)."
        )
    causes = list(document["causes"][first].items())[:_CAUSES]
    if causes:
        yield f"Failures of `{first}`: " + "; ".join(f"{count} {cause}" for cause, count in causes) + "."
    yield from map(_of_scores, document["scores"], document["scores"].values())


def _of_scores(name: str, found: Mapping[str, Any]) -> str:
    errors = [
        f"{row['ece']:.3f} in bins of {row['bins']} (perfect scores: {row['by_chance']:.3f}, below "
        f"{row['by_chance_95']:.3f} in 95 of 100)"
        for row in found["errors"]
    ]
    return f"{name[0].upper()}{name[1:]}, n {found['n']}: calibration error {' and '.join(errors)}."


# ---- Masks ----


def _mean(row: Mapping[str, Any] | None, digits: int) -> str:
    if row is None or row["mean"] is None:
        return ""
    mean, low, high = (f"{row[key]:.{digits}f}" for key in ("mean", "low", "high"))
    return f"{mean} (n {row['n']}; {low}..{high})"


def mask_table(document: Document) -> str:
    """The table of masks of unknown objects, and what their scores are worth."""
    rows = [[row["name"], cell(row)] for row in document["rows"] if "rate" in row and row["n"]]
    rows += [[f"mean {row['name']}", _mean(row, 3)] for row in document["rows"] if "mean" in row]
    seeds = document["seeds"]
    said = f"`{document['objects']}`, sensor `{document['sensor']}`, seeds {seeds[0]} to {seeds[-1]}."
    scores = "\n".join(_of_scores(name, found) for name, found in document["scores"].items())
    return f"{said}\n\n{_table(['', 'masks'], rows)}\n{scores}\n"


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ToolError as error:
        sys.exit(error.message)
