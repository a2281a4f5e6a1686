"""The arm goes from pose to pose of a calibration: each way is planned, shown, approved, and followed to its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.calibration.detection import BoardCorners, find_corners
from toolhand.tool_nodes.calibration.viewpoints import Arrangement
from toolhand.tool_nodes.motion.approval import PlannedMotion
from toolhand.tool_nodes.motion.guard import Mode, MotionGuard
from toolhand.tool_nodes.motion.moves import GuardedMoves
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.ports import Arm, Camera, Planner
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Frame, Goal, JointGoal, PoseGoal, Trajectory

SPEED = 0.5
"""Share of the allowed speed between two poses [-]: a person stands beside, and a held board swings less."""
_SETTLES_S = 0.5
"""Rest before an image [s]: the arm's last oscillation with a board in the hand, and images that come late."""
_MOST_TRIES = 4
"""Views that are tried for each pose that is wanted, on the average [-]; of the usual ones two thirds succeed."""
_UNREACHED = frozenset({ErrorCode.IK_FAILED, ErrorCode.PLAN_FAILED, ErrorCode.OUT_OF_WORKSPACE})


@dataclass(frozen=True)
class BoardSighting:
    """One pose of a calibration.

    Attributes:
        joints: (n,) as read while the image was taken [rad].
        corners: Corners of the board.
        frame: The image.
    """

    joints: FloatArray
    corners: BoardCorners
    frame: Frame


@dataclass(frozen=True)
class _Way:
    """A way that is planned; nothing has moved yet."""

    what: str
    leg: Trajectory
    T_end: FloatArray
    frame: Frame

    def motion(self) -> PlannedMotion:
        """What would be run, made of the arrays as they are now."""
        return PlannedMotion(self.what, (self.leg,), self.T_end, "nothing", self.frame)


class GuidedCalibration(GuardedMoves):
    """Takes the images of a calibration with an arm that a guard stands before.

    Args:
        arm, planner, guard, robot: See `toolhand.tool_nodes.motion.manipulation.Manipulator`.
        camera: The camera to calibrate.
        watching: The camera whose images a person is shown.
        said: Where board and camera are about.
        tell: Called with a sentence for each pose that gave no image of the board.
    """

    def __init__(
        self,
        arm: Arm,
        planner: Planner,
        camera: Camera,
        watching: Camera,
        said: Arrangement,
        guard: MotionGuard,
        robot: RobotModel,
        tell: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        super().__init__(arm, planner, watching, lambda stage: None, guard, robot)
        self._seen, self._said, self._tell = camera, said, tell

    def take(self, poses: int) -> list[BoardSighting]:
        """Go from pose to pose and look; then return to the park position.

        A board in the hand would touch the arm at the park position: it is put into the hand at the first pose, before
        the second motion is approved, and taken out before the last.

        Args:
            poses: Poses that are wanted.

        Returns:
            As many, or fewer where no more were reached within four times as many tries.

        Raises:
            ToolError: NOT_APPROVED for the first motion that a person refuses; EXECUTION_FAILED, CONTROLLER_FAULT,
                STOPPED; what a camera raises.
        """
        found: list[BoardSighting] = []
        with self.job():
            frame, bare = self._seen.capture(), CollisionScene(table_z=workspace.TABLE_Z)
            scene = self._said.scene() if self._said.on_hand else bare
            views = self._said.views(frame.K, frame.size)
            for _ in range(_MOST_TRIES * poses):
                if len(found) == poses:
                    break
                what = f"Calibration, pose {len(found) + 1} of {poses}"
                try:
                    self._go(PoseGoal(next(views)), what, scene)
                except ToolError as error:
                    if error.code not in _UNREACHED:
                        raise
                    continue
                if scene is bare:
                    self._tell("The board goes into the hand now, held by the middle of its top edge.")
                    scene = self._said.scene()
                self._look(found, what)
            if not self._said.on_hand:
                self._tell("The board is taken out of the hand now.")
                scene = bare
            self._go(JointGoal(self.robot.park), "Calibration, back to the park position", scene)
        return found

    def _go(self, goal: Goal, what: str, scene: CollisionScene) -> None:
        leg = self._plan(self._arm.state().q, goal, scene, SPEED)
        T_end = self._kinematics.fk(leg.q[-1])
        at = ", ".join(f"{name}={value:.2f} m" for name, value in zip("xyz", T_end[:3, 3], strict=True))
        way = _Way(f"{what}: the gripper goes to {at}", leg, T_end, self._camera.capture())
        if self.guard.in_force is Mode.ASK:
            self._on_stage("waiting for approval")
        with self.guard.permit(way.motion, self._arm.state().opening_m, self._unchanged):
            self._follow(leg, what)

    def _look(self, found: list[BoardSighting], what: str) -> None:
        self._arm.rest(_SETTLES_S)
        before = self._arm.state().q
        frame = self._seen.capture()
        after = self._arm.state().q
        if float(np.abs(after - before).max()) > STILL_RAD:
            self._tell(f"{what}: the arm still moved while the picture was taken.")
            return
        try:
            corners = find_corners(frame.rgb, self._said.board)
        except ToolError as error:
            if error.code is not ErrorCode.IMAGE_UNUSABLE:
                raise
            self._tell(f"{what}: {error.message} {error.hint}")
            return
        found.append(BoardSighting((before + after) / 2.0, corners, frame))


STILL_RAD = np.radians(0.1)
"""A joint that turns further during an image has not come to rest [rad]: five times an encoder's noise."""
