"""A run once more: which command line, its output, its end, and nothing of the graph in its environment."""

import sys
from pathlib import Path

import pytest

from tests.waiting import until
from toolhand.console.history.again import MOST_LINES, Rerun, command_again
from toolhand.tool_nodes.results import ErrorCode, ToolError


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code, "run"]


def test_the_recorded_options_are_given_again_in_process(tmp_path: Path) -> None:
    record = {
        "task": "pick up the lemon",
        "scene": "example",
        "perception": "pixels",
        "policy": "scripted",
        "seed": 7,
        "turn_budget": 12,
        "ports": {"pointer": "", "sensor": "realsense_d435"},
        "transport": "ros",
        "approval": "ask-motion",
    }
    assert command_again(record, tmp_path)[3:] == [
        *("run", "pick up the lemon", "--scene", "example", "--perception", "pixels", "--policy", "scripted"),
        *("--seed", "7", "--turns", "12", "--sensor", "realsense_d435"),
        *("--transport", "process", "--runs-dir", str(tmp_path)),
    ]


def test_the_output_and_the_end_are_kept_and_the_newest_lines_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOOLHAND_APPROVAL_TOKEN", "ROS_DOMAIN_ID", "ZENOH_CONFIG"):
        monkeypatch.setenv(name, "7")
    rerun = Rerun()
    shown = "import os; print(*[name for name in os.environ if name.startswith(('TOOLHAND', 'ROS_', 'ZENOH'))])"
    rerun.start("a", python(shown))
    until(lambda: not rerun.running and rerun.lines()[-1][1].startswith("It ended"))
    assert [line for _, line in rerun.lines()][1:] == ["", "It ended with exit status 0."]
    rerun.start("b", python(f"[print(k) for k in range({MOST_LINES})]; print('\\x1b[31mend')"))
    until(lambda: not rerun.running and rerun.lines()[-1][1].startswith("It ended"))
    lines = [line for _, line in rerun.lines()]
    assert lines[-2:] == [" [31mend", "It ended with exit status 0."]
    assert len(lines) == MOST_LINES


def test_one_run_goes_on_at_a_time_and_is_ended_as_by_ctrl_c() -> None:
    rerun = Rerun()
    rerun.start("a", python("import time; print('ready', flush=True); time.sleep(60)"))
    until(lambda: len(rerun.lines()) > 1)
    with pytest.raises(ToolError, match="The run a is being carried out again") as refused:
        rerun.start("b", python(""))
    assert refused.value.code is ErrorCode.UNAVAILABLE
    rerun.cancel()
    until(lambda: not rerun.running and rerun.lines()[-1][1].startswith("It ended"))
    assert any("KeyboardInterrupt" in line for _, line in rerun.lines())


def test_what_cannot_be_started_is_one_sentence() -> None:
    with pytest.raises(ToolError, match="The run cannot be started: No such file"):
        Rerun().start("a", ["/none/python", "-m", "toolhand", "run"])
