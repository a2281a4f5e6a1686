"""Questions for any planner, and a judge of its answers: what all planners of the port have to do alike.

The questions are drawn from a seed: joint positions, a pose, one of several poses, a straight line, a pose with
something in the hand or among the points of a cloud; and poses beyond the arm, blocked, or without joint positions. The
embedded planner says while they are drawn that there is an answer, or which refusal is right. The judge has kinematics
of its own, made of the URDF's numbers alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from xml.etree import ElementTree as ET

import numpy as np
from scipy.spatial.transform import Rotation

from tests.tool_nodes.motion.planners.worlds import draw_problem
from toolhand.tool_nodes.geometry import pose, rotation_angle, rotation_z, transform
from toolhand.tool_nodes.motion.collision import Checker
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.limits import MotionLimits, between, check_trajectory
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.scene_model import SceneModel, attached_opening
from toolhand.tool_nodes.ports import Planner
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Box, CollisionScene, FloatArray, Goal, JointGoal, LinearGoal, PoseGoal, Trajectory

EXACT = 1e-6
"""How exactly poses are asked for and have to be reached [m] and [rad]: less than any mistake in a message would be."""
JOINT_EXACT = 2e-4
"""The same for joint positions [rad]: twice the tolerance that MoveIt's clients ask for."""
STRAIGHT = 5e-4
"""How far a straight line may be left on the way [m]: between its samples a cubic is not quite straight."""

_DRAWS = 40
"""Draws of one question, at most."""
_SPEEDS = (1.0, 0.7, 0.4)
"""Shares of the full speed that are asked for in turn."""
_CLOUD = 80
"""Points of a cloud."""


@dataclass(frozen=True)
class PlannerQuestion:
    """What a planner is asked.

    Attributes:
        kind: A name of KINDS.
        start: (n,) [rad].
        goal: Poses, joint positions or end of a line to be reached.
        scene: Obstacles, and what is held.
        speed: Share of the full speed.
        refusal: Code that the planner has to refuse it with; None where there is an answer.
    """

    kind: str
    start: FloatArray
    goal: Goal
    scene: CollisionScene
    speed: float
    refusal: ErrorCode | None = None


class Chain:
    """Forward kinematics from the numbers of a URDF.

    Args:
        robot: Names the file, the joints and the tip frame.
    """

    def __init__(self, robot: RobotModel) -> None:
        self._fixed: list[FloatArray] = []
        self._axes: list[FloatArray] = []
        T = np.eye(4)
        for joint in robot.urdf.chain(robot.tip_frame):
            T = T @ _origin(joint.find("origin"))
            if joint.attrib["type"] == "fixed":
                continue
            axis = joint.find("axis")
            self._fixed.append(T)
            self._axes.append(np.array((axis.attrib["xyz"] if axis is not None else "1 0 0").split(), float))
            T = np.eye(4)
        self._tip = T

    def at(self, q: FloatArray) -> FloatArray:
        """The pose (4, 4) of the tip frame at joint positions (n,) [rad]."""
        T = np.eye(4)
        for fixed, axis, angle in zip(self._fixed, self._axes, q, strict=True):
            T = T @ fixed @ pose(Rotation.from_rotvec(axis / np.linalg.norm(axis) * angle).as_matrix(), np.zeros(3))
        return T @ self._tip


def _origin(element: ET.Element | None) -> FloatArray:
    if element is None:
        return np.eye(4)
    xyz, rpy = (np.array(element.get(key, "0 0 0").split(), float) for key in ("xyz", "rpy"))
    return pose(Rotation.from_euler("xyz", rpy).as_matrix(), xyz)


# -- questions ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Draw:
    """What a question is made of: two free postures (n,) [rad] among boxes, and the pose (4, 4) at the second."""

    rng: np.random.Generator
    scene: CollisionScene
    start: FloatArray
    end: FloatArray
    T: FloatArray
    robot: RobotModel


def _exactly(*poses: FloatArray) -> PoseGoal:
    return PoseGoal(np.array(poses), EXACT, EXACT)


def _joints(draw: _Draw) -> tuple[Goal, CollisionScene]:
    return JointGoal(draw.end), draw.scene


def _one_pose(draw: _Draw) -> tuple[Goal, CollisionScene]:
    return _exactly(draw.T), draw.scene


def _several_poses(draw: _Draw) -> tuple[Goal, CollisionScene]:
    beyond = draw.T.copy()
    beyond[:2, 3] *= 2.5
    return _exactly(beyond, draw.T), draw.scene


def _line(draw: _Draw) -> tuple[Goal, CollisionScene]:
    T = Kinematics(draw.robot).fk(draw.start)
    T[:3, 3] += [*draw.rng.uniform(-0.04, 0.04, 2), draw.rng.uniform(0.04, 0.12)]
    T[:3, :3] = rotation_z(draw.rng.uniform(-0.3, 0.3)) @ T[:3, :3]
    return LinearGoal(T), draw.scene


def _held(draw: _Draw) -> tuple[Goal, CollisionScene]:
    half = draw.rng.uniform([0.015, 0.015, 0.03], [0.03, 0.04, 0.07])
    depth = float(draw.robot.gripper.points(2.0 * half[0])[3:, 2].max())
    box = Box(pose(rotation_z(draw.rng.uniform(-0.2, 0.2)), [0.0, 0.0, depth + half[2] - 0.02]), half)
    return _exactly(draw.T), replace(draw.scene, attached=(box,), opening_m=2.0 * half[0])


def _cloud(draw: _Draw) -> tuple[Goal, CollisionScene]:
    boxes = [draw.scene.boxes[k] for k in draw.rng.integers(len(draw.scene.boxes), size=_CLOUD)]
    inside = draw.rng.uniform(-1.0, 1.0, (_CLOUD, 3))
    inside[:, 2] = 1.0
    points = [transform(box.T_parent_box, u * box.half_extents) for u, box in zip(inside, boxes, strict=True)]
    return _exactly(draw.T), replace(draw.scene, boxes=draw.scene.boxes[:1], points=np.array(points))


def _beyond(draw: _Draw) -> tuple[Goal, CollisionScene]:
    T = draw.T.copy()
    T[:2, 3] *= 2.5
    return _exactly(T), draw.scene


def _blocked(draw: _Draw) -> tuple[Goal, CollisionScene]:
    block = Box(pose(np.eye(3), draw.T[:3, 3] + [0.0, 0.0, 0.05]), np.full(3, 0.06))
    return _exactly(draw.T), replace(draw.scene, boxes=(*draw.scene.boxes, block))


def _unsolvable(draw: _Draw) -> tuple[Goal, CollisionScene]:
    at = [draw.rng.uniform(0.0, 0.25), draw.rng.uniform(-0.2, 0.2), draw.rng.uniform(0.05, 0.5)]
    return _exactly(pose(Rotation.random(random_state=draw.rng).as_matrix(), at)), CollisionScene()


KINDS: dict[str, tuple[Callable[[_Draw], tuple[Goal, CollisionScene]], ErrorCode | None]] = {
    "joint positions": (_joints, None),
    "a pose": (_one_pose, None),
    "one of several poses": (_several_poses, None),
    "a straight line": (_line, None),
    "with a held object": (_held, None),
    "among points": (_cloud, None),
    "beyond the arm": (_beyond, ErrorCode.OUT_OF_WORKSPACE),
    "blocked": (_blocked, ErrorCode.PLAN_FAILED),
    "without joint positions": (_unsolvable, ErrorCode.IK_FAILED),
}
"""Kinds of questions, and how each is to be refused; None where there is an answer."""


def draw_question(seed: int, robot: RobotModel) -> PlannerQuestion:
    """The question of a seed, of each kind in turn; the same for the same robot.

    Raises:
        ToolError: What the embedded planner says of the last draw, where none has an answer or the right refusal.
    """
    kind = list(KINDS)[seed % len(KINDS)]
    make, refusal = KINDS[kind]
    planner, kinematics = EmbeddedPlanner(seed, robot), Kinematics(robot)
    failure: ToolError | None = None
    for attempt in range(_DRAWS):
        problem = draw_problem("table", 1000 * seed + attempt, robot)
        rng = np.random.default_rng([seed, attempt])
        T = kinematics.fk(problem.goal)
        goal, scene = make(_Draw(rng, problem.scene, problem.start, problem.goal, T, robot))
        question = PlannerQuestion(kind, problem.start, goal, scene, _SPEEDS[seed % len(_SPEEDS)], refusal)
        try:
            if not Checker(SceneModel(scene, robot)).free(question.start):
                continue
            planner.plan(question.start, goal, scene, question.speed)
        except ToolError as error:
            if error.code is refusal:
                return question
            failure = error
            continue
        if refusal is None:
            return question
    raise failure or ToolError(ErrorCode.INTERNAL, f"No question of the kind {kind!r} could be drawn.")


# -- judging -----------------------------------------------------------------------------------------


def faults(planner: Planner, question: PlannerQuestion, robot: RobotModel) -> list[str]:
    """What is wrong with a planner's answer to a question, in words; nothing where all is as it has to be."""
    try:
        trajectory = planner.plan(question.start, question.goal, question.scene, question.speed)
    except ToolError as error:
        if error.code is question.refusal:
            return []
        wanted = question.refusal or "an answer"
        return [f"it says {error.code} where {wanted} is right: {error.message}"]
    if question.refusal is not None:
        return [f"it answers where {question.refusal} is right"]
    return _faults(trajectory, question, robot)


def _faults(trajectory: Trajectory, question: PlannerQuestion, robot: RobotModel) -> list[str]:
    found = []
    q, scene = trajectory.q, question.scene
    if trajectory.joint_names != robot.arm_joints:
        found.append(f"its joints are {', '.join(trajectory.joint_names)}")
    if q[0].tobytes() != question.start.tobytes():
        found.append(f"it starts {np.abs(q[0] - question.start).max():.2g} rad away from the start")
    try:
        limits = MotionLimits(speed=question.speed, robot=robot)
        check_trajectory(trajectory, attached_opening(scene, robot.gripper), limits, Kinematics(robot))
    except ToolError as error:
        found.append(error.message)
    checker = Checker(SceneModel(scene, robot), question.start)
    if not checker.path_free(between(trajectory)):
        found.append(checker.error("its path").message)
    return [*found, *_misses(q, question, Chain(robot), robot)]


def _misses(q: FloatArray, question: PlannerQuestion, chain: Chain, robot: RobotModel) -> list[str]:
    goal = question.goal
    if isinstance(goal, JointGoal):
        away = float(np.abs(robot.nearest_turn(goal.q, q[-1]) - q[-1]).max())
        return [f"it ends {away:.2g} rad away from the goal"] if away > JOINT_EXACT else []
    end = chain.at(q[-1])
    targets = goal.T_base_gripper if isinstance(goal, PoseGoal) else goal.T_base_gripper[None]
    allowed = 2.0 * EXACT if isinstance(goal, PoseGoal) else 1e-5  # each step of a line is solved to 1e-6 m, 1e-5 rad
    nearest = min(
        max(float(np.linalg.norm(end[:3, 3] - T[:3, 3])), rotation_angle(end[:3, :3], T[:3, :3])) for T in targets
    )
    if nearest > allowed:
        return [f"it ends {nearest:.2g} m or rad away from the goal"]
    if isinstance(goal, LinearGoal):
        start = chain.at(q[0])[:3, 3]
        direction = (end[:3, 3] - start) / np.linalg.norm(end[:3, 3] - start)
        passed = np.array([chain.at(row)[:3, 3] for row in q[::10]]) - start
        aside = float(np.linalg.norm(passed - (passed @ direction)[:, None] * direction, axis=1).max())
        if aside > STRAIGHT:
            return [f"it leaves the straight line by {1000 * aside:.2f} mm"]
    return []
