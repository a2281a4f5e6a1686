"""The long parts of a report: where the time went, every turn, and the conversation as it was."""

from __future__ import annotations

import json
from typing import Any

from agent_node.episode import Episode, Exchange, Turn
from agent_node.runs.report_parts import Room, badge_of, duration, escaped, shown, usage
from agent_node.runs.report_pictures import numbers
from tool_nodes.drawing import RGB

_TURNS_BYTES, _CONVERSATION_BYTES = 350_000, 350_000
"""Largest sums [bytes]; with everything else a report stays below 4 MB."""

_LEFT_OUT = '<p class="soft">The rest is left out to keep this file small; trajectory.jsonl holds everything.</p>'


def timeline(episode: Episode) -> str:
    """Wall time by who spent it."""
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


def turns(episode: Episode) -> str:
    """Every turn with its calls, and the picture that came with each."""
    room = Room(_TURNS_BYTES)
    cards = []
    for number, turn in enumerate(episode.turns, 1):
        parts = [_turn_head(number, turn)]
        complete = room.take(parts[0])
        for exchange in turn.exchanges if complete else ():
            told = _exchange(exchange)
            complete = room.take(told)
            if not complete:
                break
            index = exchange.image_index
            figure = "" if index is None else _figure(exchange, index, episode.session.images[index].rgb)
            parts.append(f'<div class="call">{told}{figure}</div>')
        cards.append(f'<article class="card">{"".join(parts)}{"" if complete else _LEFT_OUT}</article>')
        if not complete:
            break
    return f"<section><h2>Turn by turn</h2>{''.join(cards)}</section>"


def _turn_head(number: int, turn: Turn) -> str:
    reply = turn.reply
    first = "" if reply.first_token_s is None else f", first word after {duration(reply.first_token_s)}"
    took = f"policy {duration(turn.policy_s)}{first}{usage([reply])}"
    head = f'<div class="head"><h3>Turn {number}</h3><span class="soft">{took}</span></div>'
    thought = f'<p class="thought" dir="auto">{escaped(turn.thought, 8000)}</p>' if turn.thought else ""
    answer = turn.parsed.answer
    return head + thought + (f'<p dir="auto">{badge_of("answer")} {escaped(answer)}</p>' if answer is not None else "")


def _exchange(exchange: Exchange) -> str:
    call, record = exchange.call, exchange.record
    text = exchange.words if record is None else record.result.shown
    if record is None:
        badge, took = badge_of("not run", "bad") if exchange.words else badge_of("no call"), ""
    else:
        took = duration(record.wall_s)
        result = record.result
        if result.failed and result.error is not None:
            badge = badge_of(result.error.code, "bad")
        else:
            badge = badge_of("ok", "good") if result.ok else badge_of("not there")
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


def _figure(exchange: Exchange, index: int, rgb: RGB) -> str:
    record = exchange.record
    assert record is not None
    alt = f"Image {index} from {record.name}. {record.result.text}"
    drawn = numbers(record.result.facts.get("points", ()), rgb)
    return f"""<figure id="image-{index}">{shown(index, rgb, alt, ' loading="lazy"', drawn)}
<figcaption>Image {index}, {rgb.shape[1]} × {rgb.shape[0]}</figcaption></figure>"""


def conversation(episode: Episode) -> str:
    """Every message as the policy had it."""
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
