"""Head of a report: the sentence, its reading, the outcome and its judgement, and how to repeat the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from agent_node.episode import Episode, not_judged
from agent_node.policies.scripted.commands import RELATION_WORDS, parse_command
from agent_node.policies.scripted.points import the
from agent_node.runs.again import FROM_THE_BEGINNING
from agent_node.runs.report_parts import Room, badge_of, clip, duration, escaped, label_of, table_of, text_of, usage
from tool_nodes.language.phrases import NounPhrase
from tool_nodes.language.places import place_words
from tool_nodes.language.speeds import spoken_speed
from tool_nodes.results import ToolError

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
_PICKS = {"near": "nearest to the camera", "far": "farthest from the camera", "middle": "in the middle"}


def outcome(episode: Episode) -> str:
    """What the tools reported, as a card."""
    if episode.success:
        badge = badge_of("success", "good")
    elif episode.error_code is not None:
        badge = badge_of(episode.error_code, "bad")
    else:
        badge = badge_of("answered, no motion")
    calls = f"{len(episode.turns)} turns, {episode.tool_calls} tool calls, {duration(episode.wall_s)}"
    calls += f", protocol {escaped(episode.protocol.name, 60)}{usage([turn.reply for turn in episode.turns])}"
    return f"""<section class="card"><h2>As the tools reported it</h2>
<p dir="auto">{badge} {escaped(episode.answer or "No answer.")}</p><p class="soft">{calls}</p></section>"""


def whole(summary: Mapping[str, Any]) -> str:
    """What came of a sentence of several commands, as a card with their reports; empty for one that is a command."""
    if "steps" not in summary:
        return ""
    steps = [str(step) for step in summary["steps"]]
    links = "".join(f'<li><a href="{escaped(step)}/report.html">Part {escaped(step)}</a></li>' for step in steps)
    more = f"<p>The rest of it has reports of its own:</p><ul>{links}</ul>" if steps else ""
    return f"""<section class="card"><h2>The whole sentence</h2>
<p dir="auto">{_end_of(summary)} {escaped(summary.get("answer") or "No answer.")}</p>{more}</section>"""


def _end_of(summary: Mapping[str, Any]) -> str:
    if summary.get("success"):
        return badge_of("success", "good")
    return badge_of(str(summary.get("error_code") or "not done"), "bad")


def judgement(success: bool, summary: Mapping[str, Any]) -> str:
    """The simulator's judgement, and against which goal, as a card."""
    truth, basis = summary.get("truth"), summary.get("judged_against")
    if truth:
        moods = {True: "good", False: "bad"}
        verdict = "".join(
            badge_of(
                f"{label_of(name)} {text_of(value)}", moods[bool(value)] if isinstance(value, (bool, np.bool_)) else ""
            )
            for name, value in list(truth.items())[:20]
            if value is not None
        )
    else:
        verdict = f"Not judged: {escaped(not_judged(basis) or 'this run has no simulator to ask.', 300)}"
    against = ""
    if truth and isinstance(basis, Mapping):
        against = f"Judged against: {escaped(basis.get('goal'), 300)} ({escaped(basis.get('source'), 200)})."
        against = f'<p class="soft" dir="auto">{against}</p>'
    warning = ""
    if truth and "success" in truth and bool(truth["success"]) != success:
        said = "success" if success else "no success"
        warning = f'<p class="warning">The tools reported {said}; the simulator disagrees.</p>'
    return f"""<section class="card"><h2>Simulator's judgement</h2><p>{verdict}</p>{against}{warning}</section>"""


# -- what was understood ---------------------------------------------------------------------------


def understood(task: str, summary: Mapping[str, Any]) -> str:
    """How the sentence was read, as a card; empty where it is not known."""
    rows = list(_reading(task) if summary.get("policy") == "scripted" else _goal(summary.get("judged_against")))
    if speed := spoken_speed(task):
        rows.append(("How fast", f"at {speed.share:g} of the allowed speed"))
    if not rows:
        return ""
    return f'<section class="card"><h2>What was understood</h2>{table_of(rows)}</section>'


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
    if command.form is not None:
        yield "Where", place_words(command.place())
    elif command.action == "place":
        places = " and ".join(the(reference.text) for reference in command.references)
        relation = command.relation or ""
        where = RELATION_WORDS.get(relation, "anywhere on the table" if relation == "anywhere" else relation)
        yield "Where", f"{where} {places}".rstrip()


def _which(phrase: NounPhrase) -> Iterator[tuple[str, str]]:
    """How one thing is distinguished from others of its kind."""
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


def about(summary: Mapping[str, Any]) -> str:
    """When, where and with what the command was carried out, and the command line that repeats it, as a card."""
    rows = [(label, _about_value(name, summary)) for name, label in _ABOUT.items() if name in summary]
    command = summary.get("command")
    again = ""
    if command:
        again = f"<p>To run it again, {FROM_THE_BEGINNING}:</p><pre>{escaped(command, 4000)}</pre>"
    if not rows and not again:
        return ""
    return f'<section class="card about"><h2>This run</h2>{table_of(rows)}{again}</section>'


def _about_value(name: str, summary: Mapping[str, Any]) -> str:
    value = text_of(summary[name])
    if name == "began":
        return value[:19].replace("T", " ")
    if name == "scene" and (seed := summary.get("scene_seed")) is not None and value != str(seed):
        return f"{value} (seed {seed})"
    return value


def details(summary: Mapping[str, Any]) -> str:
    """Whatever else is known of the run, a row an entry."""
    room = Room(_DETAILS_BYTES)
    rows = _rows({name: value for name, value in summary.items() if name not in _ELSEWHERE})
    kept = [row for row in ((clip(a, 120), clip(b, 500)) for a, b in rows) if room.take(escaped("".join(row)) + _ROW)]
    return f'<section><h2>Details</h2><div class="card">{table_of(kept)}</div></section>'


_ROW = '<tr><th scope="row"></th><td dir="auto"></td></tr>'


def _rows(entries: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    for name, value in entries.items():
        if isinstance(value, Mapping):
            yield from _rows(value, f"{prefix}{label_of(name)} › ")
        else:
            yield prefix + label_of(name), text_of(value)
