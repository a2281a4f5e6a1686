"""Conversions: nothing is lost on the way there and back, and what cannot be read is told in one sentence."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import Pose
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sensor_msgs.msg import CameraInfo, Image, PointCloud2, PointField
from std_msgs.msg import Header
from toolhand_interfaces.srv import GetDepth

from rclpy_zenoh.interfaces import deserialize, serialize
from toolhand.tool_nodes.geometry import carried, intrinsics, matrix_from_quat_wxyz, pose
from toolhand.tool_nodes.motion.self_filter import without_robot
from toolhand.tool_nodes.ros.frame_memory import FrameMemory
from toolhand.tool_nodes.ros.messages import (
    OPTICAL_FRAMES,
    BadMessage,
    RosFrame,
    cloud_to_message,
    depth_to_image,
    header_of,
    image_to_depth,
    image_to_mask,
    image_to_rgb,
    info_to_intrinsics,
    intrinsics_to_info,
    mask_to_image,
    matrix_to_pose,
    message_to_cloud,
    nanoseconds,
    pose_to_matrix,
    put_frame,
    rgb_to_image,
    take_frame,
    time_message,
)
from toolhand.tool_nodes.types import Frame

HEADER = Header(frame_id="zed_left_camera_frame_optical")
SIDES = st.integers(1, 12)
SHAPES = st.tuples(SIDES, SIDES)
FLOATS = st.floats(np.float32(1e-3), np.float32(100.0), width=32) | st.just(np.float32(np.nan))


def travelled(message: Any) -> Any:
    """The message as it comes out of a packet."""
    return deserialize(serialize(message), type(message))


def padded(image: Image, extra: int) -> Image:
    """The same image with rows that are `extra` bytes longer."""
    rows = np.frombuffer(image.data, np.uint8).reshape(image.height, image.step)
    wide = np.pad(rows, ((0, 0), (0, extra)), constant_values=7)
    return Image(
        header=image.header,
        height=image.height,
        width=image.width,
        encoding=image.encoding,
        step=image.step + extra,
        data=wide.tobytes(),
    )


def sentence(call: Callable[[], Any]) -> str:
    with pytest.raises(BadMessage) as caught:
        call()
    text = str(caught.value)
    assert text.endswith(".")
    assert "\n" not in text
    return text


# -- images --------------------------------------------------------------------------------------


@given(SHAPES.flatmap(lambda s: arrays.arrays(np.uint8, (*s, 3))), st.integers(0, 5))
def test_an_image_comes_back_whatever_the_padding(rgb: np.ndarray, extra: int) -> None:
    image = travelled(padded(rgb_to_image(rgb, HEADER), extra))
    assert np.array_equal(image_to_rgb(image), rgb)
    assert image.header.frame_id == HEADER.frame_id


@pytest.mark.parametrize("encoding", ["bgr8", "rgba8", "bgra8"])
def test_the_colours_of_every_driver_become_rgb(encoding: str) -> None:
    rgb = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    pixels = rgb[..., ::-1] if encoding.startswith("bgr") else rgb
    if encoding.endswith("a8"):
        pixels = np.concatenate([pixels, np.full((2, 3, 1), 255, np.uint8)], axis=2)
    image = Image(height=2, width=3, encoding=encoding, step=3 * pixels.shape[2], data=pixels.tobytes())
    assert np.array_equal(image_to_rgb(image), rgb)


@given(SHAPES.flatmap(lambda s: arrays.arrays(np.bool_, s)), st.integers(0, 5))
def test_a_mask_comes_back(mask: np.ndarray, extra: int) -> None:
    assert np.array_equal(image_to_mask(travelled(padded(mask_to_image(mask, HEADER), extra))), mask)


@given(SHAPES.flatmap(lambda s: arrays.arrays(np.float32, s, elements=FLOATS)), st.integers(0, 9))
def test_depth_comes_back_to_the_last_bit(depth: np.ndarray, extra: int) -> None:
    found = image_to_depth(travelled(padded(depth_to_image(depth, HEADER), extra)))
    assert found.dtype == np.float32
    assert np.array_equal(found, depth, equal_nan=True)


@given(SHAPES.flatmap(lambda s: arrays.arrays(np.uint16, s)))
def test_millimetres_become_metres_and_what_is_no_reading_is_unknown(millimetres: np.ndarray) -> None:
    height, width = millimetres.shape
    image = Image(height=height, width=width, encoding="16UC1", step=2 * width, data=millimetres.tobytes())
    depth = image_to_depth(travelled(image))
    known = (millimetres > 0) & (millimetres < 65535)
    assert np.array_equal(np.isnan(depth), ~known)
    np.testing.assert_allclose(depth[known], millimetres[known] / 1000.0, rtol=1e-6)


def test_depth_that_is_no_distance_is_unknown() -> None:
    raw = np.array([[np.inf, -np.inf, 0.0, -1.0, 0.5]], np.float32)
    depth = image_to_depth(Image(height=1, width=5, encoding="32FC1", step=20, data=raw.tobytes()))
    assert np.array_equal(depth, np.array([[np.nan] * 4 + [0.5]], np.float32), equal_nan=True)


def test_no_reading_of_some_drivers_is_no_distance() -> None:
    raw = np.array([[65535, 0, 1000, 65534]], "<u2")
    depth = image_to_depth(Image(height=1, width=4, encoding="16UC1", step=8, data=raw.tobytes()))
    assert np.array_equal(depth, np.array([[np.nan, np.nan, 1.0, 65.534]], np.float32), equal_nan=True)
    filled = np.array([[np.finfo(np.float32).max, 0.5, 1e6, 0.7]], np.float32)
    depth = image_to_depth(depth_to_image(filled, HEADER))
    assert np.array_equal(depth, np.array([[np.nan, 0.5, np.nan, 0.7]], np.float32), equal_nan=True)


@pytest.mark.parametrize("millimetres", [[1200.0] * 4, [np.nan, 0.0, 150.0, 3000.0], [np.inf, np.nan, np.nan, 480.0]])
def test_millimetres_in_a_float_image_are_refused(millimetres: list[float]) -> None:
    text = sentence(lambda: image_to_depth(depth_to_image(np.array([millimetres], np.float32), HEADER)))
    assert "seems to be in millimetres" in text
    assert "32FC1 in metres, or millimetres as 16UC1" in text


@pytest.mark.parametrize("metres", [[0.3, 40.0, 90.0, 0.6], [np.nan] * 4, [99.0] * 4, [0.5, 0.6, 0.7, 1500.0]])
def test_far_objects_are_no_millimetres(metres: list[float]) -> None:
    depth = np.array([metres], np.float32)
    assert np.array_equal(image_to_depth(depth_to_image(depth, HEADER)), depth, equal_nan=True)


def test_a_big_image_comes_back() -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (2160, 3840, 3), np.uint8)
    assert np.array_equal(image_to_rgb(travelled(rgb_to_image(rgb, HEADER))), rgb)


def test_images_that_cannot_be_read_are_refused() -> None:
    good = {"height": 2, "width": 2, "encoding": "rgb8", "step": 6, "data": bytes(12)}
    assert "'yuv422'" in sentence(lambda: image_to_rgb(Image(**good | {"encoding": "yuv422"})))
    assert "step of 5" in sentence(lambda: image_to_rgb(Image(**good | {"step": 5})))
    assert "11 bytes" in sentence(lambda: image_to_rgb(Image(**good | {"data": bytes(11)})))
    assert "empty (0x0)" in sentence(lambda: image_to_rgb(Image(encoding="rgb8")))
    assert "rows of" in sentence(lambda: image_to_rgb(Image(**good | {"height": 4_000_000_000})))
    assert "mono8" in sentence(lambda: image_to_mask(Image(**good)))
    assert "32FC1 or 16UC1" in sentence(lambda: image_to_depth(Image(**good)))
    depth = {"height": 1, "width": 1, "encoding": "32FC1", "step": 4, "data": bytes(4), "is_bigendian": 1}
    assert "big-endian" in sentence(lambda: image_to_depth(Image(**depth)))


# -- calibration and poses -------------------------------------------------------------------------


@given(st.floats(0.11, 99.0), st.integers(1, 4000), st.integers(1, 4000))
def test_intrinsics_come_back_exactly(focal_share: float, width: int, height: int) -> None:
    K = intrinsics(focal_share * max(width, height), width, height)
    assert np.array_equal(
        info_to_intrinsics(travelled(intrinsics_to_info(K, (width, height), HEADER)), (width, height)), K
    )


def test_a_calibration_that_does_not_fit_is_refused() -> None:
    info = intrinsics_to_info(intrinsics(600.0, 640, 480), (640, 480), HEADER)
    assert "640x480" in sentence(lambda: info_to_intrinsics(info, (320, 240)))
    assert "no calibration" in sentence(lambda: info_to_intrinsics(CameraInfo(width=640, height=480), (640, 480)))
    info.k[0] = float("nan")
    assert "no calibration" in sentence(lambda: info_to_intrinsics(info, (640, 480)))


UNIT = st.floats(-1.0, 1.0)
QUATERNIONS = st.tuples(UNIT, UNIT, UNIT, UNIT).filter(lambda q: np.linalg.norm(q) > 1e-3)


@given(st.tuples(*[st.floats(-10.0, 10.0)] * 3), QUATERNIONS)
def test_a_pose_comes_back(position: tuple[float, ...], quaternion: tuple[float, ...]) -> None:
    T = pose(matrix_from_quat_wxyz(quaternion), position)
    message = travelled(matrix_to_pose(T))
    q = message.orientation
    assert np.linalg.norm([q.w, q.x, q.y, q.z]) == pytest.approx(1.0)
    np.testing.assert_allclose(pose_to_matrix(message), T, atol=1e-11)
    assert pose_to_matrix(travelled(matrix_to_pose(carried(T)))).tobytes() == carried(T).tobytes()


def test_a_quaternion_is_normalised_and_nonsense_refused() -> None:
    message = Pose()
    message.orientation.w = 2.0
    assert np.array_equal(pose_to_matrix(message), np.eye(4))
    message.orientation.w = 0.0
    assert "zero" in sentence(lambda: pose_to_matrix(message))
    message.orientation.w, message.position.x = 1.0, float("nan")
    assert "NaN" in sentence(lambda: pose_to_matrix(message))
    message.position.x, message.orientation.z = 0.0, float("inf")
    assert "NaN" in sentence(lambda: pose_to_matrix(message))
    assert "NaN" in sentence(lambda: matrix_to_pose(np.full((4, 4), np.nan)))


# -- clouds ----------------------------------------------------------------------------------------


@given(SHAPES.flatmap(lambda s: arrays.arrays(np.float32, (s[0] * s[1], 3), elements=FLOATS)))
def test_a_cloud_comes_back_to_the_last_bit(cloud: np.ndarray) -> None:
    message = travelled(cloud_to_message(cloud, (len(cloud), 1), HEADER))
    assert message.is_dense == bool(np.isfinite(cloud).all())
    assert np.array_equal(message_to_cloud(message), cloud, equal_nan=True)


def test_a_cloud_of_an_image_keeps_its_rows() -> None:
    cloud = np.zeros((12, 3), np.float32)
    assert (lambda m: (m.width, m.height))(cloud_to_message(cloud, (4, 3), HEADER)) == (4, 3)
    assert (lambda m: (m.width, m.height))(cloud_to_message(cloud, (5, 3), HEADER)) == (12, 1)
    assert message_to_cloud(cloud_to_message(cloud[:0], (5, 3), HEADER)).shape == (0, 3)


@given(
    order=st.permutations("xyz"),
    doubles=st.sets(st.sampled_from("xyz")),
    gap=st.integers(0, 7),
    padding=st.integers(0, 9),
    size=SHAPES,
)
def test_a_cloud_of_another_layout_is_read(
    order: list[str], doubles: set[str], gap: int, padding: int, size: tuple[int, int]
) -> None:
    height, width = size
    values = np.random.default_rng(1).random((height, width, 3)).astype(np.float32)
    offset, fields, layout = gap, [], {}
    for name in order:
        kind, code = (PointField.FLOAT64, "<f8") if name in doubles else (PointField.FLOAT32, "<f4")
        fields.append(PointField(name=name, offset=offset, datatype=kind, count=1))
        layout[name] = (code, offset)
        offset += np.dtype(code).itemsize + gap
    points = np.zeros((height, width), _dtype(layout, offset))
    for index, name in enumerate("xyz"):
        points[name] = values[..., index]
    rows = np.frombuffer(points.tobytes(), np.uint8).reshape(height, width * offset)
    data = np.pad(rows, ((0, 0), (0, padding)), constant_values=9).tobytes()
    message = PointCloud2(
        height=height, width=width, fields=fields, point_step=offset, row_step=width * offset + padding, data=data
    )
    assert np.array_equal(message_to_cloud(travelled(message)), values.reshape(-1, 3))


def _dtype(layout: dict[str, tuple[str, int]], size: int) -> np.dtype[Any]:
    return np.dtype(
        {
            "names": list(layout),
            "formats": [code for code, _ in layout.values()],
            "offsets": [offset for _, offset in layout.values()],
            "itemsize": size,
        }
    )


def test_clouds_that_cannot_be_read_are_refused() -> None:
    def cloud(**changes: Any) -> PointCloud2:
        message = cloud_to_message(np.zeros((4, 3), np.float32), (2, 2), HEADER)
        for name, value in changes.items():
            setattr(message, name, value)
        return message

    x, y, z = cloud().fields
    assert "big-endian" in sentence(lambda: message_to_cloud(cloud(is_bigendian=True)))
    assert "no field y" in sentence(lambda: message_to_cloud(cloud(fields=[x, z])))
    whole = PointField(name="z", offset=8, datatype=PointField.INT32, count=1)
    assert "field z" in sentence(lambda: message_to_cloud(cloud(fields=[x, y, whole])))
    beyond = PointField(name="z", offset=9, datatype=PointField.FLOAT32, count=1)
    assert "ends at 13" in sentence(lambda: message_to_cloud(cloud(fields=[x, y, beyond])))
    assert "row_step of 20" in sentence(lambda: message_to_cloud(cloud(row_step=20)))
    assert "48 bytes" in sentence(lambda: message_to_cloud(cloud(height=3)))


def test_a_cloud_in_millimetres_is_refused() -> None:
    cloud = np.array([[100.0, 200.0, 900.0], [120.0, 210.0, 950.0], [np.nan] * 3], np.float32)
    assert "seems to be in millimetres" in sentence(lambda: message_to_cloud(cloud_to_message(cloud, (3, 1), HEADER)))


# -- frames ----------------------------------------------------------------------------------------


@pytest.fixture
def frame() -> Frame:
    rng = np.random.default_rng(2)
    depth = rng.uniform(0.5, 2.0, (48, 64)).astype(np.float32)
    depth[:3] = np.nan
    T = pose(matrix_from_quat_wxyz([0.3, -0.2, 0.9, 0.1]), [0.4, 0.1, 0.9])
    return Frame(rng.integers(0, 256, (48, 64, 3), np.uint8), depth, intrinsics(66.0, 64, 48), T, 12.346)


def message_of(frame: Frame) -> Any:
    message = GetDepth.Response()
    put_frame(message, frame)
    return travelled(message)


@pytest.mark.parametrize("camera", ["scene", "wrist"])
def test_a_frame_comes_back(frame: Frame, camera: str) -> None:
    robot = np.zeros(frame.depth.shape, bool)
    robot[40:, 20:30] = True
    frame = without_robot(replace(frame, camera=camera), robot)
    found = take_frame(message_of(frame))
    assert np.array_equal(found.robot, robot), "why depth is unknown travels with it"
    assert (found.stamp, found.camera, found.stamp_ns) == (frame.stamp, camera, 12_346_000_000)
    assert found.frame_id == OPTICAL_FRAMES[camera]
    assert np.array_equal(found.rgb, frame.rgb)
    assert np.array_equal(found.depth, frame.depth, equal_nan=True)
    assert np.array_equal(found.K, frame.K)
    np.testing.assert_allclose(found.T_base_camera, frame.T_base_camera, atol=1e-14)


@given(st.integers(0, 2**31 * 10**9 - 1))
def test_a_stamp_keeps_every_nanosecond(stamp_ns: int) -> None:
    assert nanoseconds(travelled(time_message(stamp_ns))) == stamp_ns


def test_a_frame_that_came_in_messages_leaves_as_it_came(frame: Frame) -> None:
    message = message_of(frame)
    message.image.header.stamp = message.depth.header.stamp = time_message(1_700_000_000_123_456_789)
    message.image.header.frame_id = "my_camera"
    again = header_of(take_frame(message))
    assert (nanoseconds(again.stamp), again.frame_id) == (1_700_000_000_123_456_789, "my_camera")


def test_what_does_not_belong_together_is_refused(frame: Frame) -> None:
    def changed(change: Callable[[Any], None]) -> str:
        message = message_of(frame)
        change(message)
        return sentence(lambda: take_frame(message))

    other = depth_to_image(frame.depth[:-1], header_of(frame))
    assert "64x47" in changed(lambda m: setattr(m, "depth", other))
    assert "different stamps" in changed(lambda m: setattr(m.depth.header, "stamp", time_message(1)))
    assert "camera_pose is missing" in changed(lambda m: setattr(m.camera_pose.header, "frame_id", ""))
    assert "camera_info" in changed(lambda m: setattr(m, "camera_info", CameraInfo()))


def test_a_request_with_an_image_that_has_distortion_is_refused(frame: Frame) -> None:
    message = message_of(frame)
    message.camera_info.d = [-0.3, 0.09, 0.0, 0.0, 0.0]
    assert "has distortion" in sentence(lambda: take_frame(message))


def test_a_frame_without_depth_has_unknown_depth(frame: Frame) -> None:
    message = message_of(frame)
    message.depth = Image()
    assert np.isnan(take_frame(message).depth).all()


def test_a_frame_is_of_the_camera_that_was_asked(frame: Frame) -> None:
    message = message_of(frame)
    message.image.header.frame_id = "camera_color_optical_frame"  # of a RealSense, which may be anywhere
    assert (take_frame(message).camera, take_frame(message, "wrist").camera) == ("scene", "wrist")


def test_the_same_image_is_the_same_frame(frame: Frame) -> None:
    memory = FrameMemory()
    first = memory.take(message_of(frame))
    assert isinstance(first, RosFrame)
    assert memory.take(message_of(frame)) is first
    darker = replace(frame, rgb=frame.rgb // np.uint8(2))
    nearer = replace(frame, depth=frame.depth - np.float32(0.001))
    assert len({id(memory.take(message_of(one))) for one in (frame, darker, nearer, replace(frame, stamp=13.0))}) == 4
    assert memory.take(message_of(frame)) is first
