"""The leaderboard: the tables as a page (`agent_node/runs/pages.py`), sortable by each column."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolhand.agent_node.runs.pages import render
from toolhand.bench.policies.papers import NOT_THE_SAME, PAPER_ROWS
from toolhand.bench.policies.table import MEANS, RATES, mean_text, percent, points


def policies_page(document: Mapping[str, Any]) -> str:
    """The page of a document of `bench policy`."""
    template = Path(__file__).with_name("page.html")
    kinds = {row["kind"]: row for row in document["kinds"]}
    return render(
        template,
        "Policies",
        template.with_suffix(".js").read_text(encoding="utf-8"),
        document=document,
        rates={name: f"{title} (of {of})" for name, (title, of, *_) in RATES.items()},
        means={name: title for name, (title, _) in MEANS.items()},
        policies=[row["policy"] for row in document["rows"]],
        papers=NOT_THE_SAME,
        printed=[(row, kinds[row.kind]) for row in PAPER_ROWS if row.kind in kinds],
        mean_text=mean_text,
        percent=percent,
        points=points,
    )
