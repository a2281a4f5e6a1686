"""The report of one run: an HTML file beside its images (`agent_node/runs/pages.py`).

The images of the conversation lie in `images/` alone; the film is in the file.
"""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from toolhand.agent_node.episode import Episode
from toolhand.agent_node.runs.again import FROM_THE_BEGINNING
from toolhand.agent_node.runs.folder import encode, write_atomically
from toolhand.agent_node.runs.pages import TEMPLATES, Room, clip, digest_of, macro, render
from toolhand.agent_node.runs.places import asked_places
from toolhand.agent_node.runs.report_parts import (
    MOST_FOUND,
    MOST_POINTS,
    about,
    candidates,
    details,
    film,
    judgement,
    placement,
    story,
    times,
    understood,
)
from toolhand.tool_nodes.drawing import RGB
from toolhand.tool_nodes.files import MIB, read_file
from toolhand.tool_nodes.results import invalid, unavailable

_IMAGE = re.compile(rb'src="(images/\d{3,9}\.jpg)"')
_LONGEST_PAGE = 64 * MIB
"""Longest report that is completed [bytes]; one has less than four."""
_TURNS_BYTES, _CONVERSATION_BYTES = 350_000, 350_000
"""Largest sums [bytes]; with everything else a report stays below 4 MB."""
_SCRIPT = (TEMPLATES / "report.js").read_text(encoding="utf-8")


def write_report(
    path: Path, episode: Episode, summary: Mapping[str, Any], frames: Sequence[RGB], frame_times: Sequence[float]
) -> None:
    """Write the report of one command as one HTML file of less than 4 MB, atomically; `images/` is written apart.

    Args:
        episode: The finished command.
        summary: Further data of the run, as in `result.json`. `truth`, if there, is the simulator's judgement: a
            mapping such as {"success": True, "picked": True, "score": "2/2"} or None, and `judged_against` its goal.
            Entries that say how the run was begun, such as `scene`, `seed` and `command`, stand at the head. All other
            entries fill the table of details; nested mappings become one row an entry, names that end in `_s` are
            seconds.
        frames: Images of the motion, uint8 (H, W, 3), any number.
        frame_times: Time of each frame [s].

    Raises:
        ToolError: INVALID_ARGUMENT for frames that are no images or lack times; UNAVAILABLE when the file
            cannot be written.
    """
    _check(frames, frame_times, [image.rgb for image in episode.session.images])
    later = _known_later(episode.task, episode.success, summary, frames, frame_times)
    page = render(
        TEMPLATES / "report.html",
        f"Toolhand: {clip(episode.task, 80)}",
        _SCRIPT if len(frames) else "",
        episode=episode,
        images=episode.session.images,
        said=summary.get("said") or episode.task,
        slots={name: Markup(_slot(name, html)) for name, html in {**later, "whole": _part("whole", summary)}.items()},
        story=story(episode),
        candidates=candidates(episode),
        most_found=MOST_FOUND,
        most_points=MOST_POINTS,
        place=next(reversed(asked_places(episode)), None),
        placed=placement(episode),
        times=times(episode),
        turns_room=Room(_TURNS_BYTES),
        conversation_room=Room(_CONVERSATION_BYTES),
    )
    write_atomically(path, encode(page))


def complete_report(
    path: Path, summary: Mapping[str, Any], frames: Sequence[RGB], frame_times: Sequence[float]
) -> None:
    """Add what became known later to a report that was written without truth and frames.

    Args:
        summary, frames, frame_times: The arguments of `write_report`, with the `task` and `success` of the run.

    Raises:
        ToolError: As in `write_report`; UNAVAILABLE also when the file cannot be read.
    """
    _check(frames, frame_times, [])
    try:
        page = read_file(path, _LONGEST_PAGE, path.parent).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise unavailable(f"Cannot read {path}: {error}.") from error
    known = _known_later(str(summary.get("task", "")), bool(summary.get("success")), summary, frames, frame_times)
    page = _filled(page, known)
    if len(frames):
        page = page.replace(digest_of(""), digest_of(_SCRIPT), 1)
    write_atomically(path, encode(page))


def refresh_head(path: Path, summary: Mapping[str, Any]) -> None:
    """Have the head of a report say what came of the whole sentence; without a report nothing.

    Args:
        summary: Data of the run, as for `write_report`, and of the whole.

    Raises:
        ToolError: UNAVAILABLE when the file cannot be written.
    """
    with contextlib.suppress(OSError, UnicodeDecodeError):
        page = read_file(path, _LONGEST_PAGE, path.parent).decode()
        head = {"about": _about(summary), "whole": _part("whole", summary)}
        write_atomically(path, encode(_filled(page, head)))


def _filled(page: str, parts: Mapping[str, str]) -> str:
    """A page with other content in some of its slots."""
    for name, html in parts.items():
        before, begin, rest = page.partition(_slot(name, "").partition("-->")[0] + "-->")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        if begin and end:
            page = f"{before}{_slot(name, html)}{after}"
    return page


def _known_later(
    task: str, success: bool, summary: Mapping[str, Any], frames: Sequence[RGB], frame_times: Sequence[float]
) -> dict[str, str]:
    """The parts that the judge of a run in another process completes."""
    return {
        "judgement": _part("judgement", judgement(success, summary)),
        "understood": _part("understood", understood(task, summary)),
        "about": _about(summary),
        "film": _part("film", film(frames, frame_times)),
        "details": _part("details", details(summary)),
        "script": f"<script>{_SCRIPT}</script>" if len(frames) else "",
    }


def _about(summary: Mapping[str, Any]) -> str:
    return _part("about", about(summary), summary.get("command"), FROM_THE_BEGINNING)


def _part(name: str, *values: Any) -> str:
    return macro(TEMPLATES / "report_slots.html", name, *values)


def _slot(name: str, html: str) -> str:
    """A part between two comments; no text of a run can be one, because text is escaped."""
    return f"<!-- {name} -->{html}<!-- end of {name} -->"


def _check(frames: Sequence[RGB], frame_times: Sequence[float], images: Sequence[RGB]) -> None:
    if len(frames) != len(frame_times):
        raise invalid(f"Every frame needs one time, got {len(frames)} frames and {len(frame_times)} times.")
    for image in (*frames, *images):
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
            raise invalid(f"A picture must be uint8 (H, W, 3), got {image.dtype} {image.shape}.")


def with_images(report: bytes, image: Callable[[str], bytes]) -> bytes:
    """A report with the images of its folder inside, for where nothing may be loaded.

    Args:
        image: Reads an image by its path in the folder. Images that it has none of (OSError) stay as they are.
    """

    def inside(source: re.Match[bytes]) -> bytes:
        try:
            data = image(source[1].decode())
        except OSError:
            return source[0]
        return b'src="data:image/jpeg;base64,' + base64.b64encode(data) + b'"'

    return _IMAGE.sub(inside, report)
