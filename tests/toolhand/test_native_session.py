"""A model's session by the native protocol, over a chat server: pick, undo, ask and answer in one conversation."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent_node.policies.conftest import FaultServer
from toolhand.cli import talk as talking
from toolhand.cli.main import main
from toolhand.cli.run_command import TalkCommand


@pytest.fixture
def server() -> Iterator[FaultServer]:
    fault_server = FaultServer()
    yield fault_server
    fault_server.close()


def test_a_talk_by_the_native_protocol_picks_takes_back_asks_and_answers(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def calls(tool: str, **arguments: Any) -> Any:
        function = {"name": tool, "arguments": json.dumps(arguments)}
        call = {"id": tool, "type": "function", "function": function}
        return server.completion(None, "tool_calls", message={"tool_calls": [call]})

    server.will(
        calls("robot__pick", mark=1, name="can"),
        server.completion("I hold it."),
        calls("robot__undo"),
        server.completion("It stands where it was."),
        calls("operator__ask", question="Which one?", candidates=[[0.2, 0.5], [0.4, 0.2]]),
        calls("robot__recall"),
        server.completion("I had picked up the can, and put it back."),
    )
    said = ["Nimm das ganz links.", "undo", "now the other one", "never mind: what did you do?"]
    left: Iterator[str] = iter([*said, "exit"])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(left))
    command: Any = {"scene": "7", "policy": f"openai:m@{server.url}/v1", "runs_dir": tmp_path, "animation": False}
    assert talking.talk(TalkCommand(**command)) == 0
    assert "Which one?" in capsys.readouterr().out
    folders = sorted(path.parent for path in tmp_path.glob("*/result.json"))
    results = [json.loads(path.read_text("utf-8")) for path in sorted(tmp_path.glob("*/result.json"))]
    assert [(each["task"], each["outcome"], each["error_code"]) for each in results] == [
        (said[0], "done", None),
        (said[1], "done", None),
        (said[2], "asked", "AMBIGUOUS"),
        (said[3], "answered", None),
    ]
    assert {(each["suite"], each["protocol"]) for each in results} == {("native", "native")}
    offered = {tool["function"]["name"] for tool in server.requests[0]["tools"]}
    assert {"robot__pick", "robot__place", "robot__undo", "operator__ask", "robot__recall"} <= offered
    for before, after in zip(server.requests, server.requests[1:], strict=False):
        assert after["messages"][: len(before["messages"])] == before["messages"]
    first = json.dumps(server.requests[0]["messages"][1])
    assert "Marks, each with its point" in first
    assert said[0] in json.loads(first)["content"][-1]["text"]
    assert [len(each.get("earlier", ())) for each in results] == [0, 1, 2, 3]
    with pytest.raises(SystemExit) as ended:  # a later utterance, after those before it
        main(["replay", str(folders[1]), "--again", "--json"])
    again = json.loads(capsys.readouterr().out)
    assert (ended.value.code or 0, again["same"], again["outcome"]) == (0, True, "done"), again["differences"]
