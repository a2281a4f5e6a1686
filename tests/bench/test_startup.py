"""`bench startup`: two installations take turns, and what cannot be measured is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench.startup import _graph, _to_first_motion, bench_startup
from tool_nodes.results import ToolError


def test_this_installation_is_measured_beside_another(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.startup.HELP", (("--help",),))
    other, ran = tmp_path / "toolhand", tmp_path / "ran"
    noted = f"import sys, time\nwith open({str(ran)!r}, 'a') as ran:\n    print(sys.argv[1], file=ran)\n"
    moves = "print('calls robot.execute_grasp', file=sys.stderr, flush=True)\ntime.sleep(60)"
    other.write_text(f"#!{sys.executable}\n{noted}if 'run' not in sys.argv:\n    sys.exit()\n{moves}\n")
    other.chmod(0o755)
    assert bench_startup(n=1, graph=False, beside=other, as_json=True) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["what"] for row in rows] == [
        "toolhand --help",
        'toolhand run "pick up the red box", until the arm moves',
    ]
    assert all(row["this"] > 0 <= row["other"] for row in rows), "a clock tick may be longer than the other's run"
    assert ran.read_text().split() == ["--help", "run"]


def test_wrong_input_is_told(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="n must be 1 or more, got 0"):
        bench_startup(n=0)
    with pytest.raises(ToolError, match="is no program"):
        bench_startup(beside=tmp_path / "none")


def test_a_command_that_never_moves_the_arm_is_told() -> None:
    with pytest.raises(ToolError, match="ended before it moved the arm"):
        _to_first_motion([sys.executable, "-c", "pass"])


def test_a_graph_that_does_not_become_ready_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.startup.READY_WITHIN_S", 1.0)
    waits = tmp_path / "waits.py"
    waits.write_text("import sys, time\nif 'up' in sys.argv:\n    time.sleep(60)\n")
    monkeypatch.setattr("bench.startup._launch_file", lambda command: "sim.launch.yaml")
    with pytest.raises(ToolError, match="ended before the graph was ready"):
        _graph([sys.executable, str(waits)])
