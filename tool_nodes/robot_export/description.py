"""The URDF that goes with the exported files: the robot's own, with the limits of robot.yaml and its meshes."""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from toolhand.tool_nodes.motion.packages import mesh_file
from toolhand.tool_nodes.motion.robot_file import read_file, robot_error
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.robot_spec import gripper_links, load_robot_spec

BASE_LINK = "base_link"
"""Name of the link that stands on the origin of the base frame."""

_PLAIN = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, eq=False)
class ExportNames:
    """Names that the exported files have in common.

    Attributes:
        name: Name of the robot in its URDF.
        package: Name of the ROS package of the MoveIt configuration.
        base: Link whose frame is the base frame.
        hand: Links of the gripper, in the order of the URDF.
        hand_parent: Link that the gripper hangs on.
        hand_joints: Joints of the gripper and the one that it hangs by, in the order of the URDF.
        mimics: Those of them that follow another joint.
        driven: Joints that are driven: the arm's, then the gripper's.
    """

    name: str
    package: str
    base: str
    hand: tuple[str, ...]
    hand_parent: str
    hand_joints: tuple[str, ...]
    mimics: tuple[str, ...]
    driven: tuple[str, ...]


@cache
def describe(robot: RobotModel) -> ExportNames:
    """The names of a robot.

    Raises:
        ToolError: INVALID_ARGUMENT where a joint turns about no axis of its frame, as cuRobo's joints have to.
    """
    urdf = robot.urdf
    for name, joint in urdf.joints.items():
        axis = joint.find("axis")
        if joint.attrib["type"] != "fixed" and axis is not None:
            x = np.abs(urdf.file.numbers(axis, "xyz", 3))
            if not (np.sort(x)[:2] == 0.0).all() or x.max() != 1.0:
                raise urdf.file.error(axis, f"of the joint {name!r}: cuRobo needs an axis of its frame, such as 0 0 -1")
    hand = gripper_links(load_robot_spec(robot), robot)
    hand_joints = tuple(name for name, joint in urdf.joints.items() if urdf.child(joint) in hand)
    name = urdf.file.root.attrib.get("name") or robot.urdf_path.stem
    root = next(link for link in urdf.links if link not in urdf.above)
    return ExportNames(
        name=name,
        package=f"{_ros_name(name)}_moveit_config",
        base=BASE_LINK if _stands_on(robot, BASE_LINK, root) else root,
        hand=tuple(link for link in urdf.links if link in hand),
        hand_parent=urdf.parent(urdf.above[robot.gripper.base_link]),
        hand_joints=hand_joints,
        mimics=tuple(joint for joint in hand_joints if urdf.joints[joint].find("mimic") is not None),
        driven=robot.joints,
    )


def _ros_name(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "robot"
    return plain if plain[0].isalpha() else f"robot_{plain}"


def _stands_on(robot: RobotModel, link: str, root: str) -> bool:
    """True if the frames of a link and of the root are the same."""
    if link == root:
        return True
    if link not in robot.urdf.links:
        return False
    for joint in robot.urdf.chain(link):
        origin = joint.find("origin")
        placed = origin is not None and any(
            any(robot.urdf.file.numbers(origin, key, 3, default="0 0 0")) for key in ("xyz", "rpy")
        )
        if placed or joint.attrib["type"] != "fixed":
            return False
    return True


def exported_urdf(robot: RobotModel, meshes: str = "") -> tuple[str, dict[str, bytes]]:
    """(XML, meshes by their names) of a robot.

    Ranges and speeds of the arm's joints are those of robot.yaml, which may be tighter than the URDF's; what only
    MuJoCo reads is left out.

    Args:
        robot: The robot.
        meshes: Address of the folder with its meshes; empty for the folder `meshes` of the exported package.
    """
    root = copy.deepcopy(robot.urdf.file.root)
    for element in root.findall("mujoco"):
        root.remove(element)
    joints = {joint.attrib["name"]: joint for joint in root.findall("joint")}
    for index, name in enumerate(robot.arm_joints):
        limit = joints[name].find("limit")
        assert limit is not None  # `check_arm` has asked for one
        limit.set("velocity", repr(float(robot.velocity[index])))
        if not robot.continuous[index]:
            limit.set("lower", repr(float(robot.lower[index])))
            limit.set("upper", repr(float(robot.upper[index])))
    meshes = meshes or f"package://{describe(robot).package}/meshes"
    names: dict[Path, str] = {}
    for mesh in root.iter("mesh"):
        try:
            path = mesh_file(mesh.attrib["filename"], robot.urdf_path.parent)
        except (ValueError, OSError) as error:
            raise robot_error(robot.urdf_path, str(error).rstrip(".")) from error
        name = names.setdefault(path, f"{len(names)}_{_PLAIN.sub('_', path.name)}")
        mesh.set("filename", f"{meshes}/{name}")
    ET.indent(root)
    text = '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
    return text, {name: read_file(path) for path, name in names.items()}
