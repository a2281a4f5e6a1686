"""A robot and a scene as cuRobo takes them: documents and numbers, without cuRobo."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from toolhand.tool_nodes.geometry import transform
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.timing import time_path, time_waypoints
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.robot_export.curobo_files import ATTACHED, ATTACHED_SPHERES, curobo_v1, curobo_v2
from toolhand.tool_nodes.robot_export.folder import CollisionModel
from toolhand.tool_nodes.robot_export.hand import jaw_links, parked_poses
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Trajectory

JAWS = "attached_jaws"
"""Link of cuRobo's robot that the balls of the jaws are put on: where they are depends on how far these are open."""

_TABLE_HALF = 2.0
"""Half of the side of the slab that stands for the table [m]: farther than any arm reaches."""
_TABLE_THICKNESS = 0.1
"""[m]; what is above it cannot be beneath it."""
_HOLE_MARGIN = 0.02
"""How much wider the hole of the slab is than the balls of the base that reach into it [m]: beyond the distance of 1 cm
within which cuRobo's costs begin."""
_ROUNDED_RAD = 0.02
"""How far a path may begin or end beside where it should [rad]: 5 mm at 0.3 m from a joint. A round figure."""
_WAYPOINT_RAD = 0.05
"""Spacing of the points that a path of cuRobo's is taken to be made of, in the joint that turns most [rad]: what its
interpolation rounds off between them is noise to a time parameterization. A round figure."""


def robot_document(robot: RobotModel, model: CollisionModel, urdf: str, newer: bool) -> dict[str, Any]:
    """The robot for planning, with the jaws and what is held as balls that are put onto the tip frame.

    Args:
        robot: The robot.
        model: Its collision model.
        urdf: Path of the URDF.
        newer: For cuRobo 0.8 rather than 0.7.
    """
    make = curobo_v2 if newer else curobo_v1
    jaws = set(jaw_links(robot))
    fixed = {link: balls for link, balls in model.balls.items() if link not in jaws}
    ignored = {
        link: [other for other in others if other not in jaws]
        for link, others in model.ignored.items()
        if link not in jaws
    }
    document = copy.deepcopy(make(robot, fixed, ignored, urdf, ""))
    kinematics: dict[str, Any] = document["robot_cfg"]["kinematics"]
    pairs = {frozenset((link, other)) for link, others in model.ignored.items() for other in others}
    with_jaws = kinematics["self_collision_ignore"]
    for link in fixed:  # what needs no check against any of the jaws' links needs none against their balls
        if all(frozenset((link, jaw)) in pairs for jaw in jaws & set(model.balls)):
            with_jaws.setdefault(link, []).append(JAWS)
    with_jaws[JAWS] = [ATTACHED]
    kinematics["collision_link_names"] += [JAWS]
    kinematics["self_collision_buffer"][JAWS] = 0.0
    kinematics["extra_collision_spheres"][JAWS] = max(1, jaw_count(model, robot))
    kinematics["extra_links"][JAWS] = {
        **kinematics["extra_links"][ATTACHED],
        "link_name": JAWS,
        "joint_name": "jaws_joint",
    }
    # Without links that the gripper's joint moves, there is no joint to lock.
    del kinematics["lock_joints"]
    cspace = kinematics["cspace"]
    for key, values in cspace.items():
        cspace[key] = values[: robot.dof]
    if newer:
        kinematics["grasp_contact_link_names"] += [JAWS]
    return document


def jaw_count(model: CollisionModel, robot: RobotModel) -> int:
    """Number of the jaws' balls."""
    return sum(len(model.balls.get(link, ())) for link in jaw_links(robot))


def padded(balls: FloatArray, count: int) -> FloatArray:
    """(count, 4) balls, of which those that are missing are none: their radius is negative."""
    none = np.tile([0.0, 0.0, 0.0, -100.0], (count - len(balls), 1))
    return np.vstack([balls, none])


CUBE_SIDE = float(np.cbrt(4.0 / 3.0 * np.pi))
"""Side of the cube that has the volume of a ball, in the ball's radii [-]. The cube around the ball reaches 0.73 radii
beyond it at its corners, where 1 of 23 questions among points had its start."""

HELD_COUNT = ATTACHED_SPHERES
"""Balls that cuRobo's robot has for what is held."""


def cuboids(
    scene: CollisionScene, robot: RobotModel, model: CollisionModel
) -> list[tuple[str, list[float], list[float]]]:
    """(name, [x, y, z, qw, qx, qy, qz], side lengths) of every obstacle in the base frame [m].

    Boxes are grown by the scene's margin, and each point of the cloud is the cube of its grown ball's volume, because
    cuRobo's primitives are cuboids: whether a path meets the ball itself, the check of every answer says. The table is
    a slab with a hole beneath the base, whose balls reach into it.
    """
    found = _table(scene.table_z, robot, model)
    for index, box in enumerate(scene.boxes):
        sides = 2.0 * (np.asarray(box.half_extents, float) + scene.margin)
        found.append((f"box_{index}", pose_list(np.asarray(box.T_parent_box, float)), sides.tolist()))
    side = [CUBE_SIDE * (scene.point_radius + scene.margin)] * 3
    found += [
        (f"point_{index}", [x, y, z, 1.0, 0.0, 0.0, 0.0], side)
        for index, (x, y, z) in enumerate(np.asarray(scene.points, float).tolist())
    ]
    return found


def _table(table_z: float, robot: RobotModel, model: CollisionModel) -> list[tuple[str, list[float], list[float]]]:
    low, high = _footprint(table_z, robot, model)
    z, far = table_z - _TABLE_THICKNESS / 2.0, _TABLE_HALF
    corners = [
        ((-far, -far), (low[0], far)),
        ((high[0], -far), (far, far)),
        ((low[0], -far), (high[0], low[1])),
        ((low[0], high[1]), (high[0], far)),
    ]
    return [
        (
            f"table_{index}",
            [(a[0] + b[0]) / 2.0, (a[1] + b[1]) / 2.0, z, 1.0, 0.0, 0.0, 0.0],
            [b[0] - a[0], b[1] - a[1], _TABLE_THICKNESS],
        )
        for index, (a, b) in enumerate(corners)
        if b[0] - a[0] > 0.0 and b[1] - a[1] > 0.0
    ]


def _footprint(table_z: float, robot: RobotModel, model: CollisionModel) -> tuple[FloatArray, FloatArray]:
    """Corners (2,) of the rectangle that the balls of what stands still take on the table [m]; both 0 without any."""
    low, high = np.zeros(2), np.zeros(2)
    poses = parked_poses(robot, robot.gripper.max_opening)
    for link, balls in model.balls.items():
        if any(joint.attrib["type"] != "fixed" for joint in robot.urdf.chain(link)):
            continue
        for ball in balls:
            center = transform(poses[link], np.array([ball.center]))[0]
            if center[2] - ball.radius < table_z + _HOLE_MARGIN:
                low = np.minimum(low, center[:2] - ball.radius - _HOLE_MARGIN)
                high = np.maximum(high, center[:2] + ball.radius + _HOLE_MARGIN)
    return low, high


def pose_list(T: FloatArray) -> list[float]:
    """A pose (4, 4) as cuRobo writes it: x, y, z [m], then the quaternion with its real part first."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(T[:3, :3]).as_quat().tolist()
    return [*T[:3, 3].tolist(), w, x, y, z]


def timed(path: FloatArray, start: FloatArray, end: FloatArray, robot: RobotModel, speed: float) -> Trajectory:
    """A path of single precision as a trajectory from start to end, by the project's own time parameterization.

    Args:
        path: (N, n) joint positions [rad], N >= 1.
        start, end: (n,) where it begins and ends exactly [rad]; the path is bent by what it is beside them.
        robot: Robot with the limits.
        speed: (0, 1].

    Raises:
        ToolError: PLAN_FAILED for a path that begins or ends elsewhere.
    """
    gap = float(max(np.abs(path[0] - start).max(), np.abs(path[-1] - end).max()))
    if gap > _ROUNDED_RAD:
        raise ToolError(ErrorCode.PLAN_FAILED, f"The path of cuRobo begins or ends elsewhere, {gap:.2g} rad away.")
    steps = np.abs(np.diff(path, axis=0)).max(axis=1, initial=0.0)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    if along[-1] < 1e-6:
        return time_waypoints(np.vstack([start, end]), robot, speed)
    moved = np.concatenate([[True], steps > 0.0])
    share = along[moved] / along[-1]
    bent = path[moved] + (1.0 - share[:, None]) * (start - path[0]) + share[:, None] * (end - path[-1])
    s = np.linspace(0.0, 1.0, max(4, int(np.ceil(along[-1] / _WAYPOINT_RAD)) + 1))
    points = np.array([np.interp(s, share, column) for column in bent.T]).T
    points[0], points[-1] = start, end
    return time_path(s, points, robot, speed)
