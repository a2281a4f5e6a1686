"""The camera node as a program: where the wrist camera sits, and a driver that falls silent."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rclpy.time import Time
from sensor_msgs.msg import CameraInfo, Image
from tf2_ros import Buffer, StaticTransformBroadcaster, TransformListener
from toolhand_interfaces.srv import CaptureImage

from rclpy_zenoh.launch import declared_arguments
from tests.gen3 import GEN3
from toolhand.sim.camera.ray import camera_pose, wrist_camera
from toolhand.sim.station import Station
from toolhand.tool_nodes.camera_names import WRIST, WRIST_LINK
from toolhand.tool_nodes.geometry import invert, pose
from toolhand.tool_nodes.nodes.camera_node import SILENT_DEADLINES, mount_pose
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.calibrated_frames import transform_message
from toolhand.tool_nodes.ros.calling import Deadlines, Service
from toolhand.tool_nodes.ros.messages import rigid

ROOT = Path(__file__).parents[3]
DEADLINES = Deadlines(availability_s=60.0, response_s=60.0)
ARGUMENTS = {argument.name: argument for argument in declared_arguments(ROOT / "launch" / "kinova.launch.yaml")}
MOUNT = str(ARGUMENTS["wrist_mount"].default)


@pytest.fixture(scope="module")
def program(start: Any) -> Any:
    options = ["-r", "__ns:=/deaf", "-p", "availability_deadline_s:=0.3", "-p", f"wrist_mount:='{MOUNT}'"]
    return start("toolhand.tool_nodes.nodes.camera_node", "--ros-args", *options)


def simulated_mount(station: Station) -> np.ndarray:
    """The wrist camera's optical frame in the link that carries it (4, 4), as the simulator has it."""
    model, data = station.world.model, station.world.data
    carrier = data.body(GEN3.tip_frame)
    return invert(pose(carrier.xmat.reshape(3, 3), carrier.xpos)) @ camera_pose(model, data, wrist_camera(GEN3))


def test_the_mount_of_the_launch_file_is_where_the_simulators_camera_sits(station: Station) -> None:
    # kinova_vision's color frame is its camera_link: it publishes zeros between them.
    np.testing.assert_allclose(mount_pose(MOUNT), simulated_mount(station), atol=1e-9)


def test_roll_pitch_and_yaw_are_those_of_a_urdf() -> None:
    quarter = np.pi / 2.0
    R = mount_pose(f"1 2 3 {quarter} 0 {quarter}")[:3, :3]  # first about x, then about the parent's z
    np.testing.assert_allclose(R @ [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(R @ [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], atol=1e-12)


def test_with_kinovas_driver_the_wrist_cameras_pose_is_known(
    program: Any, make_node: Any, wait_until: Any, station: Station
) -> None:
    node = make_node("kinova_vision")
    driver = StaticTransformBroadcaster(node)
    message = transform_message(np.eye(4), WRIST_LINK, WRIST.optical_frame)
    driver.sendTransform(message)
    buffer = Buffer(node=node)
    TransformListener(buffer, node)
    frames = GEN3.tip_frame, WRIST.optical_frame
    wait_until(lambda: buffer.can_transform(*frames, Time()), "the camera hangs on the arm")
    found = buffer.lookup_transform(*frames, Time()).transform
    p, q = found.translation, found.rotation
    np.testing.assert_allclose(rigid((p.x, p.y, p.z), (q.w, q.x, q.y, q.z)), simulated_mount(station), atol=1e-9)


def test_it_ends_after_answering_when_a_driver_that_is_there_stays_silent(
    program: Any, make_node: Any, wait_until: Any
) -> None:
    driver, caller = make_node("silent_driver"), make_node("caller")
    topics = WRIST.topics
    driver.create_publisher(Image, topics.image, 1)
    driver.create_publisher(Image, topics.depth, 1)
    driver.create_publisher(CameraInfo, topics.camera_info, 1)
    look = Service(caller, CaptureImage, "/deaf/capture_image", DEADLINES)

    def silent() -> bool:
        with pytest.raises(ToolError) as caught:
            look(CaptureImage.Request(camera="wrist"))
        assert caught.value.code is ErrorCode.UNAVAILABLE
        return f"nothing came on {topics.image}" in caught.value.message

    wait_until(silent, "the node knows the driver")
    assert all(silent() for _ in range(SILENT_DEADLINES - 1))
    status, _, err = program.wait()
    assert status == 1
    assert "heard nothing of a camera whose driver is there" in err
    assert "Traceback" not in err
