"""Tools whose backends run in other nodes: the ports and tools of a process, over services and actions.

The node that is given must be spun by an executor in another thread; everything here blocks its caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, PointStamped, PoseStamped
from numpy.typing import NDArray
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from std_msgs.msg import Header
from toolhand_interfaces.action import ExecuteGrasp, Place
from toolhand_interfaces.srv import (
    ComputeBoundingBox,
    ComputeGrasp,
    GetDepth,
    GetHeld,
    LookCloser,
    RunSkill,
)
from vision_msgs.msg import Point2D

from toolhand.tool_nodes.results import ToolResult
from toolhand.tool_nodes.ros.action_client import ActionClient
from toolhand.tool_nodes.ros.calling import Deadlines, Service, run_goal
from toolhand.tool_nodes.ros.frame_memory import FrameMemory
from toolhand.tool_nodes.ros.messages import (
    BASE_FRAME,
    cloud_to_message,
    header_of,
    image_to_rgb,
    mask_to_image,
    matrix_to_pose,
    pose_to_matrix,
    put_frame,
)
from toolhand.tool_nodes.ros.remote_perception import (
    RemoteDepthEstimator,
    RemoteDetector,
    RemotePointer,
    RemoteSegmenter,
    RemoteTextReader,
)
from toolhand.tool_nodes.ros.status import raise_failure
from toolhand.tool_nodes.ros.stop_state import StopListener
from toolhand.tool_nodes.sandbox.executor import CodeExecutor
from toolhand.tool_nodes.stop_latch import StopWatch
from toolhand.tool_nodes.toolbox.toolbox import Toolbox
from toolhand.tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools
from toolhand.tool_nodes.tools.spacetools.grasping import GraspAlternatives, MaskedCloud
from toolhand.tool_nodes.tools.spacetools.robot import robot_tools
from toolhand.tool_nodes.tools.suites import Backends, make_toolbox
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame, Grasped, GraspTarget, SkillOutcome, SkillRequest


class RemoteCamera:
    """The Camera port over the service get_depth.

    Args:
        node: Gets the client.
        deadlines: How long to wait.
        camera: "scene" or "wrist".
    """

    def __init__(self, node: Node, deadlines: Deadlines, camera: str = "scene") -> None:
        self._camera = camera
        self._get_depth = Service(node, GetDepth, "get_depth", deadlines)
        self._frames = FrameMemory(camera)

    def capture(self) -> Frame:
        """See ports.Camera. Raises ToolError UNAVAILABLE, NO_DEPTH or TIMEOUT."""
        frame: Frame = self._get_depth(GetDepth.Request(camera=self._camera, data_only=True), self._frames.take)
        return frame


def camera_node(node: Node, camera: str, deadline_s: float) -> RemoteCamera:
    """A camera that the camera node has, for the other nodes: a device can be opened only once."""
    return RemoteCamera(node, Deadlines(availability_s=deadline_s), camera)


class RemoteGraspTools(GraspAlternatives):
    """`GraspTools` over the service compute_grasp; arguments as of `RemoteCamera`."""

    def __init__(self, node: Node, deadlines: Deadlines) -> None:
        self._compute_grasp = Service(node, ComputeGrasp, "compute_grasp", deadlines)

    def alternative(self, seen: MaskedCloud, number: int) -> ToolResult:
        """See `GraspAlternatives`."""
        header = header_of(seen.frame)
        request = ComputeGrasp.Request(
            point_cloud=cloud_to_message(seen.cloud, seen.mask.shape[::-1], header),
            mask=mask_to_image(seen.mask, header),
            focal_length=float(seen.focal_length_px),
            alternative=number,
        )
        put_frame(request, replace(seen.frame, rgb=seen.rgb))
        result: ToolResult = self._compute_grasp(request, _grasp_result)
        return result


def _grasp_result(response: Any) -> ToolResult:
    T = pose_to_matrix(response.grasp.pose)
    return ToolResult(
        value=(T, float(response.score)),
        text=response.status.message,
        image=image_to_rgb(response.visualization),
        variables={"grasp_pose": T},
        backend=response.status.backend,
    )


class RemoteBoundingBoxTools(BoundingBoxTools):
    """`BoundingBoxTools` over the service compute_bounding_box; arguments as of `RemoteCamera`."""

    def __init__(self, node: Node, deadlines: Deadlines) -> None:
        self._compute_bounding_box = Service(node, ComputeBoundingBox, "compute_bounding_box", deadlines)

    def box(self, point_cloud: NDArray[np.float32], mask: BoolArray, focal_length_px: float) -> ToolResult:
        """See `BoundingBoxTools`."""
        # The tool is given no image, so the header can name neither camera nor capture.
        request = ComputeBoundingBox.Request(
            point_cloud=cloud_to_message(point_cloud, mask.shape[::-1], Header()),
            mask=mask_to_image(mask, Header()),
            focal_length=float(focal_length_px),
        )
        result: ToolResult = self._compute_bounding_box(request, _box_result)
        return result


def _box_result(response: Any) -> ToolResult:
    corners_3d = [[corner.x, corner.y, corner.z] for corner in response.corners]
    corners_2d = [[corner.x, corner.y] for corner in response.corners_2d]
    edges = np.asarray(response.edges, int).reshape(-1, 2).tolist()
    extent = np.array([response.extent.x, response.extent.y, response.extent.z])
    return ToolResult(
        value={
            "corners_3d": corners_3d,
            "corners_2d": corners_2d,
            "edges": tuple(tuple(edge) for edge in edges),
            "extent": extent,
        },
        text=response.status.message,
        variables={"obb_corners_3d": corners_3d, "obb_corners_2d": corners_2d, "extent": extent, "edges": edges},
    )


_HELD_WITHIN_S = 1.0
"""How long the question what is held waits for a motion node [s]: every image asks it, and a graph may have none."""


class RemoteManipulator:
    """Grasps and places over the actions execute_grasp and place.

    Args:
        node: Gets the clients.
        deadlines: How long to wait.
        stopped: Polled during a motion; True cancels it.
        stops: Knows the stop of the motion node; made here where None.

    Attributes:
        motion_time_s: Time that all motions so far took, by the clock of the robot [s].
    """

    def __init__(
        self,
        node: Node,
        deadlines: Deadlines,
        stopped: Callable[[], bool] = lambda: False,
        stops: StopListener | None = None,
    ) -> None:
        group = ReentrantCallbackGroup()
        self._stops = stops or StopListener(node)
        self._execute_grasp = ActionClient(node, ExecuteGrasp, "execute_grasp", callback_group=group)
        self._place = ActionClient(node, Place, "place", callback_group=group)
        soon = replace(deadlines, availability_s=min(deadlines.availability_s, _HELD_WITHIN_S))
        self._get_held = Service(node, GetHeld, "get_held", soon)
        self._look_closer = Service(node, LookCloser, "look_closer", replace(deadlines, response_s=deadlines.motion_s))
        self._run_skill = Service(node, RunSkill, "run_skill", replace(deadlines, response_s=deadlines.motion_s))
        self._frames = FrameMemory()
        self._deadlines = deadlines
        self._stopped = stopped
        self.motion_time_s = 0.0

    def grasp(
        self, T_base_gripper: FloatArray, frame: Frame, target: GraspTarget | None = None, speed: float = 1.0
    ) -> Grasped:
        """See ports.GraspAndPlace. Raises ToolError: also UNAVAILABLE, TIMEOUT, CANCELLED."""
        goal = ExecuteGrasp.Goal(approval_mode=ExecuteGrasp.Goal.AUTO, speed=speed)
        goal.grasp = PoseStamped(header=_in_base(frame), pose=matrix_to_pose(T_base_gripper))
        if target is not None:
            goal.mask = mask_to_image(target.mask, header_of(frame))
            goal.pointed_at = [Point2D(x=float(x), y=float(y)) for x, y in target.points]
            goal.called = target.called
        result = self._run(self._execute_grasp, goal, "execute_grasp")
        stood = next((np.array([at.x, at.y, at.z]) for at in result.stood), None)
        return Grasped(float(result.opening), float(result.check_time), stood)

    def place(self, point_base: FloatArray, frame: Frame, speed: float = 1.0) -> None:
        """See ports.GraspAndPlace. Raises ToolError: also UNAVAILABLE, TIMEOUT, CANCELLED."""
        x, y, z = (float(value) for value in point_base)
        goal = Place.Goal(approval_mode=Place.Goal.AUTO, target=Place.Goal.POINT_3D, speed=speed)
        goal.point_3d = PointStamped(header=_in_base(frame), point=Point(x=x, y=y, z=z))
        self._run(self._place, goal, "place")

    def look(self, point_base: FloatArray, frame: Frame) -> Frame:
        """See ports.GraspAndPlace. Raises ToolError: also UNAVAILABLE, TIMEOUT."""
        x, y, z = (float(value) for value in point_base)
        place = PointStamped(header=_in_base(frame), point=Point(x=x, y=y, z=z))
        with self.job() as job:
            if job.halted:  # as in `_run`
                raise job.error
            closer: Frame = self._look_closer(LookCloser.Request(place=place), self._frames.take)
            return closer

    def skill(self, asked: SkillRequest, frame: Frame) -> SkillOutcome:
        """See ports.GraspAndPlace. Raises ToolError: also UNAVAILABLE, TIMEOUT."""
        request = RunSkill.Request(name=asked.name, distance=asked.distance_m, speed=asked.speed)
        if asked.point is not None:
            x, y, z = (float(value) for value in asked.point)
            request.place = [PointStamped(header=_in_base(frame), point=Point(x=x, y=y, z=z))]
        with self.job() as job:
            if job.halted:  # as in `_run`
                raise job.error
            outcome: SkillOutcome = self._run_skill(request, _skill_outcome)
        self.motion_time_s += outcome.took_s
        return outcome

    def holds(self) -> str | None:
        """See ports.GraspAndPlace. Raises ToolError: UNAVAILABLE, TIMEOUT."""
        response = self._get_held(GetHeld.Request())
        return str(response.called) if response.holding else None

    def job(self) -> AbstractContextManager[StopWatch]:
        """See ports.Arm; it notes the stops of the motion node."""
        self._stops.wait()
        return self._stops.latch.job()

    def _run(self, client: ActionClient, goal: Any, name: str) -> Any:
        with self.job() as job:
            if job.halted:  # the motion node would take a goal that comes after the reset for a new one
                raise job.error
            return self._see_through(client, goal, name)

    def _see_through(self, client: ActionClient, goal: Any, name: str) -> Any:
        result = run_goal(client, goal, name, self._deadlines, cancelled=self._stopped).result
        self.motion_time_s += result.execution_time
        raise_failure(result.status)
        return result


def _skill_outcome(response: Any) -> SkillOutcome:
    return SkillOutcome(response.status.message, float(response.opening), float(response.execution_time))


def _in_base(frame: Frame) -> Header:
    """The base frame, at the time of the image that a motion was chosen in."""
    return Header(stamp=header_of(frame).stamp, frame_id=BASE_FRAME)


def remote_toolbox(
    node: Node,
    deadlines: Deadlines | None = None,
    stopped: Callable[[], bool] = lambda: False,
    suites: Iterable[str] = ("spacetools",),
    role: str = "operator",
    stops: StopListener | None = None,
) -> Toolbox:
    """The same tools as `toolhand.sim.station.Station` has, with the robot, perception and grasps in other nodes.

    Args:
        node: Gets the clients; spun by an executor in another thread.
        deadlines: How long to wait for the other nodes.
        stopped: Polled during motions; True cancels the one that runs.
        suites: Names of the suites of tools that are offered.
        role: "operator", or "observer" without the tools that move the robot.
        stops: Knows the stop of the motion node; made here where None.
    """
    deadlines = deadlines or Deadlines()
    manipulator = RemoteManipulator(node, deadlines, stopped, stops)
    soon = replace(deadlines, availability_s=min(deadlines.availability_s, _HELD_WITHIN_S))
    backends = Backends(
        pointer=RemotePointer(node, deadlines),
        detector=RemoteDetector(node, deadlines),
        segmenter=RemoteSegmenter(node, deadlines),
        depth=RemoteDepthEstimator(node, deadlines),
        reader=RemoteTextReader(node, deadlines),
        grasps=RemoteGraspTools(node, deadlines),
        boxes=RemoteBoundingBoxTools(node, deadlines),
        robot=robot_tools(
            role,
            RemoteCamera(node, deadlines),
            manipulator,
            clock=lambda: manipulator.motion_time_s,
            wrist=RemoteCamera(node, soon, "wrist"),
        ),
        code=CodeExecutor(),
    )
    return make_toolbox(backends, suites)
