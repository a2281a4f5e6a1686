"""The parameters of a node that looks through cameras: where their images are, and how they belong together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval
from rclpy.node import Node
from tf2_ros import Buffer

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.camera_names import DRIVERS, ZED, CameraTopics, names_of
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.motion.self_filter import SelfFilteredCamera, shape_of
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.registry import Setting
from toolhand.tool_nodes.ros import parameters
from toolhand.tool_nodes.ros.messages import BASE_FRAME
from toolhand.tool_nodes.ros.parameters import NonEmpty, one_of
from toolhand.tool_nodes.ros.robot_pose import RobotOnTf
from toolhand.tool_nodes.ros.topic_camera import STAMP_TOLERANCE_S, TopicCamera

_LARGEST_TOLERANCE_S = 1.0
"""Images that are further apart are of different moments, whatever the arm did [s]."""

_ELSEWHERE = "camera_node"
"""Name of the camera that another node has."""


def declare_cameras(
    node: Node,
    cameras: Sequence[str],
    transforms: Buffer,
    deadline_s: float,
    base_frame: str = BASE_FRAME,
    robot: RobotModel | None = None,
    lost: Callable[[], None] = lambda: None,
    usual: str = "topics",
) -> dict[str, Camera]:
    """Cameras by their names, "scene" or "wrist", from the parameters of a node.

    The parameter `NAME.camera` is a name of the group `toolhand.camera`, `usual` where nobody sets it: "topics", or a
    camera of another package, which may ask for the arguments of `topics`. Whatever takes them, the images have no
    depth where they show the robot, as far as /tf has its links.

    Raises:
        ToolError: INVALID_ARGUMENT; what the camera itself raises.
    """
    found = {}
    robot = robot or load_robot()
    shape = shape_of(robot)
    where = RobotOnTf(node, transforms, robot, shape)
    for camera in cameras:
        spec = parameters.one(node, f"{camera}.camera", usual, "What takes its images", NonEmpty)
        made: Camera = registry.make(
            "camera",
            spec,
            Setting(node=node, robot=robot),
            camera=camera,
            transforms=transforms,
            deadline_s=deadline_s,
            base_frame=base_frame,
            lost=lost,
        )
        # The camera node's images are without the robot already.
        found[camera] = made if spec == _ELSEWHERE else SelfFilteredCamera(made, shape, where)
    return found


def topics(
    node: Node,
    camera: str,
    transforms: Buffer,
    deadline_s: float,
    base_frame: str,
    robot: RobotModel | None,
    lost: Callable[[], None],
) -> TopicCamera:
    """The camera of the topics that the parameters of a node name.

    They are `zed_names` ("new" or "old") and `stamp_tolerance_s` of all cameras, `NAME.driver`, one of
    `camera_names.DRIVERS`, and `NAME.image_topic`, `NAME.camera_info_topic` and `NAME.depth_topic`, where an empty text
    means that driver's own name, and `NAME.image_is`, "raw" or "rectified", empty for what the name of the topic says.

    Args:
        node: Has the parameters, and listens.
        camera: "scene" or "wrist".
        transforms: Poses of the frames.
        deadline_s: Longest wait for a complete image [s].
        base_frame: Frame of the robot's base.
        robot: Robot that carries the wrist camera; the default one where None.
        lost: See TopicCamera.

    Raises:
        ToolError: INVALID_ARGUMENT.
    """
    every = parameters.read(node, _Every)
    usual_driver = {"scene": "zed", "wrist": "kinova_vision"}[camera]
    own = parameters.read(node, _Topics, name=lambda field: f"{camera}.{field}", defaults={"driver": usual_driver})
    names = names_of(own.driver, every.zed_names)
    usual = names.topics
    given = CameraTopics(
        own.image_topic or usual.image, own.camera_info_topic or usual.camera_info, own.depth_topic or usual.depth
    )
    return TopicCamera(
        node,
        given,
        transforms,
        deadline_s,
        base_frame,
        every.stamp_tolerance_s,
        robot,
        own.image_is == "rectified" if own.image_is else None,
        lost,
        camera,
        names.registered_by if given.depth == names.topics.depth else "",
    )


@dataclass(frozen=True)
class _Every:
    """Of all cameras of topics.

    Attributes:
        zed_names: Names of zed-ros2-wrapper 5.1 and later ("new"), or older ("old").
        stamp_tolerance_s: How far image and depth of one image may be apart while the arm stands still [s].
    """

    zed_names: Annotated[str, one_of(tuple(ZED))] = "new"
    stamp_tolerance_s: Annotated[float, Interval(ge=0.0, le=_LARGEST_TOLERANCE_S)] = STAMP_TOLERANCE_S


@dataclass(frozen=True)
class _Topics:
    """Of one camera of topics.

    Attributes:
        driver: Driver whose names its topics have.
        image_topic: Topic of its images; empty: the driver's.
        camera_info_topic: Topic of their calibration; empty: the driver's.
        depth_topic: Topic of their depth; empty: the driver's.
        image_is: raw, with the lens's distortion, or rectified; empty: as its topic's name says.
    """

    driver: Annotated[str, one_of(tuple(DRIVERS))] = "zed"
    image_topic: str = ""
    camera_info_topic: str = ""
    depth_topic: str = ""
    image_is: Annotated[str, one_of(("", "raw", "rectified"))] = ""
