"""A run as MCAP: what other people's readers find in it, and that it is there complete or not at all."""

import gc
import io
import json
import subprocess
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.records import Chunk
from mcap.stream_reader import StreamReader
from mcap.writer import Writer
from PIL import Image
from rosbags.highlevel import AnyReader

from tests.gen3 import ARM_JOINTS, GRIPPER_JOINT, NAMED_STATES
from tests.refusals import refused
from tests.saying import Says
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.events import (
    CallRefused,
    CommandEnded,
    Event,
    NoteAdded,
    OperatorAnswer,
    OperatorQuestion,
    Thought,
    ToolAnswered,
    ToolCalled,
)
from toolhand.agent_node.runs.mcap import recorder as recorder_module
from toolhand.agent_node.runs.mcap.reading import read_run
from toolhand.agent_node.runs.mcap.recorder import MotionLog, Recorder
from toolhand.tool_nodes.camera_names import OPTICAL_FRAMES
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import ImageIndex, Text
from toolhand.tool_nodes.toolbox.images import SessionImage, view_of
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Toolbox, tool
from toolhand.tool_nodes.types import Frame

JOINTS = (*ARM_JOINTS, GRIPPER_JOINT)
RESULT = {"task": "look", "answer": "Seen.", "success": True, "error_code": None, "turns": 3, "wall_s": 1.0}


class Clock:
    now = 0.5

    def __call__(self) -> float:
        return self.now


class Tools:
    """A camera, a pencil, and an arm whose motion takes simulated time."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        v, u = np.mgrid[0:48, 0:64]
        rgb = np.stack([4 * u, 5 * v, 2 * (u + v)], axis=-1).astype(np.uint8)
        T = np.eye(4)
        T[:3, 3] = 1.0, 0.0, 0.8
        self.frame = Frame(rgb, np.ones((48, 64), np.float32), np.eye(3), T, 0.5)

    @tool("robot.look", repeatable=True)
    def look(self) -> ToolResult:
        """Take a picture."""
        frame = self.frame
        return ToolResult(text="Seen.", image=frame.rgb, variables={"captured_image": SessionImage(frame.rgb, frame)})

    @tool("pencil.draw")
    def draw(self, label: Text) -> ToolResult:
        """Draw over the picture."""
        return ToolResult(text=f"Drawn {label}", image=255 - self.frame.rgb)

    @tool("robot.move", motion=True)
    def move(self) -> ToolResult:
        """Move, then fail."""
        self.clock.now += 2.0
        raise ToolError(ErrorCode.PLAN_FAILED, "Blocked.", "Try elsewhere.")


def call(name: str, **arguments: Any) -> str:
    return f"<think>now {name}</think><tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


SCRIPT = (call("robot.look"), call("pencil.draw", label="a ring"), call("robot.move"), "<answer>Seen.</answer>")


def recorded(raw: bool = False, script: Sequence[str] = SCRIPT, task: str = "look") -> tuple[Recorder, list[Any]]:
    """A recorder that has heard a run, and what the listener behind it has heard."""
    clock = Clock()
    heard: list[Any] = []
    recorder = Recorder(task, clock, heard.append, raw=raw)
    Agent(Says(*script), Toolbox([Tools(clock)]), listener=recorder.hear).run(task)
    return recorder, heard


def motion(n: int = 20) -> MotionLog:
    q = np.asarray(NAMED_STATES["Park"]) + np.linspace(0.0, 0.5, n)[:, None]
    positions = np.column_stack([q, np.linspace(0.0, 0.4, n)])
    return MotionLog(np.linspace(0.6, 2.4, n), JOINTS, positions, 0.25 * positions)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording that no test changes."""
    folder = tmp_path_factory.mktemp("run")
    recorded()[0].write(folder, motion(), RESULT)
    return folder


@pytest.fixture(scope="module")
def messages(run: Path) -> list[tuple[str, int, Any]]:
    """Its messages, by rosbags."""
    return by_rosbags(run)


def by_mcap(path: Path) -> list[tuple[str, int, bytes]]:
    """(topic, time [ns], packet) in the order of the file, by mcap's own reader."""
    with path.open("rb") as stream:
        messages = make_reader(stream, validate_crcs=True).iter_messages(log_time_order=False)
        return [(channel.topic, message.log_time, message.data) for _, channel, message in messages]


def by_rosbags(folder: Path) -> list[tuple[str, int, Any]]:
    """(topic, time [ns], message) by rosbags, which knows only the folder."""
    with AnyReader([folder]) as bag:
        return [(c.topic, time, bag.deserialize(raw, c.msgtype)) for c, time, raw in bag.messages()]


EXPECTED = {
    "/robot_description": 1,
    "/tf_static": 1,
    "/tf": 21,
    "/joint_states": 20,
    "/camera/scene/image/compressed": 1,
    "/camera/scene/camera_info": 1,
    "/toolhand/seen": 1,
    "/toolhand/picture/compressed": 1,
    "/toolhand/command": 1,
    "/toolhand/thought": 3,
    "/toolhand/call": 3,
    "/toolhand/result": 3,
    "/toolhand/answer": 1,
    "/toolhand/outcome": 1,
    "/rosout": 11,
}


# -- what others read --------------------------------------------------------------------------------


def test_mcaps_reader_finds_every_message_in_the_order_of_time(run: Path) -> None:
    messages = by_mcap(run / "run.mcap")
    assert Counter(topic for topic, _, _ in messages) == EXPECTED
    times = [time for _, time, _ in messages]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (500_000_000, 2_500_000_000)


def test_rosbags_reads_the_folder_as_a_rosbag2(run: Path) -> None:
    with AnyReader([run]) as bag:
        assert {topic: about.msgcount for topic, about in bag.topics.items()} == EXPECTED
        assert bag.message_count == sum(EXPECTED.values())
        assert (bag.start_time, bag.duration) == (500_000_000, 2_000_000_001)
        assert bag.topics["/joint_states"].msgtype == "sensor_msgs/msg/JointState"


def test_qos_and_hashes_are_those_that_rosbags_writes_and_ros_has(run: Path) -> None:
    with AnyReader([run]) as bag:
        ext = {connection.topic: connection for connection in bag.connections}
    assert ext["/tf_static"].digest.startswith("RIHS01_e369d0f05a23ae52")
    # type: ignore[union-attr]
    offered = {topic: connection.ext.offered_qos_profiles[0] for topic, connection in ext.items()}
    assert offered["/tf_static"].durability.name == "TRANSIENT_LOCAL"
    assert offered["/tf"].durability.name == "VOLATILE"
    assert {profile.reliability.name for profile in offered.values()} == {"RELIABLE"}


def test_joint_states_come_back_as_they_were(messages: list[tuple[str, int, Any]]) -> None:
    states = [(time, message) for topic, time, message in messages if topic == "/joint_states"]
    log = motion()
    assert [time for time, _ in states] == [round(t * 1e9) for t in log.times]
    assert all(message.name == [*JOINTS] for _, message in states)
    assert np.array_equal([message.position for _, message in states], log.positions)
    assert np.array_equal([message.velocity for _, message in states], 0.25 * log.positions)
    stamp = states[3][1].header.stamp
    assert stamp.sec * 10**9 + stamp.nanosec == states[3][0]


def test_transforms_lead_from_the_base_to_where_forward_kinematics_has_the_gripper(
    messages: list[tuple[str, int, Any]],
) -> None:
    fixed = next(message for topic, _, message in messages if topic == "/tf_static").transforms
    last = [message for topic, _, message in messages if topic == "/tf"][-1].transforms
    parents = {one.child_frame_id: one for one in (*fixed, *last)}
    assert len(parents) == len(fixed) + len(last)  # one parent each: a tree
    T, frame = np.eye(4), "end_effector_link"
    while frame != "base_link":
        one = parents[frame]
        q, p = one.transform.rotation, one.transform.translation
        step = np.eye(4)
        step[:3, :3] = rotation(q.w, q.x, q.y, q.z)
        step[:3, 3] = p.x, p.y, p.z
        T, frame = step @ T, one.header.frame_id
    assert np.allclose(T, Kinematics().fk(motion().positions[-1, :7]), atol=1e-9)
    assert {"camera_color_frame", "robotiq_85_right_finger_tip_link"} <= parents.keys()


def rotation(w: float, x: float, y: float, z: float) -> np.ndarray:
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_the_camera_stands_in_the_tree_where_its_calibration_says(messages: list[tuple[str, int, Any]]) -> None:
    moved = [one for topic, _, message in messages if topic == "/tf" for one in message.transforms]
    camera = [one for one in moved if one.child_frame_id == "zed_left_camera_frame_optical"]
    assert len(camera) == 1
    at = camera[0].transform.translation
    assert (at.x, at.y, at.z) == (1.0, 0.0, 0.8)
    assert camera[0].header.frame_id == "base_link"


def test_images_decode_to_within_the_error_of_jpeg(messages: list[tuple[str, int, Any]]) -> None:
    frame = Tools(Clock()).frame
    images = {topic: message for topic, _, message in messages if topic.endswith("/compressed")}
    for topic, rgb in (("/camera/scene/image", frame.rgb), ("/toolhand/picture", 255 - frame.rgb)):
        message = images[f"{topic}/compressed"]
        decoded = np.asarray(Image.open(io.BytesIO(message.data.tobytes())))
        assert message.format == "jpeg"
        assert np.abs(decoded.astype(int) - rgb).mean() < 3.0
    assert images["/camera/scene/image/compressed"].header.frame_id == "zed_left_camera_frame_optical"


class Views(Tools):
    """Images that are seen some time before they are told of, drawings over them, and parts of them."""

    @tool("view.over")
    def over(self, image_index: ImageIndex) -> ToolResult:
        """Draw over a picture."""
        return ToolResult(image=255 - image_index.rgb)

    @tool("view.part")
    def part(self, image_index: ImageIndex) -> ToolResult:
        """Cut a part out."""
        part = image_index.cropped(10, 20, 40, 44)
        return ToolResult(image=part.rgb, source=part)

    @tool("view.depth")
    def depth(self) -> ToolResult:
        """Colours of depth, which are no picture to look for things in."""
        return ToolResult(image=self.frame.rgb[::-1].copy(), view=view_of(self.frame))

    @tool("view.move", motion=True)
    def move(self) -> ToolResult:
        """Time goes on, and the camera is somewhere else."""
        self.clock.now += 1.0
        T = self.frame.T_base_camera.copy()
        T[0, 3] += 0.1
        self.frame = replace(self.frame, T_base_camera=T, stamp=self.clock.now - 0.05)
        return ToolResult(text="Moved.")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int, Any]]:
    """What a run with two camera images, a drawing, a crop, depth and a foreign image leaves."""
    clock = Clock()
    recorder = Recorder("look", clock)
    script = (
        call("robot.look"),
        call("view.over", image_index=0),
        call("view.part", image_index=1),
        call("view.depth"),
        call("pencil.draw", label="nothing seen"),
        call("view.move"),
        call("robot.look"),
        "<answer>Seen.</answer>",
    )
    views = Views(clock)
    views.frame = replace(views.frame, K=np.array([[60.0, 0, 31.5], [0, 60.0, 23.5], [0, 0, 1]]), stamp=0.25)
    Agent(Says(*script), Toolbox([views]), listener=recorder.hear).run("look")
    folder = tmp_path_factory.mktemp("seen")
    recorder.write(folder)
    return by_rosbags(folder)


def stamp_of(message: Any) -> int:
    return int(message.header.stamp.sec) * 10**9 + int(message.header.stamp.nanosec)


def test_every_image_that_a_camera_saw_has_its_frame_in_the_tree_at_its_stamp(
    seen: list[tuple[str, int, Any]],
) -> None:
    images = [message for topic, _, message in seen if topic.endswith("/compressed")]
    placed = {
        (one.child_frame_id, stamp_of(one), one.header.frame_id, one.transform.translation.x)
        for topic, _, message in seen
        if topic == "/tf"
        for one in message.transforms
    }
    frame = OPTICAL_FRAMES["scene"]
    assert [p.header.frame_id for p in images] == [frame, frame, frame, frame, "", frame]
    assert [stamp_of(p) for p in images] == [250_000_000] * 4 + [500_000_000, 1_450_000_000]
    assert placed == {(frame, 250_000_000, "base_link", 1.0), (frame, 1_450_000_000, "base_link", 1.1)}


def test_every_image_that_a_camera_saw_has_its_calibration(seen: list[tuple[str, int, Any]]) -> None:
    for base, sizes, centres in (
        ("/camera/scene", [(64, 48)] * 2, [(31.5, 23.5)] * 2),
        ("/toolhand/picture", [(64, 48), (30, 24), (64, 48)], [(31.5, 23.5), (21.5, 3.5), (31.5, 23.5)]),
    ):
        infos = [message for topic, _, message in seen if topic == f"{base}/camera_info"]
        images = [message for topic, _, message in seen if topic.startswith(base) and topic.endswith("/compressed")]
        shown = [image for image in images if image.header.frame_id]
        assert [(info.width, info.height) for info in infos] == sizes
        assert [(info.k[2], info.k[5]) for info in infos] == centres
        assert [(stamp_of(info), info.header.frame_id) for info in infos] == [
            (stamp_of(image), image.header.frame_id) for image in shown
        ]
        assert all(np.array_equal(info.p.reshape(3, 4)[:, :3], info.k.reshape(3, 3)) for info in infos)
        assert {info.distortion_model for info in infos} == {"plumb_bob"}


def test_raw_images_are_the_same_bytes(tmp_path: Path) -> None:
    recorded(raw=True)[0].write(tmp_path)
    images = {topic: message for topic, _, message in by_rosbags(tmp_path) if "image" in topic or "picture" in topic}
    message = images["/camera/scene/image"]
    assert (message.height, message.width, message.encoding, message.step) == (48, 64, "rgb8", 192)
    assert message.data.tobytes() == Tools(Clock()).frame.rgb.tobytes()
    read = read_run(tmp_path / "run.mcap")
    assert np.array_equal(read.image(0), Tools(Clock()).frame.rgb)
    assert sorted(read.images) == [0, 1]


def test_calls_and_results_are_json_that_says_what_happened(messages: list[tuple[str, int, Any]]) -> None:
    told = [(topic, json.loads(m.data)) for topic, _, m in messages if topic in (ToolCalled.topic, ToolAnswered.topic)]
    assert told[2] == (ToolCalled.topic, {"name": "pencil.draw", "arguments": {"label": "a ring"}})
    failed = told[-1][1]
    assert (failed["name"], failed["error_code"], failed["error"]) == ("robot.move", "PLAN_FAILED", "Blocked.")
    assert failed["motion"] is True
    assert told[1][1]["image_topic"] == "/camera/scene/image/compressed"
    assert (told[1][1]["image_index"], told[3][1]["image_index"]) == (0, 1)


def test_the_log_panel_gets_a_line_a_step_and_errors_as_errors(messages: list[tuple[str, int, Any]]) -> None:
    lines = [(m.level, m.msg) for topic, _, m in messages if topic == "/rosout"]
    assert lines[0] == (20, "command: look")
    assert [text for level, text in lines if level == 40] == [
        "Error PLAN_FAILED: Blocked. Try elsewhere.",
        "answers: Seen.",
    ]


def test_the_layout_shows_topics_of_the_recording_and_panels_that_exist(run: Path) -> None:
    layout = json.loads((run / "foxglove_layout.json").read_text())
    panels = layout["configById"]

    def leaves(node: Any) -> list[str]:
        return [node] if isinstance(node, str) else [*leaves(node["first"]), *leaves(node["second"])]

    assert sorted(leaves(layout["layout"])) == sorted(panels)
    assert {name.split("!")[0] for name in panels} == {"3D", "Image", "Plot", "RosOut", "RawMessages"}
    assert {panels[name]["imageMode"]["imageTopic"] for name in panels if name.startswith("Image!")} <= EXPECTED.keys()
    placed = panels["3D!robot"]["topics"]["/camera/scene/image/compressed"]["cameraInfoTopic"]
    assert {placed, panels["Image!scene"]["imageMode"]["calibrationTopic"]} == {"/camera/scene/camera_info"}
    assert {panels[name]["topicPath"] for name in panels if name.startswith("RawMessages!")} <= EXPECTED.keys()
    plotted = [path["value"] for path in panels["Plot!joints"]["paths"]]
    assert plotted == [f"/joint_states.position[{index}]" for index in range(len(JOINTS))]
    assert panels["3D!robot"]["layers"]["robot"]["topic"] == "/robot_description"


# -- what we read ------------------------------------------------------------------------------------


def test_reading_gives_a_listener_what_it_heard_in_the_run(tmp_path: Path) -> None:
    recorder, heard = recorded()
    assert recorder.heard == len(heard)
    recorder.write(tmp_path, motion(), RESULT)
    read = read_run(tmp_path / "run.mcap")
    assert read.task == "look"
    assert read.result == RESULT
    assert [type(step.event) for step in read.steps] == [type(event) for event in heard]
    for step, event in zip(read.steps, heard, strict=True):
        if isinstance(event, ToolAnswered):
            assert isinstance(step.event, ToolAnswered)
            again, payload = step.event.record, event.record
            assert (again.name, dict(again.arguments), again.image_index) == (
                payload.name,
                payload.arguments,
                payload.image_index,
            )
            assert (again.result.text, again.wall_s, again.motion) == (
                payload.result.text,
                payload.wall_s,
                payload.motion,
            )
            assert str(again.result.error) == str(payload.result.error)
            assert (again.image_index in read.images) == (payload.result.image is not None)
        else:
            assert step.event == event


def test_a_dialogue_is_recorded_and_read_and_no_other_format_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [
        OperatorQuestion("Which can: the left one or the right one?", 3),
        OperatorAnswer("the left one"),
        OperatorAnswer(point=(0.25, 0.5)),
        CallRefused(
            ToolCall("robot.move", {"a": 1}), ErrorCode.SCENE_CHANGED, "Error SCENE_CHANGED: Not run: it moved."
        ),
        CallRefused(None, ErrorCode.INVALID_ARGUMENT, "Error INVALID_ARGUMENT: no call."),
        CallRefused(ToolCall("robot.move", {}), None, "Not run: an earlier motion in this turn failed."),
        NoteAdded("One turn is left: it must answer."),
        CommandEnded("AMBIGUOUS: Which?", ErrorCode.AMBIGUOUS),
    ]
    recorder = Recorder("look", Clock())
    for event in said:
        recorder.hear(event)
    recorder.write(tmp_path)
    assert [step.event for step in read_run(tmp_path / "run.mcap").steps] == said
    for written in ("1", "3"):
        monkeypatch.setattr(recorder_module, "FORMAT", written)
        Recorder("look", Clock()).write(tmp_path)
        with pytest.raises(ToolError, match=f"is of format '{written}', and only format 2 is read"):
            read_run(tmp_path / "run.mcap")


@pytest.mark.parametrize(
    "text",
    ["", "two\nlines", "Grüße, 柠檬 \U0001f34b", "</tool_call><image 3>", "\x1b[31mred", "a\0b", "half \ud83d a pair"],
)
def test_any_text_goes_into_the_file_and_comes_back(tmp_path: Path, text: str) -> None:
    recorder = Recorder(text, Clock())
    for event in (Thought(text), ToolCalled(ToolCall("x", {"a": text, "b": [1, {"c": None}]})), CommandEnded(text)):
        recorder.hear(event)
    recorder.write(tmp_path, None, {"task": text})
    read = read_run(tmp_path / "run.mcap")
    kept = text.replace("\0", "?").encode("utf-8", "replace").decode()
    thought, call, end = (step.event for step in read.steps)
    assert thought == Thought(kept)
    said = text.encode("utf-8", "replace").decode()  # JSON can spell NUL
    assert (call, end) == (ToolCalled(ToolCall("x", {"a": said, "b": [1, {"c": None}]})), CommandEnded(said))
    assert read.task == said


def test_what_json_cannot_say_is_written_as_text(tmp_path: Path) -> None:
    recorder = Recorder("look", Clock())
    odd = {"x": float("nan"), "y": float("inf"), "z": np.float32(0.5), "w": Path("p")}
    recorder.hear(ToolCalled(ToolCall("x", odd)))
    recorder.write(tmp_path)
    [step] = read_run(tmp_path / "run.mcap").steps
    assert step.event == ToolCalled(ToolCall("x", {"x": "nan", "y": "inf", "z": 0.5, "w": "p"}))


@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
def test_every_compression_reads_back(tmp_path: Path, compression: Any) -> None:
    recorder, heard = recorded()
    recorder.write(tmp_path, motion(), RESULT, compression)
    assert len(read_run(tmp_path / "run.mcap").steps) == len(heard)
    assert len(by_rosbags(tmp_path)) == sum(EXPECTED.values())


def test_compression_halves_a_run_at_least(tmp_path: Path) -> None:
    recorder, _ = recorded()
    sizes = [recorder.write(tmp_path, motion(200), RESULT, kind).stat().st_size for kind in ("none", "lz4", "zstd")]
    assert sizes[2] < sizes[1] < sizes[0] / 2


def chunks(path: Path) -> list[bytes]:
    with path.open("rb") as stream:
        return [record.data for record in StreamReader(stream, emit_chunks=True).records if isinstance(record, Chunk)]


def test_runs_that_differ_only_in_wall_time_have_the_same_chunks(tmp_path: Path) -> None:
    files = []
    for name, wall in (("a", 0.25), ("b", 123456.5)):
        clock = Clock()
        recorder = Recorder("look", clock)
        toolbox = Toolbox([Tools(clock)])

        def listen(event: Event, recorder: Recorder = recorder, wall: float = wall) -> None:
            if isinstance(event, ToolAnswered):
                event = ToolAnswered(replace(event.record, started_s=wall, wall_s=wall))
            recorder.hear(event)

        Agent(Says(*SCRIPT), toolbox, listener=listen).run("look")
        (tmp_path / name).mkdir()
        result = RESULT | {"wall_s": wall, "run_dir": name, "version": name, "time_to_first_motion_s": wall}
        files.append(recorder.write(tmp_path / name, motion(), result))
    assert chunks(files[0]) == chunks(files[1]) != []
    assert files[0].read_bytes() != files[1].read_bytes()
    assert (tmp_path / "a/metadata.yaml").read_bytes() == (tmp_path / "b/metadata.yaml").read_bytes()
    events = [step.event for step in read_run(files[1]).steps]
    assert [event.record.wall_s for event in events if isinstance(event, ToolAnswered)] == [123456.5] * 3


def test_the_same_recorder_writes_the_same_bytes(tmp_path: Path) -> None:
    recorder, _ = recorded()
    first = recorder.write(tmp_path, motion(), RESULT).read_bytes()
    assert recorder.write(tmp_path, motion(), RESULT).read_bytes() == first


def test_the_recorder_does_not_keep_what_tools_returned_alive() -> None:
    recorder = Recorder("look", Clock())
    rgb = np.zeros((48, 64, 3), np.uint8)
    result = ToolResult(text="x", image=rgb, variables={"cloud": (cloud := np.zeros((1000, 3)))})
    refs = [weakref.ref(rgb), weakref.ref(cloud)]
    recorder.hear(ToolAnswered(CallRecord("x", {}, result, 0, 0.0, 0.0)))
    del rgb, cloud, result
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


# -- ends and failures -------------------------------------------------------------------------------


def test_an_interrupted_run_still_has_a_valid_file(tmp_path: Path) -> None:
    recorder = Recorder("look", Clock())
    recorder.hear(ToolCalled(ToolCall("robot.move", {})))
    recorder.write(tmp_path, motion())
    read = read_run(tmp_path / "run.mcap")
    assert read.result is None
    assert [step.event for step in read.steps] == [ToolCalled(ToolCall("robot.move", {}))]
    assert len(by_rosbags(tmp_path)) == sum(read.messages.values())


def test_a_run_in_which_nothing_was_said_or_moved_has_a_valid_file(tmp_path: Path) -> None:
    Recorder("", Clock()).write(tmp_path, MotionLog(np.zeros(0), JOINTS, np.zeros((0, 8))))
    assert read_run(tmp_path / "run.mcap").steps == ()


@pytest.mark.parametrize(
    ("trouble", "raised"),
    [(OSError(28, "No space left on device"), ToolError), (KeyboardInterrupt(), KeyboardInterrupt)],
)
def test_a_file_that_cannot_be_finished_is_not_there_and_the_old_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: BaseException, raised: type[BaseException]
) -> None:
    recorded()[0].write(tmp_path, motion(3), RESULT)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(self: Writer) -> None:
        raise trouble

    monkeypatch.setattr(Writer, "finish", fail)
    with pytest.raises(raised) as caught:
        recorded(task="another")[0].write(tmp_path, motion(4))
    if isinstance(caught.value, ToolError):
        assert caught.value.code is ErrorCode.UNAVAILABLE
        assert "No space left on device" in caught.value.message
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with refused(ErrorCode.UNAVAILABLE, r"Cannot write .*run\.mcap: No such file"):
        recorded()[0].write(tmp_path / "gone")


@pytest.mark.parametrize("module", ["mcap.writer", "mcap.stream_reader"])
def test_without_mcap_one_sentence_says_what_to_install(
    run: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    act: Callable[[], Any] = (
        (lambda: recorded()[0].write(run)) if "writer" in module else lambda: read_run(run / "run.mcap")
    )
    with refused(ErrorCode.UNAVAILABLE, "pip install mcap"):
        act()


def test_recording_needs_neither_rclpy_nor_zenoh_nor_mcap_until_it_writes() -> None:
    code = (
        "import sys, toolhand.agent_node.runs.mcap.recorder; print([m for m in ('rclpy', 'zenoh', 'mcap') if m "
        "in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("now", [float("nan"), float("inf"), -1.0])
def test_a_clock_without_a_time_is_told(now: float) -> None:
    with pytest.raises(ToolError, match="clock must be finite"):
        Recorder("look", lambda: now)


@pytest.mark.parametrize(
    ("times", "positions"),
    [
        ([0.0, 1.0], np.zeros((3, 8))),
        ([0.0, 1.0], np.zeros((2, 7))),
        ([1.0, 0.0], np.zeros((2, 8))),
        ([-1.0, 0.0], np.zeros((2, 8))),
        ([0.0, np.nan], np.zeros((2, 8))),
        ([0.0, 1.0], np.full((2, 8), np.inf)),
    ],
)
def test_joint_positions_that_make_no_sense_are_refused(times: list[float], positions: np.ndarray) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT):
        MotionLog(np.array(times), JOINTS, positions)
