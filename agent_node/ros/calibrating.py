"""Poses of a calibration from a ROS 2 graph, where a person moves the arm; this process commands nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from geometry_msgs.msg import TransformStamped

from toolhand.agent_node.console.terminal import say
from toolhand.tool_nodes.calibration.charuco import CharucoBoard
from toolhand.tool_nodes.calibration.detection import find_corners
from toolhand.tool_nodes.calibration.files import USUAL_FRAMES, FrameNames
from toolhand.tool_nodes.calibration.guiding import STILL_RAD, BoardSighting
from toolhand.tool_nodes.calibration.viewpoints import Arrangement, CameraPlace, usual_arrangement
from toolhand.tool_nodes.camera_names import DRIVERS, names_of
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import ToolError, invalid, unavailable
from toolhand.tool_nodes.ros.joint_states import JointStates
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.messages import RosFrame
from toolhand.tool_nodes.ros.topic_camera import TopicCamera
from toolhand.tool_nodes.types import FloatArray, PoseGoal

_SETTLES_S = 3.0
"""How long an arm may take to come to rest once a person says that it has [s]; a round figure."""
_USUAL_DRIVER = {"scene": "zed", "wrist": "kinova_vision"}


class _Nowhere:
    """Transforms of a camera whose pose nobody knows yet."""

    def lookup_transform(self, *frames: Any, **options: Any) -> TransformStamped:
        """The identity; see tf2_ros.Buffer."""
        message = TransformStamped()
        message.transform.rotation.w = 1.0
        return message


def record(
    robot: RobotModel, camera: CameraPlace, board: CharucoBoard, driver: str, link: str, poses: int
) -> tuple[list[BoardSighting], FrameNames]:
    """What a person takes at the terminal, and the names of the frames.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown driver; UNAVAILABLE without joint states or images.
    """
    if driver not in ("", *DRIVERS):
        raise invalid(f"--driver must be one of {', '.join(DRIVERS)}, got {driver[:40]!r}.")
    names = names_of(driver or _USUAL_DRIVER[camera])
    with RosLink({"RCLPY_ZENOH_CLIENT": "1"}) as joined:
        looking = TopicCamera(joined.node, names.topics, _Nowhere(), robot=robot)  # type: ignore[arg-type]
        joints = JointStates(joined.node, "joint_states", lambda reading: None, robot)

        def read() -> FloatArray:
            newest = joints.newest
            if not joints.wait_for(lambda reading: reading is not newest, 3.0) or joints.newest is None:
                raise unavailable("No joint states of this robot come.", "Is its driver running?")
            return joints.newest.q

        def settled() -> FloatArray:
            began_s = time.monotonic()
            joints.wait_for(lambda reading: reading.received_s > began_s and joints.unrest() is None, _SETTLES_S)
            if (unrest := joints.unrest()) is not None:
                raise unavailable(f"The arm is not at rest: {unrest.why}.", "Let it come to rest, and press Enter.")
            return read()

        taken = take(looking, read, settled, usual_arrangement(robot, camera, board), robot, poses, _answers())
    frame_id = next((s.frame.frame_id for s in taken if isinstance(s.frame, RosFrame)), names.optical_frame)
    usual = USUAL_FRAMES[camera]
    return taken, replace(usual, link=link or usual.link, optical=frame_id)


def _answers() -> Iterator[str]:
    while line := sys.stdin.readline():
        yield line.strip().lower()


def take(
    camera: Camera,
    read: Callable[[], FloatArray],
    settled: Callable[[], FloatArray],
    said: Arrangement,
    robot: RobotModel,
    poses: int,
    answers: Iterator[str],
) -> list[BoardSighting]:
    """Poses until there are enough, or a person types q.

    Args:
        camera: Takes the images.
        read: Called for fresh joint positions (n,) [rad].
        settled: Likewise, of an arm at rest; raises ToolError where it is not.
        said: Where board and camera are about, for the poses that are proposed.
        answers: Lines that a person types.
    """
    taken: list[BoardSighting] = []
    first = camera.capture()
    planner, views = EmbeddedPlanner(0, robot), said.views(first.K, first.size)
    while len(taken) < poses:
        say(f"Pose {len(taken) + 1} of {poses}. {_proposal(planner, views, said, read())}")
        say("Move the arm there or to a pose like it, let it come to rest, and press Enter; q ends.")
        answer = next(answers, "q")
        if answer == "q":
            break
        try:
            before = settled()
            frame = camera.capture()
            after = settled()
            if float(np.abs(robot.joint_difference(after, before)).max()) > STILL_RAD:
                say("The arm still moved: once more.")
                continue
            corners = find_corners(frame.rgb, said.board)
        except ToolError as error:
            say(f"Not taken: {error}")
            continue
        taken.append(BoardSighting(before + robot.joint_difference(after, before) / 2.0, corners, frame))
    return taken


def _proposal(planner: EmbeddedPlanner, views: Iterator[FloatArray], said: Arrangement, q: FloatArray) -> str:
    """Joint positions of the next view that the planner has a way to."""
    for _, goals in zip(range(8), views, strict=False):
        try:
            end = planner.plan(q, PoseGoal(goals), said.scene()).q[-1]
        except ToolError:
            continue
        degrees = np.degrees(np.arctan2(np.sin(end), np.cos(end)))
        return f"Proposed joints [degrees]: {', '.join(f'{value:.0f}' for value in degrees)}."
    return "No pose could be proposed from here."
