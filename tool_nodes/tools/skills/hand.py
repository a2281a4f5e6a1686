"""The suite of skills: what the hand does beside grasping and placing. No paper has these tools; models are not offered
them unless somebody chooses the suite."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Annotated

from toolhand.tool_nodes.motion.limits import LEAST_SPEED
from toolhand.tool_nodes.motion.targets import ray_to_base
from toolhand.tool_nodes.results import ToolError, ToolResult
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.toolbox.arguments import ImageIndex, NumberArgument, Point2D
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import InSession, Session, tool
from toolhand.tool_nodes.tools.spacetools.robot import GRASPED, CameraTools, captured
from toolhand.tool_nodes.types import FloatArray, SkillRequest

Speed = Annotated[float, NumberArgument(LEAST_SPEED, 1.0)]
Distance = Annotated[float, NumberArgument(0.0, 0.12, exclusive_low=True)]
_MAKES = ("captured_image",)
_LOOK = ("robot.capture_image",)


class ParkTools:
    """Brings the arm home: whoever moves it may have left it before the camera.

    Each result leaves the fact `skill`: `name`, and `opening_m`, the jaws at the end.

    Args:
        robot: The robot's own tools, which move it.
    """

    suite = "skills"
    printed = False

    def __init__(self, robot: CameraTools) -> None:
        self._robot = robot
        # The robot's own, if it moves: a stop ends the skill with all else that belongs together.
        self.job: Callable[[], AbstractContextManager[StopWatch]] = getattr(robot, "job", StopLatch().job)

    def _done(self, asked: SkillRequest, session: Session) -> ToolResult:
        try:
            outcome = self._robot.skill(asked, session)
        except ToolError as error:
            return self._robot.seen_after(error, session)
        after = session.seen
        assert after is not None  # the robot looks after every skill
        return ToolResult(
            value={"success": True, "execution_time_s": outcome.took_s, "image": after.rgb},
            text=outcome.told,
            image=after.rgb,
            variables=captured(after),
            facts={"skill": {"name": asked.name, "opening_m": round(outcome.opening_m, 4)}},
        )

    @tool(
        "robot.return_to_park",
        aliases=("robot.park",),
        motion=True,
        timeout_s=None,
        makes=_MAKES,
        repeatable=True,
        example=Example({}),
    )
    def return_to_park(self, session: InSession, speed: Speed = 1.0) -> ToolResult:
        """Move the arm to its park position, with what it holds.

        Args:
            speed: Share of the allowed speed, from 0.01 to 1.
        """
        return self._done(SkillRequest("park", speed=speed), session)


class HandTools(ParkTools):
    """Opens, closes, lifts, points, hands over and stands objects up; see `ParkTools`."""

    printed = True

    @tool(
        "robot.open_gripper",
        aliases=("robot.release",),
        motion=True,
        timeout_s=None,
        makes=_MAKES,
        repeatable=True,
        example=Example({}),
    )
    def open_gripper(self, session: InSession) -> ToolResult:
        """Open the gripper; it lets go of what it holds only where that cannot fall far."""
        return self._done(SkillRequest("open_gripper"), session)

    @tool("robot.close_gripper", motion=True, timeout_s=None, makes=_MAKES, repeatable=True, example=Example({}))
    def close_gripper(self, session: InSession) -> ToolResult:
        """Close the gripper where it is."""
        return self._done(SkillRequest("close_gripper"), session)

    @tool(
        "robot.lift", motion=True, timeout_s=None, makes=_MAKES, repeatable=True, example=Example({"distance_m": 0.05})
    )
    def lift(self, distance_m: Distance, session: InSession, speed: Speed = 1.0) -> ToolResult:
        """Move the gripper straight up, with what it holds, and stay there.

        Args:
            distance_m: How far, in metres.
            speed: Share of the allowed speed, from 0.01 to 1.
        """
        return self._done(SkillRequest("lift", distance_m=distance_m, speed=speed), session)

    @tool(
        "robot.point_at",
        motion=True,
        timeout_s=None,
        makes=_MAKES,
        repeatable=True,
        example=Example({"point": [0.48, 0.62], "image_index": 0}, before=_LOOK),
    )
    def point_at(self, point: Point2D, image_index: ImageIndex, session: InSession, speed: Speed = 1.0) -> ToolResult:
        """Point at a place from above without touching anything, and stay there.

        Args:
            point: Normalized [x, y] of the place.
            image_index: Index of the camera image that the point is in.
            speed: Share of the allowed speed, from 0.01 to 1.
        """
        return self._done(SkillRequest("point_at", _place(point, image_index), speed=speed), session)

    @tool("robot.hand_over", motion=True, timeout_s=None, makes=_MAKES, example=Example({}, before=GRASPED))
    def hand_over(self, session: InSession, speed: Speed = 1.0) -> ToolResult:
        """Hold the held object out towards the camera's side of the table and let go of it once somebody pulls at it.

        Args:
            speed: Share of the allowed speed, from 0.01 to 1.
        """
        return self._done(SkillRequest("hand_over", speed=speed), session)

    @tool(
        "robot.stand_upright",
        motion=True,
        timeout_s=None,
        makes=_MAKES,
        example=Example({"point": [0.48, 0.62], "image_index": 0}, before=GRASPED),
    )
    def stand_upright(self, point: Point2D, image_index: ImageIndex, session: InSession) -> ToolResult:
        """Set the held object down on a free place; if it lay, it is turned onto one of its ends.

        Args:
            point: Normalized [x, y] of the place.
            image_index: Index of the camera image that the point is in.
        """
        return self._done(SkillRequest("stand_upright", _place(point, image_index)), session)


def _place(point: FloatArray, image: SessionImage) -> FloatArray:
    """A point (3,) of the base frame [m] that an image shows at a normalized point (2,). Raises ToolError."""
    return ray_to_base(image.require_frame(), image.to_frame(point)[0])


def skills(robot: CameraTools | None) -> list[object]:
    """The providers of the suite: none for whom nothing may move, such as an observer."""
    return [HandTools(robot)] if robot is not None and robot.moves else []
