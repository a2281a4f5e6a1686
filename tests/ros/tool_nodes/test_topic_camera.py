"""A camera on topics: an image of one stamp that is not older than the question, or one sentence about why not."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Header
from tf2_ros import Buffer, StaticTransformBroadcaster, TransformListener

from tests.gen3 import ARM_JOINTS
from tests.ros.tool_nodes.fake_camera import FakeCamera
from toolhand.tool_nodes.camera_names import REALSENSE, WRIST, ZED, CameraNames, CameraTopics
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros import camera_parameters, topic_camera
from toolhand.tool_nodes.ros.image_matching import ImageMatching
from toolhand.tool_nodes.ros.lenses import Lens
from toolhand.tool_nodes.ros.messages import OPTICAL_FRAMES, intrinsics_to_info, nanoseconds, time_message
from toolhand.tool_nodes.ros.topic_camera import TopicCamera

SCENE_TOPICS = ZED["new"].topics

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
    """The camera's images are of now."""
    camera.header = lambda: Header(stamp=node.get_clock().now().to_msg(), frame_id=OPTICAL_FRAMES["scene"])


Make = Callable[..., TopicCamera]


@pytest.fixture
def make(node: Node, transforms: Buffer, camera: Any, wait_until: Any) -> Iterator[Make]:
    """Makes cameras that listen no more after the test."""
    made: list[TopicCamera] = []

    def topic_camera(topics: CameraTopics = SCENE_TOPICS, deadline_s: float = LONG_S, **options: Any) -> TopicCamera:
        made.append(TopicCamera(options.pop("node", node), topics, transforms, deadline_s, **options))
        return made[-1]

    yield topic_camera
    for one in made:
        one.close()
    wait_until(lambda: camera.listeners() == 0, "nobody listens any more")


@pytest.fixture
def look(make: Make) -> Callable[[], Any]:
    return make().capture


@pytest.fixture
def refusal(make: Make) -> Callable[..., ToolError]:
    """The error of a look that must fail."""

    def fail(topics: CameraTopics = SCENE_TOPICS, deadline_s: float = SHORT_S) -> ToolError:
        with pytest.raises(ToolError) as caught:
            make(topics, deadline_s).capture()
        assert "\n" not in caught.value.message
        return caught.value

    return fail


def test_an_image_comes_with_depth_calibration_and_pose(camera: Any, look: Callable[[], Any]) -> None:
    frame = look()
    assert np.array_equal(frame.rgb, camera.frame.rgb)
    assert np.array_equal(frame.depth, camera.frame.depth, equal_nan=True)
    assert np.array_equal(frame.K, camera.frame.K)
    np.testing.assert_allclose(frame.T_base_camera, camera.frame.T_base_camera, atol=1e-12)
    assert (frame.camera, frame.ids) == ("scene", None)


def test_it_listens_only_while_it_looks(camera: Any, look: Callable[[], Any], wait_until: Any) -> None:
    look()
    wait_until(lambda: camera.listeners() == 0, "nobody listens any more")
    threading.Event().wait(0.2)  # one image may be on its way out
    sent = camera.sent
    threading.Event().wait(0.2)
    assert camera.sent == sent


def test_an_unchanged_image_is_the_same_frame(camera: Any, node: Node, make: Make) -> None:
    stamp = time_message(node.get_clock().now().nanoseconds + 10**12)
    camera.header = lambda: Header(stamp=stamp, frame_id=OPTICAL_FRAMES["scene"])
    source = make()
    first = source.capture()
    assert source.capture() is first
    camera.frame = camera.frame.__class__(**vars(camera.frame) | {"rgb": camera.frame.rgb // np.uint8(2)})
    assert source.capture() is not first  # as after another world was loaded


def test_images_older_than_the_question_are_passed_over(camera: Any, node: Node, look: Callable[[], Any]) -> None:
    asked_ns = node.get_clock().now().nanoseconds
    fresh = camera.header
    stamps = iter([1, 2, 3])
    camera.header = lambda: (
        Header(stamp=time_message(stamp), frame_id=OPTICAL_FRAMES["scene"])
        if (stamp := next(stamps, None))
        else fresh()
    )
    assert look().stamp_ns >= asked_ns


def test_a_clock_that_is_set_back_meanwhile_does_not_make_images_stale(
    camera: Any, make_node: Any, make: Make, wait_until: Any
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
        looking = pool.submit(make(node=late).capture)
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


def test_a_black_image(camera: Any, refusal: Callable[..., ToolError]) -> None:
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
        ("depth", "encoding", "8UC1", "encoding '8UC1', but must have 32FC1 or 16UC1"),
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


def test_depth_of_another_camera_than_the_image_is_refused_with_what_to_set(
    camera: Any, make: Make, node: Node, wait_until: Any, transforms: Buffer
) -> None:
    place = StaticTransformBroadcaster(node)
    message = TransformStamped(child_frame_id="depth_optical")
    message.header.frame_id, message.transform.rotation.w = OPTICAL_FRAMES["scene"], 1.0
    message.transform.translation.x = 0.0147  # as far apart as a D435's
    place.sendTransform(message)
    wait_until(lambda: transforms.can_transform(OPTICAL_FRAMES["scene"], "depth_optical", Time()), "its place is known")
    shown = {"frame": "depth_optical"}
    camera.change = lambda messages: setattr(
        messages["depth"], "header", Header(stamp=messages["depth"].header.stamp, frame_id=shown["frame"])
    )
    look = make(registered_by="align_depth.enable:=true").capture
    with pytest.raises(ToolError, match=r"the depth image in depth_optical, which lies 14\.7 mm and") as caught:
        look()
    assert caught.value.hint == "Depth must be registered to the image: start the driver with align_depth.enable:=true."
    message.transform.translation.x, message.child_frame_id = 0.0, "left_optical"  # another name of the same place
    place.sendTransform(message)
    shown["frame"] = "left_optical"
    assert look().rgb.any()


def test_depth_in_a_frame_that_nobody_places_is_refused(camera: Any, refusal: Callable[..., ToolError]) -> None:
    camera.change = lambda messages: setattr(
        messages["depth"], "header", Header(stamp=messages["depth"].header.stamp, frame_id="adrift")
    )
    error = refusal()
    assert "the depth image in adrift, whose place in it is not known" in error.message
    assert error.hint == "Depth must be registered to the image; see the settings of its driver."


def test_a_driver_that_sends_no_registered_depth_is_told_what_to_set(make: Make) -> None:
    topics = CameraTopics(SCENE_TOPICS.image, SCENE_TOPICS.camera_info, "/no/depth")
    with pytest.raises(ToolError, match="nobody publishes /no/depth") as caught:
        make(topics, SHORT_S, registered_by="depth_registration:=true").capture()
    assert "start the driver with depth_registration:=true" in caught.value.hint


def test_a_camera_whose_place_is_unknown(camera: Any, refusal: Callable[..., ToolError], node: Node) -> None:
    camera.header = lambda: Header(stamp=node.get_clock().now().to_msg(), frame_id="nowhere")
    error = refusal()
    assert error.code is ErrorCode.UNAVAILABLE
    assert "The pose of nowhere in base_link is unknown" in error.message


def test_the_deadline_must_be_positive(refusal: Callable[..., ToolError]) -> None:
    assert refusal(deadline_s=0.0).code is ErrorCode.INVALID_ARGUMENT


# -- drivers that differ ------------------------------------------------------------------------------


def _apart(milliseconds: float) -> Callable[[dict[str, Any]], None]:
    """Depth that is stamped later than the image of the same moment, as kinova_vision does."""

    def change(messages: dict[str, Any]) -> None:
        header = messages["depth"].header
        later = nanoseconds(header.stamp) + round(milliseconds * 1e6)
        messages["depth"].header = Header(stamp=time_message(later), frame_id=header.frame_id)

    return change


@pytest.fixture
def arm(make_node: Any) -> Iterator[Any]:
    """Joint states at 100 Hz; `arm.speed` is that of the first joint [rad/s]."""
    node = make_node("arm")
    publisher = node.create_publisher(JointState, "joint_states", 10)
    state = SimpleNamespace(speed=0.0, angle=0.0)

    def tell() -> None:
        state.angle += 0.01 * state.speed
        stamp = node.get_clock().now().to_msg()
        joints = JointState(header=Header(stamp=stamp), name=ARM_JOINTS, position=[state.angle, *[0.0] * 6])
        with contextlib.suppress(InvalidHandle):  # destroyed at this moment; it would end the spinning of all nodes
            publisher.publish(joints)

    timer = node.create_timer(0.01, tell)
    yield state
    node.destroy_timer(timer)
    node.destroy_publisher(publisher)


def test_colour_and_depth_with_stamps_of_their_own_are_an_image_while_the_arm_stands_still(
    camera: Any, make: Make, arm: Any
) -> None:
    camera.change = _apart(12.0)
    frame = make().capture()
    assert np.array_equal(frame.depth, camera.frame.depth, equal_nan=True)
    assert np.array_equal(frame.rgb, camera.frame.rgb)


def test_colour_and_depth_between_which_the_arm_moves_are_none(
    camera: Any, refusal: Callable[..., ToolError], arm: Any, wait_until: Any
) -> None:
    camera.change = _apart(12.0)
    arm.speed = 1.0
    wait_until(lambda: "the arm moved" in refusal(deadline_s=2.0).message, "a motion is the reason")


def test_colour_and_depth_without_an_arm_are_none(
    camera: Any, refusal: Callable[..., ToolError], wait_until: Any
) -> None:
    camera.change = _apart(12.0)
    reason = "no joint states tell whether the arm stood still"
    wait_until(lambda: reason in refusal().message, "an arm that nobody tells of is the reason")


def test_a_driver_that_sends_bgra8(camera: Any, look: Callable[[], Any]) -> None:
    def as_the_zed_does(messages: dict[str, Any]) -> None:
        image = messages["image"]
        rgb = np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, 3)
        bgra = np.dstack([rgb[..., ::-1], np.full(rgb.shape[:2], 255, np.uint8)])
        image.encoding, image.step, image.data = "bgra8", 4 * image.width, bgra.tobytes()

    camera.change = as_the_zed_does
    assert np.array_equal(look().rgb, camera.frame.rgb)


@pytest.mark.parametrize("encoding", ["16UC1", "mono16"])
def test_a_realsense_at_the_wrist(
    camera: Any, make_node: Any, transforms: Buffer, wait_until: Any, encoding: str
) -> None:
    """Its names, its millimetres, its optical frame, which says nothing of where it sits."""
    looker = make_node(f"wrist_looker_{encoding}")
    driver = make_node(f"realsense_{encoding}")
    names = CameraTopics(*(f"/of_{encoding}{topic}" for topic in vars(REALSENSE.topics).values()))
    sent = replace(camera.frame, depth=np.full(camera.frame.depth.shape, 0.75, np.float32))
    other = FakeCamera(driver, sent, [], names)
    other.header = lambda: Header(stamp=driver.get_clock().now().to_msg(), frame_id=OPTICAL_FRAMES["scene"])

    def millimetres(messages: dict[str, Any]) -> None:
        depth = messages["depth"]
        pixels = np.full((depth.height, depth.width), 750, "<u2")
        pixels[0, :2] = 0, 65535
        depth.encoding, depth.step, depth.data = encoding, 2 * depth.width, pixels.tobytes()

    other.change = millimetres
    given = {f"{kind}_topic": getattr(names, kind) for kind in vars(names)}
    for name, value in {"driver": "realsense", **given}.items():
        looker.declare_parameter(f"wrist.{name}", value)
    source = camera_parameters.topics(looker, "wrist", transforms, LONG_S, "base_link", None, lambda: None)
    frame = source.capture()
    source.close()
    assert frame.camera == "wrist"
    assert np.isnan(frame.depth[0, :2]).all()
    assert frame.depth[1, 1] == np.float32(0.75)
    wait_until(lambda: other.listeners() == 0, "nobody listens any more")


@pytest.mark.parametrize(
    ("camera_name", "driver", "names"),
    [
        ("scene", None, ZED["new"]),
        ("scene", "realsense", REALSENSE),
        ("wrist", None, WRIST),
        ("wrist", "zed", ZED["new"]),
    ],
)
def test_a_driver_is_known_by_its_name(
    make_node: Any,
    transforms: Buffer,
    camera_name: str,
    driver: str | None,
    names: CameraNames,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(camera_parameters, "TopicCamera", lambda *arguments: (arguments[1], *arguments[-2:]))
    looker = make_node(f"named_{camera_name}_{driver}")
    if driver is not None:
        looker.declare_parameter(f"{camera_name}.driver", driver)
    made = camera_parameters.topics(looker, camera_name, transforms, SHORT_S, "base_link", None, lambda: None)
    assert made == (names.topics, camera_name, names.registered_by)


def test_subscriptions_are_kept_from_one_image_to_the_next(
    camera: Any, node: Node, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, made = make(), []
    create = node.create_subscription
    monkeypatch.setattr(node, "create_subscription", lambda *a, **o: made.append(create(*a, **o)) or made[-1])
    first, second = source.capture(), source.capture()
    assert second.stamp_ns > first.stamp_ns
    assert [one.topic_name for one in made] == [SCENE_TOPICS.camera_info, SCENE_TOPICS.depth, SCENE_TOPICS.image]


@pytest.mark.parametrize("late", [False, True])
def test_kept_subscriptions_that_bring_nothing_new_are_made_anew(
    camera: Any, node: Node, make: Make, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """An image that was on its way when its subscription was lost is nothing new."""
    source = make()
    before = source.capture()

    class Late(ImageMatching):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.add("depth", Image(header=Header(stamp=time_message(before.stamp_ns))))

    if late:
        monkeypatch.setattr(topic_camera, "ImageMatching", Late)
    for subscription in [one for one in node.subscriptions if one.topic_name == SCENE_TOPICS.depth]:
        node.destroy_subscription(subscription)
    assert source.capture().size == (640, 480)


def test_an_image_taken_while_time_stands_still_leaves_no_listener_behind(
    camera: Any, make_node: Any, make: Make, wait_until: Any
) -> None:
    stepped = make_node("stepped", parameter_overrides=[Parameter("use_sim_time", value=True)])
    clock = stepped.create_publisher(Clock, "/clock", 1)

    def tell() -> bool:
        clock.publish(Clock(clock=time_message(7 * 10**9)))
        return bool(stepped.get_clock().now().nanoseconds == 7 * 10**9)

    wait_until(tell, "the clock is known")
    camera.header = lambda: Header(stamp=time_message(7 * 10**9), frame_id=OPTICAL_FRAMES["scene"])
    source = make(node=stepped)
    before = list(stepped.subscriptions)
    source.capture()
    assert list(stepped.subscriptions) == before  # who steps the time must not find somebody listening


@pytest.mark.parametrize("reliability", [ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT])
def test_it_listens_as_reliably_as_the_driver_sends(
    camera: Any, node: Node, make_node: Any, make: Make, reliability: ReliabilityPolicy, wait_until: Any
) -> None:
    driver = make_node(f"driver_{int(reliability)}")
    name = f"/other_{int(reliability)}"
    topics = CameraTopics(f"{name}/image", f"{name}/camera_info", f"{name}/depth")
    other = FakeCamera(driver, camera.frame, [], topics, QoSProfile(depth=5, reliability=reliability))
    other.header = camera.header
    wait_until(lambda: all(node.count_publishers(topic) for topic in vars(topics).values()), "the driver is known")
    make(topics).capture()
    for topic in (topics.image, topics.camera_info, topics.depth):
        found = node.get_subscriptions_info_by_topic(topic)
        assert [one.qos_profile.reliability for one in found] == [reliability]


BENT = [-0.3, 0.09, 0.001, -0.001, 0.0]


@pytest.mark.parametrize(
    ("image", "image_is", "bent"),
    [("image_raw", None, True), ("image_rect", None, False), ("image", True, False), ("image", False, True)],
)
def test_images_of_a_lens_are_rectified_unless_they_are(
    camera: Any, make_node: Any, make: Make, image: str, image_is: bool | None, bent: bool
) -> None:
    name = f"/lens_{image}_{image_is}"
    topics = CameraTopics(f"{name}/{image}", f"{name}/camera_info", f"{name}/depth")
    other = FakeCamera(make_node(f"lens_driver_{image}_{image_is}"), camera.frame, [], topics)
    other.header = camera.header
    other.change = lambda messages: setattr(messages["camera_info"], "d", BENT)
    frame, sent = make(topics, rectified=image_is).capture(), camera.frame
    assert np.array_equal(frame.K, sent.K)
    assert np.array_equal(frame.rgb, sent.rgb) != bent
    assert np.array_equal(frame.depth, sent.depth, equal_nan=True) != bent
    if bent:
        (fx, fy), (cx, cy), (width, height) = sent.K[[0, 1], [0, 1]], sent.K[:2, 2], sent.size
        lens = Lens("plumb_bob", tuple(BENT), (fx, fy, cx, cy), (fx, fy, cx, cy), (width, height))
        assert np.array_equal(frame.rgb, lens.colours(sent.rgb))
        assert np.array_equal(frame.depth, lens.nearest(sent.depth), equal_nan=True)


def test_a_lens_on_a_topic_that_says_neither_raw_nor_rect_is_refused(camera: Any, make_node: Any, make: Make) -> None:
    topics = CameraTopics("/some/image", "/some/camera_info", "/some/depth")
    other = FakeCamera(make_node("some_driver"), camera.frame, [], topics)
    other.header = camera.header
    other.change = lambda messages: setattr(messages["camera_info"], "d", BENT)
    with pytest.raises(ToolError, match=r"The camera on /some/image cannot be used: .*distortion.*image_is") as caught:
        make(topics).capture()
    assert caught.value.code is ErrorCode.UNAVAILABLE


def test_a_latched_calibration_serves_all_images(camera: Any, make_node: Any, make: Make) -> None:
    driver = make_node("latched_driver")
    topics = CameraTopics("/latched/image", "/latched/camera_info", "/latched/depth")
    other = FakeCamera(driver, camera.frame, [], topics)
    other.header = camera.header
    other.change = lambda messages: messages.pop("camera_info")
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    other.remove("camera_info")
    info = driver.create_publisher(CameraInfo, topics.camera_info, latched)
    info.publish(intrinsics_to_info(camera.frame.K, camera.frame.size, Header()))
    source = make(topics)
    for _ in range(2):
        assert np.array_equal(source.capture().K, camera.frame.K)


def test_deadlines_in_which_a_driver_that_is_there_was_silent_lose_the_camera(
    camera: Any, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[int] = []
    monkeypatch.setattr(topic_camera, "SILENT_DEADLINES", 2)
    source = make(deadline_s=SHORT_S, lost=lambda: lost.append(1))
    for expected in (0, 1):
        camera.change = lambda messages: messages.clear()
        with pytest.raises(ToolError):
            source.capture()
        assert len(lost) == expected
    camera.behave()
    camera.header = lambda: Header(stamp=time_message(2 * 10**18), frame_id=OPTICAL_FRAMES["scene"])
    source.capture()
    camera.change = lambda messages: messages.clear()
    with pytest.raises(ToolError):
        source.capture()
    assert len(lost) == 1  # counted from the last image on
    absent = make(CameraTopics("/no/image", "/no/info", "/no/depth"), SHORT_S, lost=lambda: lost.append(1))
    for _ in range(2):
        with pytest.raises(ToolError):
            absent.capture()
    assert len(lost) == 1
