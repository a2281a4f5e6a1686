"""`bench startup`: every command is measured, and what cannot be measured is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench.startup import _graph, _to_first_motion, bench_startup
from tool_nodes.results import ToolError


def test_help_and_a_sentence_are_measured(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.startup.HELP", (("--help",),))
    assert bench_startup(n=1, graph=False, as_json=True) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["what"] for row in rows] == [
        "toolhand --help",
        'toolhand run "pick up the red box", until the arm moves',
    ]
    assert all(row["cpu_s"] > 0 for row in rows)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ToolError, match="n must be 1 or more, got 0"):
        bench_startup(n=0)


def test_a_command_that_never_moves_the_arm_is_told() -> None:
    with pytest.raises(ToolError, match="ended before it moved the arm"):
        _to_first_motion([sys.executable, "-c", "pass"])


def test_a_graph_that_does_not_become_ready_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.startup.READY_WITHIN_S", 1.0)
    waits = tmp_path / "waits.py"
    waits.write_text("import sys, time\nif 'up' in sys.argv:\n    time.sleep(60)\n")
    with pytest.raises(ToolError, match="ended before the graph was ready"):
        _graph([sys.executable, str(waits)])
