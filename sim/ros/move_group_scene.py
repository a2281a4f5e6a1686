"""What the double of move_group reads of messages: the planning scene, states and goals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
from scipy.spatial.transform import Rotation
from shape_msgs.msg import SolidPrimitive

from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.types import Box, CollisionScene, FloatArray, Goal, JointGoal, PoseGoal

_NO_TABLE = -10.0
"""Height of the table [m] where the only table is an obstacle of the messages."""
_LEAST_RADIUS = 1e-3
"""Radius of the points of a scene that has none [m]; any number will do."""


class MessageRefused(Exception):
    """Why a message is refused: the name of an error code of MoveIt, where it has one for it."""


def matrix(pose: Any) -> FloatArray:
    """The transform (4, 4) of a geometry_msgs Pose. Raises MessageRefused."""
    p, q = pose.position, pose.orientation
    numbers = np.array([p.x, p.y, p.z, q.x, q.y, q.z, q.w], float)
    if not np.isfinite(numbers).all() or not 0.99 < np.linalg.norm(numbers[3:]) < 1.01:
        raise MessageRefused("a pose is not finite, or its quaternion has another length than 1")
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Rotation.from_quat(numbers[3:]).as_matrix(), numbers[:3]
    return T


def joints_of(state: Any, robot: RobotModel) -> tuple[FloatArray, float]:
    """Joint positions (n,) of the arm [rad] and the opening of the jaws [m] in a RobotState. Raises MessageRefused."""
    at = dict(zip(state.joint_state.name, state.joint_state.position, strict=False))
    wanted = [at.get(name, np.nan) for name in (*robot.arm_joints, robot.gripper.joint)]
    if not np.isfinite(wanted).all():
        raise MessageRefused("INVALID_ROBOT_STATE")
    return np.array(wanted[:-1]), robot.gripper.opening(wanted[-1])


def read_goal(goals: Sequence[Any], robot: RobotModel, frame: str) -> Goal:
    """The poses, or the joint positions, that goal constraints describe. Raises MessageRefused."""
    poses, tolerances = [], []
    for goal in goals:
        joints = {each.joint_name: each.position for each in goal.joint_constraints}
        if set(joints) == set(robot.arm_joints) and len(goals) == 1:
            return JointGoal(np.array([joints[name] for name in robot.arm_joints]))
        if joints or len(goal.position_constraints) != 1 or len(goal.orientation_constraints) != 1:
            raise MessageRefused("INVALID_GOAL_CONSTRAINTS")
        place, turn = goal.position_constraints[0], goal.orientation_constraints[0]
        if {place.link_name, turn.link_name} != {robot.tip_frame}:
            raise MessageRefused("INVALID_LINK_NAME")
        if {place.header.frame_id, turn.header.frame_id} != {frame}:
            raise MessageRefused("FRAME_TRANSFORM_FAILURE")
        T = matrix(place.constraint_region.primitive_poses[0])
        o = turn.orientation
        T[:3, :3] = Rotation.from_quat([o.x, o.y, o.z, o.w]).as_matrix()
        poses.append(T)
        tolerances.append((place.constraint_region.primitives[0].dimensions[0], turn.absolute_z_axis_tolerance))
    if not poses:
        raise MessageRefused("INVALID_GOAL_CONSTRAINTS")
    return PoseGoal(np.array(poses), *np.array(tolerances).min(axis=0).tolist())


class Workcell:
    """The planning scene: obstacles and attached objects by their names.

    Attributes:
        frame: Frame of the robot's base.
        q: (n,) where the arm was last said to be [rad].
    """

    def __init__(self, robot: RobotModel, frame: str, kinematics: Kinematics) -> None:
        self.frame, self.q = frame, robot.park
        self._robot, self._kinematics = robot, kinematics
        self._objects: dict[str, list[tuple[FloatArray, SolidPrimitive]]] = {}
        self._attached: dict[str, tuple[str, list[tuple[FloatArray, SolidPrimitive]]]] = {}

    def change(self, message: Any) -> None:
        """Apply a PlanningScene, up to what is refused. Raises MessageRefused."""
        if not message.is_diff:
            self._objects.clear()
        if not message.robot_state.is_diff:
            self._attached.clear()
        for each in message.robot_state.attached_collision_objects:
            self._change_attached(each)
        for each in message.world.collision_objects:
            self._change_object(each)

    def _change_attached(self, message: AttachedCollisionObject) -> None:
        one = message.object
        if message.link_name not in self._robot.urdf.links:
            raise MessageRefused(f"nothing can be attached to {message.link_name!r}")
        if one.operation == CollisionObject.REMOVE:
            if one.id not in self._attached:
                raise MessageRefused(f"{one.id!r} is not attached")
            T = self._kinematics.fk(self.q)  # it stays in the air where it is let go
            self._objects[one.id] = [(T @ pose, shape) for pose, shape in self._attached.pop(one.id)[1]]
            return
        if one.header.frame_id != message.link_name:
            raise MessageRefused(f"the frame {one.header.frame_id!r} is not that of the link")
        self._attached[one.id] = message.link_name, _shapes(one)
        self._objects.pop(one.id, None)

    def _change_object(self, one: CollisionObject) -> None:
        if one.operation == CollisionObject.REMOVE:
            if self._objects.pop(one.id, None) is None:
                raise MessageRefused(f"there is no {one.id!r} to be removed")
            return
        if one.header.frame_id != self.frame:
            raise MessageRefused(f"the frame {one.header.frame_id!r} is not known")
        self._objects[one.id] = _shapes(one)

    def describe(self, message: Any) -> None:
        """Put the names of joints and objects that are there into a PlanningScene."""
        message.robot_state.joint_state.name = [*self._robot.arm_joints, self._robot.gripper.joint]
        message.world.collision_objects = [CollisionObject(id=name) for name in self._objects]
        message.robot_state.attached_collision_objects = [
            AttachedCollisionObject(link_name=link, object=CollisionObject(id=name))
            for name, (link, _) in self._attached.items()
        ]

    def scene(self, opening_m: float, holding: bool) -> CollisionScene:
        """The obstacles, with what is attached or with nothing, and jaws that are open by so much [m]."""
        shapes = [each for one in self._objects.values() for each in one]
        balls = [(pose, shape) for pose, shape in shapes if shape.type == SolidPrimitive.SPHERE]
        points = np.array([pose[:3, 3] for pose, _ in balls]).reshape(-1, 3)
        return CollisionScene(
            boxes=tuple(_box(*each) for each in shapes if each[1].type == SolidPrimitive.BOX),
            # The embedded planner keeps the workspace by itself, without walls.
            attached=tuple(
                _box(*each)
                for link, one in self._attached.values()
                for each in one
                if holding and link == self._robot.tip_frame and each[1].type == SolidPrimitive.BOX
            ),
            table_z=_NO_TABLE,
            margin=0.0,
            opening_m=opening_m,
            points=points,
            point_radius=max((shape.dimensions[0] for _, shape in balls), default=_LEAST_RADIUS),
        )


def _box(pose: FloatArray, shape: SolidPrimitive) -> Box:
    return Box(pose, np.array(shape.dimensions, float) / 2.0)


def _shapes(one: CollisionObject) -> list[tuple[FloatArray, SolidPrimitive]]:
    """The boxes and balls of an object with their poses in its header's frame. Raises MessageRefused."""
    if one.operation != CollisionObject.ADD or not one.primitives:
        raise MessageRefused(f"{one.id!r} is neither added with shapes nor removed")
    if len(one.primitives) != len(one.primitive_poses):
        raise MessageRefused(f"{one.id!r} has {len(one.primitives)} shapes and {len(one.primitive_poses)} poses")
    sizes = {SolidPrimitive.BOX: 3, SolidPrimitive.SPHERE: 1}
    if any(
        len(shape.dimensions) != sizes.get(shape.type, -1) or min(shape.dimensions) <= 0 for shape in one.primitives
    ):
        raise MessageRefused(f"{one.id!r} has a shape that is neither a box nor a ball of some size")
    T = matrix(one.pose)
    return [(T @ matrix(pose), shape) for pose, shape in zip(one.primitive_poses, one.primitives, strict=True)]
