"""What a report shows of a run, as values for its templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from toolhand.agent_node.episode import Episode, not_judged
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.agent_node.runs.pages import Room, clip, data_url, jpegs_of, label_of, text_of
from toolhand.tool_nodes.drawing import RGB
from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.places import place_words, the
from toolhand.tool_nodes.language.relations import RELATION_WORDS
from toolhand.tool_nodes.language.speeds import spoken_speed
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.toolbox.toolbox import CallRecord

MAX_FRAMES = 60
"""Frames of the film; longer recordings are thinned evenly."""
MOST_FOUND, MOST_POINTS = 9, 40
"""Most images of what was found that are shown, and most points of each [-]."""
_FILM_BYTES = 1_000_000
"""Largest sum of the film's images [bytes]; base64 makes a third more of them."""
_FILM_SIZES = ((480, 78), (400, 65), (320, 55), (240, 45), (160, 35), (100, 25))
"""(longer side [px], JPEG quality) to choose from; the first that fits the bytes is taken."""
_SAME_POINT = 0.002
"""Normalized points that are this close are the same."""
_DETAILS_BYTES = 40_000
"""Largest table of details [bytes]."""

_ABOUT = {
    "began": "Date (UTC)",
    "scene": "Scene",
    "seed": "Seed",
    "perception": "Perception",
    "policy": "Policy",
    "protocol": "Protocol",
    "suite": "Tools",
    "role": "Role",
    "approval": "Approval",
    "transport": "Transport",
    "version": "Toolhand",
}
"""Entries of the result that say what a run was, in the order in which they are shown, and how they are called."""
_ELSEWHERE = frozenset({*_ABOUT, "truth", "judged_against", "scene_seed", "command", "places", "said", "steps"})
_PICKS = {
    "near": "nearest to the camera",
    "far": "farthest from the camera",
    "middle": "in the middle",
    "robot": "nearest to the robot",
    "robotless": "farthest from the robot",
}

CardRows = list[tuple[str, str]]
"""Names and values of a table."""


def judgement(success: bool, summary: Mapping[str, Any]) -> dict[str, Any]:
    """The truth: `badges` of (label, mood) or `why_not`; `against` which goal; the claim that it `contradicts`."""
    truth, basis = summary.get("truth"), summary.get("judged_against")
    moods = {True: "good", False: "bad"}
    entries = [(name, value) for name, value in list((truth or {}).items())[:20] if value is not None]
    return {
        "badges": [
            (f"{label_of(k)} {text_of(v)}", moods[bool(v)] if isinstance(v, (bool, np.bool_)) else "")
            for k, v in entries
        ],
        "why_not": not_judged(basis) or "this run has no simulator to ask.",
        "against": basis if truth and isinstance(basis, Mapping) else None,
        "contradicts": ("no success", "success")[success]
        if truth and "success" in truth and bool(truth["success"]) != success
        else "",
    }


# -- what was understood ---------------------------------------------------------------------------


def understood(task: str, summary: Mapping[str, Any]) -> CardRows:
    """How the sentence was read; empty where it is not known."""
    rows = list(_reading(task) if summary.get("policy") == "scripted" else _goal(summary.get("judged_against")))
    if speed := spoken_speed(task):
        rows.append(("How fast", f"at {speed.share:g} of the allowed speed"))
    return rows


def _reading(task: str) -> Iterator[tuple[str, str]]:
    """What the scripted policy's parser makes of the sentence."""
    try:
        command = parse_command(task)
    except ToolError as error:
        yield "Nothing", error.message
        return
    if command.target is None:
        yield "Do", "put it down"
        yield "What", "what the gripper holds"
    else:
        yield "Do", "pick it up and hold it" if command.action == "pick" else "pick it up and put it down"
        yield "What", the(command.target.plain)
        yield from _which(command.target)
    if command.action == "place":
        yield "Where", place_words(command.place())


def _which(phrase: NounPhrase) -> Iterator[tuple[str, str]]:
    """How one object is distinguished from others of its kind."""
    chosen = []
    for selector in phrase.selectors:
        place = _PICKS.get(selector.key, f"most {selector.key}")
        rank = "" if selector.rank == 1 else "last " if selector.rank == -1 else f"number {selector.rank} of the "
        chosen.append(f"{rank}{place}")
    if phrase.relation is not None:
        words = RELATION_WORDS.get(phrase.relation, phrase.relation.replace("_", " "))
        chosen.append(f"{words} {' and '.join(the(reference.text) for reference in phrase.references)}")
    if phrase.details:
        chosen.append(f"with {' '.join(phrase.details)}, if there is one")
    if phrase.excluded is not None:
        chosen.append(f"not {the(phrase.excluded.text)}")
    if phrase.indefinite:
        chosen.append("any one of them")
    if chosen:
        yield "Which", "; ".join(chosen)


def _goal(basis: Any) -> Iterator[tuple[str, str]]:
    """What the run was judged against: a model does not report what it understood."""
    if isinstance(basis, Mapping):
        yield "Goal", f"{basis.get('goal')} ({basis.get('source')})"


# -- the run ---------------------------------------------------------------------------------------


def about(summary: Mapping[str, Any]) -> CardRows:
    """When, where and with what the command was carried out."""
    return [(label, _about_value(name, summary)) for name, label in _ABOUT.items() if name in summary]


def _about_value(name: str, summary: Mapping[str, Any]) -> str:
    value = text_of(summary[name])
    if name == "began":
        return value[:19].replace("T", " ")
    if name == "scene" and (seed := summary.get("scene_seed")) is not None and value != str(seed):
        return f"{value} (seed {seed})"
    return value


def details(summary: Mapping[str, Any]) -> CardRows:
    """Whatever else is known of the run."""
    room = Room(_DETAILS_BYTES)
    rows = _rows({name: value for name, value in summary.items() if name not in _ELSEWHERE})
    return [row for row in ((clip(a, 120), clip(b, 500)) for a, b in rows) if room.take("".join(row) + " " * 60)]


def _rows(entries: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    for name, value in entries.items():
        if isinstance(value, Mapping):
            yield from _rows(value, f"{prefix}{label_of(name)} › ")
        else:
            yield prefix + label_of(name), text_of(value)


def times(episode: Episode) -> dict[str, Any]:
    """Wall time by who spent it: `segments` of (kind, seconds, label), the `kinds` and the `whole`."""
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
    kinds = [
        {"name": name, "label": label, "seconds": sum(s for k, s, _ in segments if k == name)}
        for name, label in names.items()
    ]
    return {"segments": segments[:400], "kinds": kinds, "whole": sum(s for _, s, _ in segments) or 1.0}


# -- images --------------------------------------------------------------------------------------


def story(episode: Episode) -> list[tuple[str, int]]:
    """(title, number of the image): first view, chosen grasp, after the grasp, after placing, as far as there."""
    seen = [r for r in episode.records if r.image_index is not None and r.result.ok]
    grasps = [i for i, r in enumerate(seen) if r.result.facts.get("grasped")]
    before = seen[: grasps[-1]] if grasps else seen
    chapters = (
        ("First view", ([r for r in seen if r.view is not None and not r.motion] or seen)[:1]),
        ("Chosen grasp", [r for r in before if r.name.startswith("grasp_generator.")][-1:]),
        ("After the grasp", [seen[i] for i in grasps][-1:]),
        ("After placing", [r for r in seen if r.result.facts.get("placed")][-1:]),
    )
    return [(title, r.image_index) for title, rs in chapters for r in rs if r.image_index is not None]


def candidates(episode: Episode) -> list[dict[str, Any]]:
    """Images in which a tool pointed at something, with its `points` (x, y) and which of them were `taken`."""
    taken = [point for record in episode.records for point in _points_given(record.arguments)]
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for record in episode.records:
        points = record.result.facts.get("points")
        if record.image_index is None or not points:
            continue
        name = str(record.arguments.get("obj_name", ""))
        shown = points[:MOST_POINTS]
        entry = {"index": record.image_index, "name": name, "tool": record.name, "count": len(points), "points": shown}
        found.setdefault((name, str(points)), entry | {"taken": [_among(point, taken) for point in shown]})
    return list(found.values())


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


def placement(episode: Episode) -> CallRecord | None:
    """The call whose image shows where the last object that was placed stands."""
    placed = [r for r in episode.records if r.image_index is not None and r.result.facts.get("placed")]
    return placed[-1] if placed else None


def film(frames: Sequence[RGB], frame_times: Sequence[float]) -> list[tuple[RGB, Markup, float]]:
    """Images of the motion with their addresses and times [s], evenly thinned."""
    if not len(frames):
        return []
    chosen = np.unique(np.linspace(0, len(frames) - 1, min(len(frames), MAX_FRAMES)).round().astype(int))
    jpegs = jpegs_of([frames[i] for i in chosen], _FILM_BYTES, _FILM_SIZES)
    return [(frames[i], data_url(jpeg), frame_times[i]) for i, jpeg in zip(chosen, jpegs, strict=False)]
