"""A camera on topics: a picture of one stamp that is not older than the question, or one sentence about why not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Header
from tf2_ros import Buffer, TransformListener

from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.ros.messages import OPTICAL_FRAMES, nanoseconds, time_message
from tool_nodes.ros.topic_camera import SCENE_TOPICS, CameraTopics, TopicCamera

SHORT_S = 0.6
LONG_S = 60.0


@pytest.fixture(scope="module")
def node(make_node: Any) -> Node:
    node: Node = make_node("looker")
    return node


@pytest.fixture(scope="module")
def transforms(node: Node) -> Iterator[Buffer]:
    buffer = Buffer(node=node)
    listener = TransformListener(buffer, node)
    yield buffer
    listener.unregister()


@pytest.fixture(autouse=True)
def live(camera: Any, node: Node) -> None:
    """The camera's pictures are of now."""
    camera.header = lambda: Header(stamp=node.get_clock().now().to_msg(), frame_id=OPTICAL_FRAMES["scene"])


@pytest.fixture
def look(node: Node, transforms: Buffer) -> Callable[[], Any]:
    camera = TopicCamera(node, SCENE_TOPICS, transforms, LONG_S)
    return camera.capture


@pytest.fixture
def refusal(node: Node, transforms: Buffer) -> Callable[..., ToolError]:
    """The error of a look that must fail."""

    def fail(topics: CameraTopics = SCENE_TOPICS, deadline_s: float = SHORT_S) -> ToolError:
        with pytest.raises(ToolError) as caught:
            TopicCamera(node, topics, transforms, deadline_s).capture()
        assert "\n" not in caught.value.message
        return caught.value

    return fail


def test_a_picture_comes_with_depth_calibration_and_pose(camera: Any, look: Callable[[], Any]) -> None:
    frame = look()
    assert np.array_equal(frame.rgb, camera.frame.rgb)
    assert np.array_equal(frame.depth, camera.frame.depth, equal_nan=True)
    assert np.array_equal(frame.K, camera.frame.K)
    np.testing.assert_allclose(frame.T_base_camera, camera.frame.T_base_camera, atol=1e-12)
    assert (frame.camera, frame.ids) == ("scene", None)


def test_it_listens_only_while_it_looks(camera: Any, look: Callable[[], Any], wait_until: Any) -> None:
    look()
    wait_until(lambda: camera.listeners() == 0, "nobody listens any more")
    threading.Event().wait(0.2)  # one picture may be on its way out
    sent = camera.sent
    threading.Event().wait(0.2)
    assert camera.sent == sent


def test_an_unchanged_picture_is_the_same_frame(camera: Any, node: Node, transforms: Buffer) -> None:
    stamp = time_message(node.get_clock().now().nanoseconds + 10**12)
    camera.header = lambda: Header(stamp=stamp, frame_id=OPTICAL_FRAMES["scene"])
    source = TopicCamera(node, SCENE_TOPICS, transforms, LONG_S)
    first = source.capture()
    assert source.capture() is first
    camera.frame = camera.frame.__class__(**vars(camera.frame) | {"rgb": camera.frame.rgb // np.uint8(2)})
    assert source.capture() is not first  # as after another world was loaded


def test_pictures_older_than_the_question_are_passed_over(camera: Any, node: Node, look: Callable[[], Any]) -> None:
    asked_ns = node.get_clock().now().nanoseconds
    fresh = camera.header
    stamps = iter([1, 2, 3])
    camera.header = lambda: (
        Header(stamp=time_message(stamp), frame_id=OPTICAL_FRAMES["scene"])
        if (stamp := next(stamps, None))
        else fresh()
    )
    assert look().stamp_ns >= asked_ns


def test_a_clock_that_is_set_back_meanwhile_does_not_make_pictures_stale(
    camera: Any, make_node: Any, transforms: Buffer, wait_until: Any
) -> None:
    late = make_node("late_clock", parameter_overrides=[Parameter("use_sim_time", value=True)])
    clock = late.create_publisher(Clock, "/clock", 1)

    def tell(seconds: int) -> bool:
        clock.publish(Clock(clock=time_message(seconds * 10**9)))
        return bool(late.get_clock().now().nanoseconds == seconds * 10**9)

    wait_until(lambda: tell(100), "the clock is known")
    camera.header = lambda: Header(stamp=time_message(5 * 10**9), frame_id=OPTICAL_FRAMES["scene"])
    sent = camera.sent
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(TopicCamera(late, SCENE_TOPICS, transforms, LONG_S).capture)
        wait_until(lambda: camera.sent > sent + 2, "some pictures came")
        assert not looking.done()
        wait_until(lambda: tell(5), "the clock is set back")
        assert looking.result().stamp == 5.0


def test_messages_that_are_lost_now_and_then_do_not_matter(camera: Any, look: Callable[[], Any]) -> None:
    losses = iter(["image", "depth", "camera_info"] * 2)
    camera.change = lambda messages: messages.pop(next(losses, ""), None)
    assert look().size == (640, 480)


def test_several_threads_can_look_at_once(look: Callable[[], Any]) -> None:
    with ThreadPoolExecutor(3) as pool:
        assert len(list(pool.map(lambda _: look(), range(3)))) == 3


# -- what is wrong -----------------------------------------------------------------------------------


def test_a_camera_that_nobody_publishes(refusal: Callable[..., ToolError]) -> None:
    error = refusal(CameraTopics("/no/image", SCENE_TOPICS.camera_info, SCENE_TOPICS.depth))
    assert error.code is ErrorCode.UNAVAILABLE
    assert "nobody publishes /no/image" in error.message


@pytest.mark.parametrize("lost", ["image", "depth", "camera_info"])
def test_a_topic_that_is_silent_is_named(camera: Any, refusal: Callable[..., ToolError], lost: str) -> None:
    camera.change = lambda messages: messages.pop(lost)
    error = refusal()
    assert error.code is ErrorCode.UNAVAILABLE
    assert f"nothing came on {getattr(SCENE_TOPICS, lost)}" in error.message


def test_a_stale_camera(camera: Any, refusal: Callable[..., ToolError], node: Node) -> None:
    old = time_message(node.get_clock().now().nanoseconds - 3 * 10**9)
    camera.header = lambda: Header(stamp=old, frame_id=OPTICAL_FRAMES["scene"])
    error = refusal()
    assert error.code is ErrorCode.UNAVAILABLE
    assert "stale" in error.message
    assert "use_sim_time" in error.hint


def test_images_that_never_belong_together(camera: Any, refusal: Callable[..., ToolError]) -> None:
    def shift(messages: dict[str, Any]) -> None:
        header = messages["depth"].header
        messages["depth"].header = Header(
            stamp=time_message(nanoseconds(header.stamp) + 10**9), frame_id=header.frame_id
        )

    camera.change = shift
    assert "never had the same stamp" in refusal().message


def _fill(name: str, value: int) -> Callable[[dict[str, Any]], None]:
    def change(messages: dict[str, Any]) -> None:
        messages[name].data = bytes([value]) * len(messages[name].data)

    return change


def test_a_black_picture(camera: Any, refusal: Callable[..., ToolError]) -> None:
    camera.change = _fill("image", 2)
    error = refusal(deadline_s=LONG_S)
    assert error.code is ErrorCode.UNAVAILABLE
    assert "is black" in error.message


def test_depth_without_any_value(camera: Any, refusal: Callable[..., ToolError]) -> None:
    camera.change = _fill("depth", 255)  # a NaN
    error = refusal(deadline_s=LONG_S)
    assert error.code is ErrorCode.NO_DEPTH
    assert SCENE_TOPICS.depth in error.message


@pytest.mark.parametrize(
    ("name", "field", "value", "words"),
    [
        ("image", "encoding", "yuv422", "encoding 'yuv422'"),
        ("depth", "encoding", "mono16", "encoding 'mono16'"),
        ("image", "step", 100, "step of 100"),
        ("depth", "width", 320, "320x480"),
        ("depth", "is_bigendian", 1, "big-endian"),
        ("camera_info", "width", 1280, "1280x480"),
        ("camera_info", "k", [0.0] * 9, "no calibration"),
    ],
)
def test_messages_that_cannot_be_read(
    camera: Any, refusal: Callable[..., ToolError], name: str, field: str, value: Any, words: str
) -> None:
    camera.change = lambda messages: setattr(messages[name], field, value)
    error = refusal(deadline_s=LONG_S)
    assert error.code is ErrorCode.UNAVAILABLE
    assert words in error.message


def test_a_camera_whose_place_is_unknown(camera: Any, refusal: Callable[..., ToolError], node: Node) -> None:
    camera.header = lambda: Header(stamp=node.get_clock().now().to_msg(), frame_id="nowhere")
    error = refusal()
    assert error.code is ErrorCode.UNAVAILABLE
    assert "The pose of nowhere in base_link is unknown" in error.message


def test_the_deadline_must_be_positive(refusal: Callable[..., ToolError]) -> None:
    assert refusal(deadline_s=0.0).code is ErrorCode.INVALID_ARGUMENT
