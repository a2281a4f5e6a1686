"""The report of one run: a single HTML file that needs no network, no server and, to be read, no script.

Everything that an operator, a model or a tool wrote is hostile until escaped. A content security policy
stands behind the escaping: pictures come from the file itself, and only the film's own script may run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from agent_node.agent import Episode, Exchange, Turn
from agent_node.policy import Reply
from agent_node.recording import encode, write_atomically
from agent_node.report_parts import Room, badge_of, clip, duration, escaped, img_of, jpegs_of
from tool_nodes.drawing import RGB
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.toolbox import CallRecord

MAX_FRAMES = 60
"""Frames of the film; longer recordings are thinned evenly."""


# What each part may take of the 4 MB; base64 makes a third more of pictures.
_FILM_BYTES, _PICTURE_BYTES, _STORY_BYTES = 1_150_000, 1_050_000, 90_000
_TURNS_BYTES, _CONVERSATION_BYTES, _DETAILS_BYTES = 350_000, 350_000, 40_000

_FULL_SIZES = ((640, 80), (640, 60), (480, 60), (320, 50), (200, 40), (120, 30))
_FILM_SIZES = ((480, 78), (400, 65), (320, 55), (240, 45), (160, 35), (100, 25))
_STORY_SIZES = ((360, 78), (280, 60), (200, 45), (120, 35))

_NO_FILM = "<!-- no film -->"
_LEFT_OUT = '<p class="soft">The rest is left out to keep this file small; trajectory.jsonl holds everything.</p>'

_SCRIPT = """
const film = document.querySelector(".film");
const frames = [...film.querySelectorAll("img")];
const [button, slider, clock] = ["button", "input", "output"].map((name) => film.querySelector(name));
let timer = 0;
const show = (index) => {
  frames.forEach((frame, i) => { frame.hidden = i !== index; });
  slider.value = index;
  clock.value = frames[index].dataset.time + " s";
};
const pause = () => { clearInterval(timer); timer = 0; button.textContent = "Play"; };
const step = () => {
  if (+slider.value < frames.length - 1) show(+slider.value + 1);
  else pause();
};
button.onclick = () => {
  if (timer) return pause();
  if (+slider.value === frames.length - 1) show(0);
  timer = setInterval(step, 120);
  button.textContent = "Pause";
};
slider.oninput = () => { pause(); show(+slider.value); };
film.querySelector(".controls").hidden = false;
show(0);
"""


def write_report(
    path: Path, episode: Episode, summary: Mapping[str, Any], frames: Sequence[RGB], frame_times: Sequence[float]
) -> None:
    """Write the report of one command as one HTML file of less than 4 MB, atomically.

    Args:
        path: The file.
        episode: The finished command.
        summary: What else is known of the run. `summary["truth"]`, if there, is the simulator's judgement: a
            mapping such as {"success": True, "picked": True, "score": "2/2"} or None. All other entries fill
            the table of details; nested mappings become one row an entry, names that end in `_s` are seconds.
        frames: Pictures of the motion, uint8 (H, W, 3), any number.
        frame_times: Time of each frame [s].

    Raises:
        ToolError: INVALID_ARGUMENT for frames that are no pictures or lack times; UNAVAILABLE when the file
            cannot be written.
    """
    if len(frames) != len(frame_times):
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT,
            f"Every frame needs one time, got {len(frames)} frames and {len(frame_times)} times.",
        )
    for picture in (*frames, *(image.rgb for image in episode.session.images)):
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or not picture.size:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENT,
                f"A picture must be uint8 (H, W, 3), got {picture.dtype} {picture.shape}.",
            )
    script = _SCRIPT if len(frames) else ""
    body = [
        _outcome(episode, summary.get("truth")),
        _story(episode),
        _film(frames, frame_times),
        _timeline(episode),
        _turns(episode),
        _conversation(episode),
        _details(summary),
        f"<script>{script}</script>" if script else "",
    ]
    write_atomically(path, encode(_page(f"Toolhand: {clip(episode.task, 80)}", script, "\n".join(body))))


def complete_report(
    path: Path, success: bool, truth: Mapping[str, Any] | None, frames: Sequence[RGB], frame_times: Sequence[float]
) -> None:
    """Add what became known later to a report that was written without truth and frames.

    Args:
        path: The file.
        success: What the tools reported.
        truth, frames, frame_times: As in `write_report`.

    Raises:
        ToolError: UNAVAILABLE when the file cannot be read or written.
    """
    try:
        page = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ToolError(ErrorCode.UNAVAILABLE, f"Cannot read {path}: {error}.") from error
    page = page.replace(_judgement(success, None), _judgement(success, truth), 1)
    if len(frames):
        page = page.replace(_digest(""), _digest(_SCRIPT), 1).replace(_NO_FILM, _film(frames, frame_times), 1)
        before, _, after = page.rpartition("</body>")
        page = f"{before.rstrip()}\n<script>{_SCRIPT}</script>\n</body>{after}"
    write_atomically(path, encode(page))


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _page(title: str, script: str, body: str) -> str:
    digest = _digest(script)
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


# -- sections ------------------------------------------------------------------------------------


def _outcome(episode: Episode, truth: Mapping[str, Any] | None) -> str:
    if episode.success:
        badge = badge_of("success", "good")
    elif episode.error_code is not None:
        badge = badge_of(episode.error_code, "bad")
    else:
        badge = badge_of("answered, no motion")
    calls = f"{len(episode.turns)} turns, {episode.tool_calls} tool calls, {duration(episode.wall_s)}"
    calls += f", protocol {escaped(episode.protocol.name, 60)}{_usage([turn.reply for turn in episode.turns])}"
    return f"""<header>
<h1>Toolhand run</h1>
<p class="bubble" dir="auto">{escaped(episode.task, 2000)}</p>
<div class="verdicts">
<section class="card"><h2>As the tools reported it</h2>
<p dir="auto">{badge} {escaped(episode.answer or "No answer.")}</p><p class="soft">{calls}</p></section>
{_judgement(episode.success, truth)}
</div>
</header>"""


def _usage(replies: Sequence[Reply]) -> str:
    """What turns took of a model, as far as it told; empty for a policy that counts nothing."""
    read, written = sum(r.prompt_tokens for r in replies), sum(r.completion_tokens for r in replies)
    cost = sum(r.cost for r in replies)
    told = f", {read:,} tokens read and {written:,} written" if read or written else ""
    return f"{told}, cost {cost:.4g}" if cost else told


def _judgement(success: bool, truth: Mapping[str, Any] | None) -> str:
    if truth:
        moods = {True: "good", False: "bad"}
        judgement = "".join(
            badge_of(
                f"{_label(name)} {_value(value)}", moods[bool(value)] if isinstance(value, (bool, np.bool_)) else ""
            )
            for name, value in list(truth.items())[:20]
        )
    else:
        judgement = "Not judged: this run has no simulator to ask."
    warning = ""
    if truth and "success" in truth and bool(truth["success"]) != success:
        said = "success" if success else "no success"
        warning = f'<p class="warning">The tools reported {said}; the simulator disagrees.</p>'
    return f"""<section class="card"><h2>Simulator's judgement</h2><p>{judgement}</p>{warning}</section>"""


def _records(episode: Episode) -> list[CallRecord]:
    return [record for turn in episode.turns for record in turn.calls]


def _story(episode: Episode) -> str:
    """First view, chosen grasp, after the grasp, after placing: those of the four that there are."""
    shown = [r for r in _records(episode) if r.image_index is not None and r.result.ok]
    grasps = [i for i, r in enumerate(shown) if r.name == "robot.execute_grasp"]
    before = shown[: grasps[-1]] if grasps else shown
    chapters = (
        ("First view", ([r for r in shown if r.name == "robot.capture_image"] or shown)[:1]),
        ("Chosen grasp", [r for r in before if r.name.startswith("grasp_generator.")][-1:]),
        ("After the grasp", [shown[i] for i in grasps][-1:]),
        ("After placing", [r for r in shown if r.name.startswith("robot.place_")][-1:]),
    )
    found = [(title, r.image_index) for title, rs in chapters for r in rs if r.image_index is not None]
    pictures = [episode.session.images[index].rgb for _, index in found]
    items = []
    for (title, index), rgb, jpeg in zip(found, pictures, jpegs_of(pictures, _STORY_BYTES, _STORY_SIZES), strict=False):
        link = f'<a href="#image-{index}">{img_of(rgb, jpeg, title)}</a>'
        items.append(f"<li><figure>{link}<figcaption>{title}</figcaption></figure></li>")
    return f'<ol class="story" aria-label="The run in pictures">{"".join(items)}</ol>' if items else ""


def _film(frames: Sequence[RGB], frame_times: Sequence[float]) -> str:
    if not len(frames):
        return _NO_FILM
    chosen = np.unique(np.linspace(0, len(frames) - 1, min(len(frames), MAX_FRAMES)).round().astype(int))
    pictures = [frames[i] for i in chosen]
    jpegs = jpegs_of(pictures, _FILM_BYTES, _FILM_SIZES)
    images = [
        img_of(
            frames[i],
            jpeg,
            f"The scene {frame_times[i]:.1f} s into the run",
            f' data-time="{frame_times[i]:.1f}" decoding="sync"{" hidden" if k else ""}',
        )
        for k, (i, jpeg) in enumerate(zip(chosen, jpegs, strict=False))
    ]
    return f"""<section><h2>The motion</h2>
<div class="card film">
{"".join(images)}
<div class="controls" hidden><button type="button">Play</button>
<input type="range" min="0" max="{len(images) - 1}" value="0" aria-label="Time of the film"><output></output></div>
<noscript><p class="soft">The film plays where scripts are allowed. This is its first picture.</p></noscript>
</div></section>"""


def _timeline(episode: Episode) -> str:
    names = {
        "policy": "policy",
        "tool": "perception and planning tools",
        "motion": "motion",
        "other": "everything else",
    }
    segments = []
    for number, turn in enumerate(episode.turns, 1):
        segments.append(("policy", turn.policy_s, f"Turn {number}: policy"))
        for record in turn.calls:
            kind = "motion" if record.motion else "tool"
            segments.append((kind, record.wall_s, f"Turn {number}: {record.name}"))
    segments.append(("other", max(episode.wall_s - sum(s for _, s, _ in segments), 0.0), "Everything else"))
    totals = {kind: sum(s for k, s, _ in segments if k == kind) for kind in names}
    spoken = ", ".join(f"{names[kind]} {duration(total)}" for kind, total in totals.items())
    whole = sum(totals.values()) or 1.0
    bars = []
    for kind, seconds, label in segments[:400]:
        title = escaped(f"{label}, {duration(seconds)}", 200)
        bars.append(f'<span class="{kind}" style="flex: {1000 * seconds / whole:.3f} 0 0" title="{title}"></span>')
    legend = "".join(
        f'<li><i class="{kind}"></i>{names[kind]} <b>{duration(total)}</b></li>' for kind, total in totals.items()
    )
    return f"""<section><h2>Where the time went</h2>
<div class="timeline" role="img" aria-label="Wall time: {spoken}">{"".join(bars)}</div>
<ul class="legend">{legend}</ul></section>"""


def _turns(episode: Episode) -> str:
    pictures = [image.rgb for image in episode.session.images]
    jpegs = jpegs_of(pictures, _PICTURE_BYTES, _FULL_SIZES)
    room = Room(_TURNS_BYTES)
    cards = []
    for number, turn in enumerate(episode.turns, 1):
        parts = [_turn_head(number, turn)]
        complete = room.take(parts[0])
        for exchange in turn.exchanges if complete else ():
            shown = _exchange(exchange)
            complete = room.take(shown)
            if not complete:
                break
            index = exchange.image_index
            figure = "" if index is None else _figure(exchange, pictures[index], jpegs[index : index + 1])
            parts.append(f'<div class="call">{shown}{figure}</div>')
        cards.append(f'<article class="card">{"".join(parts)}{"" if complete else _LEFT_OUT}</article>')
        if not complete:
            break
    return f"<section><h2>Turn by turn</h2>{''.join(cards)}</section>"


def _turn_head(number: int, turn: Turn) -> str:
    reply = turn.reply
    first = "" if reply.first_token_s is None else f", first word after {duration(reply.first_token_s)}"
    took = f"policy {duration(turn.policy_s)}{first}{_usage([reply])}"
    head = f'<div class="head"><h3>Turn {number}</h3><span class="soft">{took}</span></div>'
    thought = f'<p class="thought" dir="auto">{escaped(turn.thought, 8000)}</p>' if turn.thought else ""
    answer = turn.parsed.answer
    return head + thought + (f'<p dir="auto">{badge_of("answer")} {escaped(answer)}</p>' if answer is not None else "")


def _exchange(exchange: Exchange) -> str:
    call, record = exchange.call, exchange.record
    text = exchange.words if record is None else record.result.text
    if record is None:
        badge, took = badge_of("not run", "bad") if exchange.words else badge_of("no call"), ""
    else:
        took = duration(record.wall_s)
        error = record.result.error
        badge = badge_of("ok", "good") if error is None else badge_of(error.code, "bad")
    unnamed = "a malformed call" if exchange.words else "reasoning alone"
    name = f"<code>{escaped(call.name, 120)}</code>" if call and call.name else unnamed
    notes = "".join(f'<p class="soft" dir="auto">Note: {escaped(note)}</p>' for note in exchange.notes)
    arguments = f"<pre>{escaped(_pretty(call.arguments))}</pre>" if call and call.name else ""
    return f"""<div><div class="head"><h3>{name}</h3>{badge}<span class="soft">{took}</span></div>
{arguments}<p class="response" dir="auto">{escaped(text)}</p>{notes}</div>"""


def _pretty(arguments: Any) -> str:
    try:
        return json.dumps(arguments, indent=2, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "arguments that cannot be shown as JSON"


def _figure(exchange: Exchange, rgb: RGB, jpeg: Sequence[bytes]) -> str:
    """The picture, or a note in its place when it did not fit."""
    index, record = exchange.image_index, exchange.record
    assert record is not None
    size = f"{rgb.shape[1]} × {rgb.shape[0]}"
    if not jpeg:
        return f'<p class="soft" id="image-{index}">Image {index} ({size}) did not fit; it lies in images/.</p>'
    alt = f"Image {index} from {record.name}. {record.result.text}"
    return f"""<figure id="image-{index}">{img_of(rgb, jpeg[0], alt, ' loading="lazy"')}
<figcaption>Image {index}, {size}</figcaption></figure>"""


def _conversation(episode: Episode) -> str:
    room = Room(_CONVERSATION_BYTES)
    entries = []
    for message in episode.messages:
        entry = f"<h3>{escaped(message.role)}</h3><pre>{escaped(message.text, 40_000)}</pre>"
        if not room.take(entry):
            entries.append(_LEFT_OUT)
            break
        entries.append(entry)
    return f"""<section><h2>Raw conversation</h2>
<details class="card"><summary>{len(episode.messages)} messages, with the system prompt</summary>
{"".join(entries)}</details></section>"""


def _label(name: object) -> str:
    words = str(name).replace("_", " ")
    return f"{words[:-2]} [s]" if words.endswith(" s") else words


def _value(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(_value(item) for item in value[:50])
    return "none" if value is None else str(value)


def _rows(entries: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    for name, value in entries.items():
        if isinstance(value, Mapping):
            yield from _rows(value, f"{prefix}{_label(name)} › ")
        else:
            yield prefix + _label(name), _value(value)


def _details(summary: Mapping[str, Any]) -> str:
    room = Room(_DETAILS_BYTES)
    entries = {name: value for name, value in summary.items() if name != "truth"}
    rows = (f'<tr><th scope="row">{escaped(a, 120)}</th><td>{escaped(b, 500)}</td></tr>' for a, b in _rows(entries))
    return f"""<section><h2>Details</h2>
<div class="card"><table><tbody>{"".join(row for row in rows if room.take(row))}</tbody></table></div></section>"""
