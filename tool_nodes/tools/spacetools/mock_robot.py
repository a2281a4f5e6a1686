"""Mock robot: replays recorded frames, and every motion reports success. `mock_robot.*` of the SpaceTools appendix B.5.

Images, depth and clouds come from recorded data; a grasp or a placement with valid arguments always succeeds, moves
nothing, and says so. It serves to exercise an agent and its tools, and is no evidence that a grasp would work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import ToolResult
from toolhand.tool_nodes.toolbox.arguments import NewestPoint2D, NewestPoint3D, Pose
from toolhand.tool_nodes.toolbox.toolbox import InSession, Session, tool
from toolhand.tool_nodes.tools.spacetools.proposed import require_rigid
from toolhand.tool_nodes.tools.spacetools.robot import CameraTools
from toolhand.tool_nodes.types import Frame, SkillOutcome, SkillRequest

EXECUTION_TIME_S = 0.0
"""What a motion of no robot takes [s]."""


class MockCamera(CameraTools):
    """Recorded images, depth and clouds.

    B.5 passes the recording as an argument `mock_data`; here it belongs to the station, so that the tools have the
    signatures of the real robot's and an agent can distinguish the two only by what they answer.

    Args:
        camera: Gives the recorded frame.
        cloud: Recorded point cloud (H*W, 3) in the camera frame [m]; None back-projects the depth.
    """

    backend = "mock"

    def __init__(self, camera: Camera, cloud: NDArray[np.float32] | None = None) -> None:
        super().__init__(camera)
        self._recorded_cloud = cloud

    def cloud(self, frame: Frame) -> NDArray[np.float32]:
        """See `CameraTools`."""
        return super().cloud(frame) if self._recorded_cloud is None else self._recorded_cloud

    @tool("robot.capture_image", aliases=["mock_robot.capture_image"], repeatable=True)
    def capture_image(self, session: InSession) -> ToolResult:
        """Return the recorded image of the data set, without a real robot."""
        return replace(super().capture_image(session), backend=self.backend)

    @tool("robot.get_depth", aliases=["robot.capture_depth", "mock_robot.get_depth"], repeatable=True)
    def get_depth(self, session: InSession) -> ToolResult:
        """Return the recorded depth map of the data set, without a real robot."""
        return replace(super().get_depth(session), backend=self.backend)

    @tool("robot.get_depth_with_pointcloud", aliases=["mock_robot.get_depth_with_pointcloud"], repeatable=True)
    def get_depth_with_pointcloud(self, session: InSession) -> ToolResult:
        """Return the recorded depth map and 3D point cloud of the data set, without a real robot."""
        return replace(super().get_depth_with_pointcloud(session), backend=self.backend)


class MockRobot(MockCamera):
    """Recorded images, and motions that always succeed.

    A motion leaves what it was asked for as facts, for judges: `grasp_pose` (4, 4) and `place_point_3d` [m] in the
    camera frame, `place_point_2d` normalized.
    """

    moves = True

    @tool("robot.execute_grasp", aliases=["mock_robot.execute_grasp"])
    def execute_grasp(self, grasp_pose: Pose, session: InSession) -> ToolResult:
        """Simulate executing a grasp: it always succeeds and moves nothing.

        Args:
            grasp_pose: 4x4 pose of the gripper's base in the camera frame (OpenCV), approach along +Z,
                fingers closing along X; usually $grasp_pose.
        """
        pose = require_rigid(grasp_pose).tolist()
        return self._succeeded("Grasp executed successfully", {"grasp_pose": pose})

    @tool(
        "robot.place_object_at_2d_location",
        aliases=["mock_robot.place_object_at_2d_location"],
        renamed={"point_2d": "placement_point_2d"},
    )
    def place_object_at_2d_location(self, placement_point_2d: NewestPoint2D, session: InSession) -> ToolResult:
        """Simulate placing the held object at a point of the image: it always succeeds and moves nothing.

        Args:
            placement_point_2d: Normalized [x, y] image point where the object should be placed.
        """
        x, y = placement_point_2d
        return self._succeeded(
            f"Object placed successfully at image point ({x:.3f}, {y:.3f})", {"place_point_2d": [float(x), float(y)]}
        )

    @tool(
        "robot.place_object_at_3d_location",
        aliases=["mock_robot.place_object_at_3d_location"],
        renamed={"point_3d": "placement_point_3d"},
    )
    def place_object_at_3d_location(self, placement_point_3d: NewestPoint3D, session: InSession) -> ToolResult:
        """Simulate placing the held object at a 3D point in the camera frame: it always succeeds and moves nothing.

        Args:
            placement_point_3d: [x, y, z] in metres in the camera frame (OpenCV).
        """
        x, y, z = placement_point_3d
        return self._succeeded(
            f"Object placed successfully at ({x:.3f}, {y:.3f}, {z:.3f}) m",
            {"place_point_3d": [float(x), float(y), float(z)]},
        )

    def skill(self, asked: SkillRequest, session: Session) -> SkillOutcome:
        """See `CameraTools`: it always succeeds and moves nothing."""
        self.look(session)
        return SkillOutcome("Done (simulated: no robot moved).", 0.0, EXECUTION_TIME_S)

    def _succeeded(self, what: str, facts: Mapping[str, Any]) -> ToolResult:
        return ToolResult(
            value={"success": True, "execution_time_s": EXECUTION_TIME_S},
            text=f"{what} in {EXECUTION_TIME_S:.2f} s (simulated: no robot moved).",
            backend=self.backend,
            facts=facts,
        )
