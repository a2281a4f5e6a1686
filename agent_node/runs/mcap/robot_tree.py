"""The robot's links as transforms, from its URDF and joint positions alone: what robot_state_publisher sends."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.types import FloatArray


@dataclass(frozen=True)
class Link:
    """One joint of the URDF: where the child is in its parent.

    Attributes:
        translation: (3,) [m].
        rotation: At joint position 0.
        axis: (3,) of the turn in the child's frame; zero where the joint is fixed.
        joint: The joint whose position counts, another one where this one mimics it.
        factor, offset: Turn [rad] = factor * position + offset.
    """

    parent: str
    child: str
    translation: FloatArray
    rotation: Rotation
    axis: FloatArray
    joint: str
    factor: float = 1.0
    offset: float = 0.0

    @property
    def fixed(self) -> bool:
        """True if it never moves."""
        return not self.axis.any()

    def quaternions(self, positions: FloatArray) -> FloatArray:
        """Rotations (N, 4), wxyz, for positions (N,) of `joint` [rad]."""
        turns = (self.factor * positions + self.offset)[:, None] * self.axis
        return (self.rotation * Rotation.from_rotvec(turns)).as_quat(scalar_first=True)


@cache
def robot_links(robot: RobotModel) -> tuple[Link, ...]:
    """Every joint of the robot's URDF, in its order. Revolute, continuous and fixed ones: it has no others."""
    return tuple(_link(joint) for joint in ET.fromstring(robot.urdf_text()).findall("joint"))


def moving_links(robot: RobotModel, positions: Mapping[str, FloatArray]) -> list[tuple[Link, FloatArray]]:
    """Links whose joint is known, with their rotations (N, 4), wxyz. Positions are (N,) [rad] by joint name."""
    return [
        (link, link.quaternions(positions[link.joint]))
        for link in robot_links(robot)
        if not link.fixed and link.joint in positions
    ]


def _link(joint: ET.Element) -> Link:
    origin, axis, mimic = joint.find("origin"), joint.find("axis"), joint.find("mimic")
    at = {} if origin is None else origin.attrib
    own = joint.attrib["name"]
    turns = joint.attrib["type"] != "fixed"
    return Link(
        parent=_named(joint, "parent"),
        child=_named(joint, "child"),
        translation=_numbers(at.get("xyz", "0 0 0")),
        rotation=Rotation.from_euler("xyz", _numbers(at.get("rpy", "0 0 0"))),
        axis=_numbers("1 0 0" if axis is None else axis.attrib["xyz"]) if turns else np.zeros(3),
        joint=own if mimic is None else mimic.attrib["joint"],
        factor=1.0 if mimic is None else float(mimic.attrib.get("multiplier", 1.0)),
        offset=0.0 if mimic is None else float(mimic.attrib.get("offset", 0.0)),
    )


def _named(joint: ET.Element, what: str) -> str:
    element = joint.find(what)
    assert element is not None  # URDF requires it, and the planner has read this file
    return element.attrib["link"]


def _numbers(text: str) -> FloatArray:
    return np.array([float(word) for word in text.split()])
