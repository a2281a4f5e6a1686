"""RGB-D images of real cameras, and of recorded runs, as data for the mock robot and as a camera."""

import io
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.writer import IndexType, Writer
from numpy.typing import NDArray
from PIL import Image

from rclpy_zenoh.interfaces import deserialize, serialize
from tests.refusals import refused
from toolhand.agent_node.runs.mcap import ros_messages as ros
from toolhand.agent_node.runs.mcap.frames import recorded_frames
from toolhand.sim.mock.camera import RecordedCamera
from toolhand.sim.mock.data import read_dataset
from toolhand.sim.mock.recording import record_frame
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.camera_names import ZED
from toolhand.tool_nodes.geometry import matrix_from_quat_wxyz, pose, rotation_z
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Frame

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def seen() -> Frame:
    return record_frame(3, (160, 120)).frame


@pytest.fixture
def folder(tmp_path: Path, seen: Frame) -> Path:
    """Two images of a real camera: depth as 16-bit PNG and as an array in the same unit."""
    for part in ("rgb", "depth"):
        (tmp_path / "real" / part).mkdir(parents=True)
    units = np.rint(np.nan_to_num(seen.depth) * 5000.0).astype(np.uint16)
    for name in ("000", "001"):
        Image.fromarray(seen.rgb).save(tmp_path / "real" / "rgb" / f"{name}.png")
    Image.fromarray(units).save(tmp_path / "real" / "depth" / "000.PNG", "PNG")
    np.save(tmp_path / "real" / "depth" / "001.npy", units)
    about = {"K": seen.K.tolist(), "T_base_camera": seen.T_base_camera.tolist(), "depth_scale": 5000}
    (tmp_path / "real" / "intrinsics.json").write_text(json.dumps(about), encoding="utf-8")
    return tmp_path / "real"


def about(folder: Path, **changed: Any) -> None:
    """Other entries in a folder's intrinsics.json."""
    path = folder / "intrinsics.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changed), encoding="utf-8")


def test_a_folder_of_images_becomes_a_data_set_that_the_tools_look_at(cli: Cli, folder: Path, seen: Frame) -> None:
    ended = cli("mock", "import", str(folder), "imported")
    assert (ended.status, ended.err) == (0, "")
    dataset = read_dataset("imported")
    assert dataset.n == 2
    for index in range(2):
        frame = dataset.frame(index).frame
        assert np.array_equal(frame.rgb, seen.rgb)
        assert np.allclose(frame.depth, seen.depth, atol=0.0007, equal_nan=True)
        assert np.allclose(frame.T_base_camera, seen.T_base_camera)
        assert frame.ids is None
    looked = (
        "call",
        "auto_segment",
        '{"image_index": 0}',
        "--station",
        "mock",
        "--data",
        "imported",
        "--perception",
        "pixels",
    )
    assert cli(*looked).status == 0


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda at: (at / "intrinsics.json").unlink(), "intrinsics.json is missing: it holds K, T_base_camera"),
        (
            lambda at: (at / "intrinsics.json").write_text('{"K": 1}'),
            "must be an object with the keys K and T_base_camera",
        ),
        (lambda at: (at / "depth" / "001.npy").unlink(), "depth has no 001.png or 001.npy"),
        (lambda at: Image.new("L", (160, 120)).save(at / "depth" / "000.PNG"), "depth must be 16-bit grey"),
        (lambda at: np.save(at / "depth" / "001.npy", np.zeros((5, 5))), "but the sizes differ"),
        (lambda at: (at / "depth" / "001.npy").write_bytes(b"no"), "it is no complete array of numbers"),
        (lambda at: [path.unlink() for path in (at / "rgb").iterdir()], "must hold 1 to 1000 PNG or JPEG pictures"),
        (lambda at: about(at, depth_scale=0.001), "how many units a metre has"),
        (lambda at: about(at, K=np.diag([0.9, 0.9, 1.0]).tolist()), "shares of the picture"),
        (lambda at: about(at, K=[[500, 0, 319], [0, 500, 239], [0, 0, 1]]), "outside the picture"),
        (lambda at: about(at, T_base_camera=np.zeros((4, 4)).tolist()), "T_base_camera must be rigid"),
        (lambda at: about(at, T_base_camera=pose(np.eye(3), [800.0, 0.0, 0.0]).tolist()), "800 m from the robot"),
        (lambda at: np.save(at / "depth" / "001.npy", np.full((120, 160), 65535, np.uint16)), "has depth"),
    ],
)
def test_what_is_wrong_with_a_folder_is_one_sentence(
    cli: Cli, folder: Path, spoil: Callable[[Path], object], sentence: str
) -> None:
    spoil(folder)
    ended = cli("mock", "import", str(folder), "imported")
    assert ended.status == 2
    assert sentence in " ".join(ended.err.split())
    assert not Path("imported").exists()


def write_mcap(path: Path, messages: list[tuple[str, str, bytes, int]], **options: Any) -> None:
    """A file as rosbag2 writes it: (topic, type, packet, time [ns])."""
    with path.open("wb") as stream:
        writer = Writer(stream, **options)
        writer.start()
        channels: dict[str, int] = {}
        for topic, kind, packet, at in messages:
            if topic not in channels:
                schema = writer.register_schema(kind, "ros2msg", ros.definition(kind).encode())
                channels[topic] = writer.register_channel(topic, "cdr", schema)
            writer.add_message(channels[topic], at, packet, at)
        writer.finish()


def image(at: int, frame: str, pixels: NDArray[Any], encoding: str) -> bytes:
    height, width = pixels.shape[:2]
    data = np.ascontiguousarray(pixels).view(np.uint8).reshape(-1)
    head = ros.header(at, frame)
    return ros.packet(
        ros.IMAGE, header=head, height=height, width=width, encoding=encoding, step=data.size // height, data=data
    )


def transform(at: int, parent: str, child: str, T: NDArray[np.float64]) -> Any:
    from scipy.spatial.transform import Rotation

    message = ros.message(ros.TRANSFORM, header=ros.header(at, parent), child_frame_id=child)
    place, turn = message.transform.translation, message.transform.rotation
    place.x, place.y, place.z = T[:3, 3].tolist()
    turn.x, turn.y, turn.z, turn.w = Rotation.from_matrix(T[:3, :3]).as_quat().tolist()
    return message


def driver_messages(seen: Frame) -> tuple[list[tuple[str, str, bytes, int]], NDArray[np.float64]]:
    """What a ZED's wrapper publishes, twice, with the camera on a mount that moves between; the second pose."""
    names, base_mount = ZED["new"], pose(rotation_z(0.3), np.array([0.1, 0.0, 0.5]))
    mount_camera = np.linalg.inv(base_mount) @ seen.T_base_camera
    bgra = np.dstack([seen.rgb[:, :, ::-1], np.full(seen.rgb.shape[:2], 255, np.uint8)])
    fixed = ros.packet(ros.TF_MESSAGE, transforms=[transform(0, "mount", names.optical_frame, mount_camera)])
    messages = [("/tf_static", ros.TF_MESSAGE, fixed, 0)]
    moved = pose(rotation_z(0.5), np.array([0.1, 0.1, 0.5]))
    for at, T in ((1_000_000_000, base_mount), (2_000_000_000, moved)):
        head = ros.header(at, names.optical_frame)
        info = ros.packet(ros.CAMERA_INFO, header=head, height=120, width=160, k=seen.K.reshape(9))
        tf = ros.packet(ros.TF_MESSAGE, transforms=[transform(at, "base_link", "mount", T)])
        depth = image(at + 5_000_000, names.optical_frame, seen.depth, "32FC1")
        messages += [
            ("/tf", ros.TF_MESSAGE, tf, at),
            (names.topics.camera_info, ros.CAMERA_INFO, info, at),
            (names.topics.image, ros.IMAGE, image(at, names.optical_frame, bgra, "bgra8"), at),
            (names.topics.depth, ros.IMAGE, depth, at),
        ]
    return messages, moved @ mount_camera


def test_a_recording_of_a_drivers_topics_becomes_frames_with_the_pose_of_their_moment(
    tmp_path: Path, seen: Frame, cli: Cli
) -> None:
    messages, second = driver_messages(seen)
    write_mcap(tmp_path / "zed.mcap", messages)
    frames = list(recorded_frames(tmp_path / "zed.mcap"))
    assert len(frames) == 2
    for frame, T in zip(frames, (seen.T_base_camera, second), strict=True):
        assert np.array_equal(frame.rgb, seen.rgb)
        assert np.array_equal(frame.depth, seen.depth, equal_nan=True)
        assert np.allclose(frame.T_base_camera, T, atol=1e-9)
        assert np.array_equal(frame.K, seen.K)
    assert cli("mock", "import", str(tmp_path / "zed.mcap"), "zed").status == 0
    assert read_dataset("zed").n == 2


def test_a_run_with_depth_is_looked_at_again(tmp_path: Path, cli: Cli) -> None:
    words = ("run", "pick up the red box", "--scene", "3", "--record-depth")
    cli(*words)
    (path,) = tmp_path.rglob("run.mcap")
    frames = list(recorded_frames(path))
    assert len(frames) >= 2
    assert all(np.isfinite(frame.depth).mean() > 0.5 for frame in frames)
    with pytest.raises(ToolError, match="holds no colour pictures with depth of the wrist camera"):
        list(recorded_frames(path, "wrist"))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda m: [e for e in m if e[0] != "/tf_static"], "base_link is unknown"),
        (lambda m: [e for e in m if "depth" not in e[0]], "no colour pictures with depth"),
        (lambda m: [e for e in m if "info" not in e[0]], "No colour picture and calibration"),
    ],
)
def test_what_a_recording_lacks_is_one_sentence(
    tmp_path: Path, seen: Frame, change: Callable[[Any], Any], sentence: str
) -> None:
    write_mcap(tmp_path / "zed.mcap", change(driver_messages(seen)[0]))
    with refused(ErrorCode.INVALID_ARGUMENT, sentence):
        list(recorded_frames(tmp_path / "zed.mcap"))


def spoilt_info(**changed: Any) -> Callable[[list[Any]], list[Any]]:
    """Every calibration with other fields."""

    def change(messages: list[Any]) -> list[Any]:
        info = ros.get_class(ros.CAMERA_INFO)
        found = []
        for topic, kind, packet, at in messages:
            if kind == ros.CAMERA_INFO:
                message = deserialize(packet, info)
                for name, value in changed.items():
                    setattr(message, name, value)
                packet = bytes(serialize(message))
            found.append((topic, kind, packet, at))
        return found

    return change


def with_depth(of: Callable[[NDArray[np.float32]], NDArray[Any]], encoding: str) -> Callable[[list[Any]], list[Any]]:
    """Every depth image as a driver with other manners sends it."""

    def change(messages: list[Any]) -> list[Any]:
        depth = ZED["new"].topics.depth
        seen = record_frame(3, (160, 120)).frame
        return [
            (topic, kind, image(at + 5_000_000, ZED["new"].optical_frame, of(seen.depth), encoding), at)
            if topic == depth
            else (topic, kind, packet, at)
            for topic, kind, packet, at in messages
        ]

    return change


def stampless(messages: list[Any]) -> list[Any]:
    """The images of a driver that leaves its stamps at 0."""
    found = []
    for topic, kind, packet, at in messages:
        if kind in (ros.IMAGE, ros.CAMERA_INFO):
            message = deserialize(packet, ros.get_class(kind))
            message.header.stamp.sec = message.header.stamp.nanosec = 0
            packet = bytes(serialize(message))
        found.append((topic, kind, packet, at))
    return found


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (spoilt_info(distortion_model="equidistant", d=[0.1, 0.0, 0.0, 0.0]), "P, the matrix of that picture"),
        (spoilt_info(width=320, height=240), "320x240"),
        (spoilt_info(k=np.diag([0.9, 0.9, 1.0]).reshape(9)), "shares of the picture"),
        (with_depth(lambda depth: (depth * 1000.0).astype(np.float32), "32FC1"), "millimetres"),
        (with_depth(lambda depth: np.full(depth.shape, 65535, np.uint16), "16UC1"), "has depth"),
        (with_depth(lambda depth: np.full(depth.shape, np.nan, np.float32), "32FC1"), "has depth"),
        (with_depth(lambda depth: depth[::2, ::2], "32FC1"), "80x60"),
        (stampless, "several pictures with the stamp 0"),
    ],
)
def test_what_the_live_camera_refuses_is_not_imported_either(
    tmp_path: Path, seen: Frame, change: Callable[[Any], Any], word: str
) -> None:
    write_mcap(tmp_path / "zed.mcap", change(driver_messages(seen)[0]))
    with refused(ErrorCode.INVALID_ARGUMENT, word):
        list(recorded_frames(tmp_path / "zed.mcap"))


def under_world(messages: list[Any]) -> list[Any]:
    """Base and camera as siblings below a frame of their own, as many stations have them."""
    world = pose(rotation_z(-0.4), np.array([1.0, 2.0, 0.0]))
    root = ros.packet(ros.TF_MESSAGE, transforms=[transform(0, "world", "base_link", world)])
    found = []
    for topic, kind, packet, at in messages:
        if topic == "/tf":
            message = deserialize(packet, ros.get_class(kind))
            (moved,) = message.transforms
            turn, place = moved.transform.rotation, moved.transform.translation
            mount = pose(matrix_from_quat_wxyz([turn.w, turn.x, turn.y, turn.z]), [place.x, place.y, place.z])
            packet = ros.packet(ros.TF_MESSAGE, transforms=[transform(at, "world", "mount", world @ mount)])
        found.append((topic, kind, packet, at))
    return [("/tf_static", ros.TF_MESSAGE, root, 0), *found]


def packed(messages: list[Any]) -> list[Any]:
    """Colours as PNG, and depth as compressedDepth packs millimetres."""
    found = []
    for topic, kind, packet, at in messages:
        if kind == ros.IMAGE:
            message = deserialize(packet, ros.get_class(kind))
            deep = message.encoding == "32FC1"
            shape = message.height, message.width
            if deep:
                metres = np.frombuffer(bytes(message.data), np.float32).reshape(shape)
                image = Image.fromarray(np.rint(np.nan_to_num(metres) * 1000.0).astype(np.uint16))
            else:
                image = Image.fromarray(np.frombuffer(bytes(message.data), np.uint8).reshape(*shape, 4)[:, :, 2::-1])
            with io.BytesIO() as stream:
                image.save(stream, "PNG")
                data = (struct.pack("<iff", 0, 0.0, 0.0) if deep else b"") + stream.getvalue()
            name = "16UC1; compressedDepth png" if deep else "rgb8; png compressed"
            head = ros.header(at + 5_000_000 * deep, ZED["new"].optical_frame)
            packet = ros.packet(ros.COMPRESSED_IMAGE, header=head, format=name, data=np.frombuffer(data, np.uint8))
            topic, kind = f"{topic}/compressed{'Depth' * deep}", ros.COMPRESSED_IMAGE
        found.append((topic, kind, packet, at))
    return found


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (under_world, {}),
        (packed, {}),
        (list, {"use_chunking": False}),
        (list, {"use_chunking": False, "use_statistics": False, "use_summary_offsets": False}),
        (
            list,
            {"use_statistics": False, "repeat_channels": False, "repeat_schemas": False, "index_types": IndexType.NONE},
        ),
    ],
    ids=["siblings in tf", "compressed", "unchunked", "unchunked without statistics", "without an index"],
)
def test_a_recording_in_another_usual_form_gives_the_same_frames(
    tmp_path: Path, seen: Frame, change: Callable[[Any], Any], options: dict[str, Any]
) -> None:
    messages, second = driver_messages(seen)
    (tmp_path / "bag").mkdir()
    write_mcap(tmp_path / "bag" / "bag_0.mcap", change(messages), **options)
    frames = list(recorded_frames(tmp_path / "bag"))
    assert [frame.stamp for frame in frames] == [1.0, 2.0]
    for frame, T in zip(frames, (seen.T_base_camera, second), strict=True):
        assert np.array_equal(frame.rgb, seen.rgb)
        assert np.allclose(frame.depth, seen.depth, atol=6e-4, equal_nan=True)
        assert np.allclose(frame.T_base_camera, T, atol=1e-9)


def test_an_image_that_cannot_be_used_is_left_out_with_a_word_and_the_others_stay(tmp_path: Path, seen: Frame) -> None:
    messages = driver_messages(seen)[0]
    first = next(k for k, (topic, *_) in enumerate(messages) if topic == ZED["new"].topics.depth)
    messages[first] = with_depth(lambda depth: np.full(depth.shape, np.nan, np.float32), "32FC1")([messages[first]])[0]
    write_mcap(tmp_path / "zed.mcap", messages)
    told: list[str] = []
    assert len(list(recorded_frames(tmp_path / "zed.mcap", left_out=told.append))) == 1
    assert "has depth" in " ".join(told)


def test_a_damaged_file_is_refused(tmp_path: Path, seen: Frame) -> None:
    path = tmp_path / "zed.mcap"
    write_mcap(path, driver_messages(seen)[0])
    for data in (path.read_bytes()[:5000], b"\x89MCAP0\r\n", b"something"):
        path.write_bytes(data)
        with refused(ErrorCode.INVALID_ARGUMENT):
            list(recorded_frames(path))


def test_a_data_set_is_a_camera_by_name(cli: Cli, folder: Path, seen: Frame) -> None:
    cli("mock", "import", str(folder), "imported")
    camera = registry.make("camera", "recorded:imported", camera="wrist")
    assert isinstance(camera, RecordedCamera)
    first, second, third = (camera.capture() for _ in range(3))
    assert first.camera == "wrist"
    assert first.stamp <= second.stamp <= third.stamp
    assert np.array_equal(third.rgb, seen.rgb)
    with pytest.raises(ToolError, match="There is no folder"):
        registry.make("camera", "recorded:nowhere")
