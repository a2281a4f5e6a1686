"""A page of a grasp benchmark: its rates, its plots and every failure with images (`agent_node/runs/pages.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from toolhand.agent_node.runs.folder import encode, write_atomically
from toolhand.agent_node.runs.pages import data_url, render
from toolhand.bench.grasp.records import GraspRecord
from toolhand.bench.grasp.sides import GraspSide
from toolhand.tool_nodes.files import MIB, read_file

PAGE_BYTES = 40 * MIB
"""What the images of failures may take in the page [bytes]: browsers open that at once. Later ones are linked."""
_IMAGE_BYTES = 4 * MIB
"""Longest image that is read [bytes]; a film has about 60 kB."""
_TITLES = {"mask": "What was outlined", "grasp": "The grasp", "film": "The motion"}
_TYPES = {".jpg": "image/jpeg", ".webp": "image/webp", ".png": "image/png"}


def write_page(
    folder: Path, document: Mapping[str, Any], sides: Sequence[GraspSide], records: Sequence[GraspRecord]
) -> Path:
    """Write `index.html` into the folder of a run.

    Args:
        folder: Has `failures/` with images, and the plots.
        document: The benchmark's document, with the text of the report in `report`.

    Returns:
        The file.

    Raises:
        ToolError: UNAVAILABLE where it cannot be written.
    """
    images = _Images(folder)
    page = render(
        Path(__file__).with_name("page.html"),
        "Toolhand bench grasp",
        document=document,
        plots={alt: images.read(folder / name) for name, alt in PLOTS.items()},
        sides=[(side, [r for r in records if r.side == side.role and not r.success]) for side in sides],
        images=images,
        title_of=lambda name: _TITLES.get(Path(name).stem.rpartition("-")[2], name),
        what_happened=what_happened,
        facts=facts,
    )
    path = folder / "index.html"
    write_atomically(path, encode(page))
    return path


PLOTS = {
    "success.png": "Success by kind of scene, with 95 % intervals",
    "reliability.png": "Whether scores of masks and grasps mean what they say",
}
"""Files of the plots, and what they show."""


class _Images:
    """The images of failures, as long as the page has room for them."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._left = folder, PAGE_BYTES

    def read(self, path: Path) -> Markup | None:
        """An image as the address of an element; None where it cannot be read."""
        try:
            return data_url(read_file(path, _IMAGE_BYTES, path.parent), _TYPES[path.suffix])
        except OSError:
            return None

    def take(self, name: str) -> Markup | None:
        """The same for the image of a failure; None also where it does not fit."""
        found = self.read(self._folder / "failures" / Path(name).name)
        if found is None or len(found) > self._left:
            return None
        self._left -= len(found)
        return found


def what_happened(record: GraspRecord) -> str:
    """One sentence about an attempt that failed."""
    if not record.scored:
        return f"Not scored, {record.code}: {record.text}"
    if not record.reported:
        truth = f" In truth {record.up} was up at the end." if record.executed else " The arm did not move."
        return f"{record.code}: {record.text.rstrip('.')}.{truth}"
    return "The tools reported success, but " + {
        "nothing": "the object slipped out within the 2 s of the judge's hold.",
        "the target": "the object was not held by the jaws alone for the 2 s of the judge's hold.",
        "another": "another object was up at the end, and not the one that was meant.",
        "the target and another": "another object was up at the end beside the one that was meant.",
    }.get(record.up, f"{record.up} was up at the end.")


def facts(record: GraspRecord) -> Iterator[tuple[str, str]]:
    """What is known of an attempt in numbers."""
    for name, value, unit in (
        ("seen of the object", None if record.visible is None else 100 * record.visible, " %"),
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
