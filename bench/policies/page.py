"""The leaderboard: the tables as one HTML file that needs no network, for light and dark, sortable by each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_node.runs.report import page
from agent_node.runs.report_parts import escaped
from bench.policies.papers import NOT_THE_SAME, PAPER_ROWS
from bench.policies.table import MEANS, RATES, mean_text, percent, points

_HERE = Path(__file__).parent


def policies_page(document: Mapping[str, Any]) -> str:
    """The page of a document of `bench policy`."""
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    tasks = document["tasks"]
    body = [
        "<h1>Policies</h1>",
        f"<p>{document['planned']} tasks of the split {escaped(str(tasks['split']))}, seeds from "
        f"{tasks['first_seed']}; perception {escaped(str(tasks['perception']))}, difficulty {tasks['difficulty']:g}. "
        "Judged by the simulator's truth; a task without a score counts as a failure. Rates have 95 % Wilson "
        "intervals. A heading sorts.</p>",
        *(f"<p><strong>{escaped(line)}</strong></p>" for line in document["broken_off"]),
        "<h2>All tasks</h2>",
        _policies(document),
        "<h2>True success by kind of task</h2>",
        _kinds(document),
        "<h2>Paired differences</h2>",
        f"<p>Points of true success over the tasks that both were given; 95 % percentile interval of a bootstrap over "
        f"tasks, seed {document['bootstrap_seed']}.</p>",
        _differences(document),
        "<h2>The papers' tables</h2>",
        *(f"<p>{escaped(paper)}: {escaped(why)}</p>" for paper, why in NOT_THE_SAME.items()),
        _papers(document),
    ]
    body.append(f"<script>{script}</script>")
    return page("Policies", script, "\n".join(body), style)


def _policies(document: Mapping[str, Any]) -> str:
    titles = ["policy", "n", "not given", "unscored"]
    titles += [f"{title} (of {of})" for title, of, *_ in RATES.values()]
    titles += [title for title, _ in MEANS.values()]
    rows = []
    for row in document["rows"]:
        cells = [_text(row["policy"]), *(_number(row[name], str(row[name])) for name in ("n", "missing", "unscored"))]
        cells += [_rate(row[name]) for name in RATES]
        cells += [_number(row[name], mean_text(name, row[name])) for name in MEANS]
        rows.append(cells)
    return _table(titles, rows)


def _kinds(document: Mapping[str, Any]) -> str:
    policies = [row["policy"] for row in document["rows"]]
    rows = [[_text(row["kind"]), *(_rate(row[policy]) for policy in policies)] for row in document["kinds"]]
    return _table(["kind", *policies], rows)


def _differences(document: Mapping[str, Any]) -> str:
    rows = [
        [
            _text(f"{row['first']} - {row['second']}"),
            _number(row["n"], str(row["n"])),
            _number(row["difference"], points(row)),
            _number(row["first_alone"], str(row["first_alone"])),
            _number(row["second_alone"], str(row["second_alone"])),
        ]
        for row in document["differences"]
    ]
    return _table(["pair", "n", "difference", "first alone", "second alone"], rows)


def _papers(document: Mapping[str, Any]) -> str:
    policies = [row["policy"] for row in document["rows"]]
    ours = {row["kind"]: row for row in document["kinds"]}
    rows = []
    for printed in PAPER_ROWS:
        if printed.kind not in ours:
            continue
        said = f"{printed.percent:g} %" + (f" (n {printed.n})" if printed.n else "")
        cells = [_text(printed.kind), _text(printed.paper), _text(printed.table), _text(printed.row)]
        rows.append(
            [*cells, _number(printed.percent, said), *(_rate(ours[printed.kind][policy]) for policy in policies)]
        )
    return _table(["kind", "paper", "table", "row", "printed", *policies], rows)


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col"><button type="button">{escaped(title)}</button></th>' for title in titles)
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _text(words: str) -> str:
    return f"<td>{escaped(words)}</td>"


def _number(value: float | None, words: str) -> str:
    return f'<td data-value="{"" if value is None else value}">{escaped(words)}</td>'


def _rate(found: Mapping[str, Any]) -> str:
    if found["rate"] is None:
        return _number(None, "-")
    return _number(found["rate"], percent(found)).replace(
        "<td", f'<td class="bar" style="--share:{100 * found["rate"]:.0f}%"', 1
    )
