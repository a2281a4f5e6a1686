"""A recorded run over its time, also of files that are damaged; and two runs side by side."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.console.recordings import TASK, called, gigantic_png, picked, record
from toolhand.agent_node.events import CommandEnded, Event, Thought
from toolhand.agent_node.runs.mcap import RUN_FILE
from toolhand.agent_node.runs.mcap import ros_messages as ros
from toolhand.agent_node.runs.mcap.bag import Entry, write_bag
from toolhand.agent_node.runs.mcap.reading import read_run
from toolhand.console.history.compare import compare
from toolhand.console.history.replay import RunReplay
from toolhand.tool_nodes.results import ErrorCode, ToolError


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three turns."""
    return record(tmp_path_factory.mktemp("runs") / "20261120-100000-0")


def test_the_steps_are_those_of_the_recording(run: Path) -> None:
    replay = RunReplay(run)
    steps = replay.steps()
    assert [step.kind for step in steps] == [
        "command",
        *("thought", "call", "result") * 2,
        "thought",
        "answer",
        "outcome",
    ]
    assert (replay.command, replay.problem) == (TASK, "")
    assert [step.text for step in steps[1:3]] == ["I look first.", '{"camera": "scene"}']
    assert [step.time_s for step in steps[1:-1]] == [step.time_s for step in read_run(run / RUN_FILE).steps]
    assert replay.steps(first=2, count=2) == steps[2:4]
    assert steps[3].image == 0


def test_a_moment_has_what_was_newest_then(run: Path) -> None:
    replay = RunReplay(run)
    before, later = replay.moment(0.7), replay.moment(1.75)
    assert (before.step, before.image) == (1, None)
    assert (later.step, later.image) == (3, 0)
    assert later.joints["joint_7"] == pytest.approx(1.7)
    assert replay.moment(-5.0).time_s == replay.begin_s
    assert replay.moment(float("nan")).time_s == replay.begin_s
    assert replay.moment(1e9).time_s == replay.end_s


def test_an_image_is_given_as_a_browser_shows_it(run: Path) -> None:
    kind, data = RunReplay(run).image(0)
    assert kind == "image/jpeg"
    with Image.open(io.BytesIO(data)) as image:
        assert image.size == (32, 24)
    with pytest.raises(ToolError, match="no picture 7"):
        RunReplay(run).image(7)


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose images take several hundred kilobytes."""
    noise = np.random.default_rng(0).integers(0, 255, (12, 240, 320, 3), np.uint8)
    looks = [event for image in noise for event in called("look", {}, "A picture.", image=image)]
    return record(tmp_path_factory.mktemp("runs") / "20261121-100000-0", looks)


@pytest.mark.parametrize("share", [0.4, 0.6, 0.9, 0.99])
def test_of_a_recording_that_was_cut_the_begin_is_shown(long_run: Path, tmp_path: Path, share: float) -> None:
    whole = (long_run / RUN_FILE).read_bytes()
    (tmp_path / RUN_FILE).write_bytes(whole[: int(len(whole) * share)])
    replay, complete = RunReplay(tmp_path), RunReplay(long_run)
    assert replay.problem.startswith("The recording run.mcap is damaged or cut short:")
    assert 0 < len(replay) <= len(complete)
    assert replay.steps() == complete.steps()[: len(replay)]


def test_a_recording_with_a_changed_byte_says_so_and_shows_the_rest(long_run: Path, tmp_path: Path) -> None:
    data = bytearray((long_run / RUN_FILE).read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / RUN_FILE).write_bytes(data)
    replay = RunReplay(tmp_path)
    assert "damaged" in replay.problem
    assert replay.steps()[0] == RunReplay(long_run).steps()[0]


@pytest.mark.parametrize("share", [0.01, 0.1])
def test_a_recording_of_which_nothing_is_left_is_one_sentence(long_run: Path, tmp_path: Path, share: float) -> None:
    whole = (long_run / RUN_FILE).read_bytes()
    (tmp_path / RUN_FILE).write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(ToolError, match="damaged or cut short: 0 messages"):
        RunReplay(tmp_path)


@pytest.mark.parametrize("content", [b"", b"no MCAP file", b"\x89MCAP0\r\n", b"\x89MCAP0\r\n" + bytes(range(256)) * 40])
def test_what_holds_nothing_of_a_run_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / RUN_FILE).write_bytes(content)
    with pytest.raises(ToolError) as refused:
        RunReplay(tmp_path)
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT


def foreign(folder: Path, topic: str, kind: str, *packets: bytes) -> RunReplay:
    write_bag(folder / RUN_FILE, [Entry(k, topic, kind, data, k) for k, data in enumerate(packets)], {})
    return RunReplay(folder)


def test_steps_that_cannot_be_read_are_said_to_be_so_one_by_one(tmp_path: Path) -> None:
    texts = ['{"task": "pick"}', "{", '{"name": 5}', '{"name": "look", "arguments": {}}']
    topics = ["command", "call", "call", "call"]
    entries = [
        Entry(k, f"/toolhand/{topic}", ros.STRING, ros.packet(ros.STRING, data=text), k)
        for k, (topic, text) in enumerate(zip(topics, texts, strict=True))
    ]
    write_bag(tmp_path / RUN_FILE, entries, {})
    assert [step.kind for step in RunReplay(tmp_path).steps()] == ["command", "unreadable", "unreadable", "call"]


def test_joints_that_are_no_numbers_come_as_they_are(tmp_path: Path) -> None:
    packet = ros.packet(ros.JOINT_STATE, header=ros.header(0), name=["joint_1"], position=np.array([np.nan]))
    assert np.isnan(foreign(tmp_path, "/joint_states", ros.JOINT_STATE, packet).moment(0.0).joints["joint_1"])
    damaged = foreign(tmp_path, "/joint_states", ros.JOINT_STATE, b"\x00\x01\x00\x00\xff\xff")
    assert damaged.moment(0.0).joints == {}


def test_a_gigantic_image_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    data = np.frombuffer(gigantic_png(), np.uint8)
    packet = ros.packet(ros.COMPRESSED_IMAGE, header=ros.header(0), format="png", data=data)
    replay = foreign(tmp_path, "/toolhand/picture/compressed", ros.COMPRESSED_IMAGE, packet, b"\0\1\0\0")
    with pytest.raises(ToolError, match="cannot be shown: it is too large"):
        replay.image(0)
    with pytest.raises(ToolError, match="it is damaged"):
        replay.image(1)


def difference(tmp_path: Path, one: list[Event], other: list[Event], task: str = TASK) -> str:
    runs = [RunReplay(record(tmp_path / "a", one)), RunReplay(record(tmp_path / "b", other, task))]
    return compare(runs[0], runs[1]).first_difference


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (picked(), "Both runs are the same in every turn"),
        (picked("side"), "Turn 2, call 1 (grasp): the argument approach differs: “top” in A, “side” in B."),
        (picked(failed=True), "Turn 2, call 1 (grasp): A succeeds, B fails with NO_GRASP."),
        (picked()[:3], "B ends after turn 1; A calls grasp in turn 2."),
        ([*picked()[:4], *called("push", {}, "ok"), CommandEnded("")], "Turn 2, call 1: A calls grasp, B calls push."),
        ([Thought("Hm."), *picked()[1:]], "Calls and results are the same; the thoughts of turn 1 differ: “I look"),
        ([*picked()[:-1], CommandEnded("Well.")], "Turn 3: the words differ: “Grasped.” in A, “Well.” in B."),
        (
            [*picked()[:3], *called("grasp", {}, "ok"), *picked()[3:]],
            "Turn 1, call 2: only B makes it, grasp.",
        ),
        (
            [*picked()[:1], *called("look", {}, "A picture of 1 red box."), *picked()[3:]],
            "Turn 1, call 1 (look): only A gives the argument camera.",
        ),
        (
            [*picked()[:1], *called("look", {"camera": "scene"}, "A picture of 2."), *picked()[3:]],
            "Turn 1, call 1 (look): the results differ: “A picture of 1 red box.” in A, “A picture of 2.” in B.",
        ),
    ],
    ids=["same", "argument", "failed", "ends", "tool", "thought", "answer", "more calls", "no argument", "result"],
)
def test_the_first_difference_is_named(tmp_path: Path, other: list[Event], said: str) -> None:
    assert difference(tmp_path, picked(), other).startswith(said)


def test_other_sentences_are_the_first_difference(tmp_path: Path) -> None:
    said = difference(tmp_path, picked(), picked(), "pick up the blue box")
    assert said == "The sentences differ: “pick up the red box” in A, “pick up the blue box” in B."


def test_turns_that_call_the_same_tools_stand_side_by_side(tmp_path: Path) -> None:
    more = [Thought("Again."), *called("turn", {}, "ok"), *picked()]
    one, other = RunReplay(record(tmp_path / "a")), RunReplay(record(tmp_path / "b", more))
    found = compare(one, other)
    assert [(row.left and row.left.key, row.right and row.right.key) for row in found.rows] == [
        (None, ("turn",)),
        (("look",), ("look",)),
        (("grasp",), ("grasp",)),
        ((), ()),
    ]
    assert found.rows[0].difference == "Only in B."
    assert [row.difference for row in found.rows[1:]] == ["", "", ""]


def test_a_policy_without_thoughts_has_a_turn_a_call(tmp_path: Path) -> None:
    silent = [event for event in picked() if not isinstance(event, Thought)]
    one, other = RunReplay(record(tmp_path / "a", silent)), RunReplay(record(tmp_path / "b", silent[:2]))
    assert compare(one, other).first_difference == "B ends after turn 1; A calls grasp in turn 2."
