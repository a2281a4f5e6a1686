"""A robot is data: what planning, grasping and safety know of it is read from the robot.yaml in its folder.

`load_robot` gives the one object that all of them are handed. Nothing else here depends on which robot it is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
from annotated_types import Len
from numpy.typing import ArrayLike, NDArray

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.motion.gripper import GripperModel, Label, LowHigh, Positive
from toolhand.tool_nodes.motion.rated import ArmJoint, check_arm, check_gripper
from toolhand.tool_nodes.motion.robot_file import CORRECT, read_file, robot_error
from toolhand.tool_nodes.motion.urdf import Urdf
from toolhand.tool_nodes.records import yaml_record
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.robot_names import DEFAULT_ROBOT, ROBOTS
from toolhand.tool_nodes.types import BoolArray, FloatArray
from toolhand.tool_nodes.workspace import in_sector

URDF_FOLDER = Path(__file__).parents[2] / "urdf"
"""Beside the package, both in a checkout and where it is installed."""

ROBOT_FILE = "robot.yaml"

GEN3 = URDF_FOLDER / ROBOTS["gen3"]
JACO2 = URDF_FOLDER / ROBOTS["jaco2_j2s7s300"]
"""What the entry points of their names mean; those of other packages are paths of folders, too."""

_STROKE_SLACK = 1e-3
"""The crank's equation meets the nominal stroke and the closed jaws to within this [m]."""


@dataclass(frozen=True)
class Reach:
    """Where the arm works, in the base frame [m].

    Attributes:
        radius: (least, greatest) distance from the base's axis within which objects are placed.
        x_min, y_max: Bounds of x and of |y|.
        low, high: (3,) corners of the box that no fingertip may leave.
        shoulder: (3,) centre of the shoulder.
        wrist_to_tip: From the centre of the wrist to the tip frame, along its Z.
        wrist_reach: Upper bound of the distance from the shoulder to the centre of the wrist.
    """

    radius: tuple[float, float]
    x_min: float
    y_max: float
    low: FloatArray
    high: FloatArray
    shoulder: FloatArray
    wrist_to_tip: float
    wrist_reach: float

    def contains(self, xy: ArrayLike) -> bool:
        """True if a point (x, y) of the table [m] can be worked on with the gripper pointing down."""
        return bool(in_sector(np.asarray(xy, dtype=float)[:2], self.radius, self.x_min, self.y_max))


@dataclass(frozen=True, eq=False)
class RobotModel:
    """An arm with a gripper. Arrays (n,) have one value for each of the arm's n joints, base first; none is writable.

    Attributes:
        name: Name that was asked for.
        folder: Where its files are.
        urdf: Text of its URDF when it was read.
        simulation_path: File with what MuJoCo needs beside the URDF.
        arm_joints: Names of the joints.
        lower, upper: (n,) range [rad], infinite for continuous joints.
        continuous: (n,) bool: joints without a stop.
        velocity: (n,) limit [rad/s].
        acceleration: (n,) limit [rad/s^2].
        jerk_time: Time in which the acceleration builds up [s]: the jerk is limited to acceleration / jerk_time.
        weights: (n,) how much of the arm a joint moves, for distances between configurations [-].
        named_states: Joint positions (n,) [rad]. `Park` is one of them.
        tip_frame: Link that poses of the gripper are poses of.
        wrist_camera_frame: Link of the camera beside the gripper; OpenCV axes.
        gripper: The gripper.
        reach: Where the arm works.
        trajectory_action, gripper_action: Names of the drivers' actions in ROS 2.
    """

    name: str
    folder: Path
    urdf: Urdf
    simulation_path: Path
    arm_joints: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    continuous: BoolArray
    velocity: FloatArray
    acceleration: FloatArray
    jerk_time: float
    weights: FloatArray
    named_states: Mapping[str, FloatArray]
    tip_frame: str
    wrist_camera_frame: str
    gripper: GripperModel
    reach: Reach
    trajectory_action: str
    gripper_action: str

    @property
    def urdf_path(self) -> Path:
        """The file of its URDF."""
        return self.urdf.path

    @property
    def dof(self) -> int:
        """Number n of the arm's joints."""
        return len(self.arm_joints)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of all joints that are driven: the arm's, then the gripper's."""
        return (*self.arm_joints, self.gripper.joint)

    @property
    def park(self) -> FloatArray:
        """(n,) the named state in which every motion ends [rad]."""
        return self.named_states["Park"]

    @property
    def sampled_range(self) -> tuple[FloatArray, FloatArray]:
        """(lower, upper), each (n,) [rad], that random postures are drawn from: one turn of continuous joints."""
        return np.where(self.continuous, -np.pi, self.lower), np.where(self.continuous, np.pi, self.upper)

    def urdf_text(self) -> str:
        """The URDF."""
        return self.urdf.file.text()

    def known_by(self) -> str:
        """What its files are known by, wherever their folder lies and however it was typed: 16 hexadecimal digits."""
        files = (self.urdf_text().encode(), read_file(self.folder / ROBOT_FILE), read_file(self.simulation_path))
        return hashlib.sha256(b"\0".join(files)).hexdigest()[:16]

    def link_names(self) -> frozenset[str]:
        """Names of the URDF's links."""
        return frozenset(self.urdf.links)

    def check_joints(self, q: ArrayLike, what: str) -> FloatArray:
        """`q` as a fresh float array (n,). Raises ToolError INVALID_ARGUMENT if it is not n finite numbers."""
        try:
            joints = np.array(q, dtype=float)
        except (TypeError, ValueError):
            joints = np.empty(0)
        if joints.shape != (self.dof,) or not np.isfinite(joints).all():
            raise invalid(f"The {what} must be {self.dof} finite joint positions [rad], got {q!r}.")
        return joints

    def beyond(self, q: FloatArray, slack: float = 0.0) -> FloatArray:
        """How far (..., n) each joint of q is outside its range, widened by a slack [rad]; 0 inside."""
        return np.maximum(np.maximum(self.lower - slack - q, q - self.upper - slack), 0.0)

    def nearest_turn(self, q: FloatArray, reference: FloatArray) -> FloatArray:
        """`q` (..., n) with continuous joints moved by whole turns to be closest to `reference` (..., n)."""
        turns = np.where(self.continuous, np.round((reference - q) / (2 * np.pi)), 0.0)
        return q + 2 * np.pi * turns

    def joint_difference(self, q: FloatArray, reference: FloatArray) -> FloatArray:
        """`q - reference` (..., n) [rad]; of continuous joints modulo whole turns, in [-pi, pi].

        For measured positions: ros2_kortex reports continuous joints in (-pi, pi], whatever turn they are in. Along a
        trajectory the plain difference is what the arm turns by.
        """
        return self.nearest_turn(q, reference) - reference


def find_robot(name: str) -> Path:
    """The folder of a robot: of one that comes along, of an installed package's, or any by its path.

    A package offers its robots as entry points of the group `toolhand.robot`, each the path of a folder with a
    robot.yaml.

    Raises:
        ToolError: INVALID_ARGUMENT where there is none, UNAVAILABLE where a package's cannot be loaded.
    """
    if name in ROBOTS:
        return URDF_FOLDER / ROBOTS[name]
    if os.path.isfile(Path(name) / ROBOT_FILE):  # says no where a name is too long for a file
        return Path(name)
    known = registry.names("robot")
    if name not in known:
        raise invalid(
            f"There is no robot {name[:200]!r}.",
            f"Known are {', '.join(sorted({*ROBOTS, *known}))}; or give the path of a folder with a {ROBOT_FILE}.",
        )
    return Path(registry.load("robot", name))


def load_robot(name: str = DEFAULT_ROBOT) -> RobotModel:
    """The robot of a name that `find_robot` knows; the same object for the same folder, however it is typed.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown name or a file that is wrong, UNAVAILABLE where a file is missing.
    """
    folder = find_robot(name).resolve()
    known = {(URDF_FOLDER / place).resolve(): own for own, place in ROBOTS.items()}
    return _load(known.get(folder, name if name in registry.names("robot") else str(folder)), folder)


_Triple = tuple[float, float, float]


@dataclass(frozen=True)
class _Box:
    low: _Triple
    high: _Triple


@dataclass(frozen=True)
class _Reach:
    """See `Reach`."""

    radius: LowHigh
    x_min: float
    y_max: Positive
    box: _Box
    shoulder: _Triple
    wrist_to_tip: float
    wrist_reach: Positive


@dataclass(frozen=True)
class _Actions:
    trajectory_action: Label
    gripper_action: Label


@dataclass(frozen=True)
class _RobotFile:
    """A robot.yaml; see `RobotModel`."""

    urdf: Label
    simulation: Label
    tip_frame: Label
    wrist_camera_frame: Label
    arm: Annotated[tuple[ArmJoint, ...], Len(1)]
    jerk_time: Positive
    named_states: dict[str, tuple[float, ...]]
    reach: _Reach
    gripper: GripperModel
    ros: _Actions


@cache
def _load(name: str, folder: Path) -> RobotModel:
    file = folder / ROBOT_FILE
    text = read_file(file)
    try:
        top = yaml_record(_RobotFile, text, str(file))
    except ToolError as error:
        raise invalid(error.message, CORRECT) from None
    simulation_path = folder / top.simulation
    read_file(simulation_path)
    urdf = Urdf(folder / top.urdf)
    names = tuple(joint.name for joint in top.arm)
    for key, link in (
        ("tip_frame", top.tip_frame),
        ("wrist_camera_frame", top.wrist_camera_frame),
        ("gripper.base_link", top.gripper.base_link),
    ):
        if link not in urdf.links:
            raise robot_error(file, f"{key} names no link of {urdf.path.name}: {link!r}")
    joints = {f"arm[{index}].name": joint for index, joint in enumerate(names)}
    for key, joint in {**joints, "gripper.joint": top.gripper.joint}.items():
        if joint not in urdf.joints:
            raise robot_error(file, f"{key} names no joint of {urdf.path.name}: {joint!r}")
    _check_chain(file, urdf, names, top.tip_frame)
    ranges = np.array([_checked_range(file, urdf, f"arm[{index}]", joint) for index, joint in enumerate(top.arm)])
    check_arm(file, urdf, top.arm)
    _check_jaws(file, urdf, top.gripper)
    lower, upper = _frozen(ranges[:, 0]), _frozen(ranges[:, 1])
    return RobotModel(
        name=name,
        folder=folder,
        urdf=urdf,
        simulation_path=simulation_path,
        arm_joints=names,
        lower=lower,
        upper=upper,
        continuous=_frozen(np.isinf(lower), bool),
        velocity=_frozen([joint.velocity for joint in top.arm]),
        acceleration=_frozen([joint.acceleration for joint in top.arm]),
        jerk_time=top.jerk_time,
        weights=_frozen([joint.weight for joint in top.arm]),
        named_states=_named_states(file, top.named_states, names, lower, upper),
        tip_frame=top.tip_frame,
        wrist_camera_frame=top.wrist_camera_frame,
        gripper=top.gripper,
        reach=_reach(file, top.reach),
        trajectory_action=top.ros.trajectory_action,
        gripper_action=top.ros.gripper_action,
    )


def _check_chain(file: Path, urdf: Urdf, names: tuple[str, ...], tip: str) -> None:
    """Raises ToolError unless these are the joints that move the tip, base first."""
    moving = [joint for joint in urdf.chain(tip) if joint.attrib["type"] != "fixed"]
    chain = tuple(joint.attrib["name"] for joint in moving)
    if chain != names:
        wanted, got = ", ".join(chain), ", ".join(names)
        raise robot_error(file, f"arm must name the joints between base and {tip} in order, {wanted}; got {got}")
    for joint in moving:
        if joint.attrib["type"] not in ("revolute", "continuous"):
            kind = f"{joint.attrib['name']} is {joint.attrib['type']}"
            raise robot_error(file, f"arm must have joints that turn; {kind}")


def _checked_range(file: Path, urdf: Urdf, key: str, joint: ArmJoint) -> tuple[float, float]:
    """(lower, upper) of an arm's joint, infinite for a continuous one."""
    lower, upper = joint.lower, joint.upper
    if (lower is None) != (upper is None):
        raise robot_error(file, f"{key}.{'lower' if lower is None else 'upper'} is missing")
    if (urdf.joints[joint.name].attrib["type"] == "continuous") != (lower is None):
        has = "a range" if lower is None else "no range"
        raise robot_error(file, f"{key}.lower does not fit the joint, which has {has} in {urdf.path.name}")
    if lower is None or upper is None:
        return -np.inf, np.inf
    if not lower < upper:
        raise robot_error(file, f"{key}.upper must be greater than lower, got {lower:g} and {upper:g}")
    lowest, highest = (urdf.limit(joint.name, end) or 0.0 for end in ("lower", "upper"))
    if lower < lowest - 1e-9 or upper > highest + 1e-9:
        raise robot_error(file, f"{key}.lower and upper reach beyond the joint's range in {urdf.path.name}")
    return lower, upper


def _check_jaws(file: Path, urdf: Urdf, gripper: GripperModel) -> None:
    widest, closed = gripper.opening(gripper.open_at), gripper.opening(gripper.closed_at)
    if abs(widest - gripper.max_opening) > _STROKE_SLACK:
        raise robot_error(file, f"gripper.max_opening differs from what the crank opens to, {widest:.4f} m")
    if abs(closed) > _STROKE_SLACK:
        raise robot_error(file, f"gripper.closing leaves the jaws open by {closed:.4f} m where closed")
    check_gripper(file, urdf, gripper)
    if gripper.max_width > gripper.max_opening:
        most = gripper.max_opening
        raise robot_error(file, f"gripper.max_width must not be greater than max_opening, {most} m")


def _frozen(values: ArrayLike, kind: type = float) -> NDArray[Any]:
    array: NDArray[Any] = np.array(values, dtype=kind)
    array.setflags(write=False)
    return array


def _named_states(
    file: Path, said: Mapping[str, tuple[float, ...]], names: tuple[str, ...], lower: FloatArray, upper: FloatArray
) -> Mapping[str, FloatArray]:
    states = {}
    for name, positions in said.items():
        if len(positions) != len(names):
            raise robot_error(file, f"named_states.{name} must be a list of {len(names)} finite numbers")
        q = states[name] = _frozen(positions)
        outside = (q < lower) | (q > upper)
        if outside.any():
            joint = names[int(np.argmax(outside))]
            raise robot_error(file, f"named_states.{name} takes {joint} out of its range")
    if "Park" not in states:
        raise robot_error(file, "named_states.Park is missing")
    return MappingProxyType(states)


def _reach(file: Path, said: _Reach) -> Reach:
    low, high = said.box.low, said.box.high
    if not all(a < b for a, b in zip(low, high, strict=True)):
        raise robot_error(file, f"reach.box.high must be above low on every axis, got {list(low)} and {list(high)}")
    return Reach(
        radius=said.radius,
        x_min=said.x_min,
        y_max=said.y_max,
        low=_frozen(low),
        high=_frozen(high),
        shoulder=_frozen(said.shoulder),
        wrist_to_tip=said.wrist_to_tip,
        wrist_reach=said.wrist_reach,
    )
