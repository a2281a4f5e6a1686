"""`toolhand bench stop`: its document, and one manner of joint states."""

import json

import pytest

from toolhand.bench.commands.stop import Options
from toolhand.tool_nodes.results import ErrorCode, ToolError


def test_a_stop_beside_joint_states_is_confirmed_and_reset_at_rest_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert Options(only="honest", as_json=True)() == 0
    document = json.loads(capsys.readouterr().out)
    counts = [document[key] for key in ("moving", "confirmed_while_moving", "at_rest", "refused_at_rest")]
    assert counts == [1, 0, 1, 0]
    assert "joint_2 moves: it was measured to travel" in document["heard"][0]["told"]
    with pytest.raises(ToolError, match="No manner") as error:
        Options(only="unheard of")()
    assert error.value.code is ErrorCode.INVALID_ARGUMENT
