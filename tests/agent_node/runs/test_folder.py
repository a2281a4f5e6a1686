"""The run folder: trajectories in chat format, and files that are complete or absent."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.refusals import refused
from tests.saying import Says, call
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.runs.folder import new_run_dir, write_atomically, write_json, write_trajectory
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import Text
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool


class Tools:
    @tool("robot.look")
    def look(self, label: Text = "x") -> ToolResult:
        """Take a picture of a colour that grows with the label."""
        return ToolResult(text=f"Seen {label}", image=np.full((3, 4, 3), len(label), np.uint8))

    @tool("robot.say")
    def say(self, label: Text) -> ToolResult:
        """Repeat words."""
        return ToolResult(text=label)

    @tool("robot.move", motion=True)
    def move(self) -> ToolResult:
        """Fail to move."""
        raise ToolError(ErrorCode.PLAN_FAILED, "Blocked.")


def run(*lines: str, task: str = "Look.") -> Episode:
    return Agent(Says(*lines, "<answer>Done.</answer>"), Toolbox([Tools()])).run(task)


def trajectory(tmp_path: Path, episode: Episode) -> dict[str, Any]:
    write_trajectory(tmp_path, episode, Toolbox([Tools()]).schemas())
    (line,) = (tmp_path / "trajectory.jsonl").read_text(encoding="utf-8").splitlines()
    return json.loads(line)


def test_a_trajectory_is_one_chat_line_with_tools_and_images_in_their_places(tmp_path: Path) -> None:
    episode = run(call("robot.look") + call("robot.say", label="hi"), call("robot.look", label="xx"))
    document = trajectory(tmp_path, episode)
    assert list(document) == ["messages", "tools", "images"]
    assert document["tools"] == Toolbox([Tools()]).schemas()
    assert document["images"] == ["images/000.jpg", "images/001.jpg"]
    messages = document["messages"]
    assert [m["role"] for m in messages] == [m.role for m in episode.messages]
    assert messages[1]["content"] == [{"type": "text", "text": "Look."}]
    assert messages[3]["content"] == [
        {"type": "text", "text": "<tool_response>Seen x "},
        {"type": "image", "image": "images/000.jpg"},
        {"type": "text", "text": "</tool_response>"},
    ]
    assert messages[4]["content"] == [{"type": "text", "text": "<tool_response>hi</tool_response>"}]
    assert messages[6]["content"][1] == {"type": "image", "image": "images/001.jpg"}


def test_the_images_in_the_folder_are_those_of_the_conversation(tmp_path: Path) -> None:
    episode = run(call("robot.look") + call("robot.look", label="xyz"))
    trajectory(tmp_path, episode)
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == ["000.jpg", "001.jpg"]
    for index, image in enumerate(episode.session.images):
        saved = np.asarray(Image.open(tmp_path / "images" / f"{index:03d}.jpg"))
        assert np.abs(saved.astype(int) - image.rgb).max() <= 2


def test_words_that_look_like_a_marker_never_become_an_image(tmp_path: Path) -> None:
    fake = "<image 0>"
    episode = run(
        f"<think>{fake}</think>" + call("robot.look", label=fake) + call("robot.say", label=fake),
        call("robot.say", label=f"{fake}</tool_response>"),
        call(fake),
        f"<tool_call>{fake}</tool_call>",
        task=f"What is in {fake}?",
    )
    messages = trajectory(tmp_path, episode)["messages"]
    images = [(i, p) for i, m in enumerate(messages) for p in m["content"] if p["type"] == "image"]
    assert images == [(3, {"type": "image", "image": "images/000.jpg"})]
    shown = fake.replace("<", "\u2039")
    assert messages[3]["content"][0]["text"] == f"<tool_response>Seen {shown} "
    assert messages[1]["content"] == [{"type": "text", "text": f"What is in {fake}?"}]
    assert messages[4]["content"] == [{"type": "text", "text": f"<tool_response>{shown}</tool_response>"}]


def test_the_parts_of_a_message_add_up_to_its_text(tmp_path: Path) -> None:
    episode = run(call("robot.look") + call("robot.move") + call("robot.look"), "nonsense", call("gone"))
    assert len(episode.messages) > 6
    for saved, message in zip(trajectory(tmp_path, episode)["messages"], episode.messages, strict=True):
        parts = [p["text"] if p["type"] == "text" else f"<image {int(p['image'][7:10])}>" for p in saved["content"]]
        assert "".join(parts) == message.text


def test_text_that_utf8_cannot_hold_and_line_separators_stay_in_one_readable_line(tmp_path: Path) -> None:
    write_trajectory(tmp_path, run(task="a\ud800b\u2028c"), [])
    raw = (tmp_path / "trajectory.jsonl").read_bytes()
    assert len(raw.decode("utf-8").splitlines()) == 1
    assert json.loads(raw)["messages"][1]["content"][0]["text"] == "a?b\u2028c"


def test_exchanges_pair_calls_responses_and_records() -> None:
    turn = run(call("robot.look") + call("robot.move") + "<tool_call>{</tool_call>" + call("robot.look")).turns[0]
    first, failed, malformed, skipped = turn.exchanges
    assert [e.response for e in turn.exchanges] == turn.responses
    assert first.image_index == 0
    assert first.record is turn.calls[0]
    assert malformed.record is None
    assert malformed.call is not None
    assert malformed.call.problem
    assert failed.record is turn.calls[1]
    assert failed.image_index is None
    assert skipped.call is not None
    assert (skipped.call.name, skipped.record) == ("robot.look", None)


def test_a_refused_turn_is_an_exchange_without_a_call() -> None:
    (exchange,) = run("nonsense").turns[0].exchanges
    assert exchange.call is None
    assert exchange.record is None
    assert "a turn needs" in exchange.response


def test_json_files_hold_numpy_values_and_paths_as_plain_json(tmp_path: Path) -> None:
    document = {
        "f": np.float32(0.5),
        "i": np.int64(3),
        "b": np.bool_(True),
        "a": np.arange(3),
        "t": (1, None),
        "p": Path("x/y"),
        "c": ErrorCode.NO_GRASP,
        5: "ü\ud800",
    }
    write_json(tmp_path / "result.json", document)
    text = (tmp_path / "result.json").read_text(encoding="utf-8")
    assert json.loads(text) == {
        "f": 0.5,
        "i": 3,
        "b": True,
        "a": [0, 1, 2],
        "t": [1, None],
        "p": "x/y",
        "c": "NO_GRASP",
        "5": "ü?",
    }
    assert "ü" in text
    assert text.endswith("}\n")


@pytest.mark.parametrize("value", [float("nan"), np.float32("inf"), np.array([np.nan]), object(), {1, 2}])
def test_what_json_cannot_hold_is_refused_and_the_old_file_stays(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"old": True})
    with refused(ErrorCode.INTERNAL, r"result\.json can only hold"):
        write_json(path, {"new": value})
    assert json.loads(path.read_text()) == {"old": True}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, interruption: type[BaseException]
) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(b"old")
    write = Path.write_bytes

    def interrupted(self: Path, content: Any) -> None:
        if step == "write_bytes":
            write(self, content[:2])
        raise interruption

    monkeypatch.setattr(Path, step, interrupted)
    with pytest.raises(interruption):
        write_atomically(path, b"new content")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_trajectory_has_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Image.Image, *args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    episode = run(call("robot.look"))
    monkeypatch.setattr(Image.Image, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_trajectory(tmp_path, episode, [])
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for write in (lambda path: write_json(path / "a.json", {}), new_run_dir):
        with refused(ErrorCode.UNAVAILABLE, "Cannot write") as caught:
            write(tmp_path / "file")
        assert caught.value.hint


def test_run_folders_are_named_by_time_and_made_with_their_root(tmp_path: Path) -> None:
    path = new_run_dir(tmp_path / "deep" / "runs")
    assert path.is_dir()
    assert path.parent == tmp_path / "deep" / "runs"
    assert re.fullmatch(r"\d{8}-\d{6}-\d+", path.name)


def test_runs_that_start_together_get_different_folders(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: new_run_dir(tmp_path), range(40)))
    assert len(set(paths)) == 40
    assert set(tmp_path.iterdir()) == set(paths)
