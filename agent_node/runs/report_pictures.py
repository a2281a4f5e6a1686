"""The pictures of a report: the story, what was found, where a thing was put, and the film of the motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agent_node.episode import Episode
from agent_node.runs.report_parts import clip, escaped, img_of, jpegs_of, shown
from tool_nodes.drawing import RGB
from tool_nodes.toolbox.toolbox import CallRecord

MAX_FRAMES = 60
"""Frames of the film; longer recordings are thinned evenly."""

_FILM_BYTES = 1_000_000
"""Largest sum of the film's pictures [bytes]; base64 makes a third more of them."""
_FILM_SIZES = ((480, 78), (400, 65), (320, 55), (240, 45), (160, 35), (100, 25))
"""(longer side [px], JPEG quality) to choose from; the first that fits the bytes is taken."""
_MARK_PX = 7.0
"""Half the width of a cross [px of the picture]."""
_MANY_FOUND, _MANY_POINTS = 9, 40
"""Most pictures of what was found that are shown, and most points of each [-]."""
_SAME_POINT = 0.002
"""Normalized points that are this close are the same."""

SCRIPT = """
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


def numbers(points: Sequence[tuple[float, float]], rgb: RGB) -> str:
    """The numbers 1, 2, ... beside normalized (x, y) points of a picture, as SVG."""
    height, width = rgb.shape[:2]
    size = max(10, min(height, width) // 18)
    return "".join(
        f'<text x="{min(x * width + 8, width - size):.1f}" y="{max(y * height - 8, size):.1f}" '
        f'font-size="{size}">{number}</text>'
        for number, (x, y) in enumerate(points[:_MANY_POINTS], 1)
    )


def cross(point: Sequence[float], rgb: RGB) -> str:
    """A cross at a normalized (x, y) point of a picture, as SVG."""
    u, v, r = point[0] * rgb.shape[1], point[1] * rgb.shape[0], _MARK_PX
    line = f"M{u - r:.1f} {v - r:.1f}l{2 * r} {2 * r}M{u - r:.1f} {v + r:.1f}l{2 * r} {-2 * r}"
    return f'<path class="cross" d="{line}"></path>'


def _ring(point: Sequence[float] | None, rgb: RGB) -> str:
    """A ring around a normalized (x, y) point of a picture, as SVG; empty without one."""
    if point is None:
        return ""
    u, v = point[0] * rgb.shape[1], point[1] * rgb.shape[0]
    return f'<circle class="ring" cx="{u:.1f}" cy="{v:.1f}" r="{2 * _MARK_PX}"></circle>'


def story(episode: Episode) -> str:
    """First view, chosen grasp, after the grasp, after placing: those of the four that there are."""
    seen = [r for r in episode.records if r.image_index is not None and r.result.ok]
    grasps = [i for i, r in enumerate(seen) if r.name == "robot.execute_grasp"]
    before = seen[: grasps[-1]] if grasps else seen
    chapters = (
        ("First view", ([r for r in seen if r.name == "robot.capture_image"] or seen)[:1]),
        ("Chosen grasp", [r for r in before if r.name.startswith("grasp_generator.")][-1:]),
        ("After the grasp", [seen[i] for i in grasps][-1:]),
        ("After placing", [r for r in seen if r.name.startswith("robot.place_")][-1:]),
    )
    found = [(title, r.image_index) for title, rs in chapters for r in rs if r.image_index is not None]
    items = []
    for title, index in found:
        link = f'<a href="#image-{index}">{shown(index, episode.session.images[index].rgb, title)}</a>'
        items.append(f"<li><figure>{link}<figcaption>{title}</figcaption></figure></li>")
    return f'<ol class="story" aria-label="The run in pictures">{"".join(items)}</ol>' if items else ""


def candidates(episode: Episode) -> str:
    """Each picture in which a tool pointed at something, with the points numbered and listed beside it."""
    taken = [point for record in episode.records for point in _points_given(record.arguments)]
    found: dict[tuple[str, str], CallRecord] = {}
    for record in episode.records:
        if record.image_index is not None and record.result.facts.get("points"):
            name = str(record.arguments.get("obj_name", ""))
            found.setdefault((name, str(record.result.facts["points"])), record)
    cards = []
    for (name, _), record in list(found.items())[:_MANY_FOUND]:
        index = record.image_index or 0
        rgb = episode.session.images[index].rgb
        points = record.result.facts["points"]
        rows = "".join(
            f"<li>({x:.3f}, {y:.3f}){' <b>taken</b>' if _among((x, y), taken) else ''}</li>"
            for x, y in points[:_MANY_POINTS]
        )
        more = f'<p class="soft">and {len(points) - _MANY_POINTS} more</p>' if len(points) > _MANY_POINTS else ""
        alt = f"{len(points)} found for {clip(name, 80)}, numbered"
        picture = shown(index, rgb, alt, drawn=numbers(points, rgb))
        cards.append(
            f'<figure>{picture}<figcaption><b dir="auto">{escaped(name, 200)}</b>: {len(points)} found by '
            f"<code>{escaped(record.name, 120)}</code></figcaption><ol>{rows}</ol>{more}</figure>"
        )
    if not cards:
        return ""
    left = len(found) - len(cards)
    more = f'<p class="soft">{left} more below, turn by turn.</p>' if left else ""
    return f"""<section><h2>Candidates</h2>
<p class="soft">Points as (x, y) from the upper left corner (0, 0) to the lower right one (1, 1).</p>
<div class="found">{"".join(cards)}</div>{more}</section>"""


def _points_given(arguments: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Points that a call was given."""
    given = [arguments.get("placement_point_2d"), arguments.get("point_2d"), (arguments.get("x"), arguments.get("y"))]
    return [
        (float(pair[0]), float(pair[1]))
        for pair in given
        if isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(v, (int, float)) for v in pair)
    ]


def _among(point: tuple[float, float], points: Sequence[tuple[float, float]]) -> bool:
    return any(max(abs(point[0] - x), abs(point[1] - y)) <= _SAME_POINT for x, y in points)


def placement(episode: Episode) -> str:
    """Where the last thing that was placed should stand and where it stands, in the picture after it."""
    placed = [r for r in episode.records if r.image_index is not None and r.result.facts.get("placed")]
    if not placed:
        return ""
    record, fact = placed[-1], placed[-1].result.facts["placed"]
    index = record.image_index or 0
    rgb = episode.session.images[index].rgb
    drawn = cross(fact["wanted"], rgb) + _ring(fact["found"], rgb)
    picture = shown(index, rgb, "Where it should stand (cross) and where it stands (ring)", drawn=drawn)
    rows = f"<li>Cross: it should stand at {_metres(fact['wanted_m'])}.</li>"
    if fact["found_m"] is None:
        rows += "<li>The picture after placing shows nothing new within 12 cm of that.</li>"
    else:
        rows += f"<li>Ring: it stands at {_metres(fact['found_m'])}, <b>{fact['off_mm']:.0f} mm</b> off.</li>"
    return f"""<section><h2>Where it should stand, and stands</h2>
<div class="card placed"><figure>{picture}</figure><div><ul>{rows}</ul>
<p class="soft">Measured in the picture after placing: the middle of the top of what is new there. Coordinates are on
the table, from the base of the robot.</p></div></div></section>"""


def _metres(position: Sequence[float]) -> str:
    return f"x = {position[0]:.3f} m, y = {position[1]:.3f} m"


def film(frames: Sequence[RGB], frame_times: Sequence[float]) -> str:
    """The motion, with what its script needs; empty without frames."""
    if not len(frames):
        return ""
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
