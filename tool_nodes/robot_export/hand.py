"""The hand for planners that know no jaws: the balls of what the jaws move, and of what is held, in the tip frame."""

from __future__ import annotations

from functools import cache

import mujoco
import numpy as np

from toolhand.tool_nodes.geometry import transform
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.robot_spec import compile_spec, load_robot_spec
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.robot_export.description import describe
from toolhand.tool_nodes.robot_export.spheres import EXCESS, Ball, cover_box
from toolhand.tool_nodes.robot_export.touching import joint_positions
from toolhand.tool_nodes.types import Box, FloatArray

_GROWTH = 1.5
"""By what the balls of a held object are made larger where there would be too many [-]; a round figure."""
_COARSEST = 0.1
"""Excess of a held object's balls that is not exceeded [m]: what is larger cannot be held."""


@cache
def jaw_links(robot: RobotModel) -> tuple[str, ...]:
    """Links of the gripper that its jaws move, in the order of the URDF."""
    urdf, found = robot.urdf, []
    for link in describe(robot).hand:
        own = [joint for joint in urdf.chain(link) if joint.attrib["name"] in describe(robot).hand_joints]
        if any(joint.attrib["type"] != "fixed" for joint in own):
            found.append(link)
    return tuple(found)


def parked_poses(robot: RobotModel, opening_m: float) -> dict[str, FloatArray]:
    """Poses (4, 4) of all links in the base frame, where the arm is parked and the jaws are open by this [m].

    Raises:
        ToolError: INVALID_ARGUMENT if the jaws cannot open by that.
    """
    model = _model(robot)
    data = mujoco.MjData(model)
    jaws = np.array([robot.gripper.joint_position(opening_m)])
    data.qpos[:] = joint_positions(robot, model, robot.park[None], jaws)[0]
    mujoco.mj_kinematics(model, data)
    poses = {}
    for link in robot.urdf.links:
        body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, link)
        if body >= 0:
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
            poses[link] = T
    return poses


def jaw_balls(robot: RobotModel, balls: dict[str, list[Ball]], opening_m: float) -> FloatArray:
    """(N, 4) centres and radii of the balls of `jaw_links` in the tip frame; see `parked_poses`."""
    poses = parked_poses(robot, opening_m)
    T_tip = np.linalg.inv(poses[robot.tip_frame])
    rows = [np.empty((0, 4))]
    for link in jaw_links(robot):
        for ball in balls.get(link, ()):
            rows.append(np.append(transform(T_tip @ poses[link], np.array([ball.center])), [[ball.radius]], axis=1))
    return np.vstack(rows)


def held_balls(boxes: tuple[Box, ...], most: int) -> FloatArray:
    """(N, 4) centres and radii in the tip frame of balls that cover what is held, with N up to `most`.

    Raises:
        ToolError: INVALID_ARGUMENT where so few cannot.
    """
    excess = EXCESS
    while excess < _COARSEST:
        rows = [np.empty((0, 4))]
        for box in boxes:
            centers, radii = cover_box(np.asarray(box.half_extents, float), excess)
            placed = transform(np.asarray(box.T_parent_box, float), centers)
            rows.append(np.append(placed, radii[:, None], axis=1))
        found = np.vstack(rows)
        if len(found) <= most:
            return found
        excess *= _GROWTH
    raise invalid(f"What is held takes more than {most} collision spheres.")


@cache
def _model(robot: RobotModel) -> mujoco.MjModel:
    return compile_spec(load_robot_spec(robot), robot)
