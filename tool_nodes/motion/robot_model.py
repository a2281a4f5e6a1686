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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.motion.gripper import GripperModel, VolumeBox, VolumeRing
from toolhand.tool_nodes.motion.rated import check_arm, check_gripper
from toolhand.tool_nodes.motion.robot_file import Section, read_document, read_file
from toolhand.tool_nodes.motion.urdf import Urdf
from toolhand.tool_nodes.results import invalid
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


@cache
def _load(name: str, folder: Path) -> RobotModel:
    file = folder / ROBOT_FILE
    top = read_document(file)
    urdf_path, simulation_path = folder / top.text("urdf"), folder / top.text("simulation")
    read_file(simulation_path)
    urdf = _Checked(Urdf(urdf_path))
    arm = top.sections("arm")
    names = tuple(joint.text("name") for joint in arm)
    tip_frame = urdf.link(top, "tip_frame")
    urdf.check_chain(top, names, tip_frame)
    ranges = np.array([urdf.checked_range(joint) for joint in arm])
    velocity, acceleration, weights = (
        _frozen([joint.number(key, above=0.0) for joint in arm]) for key in ("velocity", "acceleration", "weight")
    )
    check_arm(urdf.urdf, arm)
    for joint in arm:
        joint.done()
    lower, upper = _frozen(ranges[:, 0]), _frozen(ranges[:, 1])
    ros = top.section("ros")
    robot = RobotModel(
        name=name,
        folder=folder,
        urdf=urdf.urdf,
        simulation_path=simulation_path,
        arm_joints=names,
        lower=lower,
        upper=upper,
        continuous=_frozen(np.isinf(lower), bool),
        velocity=velocity,
        acceleration=acceleration,
        jerk_time=top.number("jerk_time", above=0.0),
        weights=weights,
        named_states=_named_states(top.section("named_states"), names, lower, upper),
        tip_frame=tip_frame,
        wrist_camera_frame=urdf.link(top, "wrist_camera_frame"),
        gripper=_gripper(top.section("gripper"), urdf),
        reach=_reach(top.section("reach")),
        trajectory_action=ros.text("trajectory_action"),
        gripper_action=ros.text("gripper_action"),
    )
    ros.done()
    top.done()
    return robot


class _Checked:
    """What robot.yaml says about the URDF, against it."""

    def __init__(self, urdf: Urdf) -> None:
        self.urdf = urdf

    def link(self, section: Section, key: str) -> str:
        """The link that a key names."""
        name = section.text(key)
        if name not in self.urdf.links:
            raise section.error(key, f"names no link of {self.urdf.path.name}: {name!r}")
        return name

    def joint(self, section: Section, key: str) -> str:
        """The joint that a key names."""
        name = section.text(key)
        if name not in self.urdf.joints:
            raise section.error(key, f"names no joint of {self.urdf.path.name}: {name!r}")
        return name

    def check_chain(self, top: Section, names: tuple[str, ...], tip: str) -> None:
        """Raises ToolError unless these are the joints that move the tip, base first."""
        for index, name in enumerate(names):
            if name not in self.urdf.joints:
                raise top.error(f"arm[{index}].name", f"names no joint of {self.urdf.path.name}: {name!r}")
        moving = [joint for joint in self.urdf.chain(tip) if joint.attrib["type"] != "fixed"]
        chain = tuple(joint.attrib["name"] for joint in moving)
        if chain != names:
            wanted, got = ", ".join(chain), ", ".join(names)
            raise top.error("arm", f"must name the joints between base and {tip} in order, {wanted}; got {got}")
        for joint in moving:
            if joint.attrib["type"] not in ("revolute", "continuous"):
                raise top.error("arm", f"must have joints that turn; {joint.attrib['name']} is {joint.attrib['type']}")

    def checked_range(self, joint: Section) -> tuple[float, float]:
        """(lower, upper) of an arm's joint, infinite for a continuous one."""
        name = joint.text("name")
        continuous = self.urdf.joints[name].attrib["type"] == "continuous"
        if joint.has("lower") != joint.has("upper"):
            raise joint.error("lower" if joint.has("upper") else "upper", "is missing")
        if continuous == joint.has("lower"):
            has = "has no range" if joint.has("lower") else "has a range"
            raise joint.error("lower", f"does not fit the joint, which {has} in {self.urdf.path.name}")
        if not joint.has("lower"):
            return -np.inf, np.inf
        lower, upper = joint.number("lower"), joint.number("upper")
        if not lower < upper:
            raise joint.error("upper", f"must be greater than lower, got {lower:g} and {upper:g}")
        lowest, highest = (self.urdf.limit(name, key) or 0.0 for key in ("lower", "upper"))
        if lower < lowest - 1e-9 or upper > highest + 1e-9:
            raise joint.error("lower", f"and upper reach beyond the joint's range in {self.urdf.path.name}")
        return lower, upper


def _frozen(values: ArrayLike, kind: type = float) -> NDArray[Any]:
    array: NDArray[Any] = np.array(values, dtype=kind)
    array.setflags(write=False)
    return array


def _named_states(
    section: Section, names: tuple[str, ...], lower: FloatArray, upper: FloatArray
) -> Mapping[str, FloatArray]:
    states = {}
    for name in section.names():
        q = _frozen(section.numbers(name, len(names)))
        outside = (q < lower) | (q > upper)
        if outside.any():
            joint = names[int(np.argmax(outside))]
            raise section.error(name, f"takes {joint} out of its range")
        states[name] = q
    if "Park" not in states:
        raise section.error("Park", "is missing")
    return MappingProxyType(states)


def _reach(section: Section) -> Reach:
    box = section.section("box")
    low, high = box.numbers("low", 3), box.numbers("high", 3)
    if not all(a < b for a, b in zip(low, high, strict=True)):
        raise box.error("high", f"must be above low on every axis, got {list(low)} and {list(high)}")
    reach = Reach(
        radius=section.interval("radius"),
        x_min=section.number("x_min"),
        y_max=section.number("y_max", above=0.0),
        low=_frozen(low),
        high=_frozen(high),
        shoulder=_frozen(section.numbers("shoulder", 3)),
        wrist_to_tip=section.number("wrist_to_tip"),
        wrist_reach=section.number("wrist_reach", above=0.0),
    )
    box.done()
    section.done()
    return reach


def _gripper(section: Section, urdf: _Checked) -> GripperModel:
    crank, palm, zone, volume = (section.section(key) for key in ("crank", "palm", "grasp_zone", "volume"))
    open_at, closed_at = section.interval("closing")
    boxes, rings = volume.sections("boxes"), volume.sections("rings")
    gripper = GripperModel(
        joint=urdf.joint(section, "joint"),
        base_link=urdf.link(section, "base_link"),
        name_prefix=section.text("name_prefix", empty=True),
        open_at=open_at,
        closed_at=closed_at,
        speed=section.number("speed", above=0.0),
        max_opening=section.number("max_opening", above=0.0),
        crank_pivot=crank.pair("pivot"),
        crank_arm=crank.pair("arm"),
        pad_face=section.number("pad_face"),
        pad_centre=section.number("pad_centre"),
        tip_end=section.number("tip_end"),
        finger_base=section.number("finger_base"),
        pad_half_size=section.pair("pad_half_size", above=0.0),
        finger_half_width=section.number("finger_half_width", above=0.0),
        finger_thickness=section.number("finger_thickness", above=0.0),
        max_width=section.number("max_width", above=0.0),
        palm_depth=palm.number("depth"),
        palm_half_size=palm.pair("half_size", above=0.0),
        zone_half_size=zone.pair("half_size", above=0.0),
        zone_depth=zone.interval("depth"),
        hold_depth=section.number("hold_depth"),
        boxes=tuple(
            VolumeBox(
                box.interval("x"), box.interval("y"), box.interval("z"), box.number("step", 0.0), box.flag("mirrored")
            )
            for box in boxes
        ),
        rings=tuple(VolumeRing(ring.number("radius", above=0.0), ring.number("z")) for ring in rings),
    )
    for part in (crank, palm, zone, volume, section, *boxes, *rings):
        part.done()
    if abs(gripper.opening(open_at) - gripper.max_opening) > _STROKE_SLACK:
        raise section.error("max_opening", f"differs from what the crank opens to, {gripper.opening(open_at):.4f} m")
    if abs(gripper.opening(closed_at)) > _STROKE_SLACK:
        raise section.error("closing", f"leaves the jaws open by {gripper.opening(closed_at):.4f} m where closed")
    check_gripper(urdf.urdf, section, gripper)
    if gripper.max_width > gripper.max_opening:
        raise section.error("max_width", f"must not be greater than max_opening, {gripper.max_opening} m")
    return gripper
