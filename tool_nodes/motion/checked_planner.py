"""What any planner answers is checked against the question: with the own model of the robot, whatever made the answer.

The embedded planner checks its own paths. Every other one may be wrong, or another robot's: its trajectory has to be
one, to begin where the arm is, to keep the speed that was asked for, to end at the goal, for a straight line to be one,
and to be free of collision. What the guard checks (`limits.check_trajectory`) it checks besides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from toolhand.tool_nodes.geometry import rotation_angle
from toolhand.tool_nodes.motion.collision import Checker
from toolhand.tool_nodes.motion.kinematics import Kinematics, check_pose
from toolhand.tool_nodes.motion.limits import between
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.planner_wrapper import InterruptedPlanning, PlannerWrapper
from toolhand.tool_nodes.motion.reach import check_speed, check_start, joint_target
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.scene_model import SceneModels
from toolhand.tool_nodes.motion.timing import MOST_SAMPLES, overload
from toolhand.tool_nodes.motion.trajectory_checks import malformed
from toolhand.tool_nodes.ports import Planner
from toolhand.tool_nodes.results import ErrorCode, ToolError, kind_and_words, unavailable
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Goal, JointGoal, LinearGoal, PoseGoal, Trajectory

START_SLACK = 1e-6
"""A trajectory begins this near to where the motion starts, in each joint [rad]: a message carries it exactly, whole
turns and back cost some 1e-15."""
JOINT_SLACK = 1e-3
"""It ends this near to the joint positions that are asked for [rad]: MoveIt's usual tolerance is 1e-4."""
POSE_SLACK = (1e-4, 1e-3)
"""It ends this near beyond the tolerances of a pose goal, and this near to the end of a straight line [m], [rad]."""
LINE_SLACK = (0.002, 0.02)
"""A straight line may be left by so much on the way [m], [rad]: less than the clearance of `CollisionScene.margin`."""
SPEED_SLACK = 1e-3
"""Share by which it may exceed the limits at the speed that was asked for: rounding."""


def checked(planner: Planner, robot: RobotModel) -> Planner:
    """The planner, behind checks of all that it answers, unless it is the embedded one."""
    return planner if type(planner) is EmbeddedPlanner else CheckedPlanner(planner, robot)


class CheckedPlanner(PlannerWrapper):
    """Asks another planner, and hands on only what passes the checks.

    Args:
        planner: Answers.
        robot: Robot that moves.
    """

    def __init__(self, planner: Planner, robot: RobotModel) -> None:
        super().__init__(planner)
        self._robot = robot
        self._name = type(planner).__name__
        self._kinematics = Kinematics(robot)
        self._models = SceneModels(robot=robot)

    def plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        """See ports.Planner.

        Raises:
            ToolError: What the planner raises; UNAVAILABLE where it fails or answers what is no trajectory of this
                robot; PLAN_FAILED where its trajectory does not answer the question or meets something.
        """
        start = check_start(start, self._robot)
        check_speed(speed)
        checker = Checker(self._models.of(scene), start)
        try:
            answer: Any = self._planner.plan(start.copy(), goal, scene, speed)
        except (ToolError, InterruptedPlanning):
            raise
        except Exception as error:  # whatever another package may raise
            raise self._failed(error) from error
        trajectory = self._trajectory(answer)
        if why := self._wrong(trajectory, start, goal, speed):
            raise ToolError(
                ErrorCode.PLAN_FAILED, f"The path of the planner was refused: {why}.", "Try another pose, or plan anew."
            )
        if not checker.path_free(between(trajectory)):
            raise checker.error("The path that the planner found")
        return trajectory

    def reachable(self, T_base_gripper: FloatArray, scene: CollisionScene, back: FloatArray | None = None) -> bool:
        """See ports.Planner. Raises ToolError; UNAVAILABLE where the planner fails or says neither yes nor no."""
        check_pose(T_base_gripper, "pose")
        try:
            answer: Any = self._planner.reachable(T_base_gripper, scene, back)
        except (ToolError, InterruptedPlanning):
            raise
        except Exception as error:  # likewise
            raise self._failed(error) from error
        if not isinstance(answer, bool | np.bool_):
            raise self._no_answer(f"says {answer!r:.60} where it must say whether a pose can be reached")
        return bool(answer)

    # -- what an answer is -----------------------------------------------------------------------

    def _trajectory(self, answer: Any) -> Trajectory:
        """A copy of the answer, where it is a trajectory of this robot. Raises ToolError UNAVAILABLE."""
        if not isinstance(answer, Trajectory):
            raise self._no_answer(f"answers {type(answer).__name__} where it must answer a Trajectory")
        try:
            count = len(answer.t)
            if count > MOST_SAMPLES:
                raise self._no_answer(f"answers {count:,} samples, where {MOST_SAMPLES:,} are the most")
            t, q, qd = (np.array(values, dtype=float) for values in (answer.t, answer.q, answer.qd))
            trajectory = Trajectory(tuple(map(str, answer.joint_names)), t, q, qd)
            why = malformed(trajectory, self._robot) if t.ndim == 1 else "its times are no list"
        except (TypeError, ValueError) as error:
            raise self._no_answer("answers arrays that are no numbers") from error
        if why:
            raise self._no_answer(f"answers what the arm could not follow: {why}")
        return trajectory

    def _no_answer(self, what: str) -> ToolError:
        return unavailable(f"The planner {self._name} {what}.", "Look whether it is set up for this robot.")

    def _failed(self, error: Exception) -> ToolError:
        return unavailable(f"The planner {self._name} failed: {kind_and_words(error)}.")

    # -- whether it answers the question ---------------------------------------------------------

    def _wrong(self, trajectory: Trajectory, start: FloatArray, goal: Goal, speed: float) -> str:
        """Why the trajectory is not what was asked for, to be put after "refused: "; empty where it is."""
        q, robot = trajectory.q, self._robot
        if (gap := float(np.abs(q[0] - start).max())) > START_SLACK:
            return f"it starts {gap:.3g} rad away from where the arm is"
        if (factor := overload(trajectory, robot, speed)) > 1.0 + SPEED_SLACK:
            return f"it is {factor:.2f} times as fast as the limits allow at {100 * speed:.0f} % speed"
        if isinstance(goal, JointGoal):
            miss = float(np.abs(q[-1] - joint_target(q[-1], goal, robot)).max())
            return f"it ends {miss:.3g} rad away from the goal" if miss > JOINT_SLACK else ""
        T = self._kinematics.fk_path(q if isinstance(goal, LinearGoal) else q[-1:])
        if isinstance(goal, LinearGoal):
            return _off_line(T, np.asarray(goal.T_base_gripper, float))
        if isinstance(goal, PoseGoal):
            return _off_poses(T[-1], goal)
        return "it is for another sort of goal"


def _distances(T: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Distance [m] and angle [rad] between two poses (4, 4)."""
    return float(np.linalg.norm(T[:3, 3] - other[:3, 3])), rotation_angle(T[:3, :3], other[:3, :3])


def _away(distance: float, angle: float) -> str:
    return f"{1000 * distance:.2g} mm and {angle:.2g} rad away from the goal"


def _off_poses(T: FloatArray, goal: PoseGoal) -> str:
    """Why the pose (4, 4) at the end is none of a goal's; empty where it is one."""
    position, rotation = goal.position_tolerance + POSE_SLACK[0], goal.rotation_tolerance + POSE_SLACK[1]
    away = [_distances(T, np.asarray(pose, float)) for pose in goal.T_base_gripper]
    if any(distance <= position and angle <= rotation for distance, angle in away):
        return ""
    return f"it ends {_away(*min(away))}"


def _off_line(T: FloatArray, end: FloatArray) -> str:
    """Why the poses (N, 4, 4) on the way are no straight line to the end (4, 4); empty where they are one."""
    distance, angle = _distances(T[-1], end)
    if distance > POSE_SLACK[0] or angle > POSE_SLACK[1]:
        return f"it ends {_away(distance, angle)}"
    shift = end[:3, 3] - T[0, :3, 3]
    length = float(np.linalg.norm(shift))
    along = np.clip((T[:, :3, 3] - T[0, :3, 3]) @ shift / max(length, 1e-9) ** 2, 0.0, 1.0)
    aside = float(np.linalg.norm(T[:, :3, 3] - T[0, :3, 3] - along[:, None] * shift, axis=1).max())
    turn = rotation_angle(T[0, :3, :3], end[:3, :3])
    excess = max(rotation_angle(T[0, :3, :3], R) + rotation_angle(R, end[:3, :3]) for R in T[:, :3, :3]) - turn
    if aside > LINE_SLACK[0] or excess > LINE_SLACK[1]:
        return f"it leaves the straight line by {1000 * aside:.1f} mm and {excess:.2g} rad"
    return ""
