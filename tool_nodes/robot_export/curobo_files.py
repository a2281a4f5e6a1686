"""A robot for planners on a GPU: cuRobo's YAML in the formats of 0.7 and 0.8, and XRDF for cuMotion."""

from __future__ import annotations

from typing import Any

import numpy as np

from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.robot_export.description import describe
from toolhand.tool_nodes.robot_export.spheres import Ball

ATTACHED = "attached_object"
"""Name of the link that what is held is put on, as in cuRobo's own files."""
ATTACHED_SPHERES = 64
"""Spheres that are kept for what is held; a round figure: a box of 10 x 10 x 15 cm takes 44 within 15 mm."""

_MARGIN = 0.0
"""What is added to every sphere [m]: they cover the links as they are."""

Balls = dict[str, list[Ball]]
"""Collision spheres by links, in their frames."""

Ignored = dict[str, list[str]]
"""Links to those whose collision with them is not checked, each pair once."""


def ignored_map(pairs: list[tuple[str, str]]) -> Ignored:
    """Pairs of links as cuRobo and XRDF write them."""
    found: Ignored = {}
    for first, second in sorted(pairs):
        found.setdefault(first, []).append(second)
    return found


def curobo_v1(robot: RobotModel, balls: Balls, ignored: Ignored, urdf: str, assets: str) -> dict[str, Any]:
    """The document of cuRobo 0.7.

    Args:
        robot: The robot.
        balls: Collision spheres by links.
        ignored: Pairs that are not checked.
        urdf: Path of the URDF.
        assets: Folder that the URDF's files are in.
    """
    names = describe(robot)
    kinematics = _kinematics(robot, balls, ignored, urdf, assets)
    cspace = kinematics["cspace"]
    cspace["retract_config"] = cspace.pop("default_joint_position")
    kinematics["ee_link"] = robot.tip_frame
    kinematics["use_global_cumul"] = True
    kinematics["mesh_link_names"] = []
    return {"robot_cfg": {"kinematics": {"base_link": names.base, **kinematics}}}


def curobo_v2(robot: RobotModel, balls: Balls, ignored: Ignored, urdf: str, assets: str) -> dict[str, Any]:
    """The document of cuRobo 0.8; see `curobo_v1`."""
    names = describe(robot)
    kinematics = _kinematics(robot, balls, ignored, urdf, assets)
    kinematics["tool_frames"] = [robot.tip_frame]
    kinematics["grasp_contact_link_names"] = [*(link for link in names.hand if link in balls), ATTACHED]
    return {"robot_cfg": {"kinematics": {"format_version": 2.0, "base_link": names.base, **kinematics}}}


def _kinematics(robot: RobotModel, balls: Balls, ignored: Ignored, urdf: str, assets: str) -> dict[str, Any]:
    names = describe(robot)
    hand = [link for link in names.hand if link in balls]
    with_held = {link: list(others) for link, others in ignored.items()}
    for link in hand:
        with_held.setdefault(link, []).append(ATTACHED)
    links = [*balls, ATTACHED]
    return {
        "urdf_path": urdf,
        "asset_root_path": assets,
        "collision_link_names": links,
        "collision_spheres": _spheres(balls),
        "collision_sphere_buffer": _MARGIN,
        "extra_collision_spheres": {ATTACHED: ATTACHED_SPHERES},
        "self_collision_ignore": with_held,
        "self_collision_buffer": dict.fromkeys(links, 0.0),
        "lock_joints": {robot.gripper.joint: robot.gripper.open_at},
        "extra_links": {
            ATTACHED: {
                "parent_link_name": robot.tip_frame,
                "link_name": ATTACHED,
                "joint_name": "attach_joint",
                "joint_type": "FIXED",
                "fixed_transform": [0, 0, 0, 1, 0, 0, 0],
            }
        },
        "cspace": {
            "joint_names": list(names.driven),
            "default_joint_position": [*robot.park.tolist(), robot.gripper.open_at],
            "null_space_weight": [1.0] * len(names.driven),
            "cspace_distance_weight": [*robot.weights.tolist(), 1.0],
            "max_acceleration": [*robot.acceleration.tolist(), float(robot.acceleration.max())],
            "max_jerk": [*_jerk(robot), max(_jerk(robot))],
        },
    }


def xrdf(robot: RobotModel, balls: Balls, ignored: Ignored) -> dict[str, Any]:
    """The XRDF document, which goes with the exported URDF."""
    geometry, curobo = f"{describe(robot).name}_spheres", _kinematics(robot, balls, ignored, "", "")
    buffers = curobo["self_collision_buffer"]
    frame = {
        "frame_name": ATTACHED,
        "parent_frame_name": robot.tip_frame,
        "joint_name": "attach_joint",
        "joint_type": "FIXED",
        "fixed_transform": {"position": [0.0, 0.0, 0.0], "orientation": {"w": 1.0, "xyz": [0.0, 0.0, 0.0]}},
    }
    none = {"center": [0.0, 0.0, 0.0], "radius": -100.0}  # no link has no spheres: this one touches nothing
    return {
        "format": "xrdf",
        "format_version": 1.0,
        "modifiers": [{"set_base_frame": describe(robot).base}, {"add_frame": frame}],
        "default_joint_positions": {
            **dict(zip(robot.arm_joints, robot.park.tolist(), strict=True)),
            robot.gripper.joint: robot.gripper.open_at,
        },
        "cspace": {
            "joint_names": list(robot.arm_joints),
            "acceleration_limits": robot.acceleration.tolist(),
            "jerk_limits": _jerk(robot),
        },
        "tool_frames": [robot.tip_frame],
        "collision": {"geometry": geometry, "buffer_distance": dict.fromkeys(buffers, _MARGIN)},
        "self_collision": {"geometry": geometry, "buffer_distance": buffers, "ignore": curobo["self_collision_ignore"]},
        "geometry": {geometry: {"spheres": {**_spheres(balls), ATTACHED: [none]}}},
    }


def _spheres(balls: Balls) -> dict[str, list[dict[str, Any]]]:
    return {
        link: [{"center": list(ball.center), "radius": ball.radius} for ball in of_link]
        for link, of_link in balls.items()
    }


def _jerk(robot: RobotModel) -> list[float]:
    """(n,) [rad/s^3]."""
    jerk: list[float] = np.round(robot.acceleration / robot.jerk_time, 9).tolist()
    return jerk
