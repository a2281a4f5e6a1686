"""How a run ended is told whatever becomes of its files, and whose mistake it was is in the exit status."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.saying import Says
from toolhand.agent_node.console.terminal import exit_status_of
from toolhand.agent_node.runs.folder import Unwritten
from toolhand.cli import main as cli
from toolhand.cli import run_in_process
from toolhand.tool_nodes.results import ErrorCode, ToolError

ROOT = Path(__file__).parents[2]
PICK = "pick up the far coconut water"
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
"""Compiled modules would be cut short too, and stay so."""
LIMITED = """
import resource, sys
from toolhand.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
main(sys.argv[2:])
"""


@pytest.mark.parametrize(("limit", "kept"), [(8000, {"result.json", "safety.jsonl"}), (500, set())])
def test_files_that_cannot_be_written_do_not_change_what_was_done(tmp_path: Path, limit: int, kept: set[str]) -> None:
    scene = tmp_path / "alone.yaml"
    scene.write_text("objects:\n  - {name: red box, position: [0.45, 0.1]}\n")
    words = ["run", "pick up the red box", "--scene", scene.name, "--json", "--no-animation"]
    command = [sys.executable, "-c", LIMITED, str(limit), *words]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "Logging error" not in done.stderr
    document = json.loads(done.stdout)
    assert document["success"] is True
    assert document["error_code"] is None
    assert "run.mcap: File too large" in document["warning"]
    assert ("result.json" in document["warning"]) == (limit < 1000)
    assert "done; simulator's judgement" in done.stderr
    assert "warning: Cannot write" in done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    written = {path.name for path in folder.iterdir() if path.is_file() and path.stat().st_size}
    assert kept <= written
    assert not {"run.mcap", "report.html", "trajectory.jsonl"} & written
    if "result.json" in kept:
        assert json.loads((folder / "result.json").read_text())["success"] is True


def test_only_what_cannot_be_written_is_passed_over() -> None:
    missing = Unwritten()
    with missing.noted():
        raise OSError(28, "No space left on device", "/runs/1/images")
    with missing.noted():
        raise ToolError(ErrorCode.UNAVAILABLE, "Cannot write run.mcap.", "Free some space.")
    assert missing.beside({"success": True}) == {
        "success": True,
        "warning": "Cannot write /runs/1/images: No space left on device. Cannot write run.mcap. Free some space.",
    }
    with pytest.raises(ToolError, match="no JSON form"), missing.noted():
        raise ToolError(ErrorCode.INTERNAL, "no JSON form")
    assert Unwritten().beside({"success": True}) == {"success": True}


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ({"success": True, "error_code": None, "turns": 5, "tool_calls": 4}, 0),
        ({"success": False, "error_code": "NOT_UNDERSTOOD", "turns": 1, "tool_calls": 0}, 2),
        ({"success": False, "error_code": "INVALID_ARGUMENT", "turns": 1, "tool_calls": 0}, 2),
        ({"success": False, "error_code": "NOT_UNDERSTOOD", "turns": 0, "tool_calls": 0}, 2),
        ({"success": False, "error_code": "UNKNOWN_TOOL", "turns": 2, "tool_calls": 1}, 1),
        ({"success": False, "error_code": "INVALID_ARGUMENT", "turns": 2, "tool_calls": 0}, 1),
        ({"success": False, "error_code": "OBJECT_NOT_FOUND", "turns": 1, "tool_calls": 0}, 1),
        ({"success": False, "error_code": None, "turns": 1, "tool_calls": 0}, 1),
        ({"success": "yes", "error_code": ["x"]}, 1),
    ],
)
def test_the_exit_status_is_2_only_where_the_sentence_itself_was_refused(result: dict[str, Any], status: int) -> None:
    assert exit_status_of(result) == status


@pytest.mark.parametrize(
    "call",
    [
        '{"name": "capture_picture", "arguments": {}}',
        '{"name": "functions.robot.capture_image", "arguments": {}}',
        '{"name": "robot.capture_image<|channel|>json", "arguments": {}}',
        '{"name": "roborefer.detect_one", "arguments": {"obj_name": "can", "image_index": "zero"}}',
        '{"name": "roborefer.detect_one", "arguments": "null"}',
        '{"name": "roborefer.detect_one", "arguments": {"obj_name": "ca',
    ],
)
def test_a_mistake_of_the_model_is_no_bad_input_of_the_operator(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        run_in_process,
        "make_policy",
        lambda *_: Says(f"<tool_call>{call}</tool_call>", "<answer>I could not do it.</answer>"),
    )
    assert cli._run_command(["run", PICK, "--policy", "openai:m", "--json", "--no-animation"], True) == 1
    assert json.loads(capsys.readouterr().out)["success"] is False
