"""A page of a grasp benchmark: its rates, its plots and every failure with pictures; one HTML file, no network."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_node.runs.folder import encode, write_atomically
from agent_node.runs.report import page
from agent_node.runs.report_parts import badge_of, escaped
from bench.grasp.records import GraspRecord
from bench.grasp.sides import GraspSide
from tool_nodes.files import MIB, read_file

PAGE_BYTES = 40 * MIB
"""What the pictures of failures may take in the page [bytes]: browsers open that at once. Later ones are linked."""
_PICTURE_BYTES = 4 * MIB
"""Longest picture that is read [bytes]; a film has about 60 kB."""
_TITLES = {"mask": "What was outlined", "grasp": "The grasp", "film": "The motion"}
_TYPES = {".jpg": "image/jpeg", ".webp": "image/webp", ".png": "image/png"}
_STYLE = """
body { max-width: 78rem; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); gap: .8rem; }
.pictures img, .plot img { width: 100%; }
.plot { max-width: 52rem; }
.failure p { overflow-wrap: anywhere; }
"""


def write_page(
    folder: Path, document: Mapping[str, Any], sides: Sequence[GraspSide], records: Sequence[GraspRecord]
) -> Path:
    """Write `index.html` into the folder of a run.

    Args:
        folder: Has `failures/` with pictures, and the plots.
        document: The benchmark's document, with the text of the report in `report`.
        sides: Who grasped, in order.
        records: All attempts.

    Returns:
        The file.

    Raises:
        ToolError: UNAVAILABLE where it cannot be written.
    """
    left = PAGE_BYTES
    parts = []
    for side in sides:
        failed = [r for r in records if r.side == side.role and not r.success]
        articles = []
        for record in failed:
            article, used = _failure(folder, record, left)
            left -= used
            articles.append(article)
        if articles:
            parts.append(
                f"<section><h2>{escaped(side.label)}: {len(failed)} failures</h2>{''.join(articles)}</section>"
            )
    plots = "".join(_plot(folder / name, alt) for name, alt in PLOTS.items())
    body = f"""<header><h1>Toolhand bench grasp</h1>
<p class="bubble">{escaped(document["title"], 400)}</p></header>
<section><h2>Figures</h2><pre>{escaped(document["report"], 100_000)}</pre></section>
{plots}
{"".join(parts) or "<p>No attempt failed.</p>"}"""
    path = folder / "index.html"
    write_atomically(path, encode(page("Toolhand bench grasp", "", body, _STYLE)))
    return path


PLOTS = {
    "success.png": "Success by kind of scene, with 95 % intervals",
    "reliability.png": "Whether scores of masks and grasps mean what they say",
}
"""Files of the plots, and what they show."""


def _plot(path: Path, alt: str) -> str:
    data = _data(path)
    return (
        f'<figure class="plot"><img src="{data}" alt="{escaped(alt)}"><figcaption>{escaped(alt)}</figcaption></figure>'
        * bool(data)
    )


def _data(path: Path) -> str:
    """A picture as the address of an element; empty where it cannot be read."""
    try:
        content = read_file(path, _PICTURE_BYTES, path.parent)
    except OSError:
        return ""
    return f"data:{_TYPES[path.suffix]};base64,{base64.b64encode(content).decode()}"


def _failure(folder: Path, record: GraspRecord, room: int) -> tuple[str, int]:
    """An attempt that failed, and how many bytes its pictures take [bytes]."""
    figures, used = [], 0
    for name in record.pictures:
        title = _TITLES.get(Path(name).stem.rpartition("-")[2], name)
        data = _data(folder / "failures" / Path(name).name)
        if data and used + len(data) <= room:
            used += len(data)
            shown = f'<img src="{data}" alt="{escaped(title)}">'
        else:
            shown = f'<a href="failures/{escaped(Path(name).name)}">{escaped(name)}</a>'
        figures.append(f"<figure>{shown}<figcaption>{escaped(title)}</figcaption></figure>")
    attempt = f", attempt {record.attempt + 1}" if record.attempt else ""
    facts = "; ".join(f"{name} {value}" for name, value in _facts(record))
    title = f"{record.kind} {record.seed}{attempt}: {record.thing or 'no thing'}"
    return (
        f"""<article class="card failure"><h3>{escaped(title)}
{badge_of(record.cause or "not scored", "bad")}</h3>
<p>{escaped(what_happened(record), 2000)}</p>
<div class="pictures">{"".join(figures)}</div>
<p class="soft">{escaped(facts, 2000)}</p></article>""",
        used,
    )


def what_happened(record: GraspRecord) -> str:
    """One sentence about an attempt that failed."""
    if not record.scored:
        return f"Not scored, {record.code}: {record.text}"
    if not record.reported:
        truth = f" In truth {record.up} was up at the end." if record.executed else " The arm did not move."
        return f"{record.code}: {record.text.rstrip('.')}.{truth}"
    return "The tools reported success, but " + {
        "nothing": "the thing slipped out within the 2 s of the judge's hold.",
        "the target": "the thing was not held by the jaws alone for the 2 s of the judge's hold.",
        "another": "another thing was up at the end, and not the one that was meant.",
        "the target and another": "another thing was up at the end beside the one that was meant.",
    }.get(record.up, f"{record.up} was up at the end.")


def _facts(record: GraspRecord) -> Iterator[tuple[str, str]]:
    """What is known of an attempt in numbers."""
    for name, value, unit in (
        ("seen of the thing", None if record.visible is None else 100 * record.visible, " %"),
        ("mask IoU", record.mask_iou, ""),
        ("mask score", record.mask_score, ""),
        ("grasp score", record.grasp_score, ""),
        ("width asked for", None if record.width_m is None else 1000 * record.width_m, " mm"),
        ("approach from straight down", record.approach_deg, " deg"),
        ("jaws", None if record.opening_m is None else 1000 * record.opening_m, " mm"),
        ("slipped", record.slip_mm, " mm"),
        ("compute_grasp", None if record.compute_s is None else 1000 * record.compute_s, " ms"),
        ("robot's time", record.robot_s, " s"),
    ):
        if value is not None:
            yield name, f"{value:.3g}{unit}"
    if record.under is not None:
        yield "something rested on it", "yes" if record.under else "no"
    if record.offered is not None:
        yield "grasps", f"{record.offered} of {record.sampled}"
