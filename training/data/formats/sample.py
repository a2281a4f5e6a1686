"""A page to look through rollouts: one HTML file that needs no network, no server and, to be read, no script.

Everything that an operator, a model or a tool wrote is escaped, and behind that stands the content security policy of
the reports: pictures come from the file itself, and only the filters' own script may run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_node.runs.folder import encode, write_atomically
from agent_node.runs.report import page
from agent_node.runs.report_parts import Room, badge_of, duration, escaped, img_of, jpegs_of, table_of, text_of
from tool_nodes.results import ToolError, invalid
from training.rollouts.pictures import PictureSource
from training.rollouts.record import CallEntry, RolloutRecord, TurnRecord

PICTURES_BYTES, TEXT_BYTES = 12_000_000, 6_000_000
"""What pictures (a third more in base64) and words of a page may take [bytes]: browsers open that at once."""

_SIZES = ((400, 70), (320, 60), (240, 50), (160, 40), (96, 30))
"""(longer side [px], JPEG quality) of pictures, the best that fits."""
_LEFT_OUT = '<p class="soft">The rest is left out to keep this page small.</p>'

SCRIPT = """
const bar = document.querySelector(".filters");
const rows = [...document.querySelectorAll(".rollout")];
const inputs = ["kind", "truth", "verdict", "least", "words"].map((name) => bar.querySelector("." + name));
const [kind, truth, verdict, least, words] = inputs;
const apply = () => {
  const said = words.value.toLowerCase();
  let shown = 0;
  rows.forEach((row) => {
    const data = row.dataset;
    const keep = (!kind.value || data.kind === kind.value) && (!truth.value || data.truth === truth.value) &&
      (!verdict.value || data.verdict === verdict.value) && (least.value === "" || +data.total >= +least.value) &&
      (!said || row.querySelector(".sentence").textContent.toLowerCase().includes(said));
    row.hidden = !keep;
    shown += keep;
  });
  bar.querySelector("output").value = shown + " of " + rows.length;
};
bar.oninput = apply;
bar.hidden = false;
apply();
"""


def write_html_sample(
    records: Sequence[RolloutRecord], pictures: PictureSource, path: Path, of: int | None = None
) -> None:
    """Write a page that shows rollouts, with filters, atomically.

    Args:
        records: Those that are shown; some hundreds at most.
        pictures: Has their pictures; of one that is missing or damaged the page says so.
        path: The page.
        of: How many there were; as many where None.

    Raises:
        ToolError: INVALID_ARGUMENT without a rollout; UNAVAILABLE where the file cannot be written.
    """
    if not records:
        raise invalid("There is no rollout to be shown.")
    shown = sum(message.picture is not None for record in records for message in record.messages)
    gallery = _Gallery(pictures, PICTURES_BYTES // max(shown, 1))
    room = Room(TEXT_BYTES)
    cards = []
    for record in records:
        card = _card(record, gallery)
        if not room.take(card.words):
            cards.append(_LEFT_OUT)
            break
        cards.append(card.html)
    among = "" if of is None or of == len(records) else f" of {of:,}"
    body = f"""<header>
<h1>Toolhand rollouts</h1>
<div class="totals">{_totals(records, among)}</div>
</header>
<section><h2>By kind of task</h2><div class="card">{_kinds(records)}</div></section>
{_filters(records)}
<section aria-label="Rollouts">
{"".join(cards)}
</section>
<script>{SCRIPT}</script>"""
    style = Path(__file__).with_name("sample.css").read_text(encoding="utf-8")
    write_atomically(path, encode(page(f"Toolhand: {len(records)} rollouts", SCRIPT, body, style)))


def kind_of(record: RolloutRecord) -> str:
    """What kind of task it was, for people."""
    return str(record.task.get("kind", "task"))


def is_accepted(record: RolloutRecord) -> bool:
    """It has not been rejected."""
    return record.labels.get("accepted", True) is True


# -- head ------------------------------------------------------------------------------------------


def _totals(records: Sequence[RolloutRecord], among: str) -> str:
    count = len(records)
    calls = sum(len(turn.calls) for record in records for turn in record.turns)
    entries = (
        ("rollouts", f"{count:,}{among}"),
        ("accepted", f"{sum(map(is_accepted, records)):,}"),
        ("done, by the truth", f"{sum(record.true_success for record in records):,}"),
        ("mean reward", f"{sum(record.total for record in records) / count:.3f}"),
        ("turns each", f"{sum(len(record.turns) for record in records) / count:.1f}"),
        ("calls each", f"{calls / count:.1f}"),
    )
    return "".join(
        f'<div class="card"><b>{escaped(value)}</b><span class="soft">{escaped(name)}</span></div>'
        for name, value in entries
    )


def _kinds(records: Sequence[RolloutRecord]) -> str:
    rows = []
    for kind in sorted({kind_of(record) for record in records}):
        group = [record for record in records if kind_of(record) == kind]
        cells = (
            len(group),
            sum(map(is_accepted, group)),
            sum(record.true_success for record in group),
            f"{sum(record.total for record in group) / len(group):.3f}",
        )
        rows.append(
            f'<tr><th scope="row">{escaped(kind, 80)}</th>{"".join(f"<td>{escaped(cell)}</td>" for cell in cells)}</tr>'
        )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("kind", "rollouts", "accepted", "done", "mean reward"))
    table = f'<table class="kinds"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return f'<div class="scroll">{table}</div>'


def _filters(records: Sequence[RolloutRecord]) -> str:
    kinds = sorted({kind_of(record) for record in records})
    return f"""<div class="filters" hidden>
{_choice("Kind", "kind", kinds)}
{_choice("Truth", "truth", ("done", "not done"))}
{_choice("Verdict", "verdict", ("accepted", "rejected"))}
<label>Reward from<input class="least" type="number" step="0.05"></label>
<label>Sentence<input class="words" type="search"></label>
<output></output></div>
<noscript><p class="soft">The filters work where scripts are allowed.</p></noscript>"""


def _choice(label: str, name: str, values: Sequence[str]) -> str:
    options = "".join(f"<option>{escaped(value, 80)}</option>" for value in values)
    return f'<label>{label}<select class="{name}"><option value="">all</option>{options}</select></label>'


# -- one rollout -----------------------------------------------------------------------------------


class _Gallery:
    """Pictures as elements of a bounded size."""

    def __init__(self, store: PictureSource, room: int) -> None:
        self._store, self._room = store, room

    def figure(self, name: str, caption: str) -> str:
        try:
            rgb = self._store.get(name)
        except ToolError as error:
            return f'<p class="soft">{escaped(error, 300)}</p>'
        jpegs = jpegs_of([rgb], self._room, _SIZES)
        if not jpegs:
            return f'<p class="soft">The picture {escaped(name[:12])} did not fit.</p>'
        return f"<figure>{img_of(rgb, jpegs[0], caption)}<figcaption>{escaped(caption, 200)}</figcaption></figure>"


class _Card:
    """A rollout on the page, and its words alone."""

    def __init__(self, html: str, words: str) -> None:
        self.html, self.words = html, words


def _card(record: RolloutRecord, gallery: _Gallery) -> _Card:
    done, accepted = record.true_success, is_accepted(record)
    calls = sum(len(turn.calls) for turn in record.turns)
    verdict = "" if accepted else badge_of(f"rejected: {_plain(record.labels.get('rejected', ''))}".rstrip(": "), "bad")
    head = f"""<summary>{badge_of("done", "good") if done else badge_of("not done", "bad")}<b>{record.total:.2f}</b>
<span class="sentence" dir="auto">{escaped(record.text, 300)}</span>
<span class="soft">{verdict}{badge_of(kind_of(record))}{len(record.turns)} turns, {calls} calls</span></summary>"""
    words = [head, _facts(record)]
    asked = [message.picture for message in record.messages if message.role == "user" and message.picture is not None]
    parts = [*words, *(gallery.figure(name, "Shown with the sentence") for name in asked)]
    for number, turn in enumerate(record.turns, 1):
        before = _turn_head(number, turn)
        words.append(before)
        shown = []
        for call in turn.calls:
            said = _call(call)
            words.append(said)
            figure = "" if call.picture is None else gallery.figure(call.picture, f"From {call.tool}")
            shown.append(f'<div class="call">{said}{figure}</div>')
        parts.append(f'<div class="turn">{before}{"".join(shown)}</div>')
    raw = _raw(record)
    parts.append(raw)
    words.append(raw)
    attributes = {
        "kind": kind_of(record)[:80],
        "truth": "done" if done else "not done",
        "verdict": "accepted" if accepted else "rejected",
        "total": f"{record.total:.6g}",
    }
    data = " ".join(f'data-{name}="{escaped(value)}"' for name, value in attributes.items())
    inside = "".join(parts[1:])
    name = escaped(record.id, 80)
    html = f'<details class="card rollout" id="{name}" {data}>{head}<div class="inside">{inside}</div></details>\n'
    return _Card(html, "".join(words))


def _facts(record: RolloutRecord) -> str:
    reasons = record.truth.get("reasons") or ()
    ended = f"{record.error_code}: {record.answer}" if record.error_code else record.answer
    tables = (
        ("Reward", [("total", text_of(record.total)), *((name, text_of(term)) for name, term in record.terms.items())]),
        ("Stages", [(name, "not reached" if at is None else duration(at)) for name, at in record.stages.items()]),
        ("How it ended", [("answer", ended), *(("not as it should be", str(reason)) for reason in reasons)]),
        (
            "Where it comes from",
            [
                ("id", record.id),
                ("policy", record.policy),
                ("protocol", record.protocol),
                ("seed", str(record.seed)),
                ("task", _plain(record.task)),
            ],
        ),
        ("Labels", [(name, _plain(value)) for name, value in record.labels.items()]),
    )
    shown = (f"<div><h3>{title}</h3>{table_of(rows)}</div>" for title, rows in tables if rows)
    return f'<div class="facts">{"".join(shown)}</div>'


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (Mapping, list, tuple)) else text_of(value)


def _turn_head(number: int, turn: TurnRecord) -> str:
    tokens = f", {len(turn.token_ids)} tokens" if turn.token_ids else ""
    took = ", ".join(f"{name} {duration(seconds)}" for name, seconds in turn.times.items() if seconds)
    labels = "".join(badge_of(f"{name}: {_plain(value)}") for name, value in turn.labels.items())
    problem = f'<p class="warning">{escaped(turn.problem, 500)}</p>' if turn.problem else ""
    thought = f'<p class="thought" dir="auto">{escaped(turn.thought, 4000)}</p>' if turn.thought else ""
    return (
        f'<div class="head"><h3>Turn {number}</h3>{labels}<span class="soft">{escaped(took + tokens, 200)}</span></div>'
        f"{thought}{problem}"
    )


def _call(call: CallEntry) -> str:
    badge = badge_of("ok", "good") if call.error_code is None else badge_of(call.error_code, "bad")
    if call.failed_on_purpose:
        badge += badge_of(f"failed on purpose: {call.failed_on_purpose}")
    if not call.run:
        badge += badge_of("not run")
    return f"""<div><div class="head"><h3><code>{escaped(call.tool, 120)}</code></h3>{badge}
<span class="soft">{duration(call.seconds) if call.seconds else ""}</span></div>
<pre>{escaped(json.dumps(call.arguments, indent=2, ensure_ascii=False), 4000)}</pre>
<p class="response" dir="auto">{escaped(call.words, 4000)}</p></div>"""


def _raw(record: RolloutRecord) -> str:
    """What was written, message by message; the system's is the same for many and shown in part."""
    limits = {"system": 1500}
    entries = "".join(
        f"<h3>{escaped(message.role)}</h3><pre>{escaped(message.text, limits.get(message.role, 8000))}</pre>"
        for message in record.messages
    )
    summary = f"<summary>{len(record.messages)} messages as they were written</summary>"
    return f'<details class="turn">{summary}{entries}</details>'
