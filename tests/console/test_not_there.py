"""A look that finds nothing is a result: shown without an error wherever a run is shown, and a failed call as one."""

from pathlib import Path

import pytest

from tests.console.fake_robot import FakeRobot
from tests.console.recordings import record
from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.console.narration import Narrator
from toolhand.agent_node.events import ToolAnswered, ToolCalled
from toolhand.console.console_state import ConsoleState
from toolhand.console.history.compare import compare
from toolhand.console.history.replay import RunReplay
from toolhand.tool_nodes.results import NOT_THERE, ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.toolbox import CallRecord

SEEN = "no 'thing on top of the red box' here; I see: red box"


@pytest.mark.parametrize("code", [*sorted(NOT_THERE), ErrorCode.NO_GRASP])
def test_what_a_look_does_not_find_is_shown_as_its_answer(
    code: ErrorCode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = ToolResult(text=f"Error {code}: {SEEN}", error=ToolError(code, SEEN))
    answered = ToolAnswered(CallRecord("roborefer.detect_all", {}, result, None, 0.0, 0.1))
    events = [ToolCalled(ToolCall("roborefer.detect_all", {})), answered]
    console_state = ConsoleState(FakeRobot())
    console_state._hear(answered)
    Narrator().hear(answered)
    replay = RunReplay(record(tmp_path / "run", events))
    step = next(step for step in replay.steps(0, 10) if step.kind == "result")
    (turn,) = [row.left for row in compare(replay, replay).rows if row.left is not None and row.left.calls]
    shown = [
        console_state.entries()[-1].text,
        capsys.readouterr().out,
        step.text,
        f"{turn.calls[0].code} {turn.calls[0].result}",
    ]
    fails = code not in NOT_THERE
    assert step.failed is fails
    for text in shown:
        assert SEEN in text
        assert ("Not there: " in text) is not fails
        assert any(word in text for word in ("Error", str(code))) is fails, text
