"""The report of one run: an HTML file beside its pictures that needs no network, no server and, to be read, no script.

Everything that an operator, a model or a tool wrote is hostile until escaped. A content security policy
stands behind the escaping: pictures come from the run's folder and the file itself, and only the film's own script may
run. The pictures of the conversation lie in `images/` alone; the film is in the file.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agent_node.episode import Episode
from agent_node.runs.folder import encode, write_atomically
from agent_node.runs.places import place_card
from agent_node.runs.report_head import about, details, judgement, outcome, understood, whole
from agent_node.runs.report_parts import clip, escaped
from agent_node.runs.report_pictures import SCRIPT, candidates, film, placement, story
from agent_node.runs.report_turns import conversation, timeline, turns
from tool_nodes.drawing import RGB
from tool_nodes.files import MIB, read_file
from tool_nodes.results import invalid, unavailable

_PICTURE = re.compile(rb'src="(images/\d{3,9}\.jpg)"')
_LONGEST_PAGE = 64 * MIB
"""Longest report that is completed [bytes]; one has less than four."""


def write_report(
    path: Path, episode: Episode, summary: Mapping[str, Any], frames: Sequence[RGB], frame_times: Sequence[float]
) -> None:
    """Write the report of one command as one HTML file of less than 4 MB, atomically; `images/` is written apart.

    Args:
        path: The file.
        episode: The finished command.
        summary: Further data of the run, as in `result.json`. `truth`, if there, is the simulator's judgement: a
            mapping such as {"success": True, "picked": True, "score": "2/2"} or None, and `judged_against` its goal.
            Entries that say how the run was begun, such as `scene`, `seed` and `command`, stand at the head. All other
            entries fill the table of details; nested mappings become one row an entry, names that end in `_s` are
            seconds.
        frames: Pictures of the motion, uint8 (H, W, 3), any number.
        frame_times: Time of each frame [s].

    Raises:
        ToolError: INVALID_ARGUMENT for frames that are no pictures or lack times; UNAVAILABLE when the file
            cannot be written.
    """
    _check(frames, frame_times, [image.rgb for image in episode.session.images])
    known_later = _known_later(episode.task, episode.success, summary, frames, frame_times)
    slots = {name: _slot(name, html) for name, html in known_later.items()}
    body = f"""<header>
<h1>Toolhand run</h1>
<p class="bubble" dir="auto">{escaped(summary.get("said") or episode.task, 2000)}</p>
<div class="verdicts">
{_slot("whole", whole(summary))}
{outcome(episode)}
{slots["judgement"]}
{slots["understood"]}
</div>
{slots["about"]}
</header>
{story(episode)}
{candidates(episode)}
{place_card(episode)}
{placement(episode)}
{slots["film"]}
{timeline(episode)}
{turns(episode)}
{conversation(episode)}
{slots["details"]}
{slots["script"]}"""
    script = SCRIPT if len(frames) else ""
    write_atomically(path, encode(page(f"Toolhand: {clip(episode.task, 80)}", script, body)))


def complete_report(
    path: Path, summary: Mapping[str, Any], frames: Sequence[RGB], frame_times: Sequence[float]
) -> None:
    """Add what became known later to a report that was written without truth and frames.

    Args:
        path: The file.
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
        page = page.replace(_digest(""), _digest(SCRIPT), 1)
    write_atomically(path, encode(page))


def refresh_head(path: Path, summary: Mapping[str, Any]) -> None:
    """Have the head of a report say what came of the whole sentence; without a report nothing.

    Args:
        path: The file.
        summary: Data of the run, as for `write_report`, and of the whole.

    Raises:
        ToolError: UNAVAILABLE when the file cannot be written.
    """
    with contextlib.suppress(OSError, UnicodeDecodeError):
        page = read_file(path, _LONGEST_PAGE, path.parent).decode()
        head = {"about": about(summary), "whole": whole(summary)}
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
        "judgement": judgement(success, summary),
        "understood": understood(task, summary),
        "about": about(summary),
        "film": film(frames, frame_times),
        "details": details(summary),
        "script": f"<script>{SCRIPT}</script>" if len(frames) else "",
    }


def _slot(name: str, html: str) -> str:
    """A part between two comments; no text of a run can be one, because text is escaped."""
    return f"<!-- {name} -->{html}<!-- end of {name} -->"


def _check(frames: Sequence[RGB], frame_times: Sequence[float], pictures: Sequence[RGB]) -> None:
    if len(frames) != len(frame_times):
        raise invalid(f"Every frame needs one time, got {len(frames)} frames and {len(frame_times)} times.")
    for picture in (*frames, *pictures):
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or not picture.size:
            raise invalid(f"A picture must be uint8 (H, W, 3), got {picture.dtype} {picture.shape}.")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def with_pictures(report: bytes, picture: Callable[[str], bytes]) -> bytes:
    """A report with the pictures of its folder inside, for where nothing may be loaded.

    Args:
        report: The report.
        picture: Reads a picture by its path in the folder. Pictures that it has none of (OSError) stay as they are.
    """

    def inside(source: re.Match[bytes]) -> bytes:
        try:
            data = picture(source[1].decode())
        except OSError:
            return source[0]
        return b'src="data:image/jpeg;base64,' + base64.b64encode(data) + b'"'

    return _PICTURE.sub(inside, report)


def page(title: str, script: str, body: str, more_style: str = "") -> str:
    """A page in the look of the reports that loads nothing and runs no script but this one.

    Args:
        title: Title as plain text.
        script: The only one that may run; the body has it, in its tag.
        body: HTML, with everything from outside escaped.
        more_style: CSS after that of the reports.
    """
    digest = _digest(script)
    # A file that is opened from a disk has no origin that 'self' would be.
    policy = f"default-src 'none'; img-src data: file: 'self'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escaped(title)}</title>
<style>
{style}{more_style}</style>
</head>
<body>
{body}
</body>
</html>
"""
