"""The nodes as programs and as services that anybody may call: start, parameters, requests, end."""

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rclpy.node import Node
from toolhand_interfaces.srv import (
    CaptureImage,
    ComputeBoundingBox,
    ComputeGrasp,
    DetectBoxes,
    DetectPoints,
    EstimateDepth,
    GetDepth,
    Segment,
)
from vision_msgs.msg import BoundingBox2D, Point2D

from toolhand.sim.station import Station
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.geometry import backproject
from toolhand.tool_nodes.registry import Setting
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.calling import Deadlines, Service
from toolhand.tool_nodes.ros.messages import (
    box_to_message,
    cloud_to_message,
    header_of,
    image_to_depth,
    image_to_mask,
    image_to_rgb,
    mask_to_image,
    message_to_cloud,
    put_frame,
)
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Frame, PointPrompt

SCRIPT = str(Path(__file__).with_name("nodes_process.py"))
DEADLINES = Deadlines(availability_s=60.0, response_s=60.0)

LAST_SERVICES = {
    "camera": "get_depth",
    "pointing": "detect_boxes",
    "segmentation": "segment",
    "depth": "estimate_depth",
    "bounding_box": "compute_bounding_box",
    "grasping": "compute_grasp",
}
"""The service that each node makes last."""


# -- programs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAST_SERVICES)
def test_a_node_starts_and_ends_quietly(start: Any, make_node: Any, wait_until: Any, name: str) -> None:
    watcher = make_node(f"watcher_of_{name}")
    program = start(f"toolhand.tool_nodes.nodes.{name}_node", "--ros-args", "-r", f"__ns:=/lonely_{name}")
    service = f"/lonely_{name}/{LAST_SERVICES[name]}"
    wait_until(lambda: service in dict(watcher.get_service_names_and_types()), f"{service} is there")
    program.process.send_signal(signal.SIGTERM if name == "camera" else signal.SIGINT)
    status, out, err = program.wait()
    assert "Traceback" not in err
    assert (status, out) == (0, "")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_while_a_node_is_made_ends_it_quietly(start: Any, name: str) -> None:
    status, out, err = start(str(Path(__file__).with_name("interrupted_node.py")), name).wait()
    assert (status, out, err) == (0, "", "")


def test_what_was_destroyed_meanwhile_does_not_end_a_node(start: Any) -> None:
    program = start(str(Path(__file__).with_name("ending_node.py")), "InvalidHandle")
    program.expect("again")
    program.process.send_signal(signal.SIGINT)
    status, _, err = program.wait()
    assert status == 0
    assert "Spinning goes on after: destruction was requested" in err


def test_a_node_that_can_only_begin_anew_ends_with_one_sentence(start: Any) -> None:
    status, out, err = start(str(Path(__file__).with_name("ending_node.py")), "Unrecoverable").wait()
    assert (status, out, err) == (1, "", "It cannot go on.\n")


@pytest.mark.parametrize(
    ("name", "parameter", "words"),
    [
        ("pointing", "perception:=nonsense", "pixels or served or sim"),
        ("segmentation", "segmenter:=nobody", "drawings or pixels or sam2 or sam3 or served or sim"),
        ("grasping", "grasps:=nobody", "analytic"),
        ("depth", "seed:=-1", "0 or more"),
        ("grasping", "seed:=many", "0 or more"),
        ("camera", "availability_deadline_s:=0.0", "must be a finite number above 0"),
        ("camera", "availability_deadline_s:=soon", "must be a finite number above 0"),
        ("camera", "scene.image_topic:=1", "scene.image_topic must be a text"),
        ("camera", "zed_names:=ancient", "zed_names must be new or old"),
        ("camera", "wrist.image_is:=bent", "wrist.image_is must be empty or raw or rectified, not 'bent'"),
        ("camera", "stamp_tolerance_s:=-0.01", "stamp_tolerance_s must be a finite number from 0 to 1"),
        ("camera", "stamp_tolerance_s:=.nan", "stamp_tolerance_s must be a finite number from 0 to 1"),
        ("camera", "wrist_mount:='0 0.05 0'", "wrist_mount must be six numbers"),
        ("camera", "wrist_mount:='0 0 0 0 0 nan'", "wrist_mount must be six numbers"),
    ],
)
def test_a_bad_parameter_ends_with_one_sentence(start: Any, name: str, parameter: str, words: str) -> None:
    status, _, err = start(f"toolhand.tool_nodes.nodes.{name}_node", "--ros-args", "-p", parameter).wait()
    assert status == 2
    assert words in err
    assert err.count("\n") == 1


def test_bad_arguments_end_with_one_sentence(start: Any) -> None:
    status, _, err = start("toolhand.tool_nodes.nodes.depth_node", "--ros-args", "-p", "no equals sign").wait()
    assert status == 2
    assert err.count("\n") == 1


# -- services --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def node(start: Any, fake_camera: Any, make_node: Any) -> Node:
    start(SCRIPT, "--ros-args", "-p", "use_sim_time:=true").expect("ready")
    node: Node = make_node("caller")
    return node


@pytest.fixture(scope="module")
def services(node: Node) -> dict[type, Service]:
    names = {
        CaptureImage: "capture_image",
        GetDepth: "get_depth",
        DetectPoints: "detect_points",
        DetectBoxes: "detect_boxes",
        Segment: "segment",
        EstimateDepth: "estimate_depth",
        ComputeBoundingBox: "compute_bounding_box",
        ComputeGrasp: "compute_grasp",
    }
    return {kind: Service(node, kind, name, DEADLINES) for kind, name in names.items()}


Ask = Callable[..., Any]


@pytest.fixture
def ask(services: dict[type, Service], fake_camera: Any) -> Ask:
    """Calls a service with the camera's frame, or another one, and further fields."""
    services[CaptureImage](CaptureImage.Request())  # so that the simulated perception knows the image's ids

    def call(kind: Any, frame: Frame | None = fake_camera.frame, **values: Any) -> Any:
        request = kind.Request(**values)
        if frame is not None and hasattr(request, "camera_pose"):
            put_frame(request, frame)
        return services[kind](request)

    return call


def refused(ask: Ask, kind: Any, *arguments: Any, **values: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        ask(kind, *arguments, **values)
    return caught.value


@pytest.fixture(scope="module")
def mask(station: Station) -> np.ndarray:
    frame = station.camera.capture()
    image = SessionImage(frame.rgb, frame)
    point, *_ = station.ports.pointer.point(image, "coconut water").value
    return station.ports.segmenter.segment(image, PointPrompt([point])).value[0].mask


def test_capture_image_answers_with_everything_about_the_image(ask: Ask, fake_camera: Any) -> None:
    response = ask(CaptureImage)
    assert response.status.message.startswith("Captured 640x480 image")
    assert np.array_equal(image_to_rgb(response.image), fake_camera.frame.rgb)
    assert response.camera_pose.header.frame_id == "base_link"
    assert response.camera_info.header == response.image.header
    assert refused(ask, CaptureImage, camera="ceiling").code is ErrorCode.INVALID_ARGUMENT


def test_get_depth_gives_a_cloud_only_if_asked(ask: Ask, fake_camera: Any) -> None:
    response = ask(GetDepth, with_point_cloud=True, camera="scene")
    frame = fake_camera.frame
    assert np.array_equal(image_to_depth(response.depth), frame.depth, equal_nan=True)
    assert np.array_equal(message_to_cloud(response.point_cloud), backproject(frame.depth, frame.K), equal_nan=True)
    assert response.focal_length == 660.0
    assert response.status.message.startswith("Captured 640x480 depth map and 307,200 3D points.")
    assert image_to_rgb(response.visualization).shape == (480, 640, 3)
    assert not len(ask(GetDepth).point_cloud.data)
    bare = ask(GetDepth, data_only=True)
    assert np.array_equal(bare.depth.data, response.depth.data)
    assert (bare.status.message, len(bare.visualization.data)) == ("", 0)


def test_detect_points_can_give_only_the_best(ask: Ask) -> None:
    every = ask(DetectPoints, object_name="coconut water").points
    one = ask(DetectPoints, object_name="coconut water", only_one=True).points
    assert len(one) == 1
    assert one[0] in every
    assert refused(ask, DetectPoints, object_name="purple elephant").code is ErrorCode.NOT_RECOGNISED


def test_detect_boxes_frames_what_is_seen(ask: Ask, mask: np.ndarray) -> None:
    response = ask(DetectBoxes, text="coconut water")
    found = response.detections.detections
    assert found
    assert found[0].results[0].hypothesis.class_id == "coconut water"
    assert 0.5 < found[0].results[0].hypothesis.score <= 1.0
    rows, columns = np.nonzero(mask)
    boxes = [one.bbox for one in found]
    middles = [(box.center.position.x, box.center.position.y) for box in boxes]
    nearest = int(np.argmin([abs(x - columns.mean()) + abs(y - rows.mean()) for x, y in middles]))
    assert (boxes[nearest].size_x, boxes[nearest].size_y) == (np.ptp(columns) + 1, np.ptp(rows) + 1)
    assert middles[nearest] == ((columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2)
    assert refused(ask, DetectBoxes, text=" ").message == "detect_boxes: text must have 1 to 300 characters, got 0."


def test_segment_takes_points_boxes_or_words(ask: Ask, mask: np.ndarray, fake_camera: Any) -> None:
    (x, y) = (float(value) for value in (np.argwhere(mask).mean(axis=0) + 0.5)[::-1] / fake_camera.frame.size)
    box = BoundingBox2D(size_x=20.0, size_y=20.0)
    box.center.position.x, box.center.position.y = x * 640 - 0.5, y * 480 - 0.5
    by_point = ask(Segment, points=[Point2D(x=x, y=y)])
    by_box = ask(Segment, boxes=[box])
    assert np.array_equal(image_to_mask(by_point.masks[0]), mask)
    assert np.array_equal(image_to_mask(by_box.masks[0]), mask)
    assert len(by_point.scores) == len(by_point.masks)
    assert image_to_mask(ask(Segment, text="rice box").masks[0]).any()
    assert len(ask(Segment, text="coconut water").masks) == 2
    rows, columns = np.nonzero(mask)
    around = box_to_message(columns.min() - 9, rows.min() - 9, columns.max() + 10, rows.max() + 10)
    framed = ask(Segment, boxes=[around, around])
    assert len(framed.masks) == 2
    assert np.array_equal(image_to_mask(framed.masks[0]), mask)
    corner = image_to_mask(ask(Segment, boxes=[box_to_message(0, 0, 640, 480)]).masks[0])
    assert corner.any()
    assert "all are empty" in refused(ask, Segment).message
    assert "points and text" in refused(ask, Segment, points=[Point2D(x=x, y=y)], text="rice box").message
    beyond = box_to_message(700, 10, 720, 30)
    assert "outside the picture" in refused(ask, Segment, boxes=[beyond]).message
    assert refused(ask, Segment, points=[Point2D(x=2.0, y=0.5)]).code is ErrorCode.INVALID_ARGUMENT
    assert refused(ask, Segment, points=[Point2D(x=float("nan"), y=0.5)]).code is ErrorCode.INVALID_ARGUMENT


def test_estimate_depth_gives_a_cloud_only_if_asked(ask: Ask) -> None:
    response = ask(EstimateDepth, with_point_cloud=True)
    cloud = message_to_cloud(response.point_cloud)
    assert np.array_equal(cloud[:, 2], image_to_depth(response.depth).reshape(-1), equal_nan=True)
    assert response.status.message.startswith("Generated 640x480 depth map")
    assert not len(ask(EstimateDepth).point_cloud.data)
    bare = ask(EstimateDepth, data_only=True)
    assert np.array_equal(bare.depth.data, response.depth.data)
    assert (bare.status.message, len(bare.visualization.data)) == ("", 0)


def test_grasps_come_best_first_and_the_node_remembers_none(ask: Ask, mask: np.ndarray, fake_camera: Any) -> None:
    frame = fake_camera.frame
    header = header_of(frame)
    values: dict[str, Any] = {
        "point_cloud": cloud_to_message(backproject(frame.depth, frame.K), frame.size, header),
        "mask": mask_to_image(mask, header),
        "focal_length": 660.0,
    }
    best, again, second = (ask(ComputeGrasp, **values, alternative=k) for k in (0, 0, 1))
    assert best.grasp == again.grasp
    assert best.grasp.header == header
    assert best.grasp.pose != second.grasp.pose
    assert best.score >= second.score
    for changes, code in (
        ({"focal_length": 0.0}, ErrorCode.INVALID_ARGUMENT),
        ({"focal_length": float("nan")}, ErrorCode.INVALID_ARGUMENT),
        ({"mask": mask_to_image(mask[:-1], header)}, ErrorCode.INVALID_ARGUMENT),
        ({"mask": mask_to_image(mask.T, header)}, ErrorCode.INVALID_ARGUMENT),
        ({"mask": mask_to_image(np.zeros_like(mask), header)}, ErrorCode.EMPTY_MASK),
    ):
        assert refused(ask, ComputeGrasp, **values | changes).code is code


def test_a_box_needs_a_mask_and_depth(ask: Ask, mask: np.ndarray, fake_camera: Any) -> None:
    frame = fake_camera.frame
    header = header_of(frame)
    cloud = cloud_to_message(backproject(frame.depth, frame.K), frame.size, header)
    response = ask(ComputeBoundingBox, point_cloud=cloud, mask=mask_to_image(mask, header), focal_length=660.0)
    assert 0.02 < response.extent.z < 0.5
    empty = mask_to_image(np.zeros_like(mask), header)
    error = refused(ask, ComputeBoundingBox, point_cloud=cloud, mask=empty, focal_length=660.0)
    assert error.code is ErrorCode.EMPTY_MASK


def test_a_request_that_cannot_be_read_is_an_invalid_argument(ask: Ask, fake_camera: Any) -> None:
    error = refused(ask, DetectPoints, None, object_name="can")
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert error.message.startswith("detect_points: The camera_pose is missing")
    broken = replace(fake_camera.frame, K=np.zeros((3, 3)))
    assert "no calibration" in refused(ask, EstimateDepth, broken).message


def test_an_image_that_the_simulator_did_not_make_is_told_so(ask: Ask, fake_camera: Any) -> None:
    foreign = replace(fake_camera.frame, stamp=99.0)
    error = refused(ask, DetectPoints, foreign, object_name="coconut water")
    assert error.code is ErrorCode.UNAVAILABLE
    assert "no object ids for the picture of 99.000 s" in error.message
    assert "pixels" in error.hint


def test_another_node_sees_through_the_cameras_of_the_camera_node(node: Node, camera: Any) -> None:
    seen = registry.make("camera", "camera_node", Setting(node=node), camera="scene", deadline_s=5.0).capture()
    assert seen.rgb.tobytes() == camera.frame.rgb.tobytes()
    assert np.array_equal(seen.depth, camera.frame.depth, equal_nan=True)
