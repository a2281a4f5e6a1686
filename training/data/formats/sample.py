"""A page to look through rollouts (`agent_node/runs/pages.py`), with filters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolhand.agent_node.runs.folder import encode, write_atomically
from toolhand.agent_node.runs.pages import Gallery, Room, duration, render, text_of
from toolhand.tool_nodes.results import invalid
from toolhand.training.rollouts.images import ImageSource
from toolhand.training.rollouts.record import RolloutRecord

IMAGES_BYTES, TEXT_BYTES = 12_000_000, 6_000_000
"""What images (a third more in base64) and words of a page may take [bytes]: browsers open that at once."""

_SIZES = ((400, 70), (320, 60), (240, 50), (160, 40), (96, 30))
"""(longer side [px], JPEG quality) of images, the best that fits."""
_TEMPLATE = Path(__file__).with_name("sample.html")


def write_html_sample(records: Sequence[RolloutRecord], images: ImageSource, path: Path, of: int | None = None) -> None:
    """Write a page that shows rollouts, with filters, atomically.

    Args:
        records: Those that are shown; some hundreds at most.
        images: Has their images; of one that is missing or damaged the page says so.
        of: How many there were; as many where None.

    Raises:
        ToolError: INVALID_ARGUMENT without a rollout; UNAVAILABLE where the file cannot be written.
    """
    if not records:
        raise invalid("There is no rollout to be shown.")
    shown = sum(message.image is not None for record in records for message in record.messages)
    page = render(
        _TEMPLATE,
        f"Toolhand: {len(records)} rollouts",
        _TEMPLATE.with_suffix(".js").read_text(encoding="utf-8"),
        records=records,
        totals=_totals(records, "" if of is None or of == len(records) else f" of {of:,}"),
        kinds=list(_kinds(records)),
        gallery=Gallery(images, IMAGES_BYTES // max(shown, 1), _SIZES),
        room=Room(TEXT_BYTES),
        facts=_facts,
        is_accepted=is_accepted,
        plain=_plain,
    )
    write_atomically(path, encode(page))


def is_accepted(record: RolloutRecord) -> bool:
    """It has not been rejected."""
    return record.labels.get("accepted", True) is True


def _totals(records: Sequence[RolloutRecord], among: str) -> dict[str, str]:
    count = len(records)
    calls = sum(len(turn.calls) for record in records for turn in record.turns)
    return {
        "rollouts": f"{count:,}{among}",
        "accepted": f"{sum(map(is_accepted, records)):,}",
        "done, by the truth": f"{sum(record.true_success for record in records):,}",
        "mean reward": f"{sum(record.total for record in records) / count:.3f}",
        "turns each": f"{sum(len(record.turns) for record in records) / count:.1f}",
        "calls each": f"{calls / count:.1f}",
    }


def _kinds(records: Sequence[RolloutRecord]) -> Iterator[tuple[str, int, int, int, str]]:
    """(kind, rollouts, accepted, done, mean reward) of each kind of task."""
    for kind in sorted({record.kind for record in records}):
        group = [record for record in records if record.kind == kind]
        done = sum(record.true_success for record in group)
        mean = f"{sum(record.total for record in group) / len(group):.3f}"
        yield kind, len(group), sum(map(is_accepted, group)), done, mean


def _facts(record: RolloutRecord) -> dict[str, list[tuple[str, str]]]:
    """Tables about a rollout by their titles."""
    ended = f"{record.error_code}: {record.answer}" if record.error_code else record.answer
    reasons = record.truth.get("reasons") or ()
    about = {name: str(getattr(record, name)) for name in ("id", "policy", "protocol", "seed")}
    return {
        "Reward": [("total", text_of(record.total)), *((name, text_of(term)) for name, term in record.terms.items())],
        "Stages": [(name, "not reached" if at is None else duration(at)) for name, at in record.stages.items()],
        "How it ended": [("answer", ended), *(("not as it should be", str(reason)) for reason in reasons)],
        "Where it comes from": [*about.items(), ("task", _plain(record.task))],
        "Labels": [(name, _plain(value)) for name, value in record.labels.items()],
    }


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (Mapping, list, tuple)) else text_of(value)
