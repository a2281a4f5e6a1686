"""No robot folder is faster, stronger or wider than its URDF, than a known arm's maker allows, or than any may be here.

What is more is refused, never clipped: a typed limit that does not hold would be believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from toolhand.tool_nodes.motion.gripper import GripperModel, Label, Positive
from toolhand.tool_nodes.motion.robot_file import robot_error
from toolhand.tool_nodes.motion.urdf import Urdf
from toolhand.tool_nodes.plain_yaml import load
from toolhand.tool_nodes.results import ToolError

MAX_SPEED = 2.0
"""No joint of any robot turns faster [rad/s], whatever its folder says: a half more than a Gen3's. A
stretched arm of 0.9 m moves its tip by 1.8 m/s then."""
MAX_ACCELERATION = 10.0
"""Largest acceleration of a joint [rad/s^2], likewise: a Gen3's is 8.6; a round figure above it."""

_SAME_BUILD_M = 1e-3
"""Offsets of joints that agree to within this [m] are those of the same arm."""
_ROUNDING = 1e-6
"""Share by which a number may be above its limit: the makers' are printed with four digits and more."""


@cache
def _known() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    document: Mapping[str, Sequence[Mapping[str, Any]]] = load((Path(__file__).parent / "known_arms.yaml").read_bytes())
    return document


def _close(values: object, others: object) -> bool:
    mine, theirs = np.asarray(values, dtype=float), np.asarray(others, dtype=float)
    return mine.shape == theirs.shape and bool(np.abs(mine - theirs).max() < _SAME_BUILD_M)


def known_arm(urdf: Urdf, joints: Sequence[str]) -> Mapping[str, Any] | None:
    """The entry of known_arms.yaml that has the offsets of these joints; None for an arm of another build."""
    offsets = [urdf.offset(name) for name in joints]
    return next((arm for arm in _known()["arms"] if _close(offsets, arm["offsets"])), None)


def known_gripper(gripper: GripperModel) -> Mapping[str, Any] | None:
    """The entry of known_arms.yaml that has a gripper's crank; None for one of another build."""
    crank = (gripper.crank.pivot, gripper.crank.arm)
    grippers = _known()["grippers"]
    return next((entry for entry in grippers if _close(crank, (entry["crank"]["pivot"], entry["crank"]["arm"]))), None)


@dataclass(frozen=True)
class ArmJoint:
    """A joint of robot.yaml's arm; without `lower` and `upper` [rad] it is continuous.

    Attributes:
        velocity, acceleration: Limits [rad/s], [rad/s^2].
        weight: How much of the arm a turn of the joint moves [-].
    """

    name: Label
    velocity: Positive
    acceleration: Positive
    weight: Positive
    lower: float | None = None
    upper: float | None = None


def check_arm(file: Path, urdf: Urdf, joints: Sequence[ArmJoint]) -> None:
    """Check speed and acceleration of robot.yaml's arm, and the limits of its URDF.

    Args:
        file: The robot.yaml.
        urdf: The robot's URDF.
        joints: The arm, base first.

    Raises:
        ToolError: INVALID_ARGUMENT for what is more than the URDF, a known arm or this project allows.
    """
    known = known_arm(urdf, [joint.name for joint in joints])
    for index, joint in enumerate(joints):
        name, key = joint.name, f"arm[{index}]"
        any_robot = "the most that any robot may have here"
        _at_most(file, f"{key}.velocity", joint.velocity, MAX_SPEED, f"rad/s, {any_robot}")
        _at_most(file, f"{key}.acceleration", joint.acceleration, MAX_ACCELERATION, f"rad/s^2, {any_robot}")
        rated = urdf.limit(name, "velocity")
        if not rated:
            raise urdf.file.error(
                urdf.joints[name],
                "it must have a <limit> with velocity above 0, so that robot.yaml can be checked against it",
            )
        _at_most(file, f"{key}.velocity", joint.velocity, rated, f"rad/s, the joint's in {urdf.path.name}")
        effort = urdf.limit(name, "effort")
        if not effort:
            raise urdf.file.error(
                urdf.joints[name], "it must have a <limit> with effort above 0, which its servo keeps"
            )
        if known is None:
            continue
        maker = f"that of the {known['name']}, whose build this arm has"
        _at_most(file, f"{key}.acceleration", joint.acceleration, known["acceleration"][index], f"rad/s^2, {maker}")
        for limit, value, unit in (("velocity", rated, "rad/s"), ("effort", effort, "N m")):
            if value > known[limit][index] * (1.0 + _ROUNDING):
                raise _beyond(urdf, name, limit, value, known[limit][index], f"{unit}, {maker}")
        if known["upper"][index] is not None:
            _check_range(urdf, name, known["lower"][index], known["upper"][index], maker)


def _check_range(urdf: Urdf, name: str, lowest: float, highest: float, maker: str) -> None:
    if urdf.joints[name].attrib["type"] == "continuous":
        raise urdf.file.error(urdf.joints[name], f"it must be revolute, from {lowest:g} to {highest:g} rad, {maker}")
    lower, upper = (urdf.limit(name, key) or 0.0 for key in ("lower", "upper"))
    if lower < lowest - _ROUNDING:
        raise _beyond(urdf, name, "lower", lower, lowest, f"rad, {maker}", "below")
    if upper > highest + _ROUNDING:
        raise _beyond(urdf, name, "upper", upper, highest, f"rad, {maker}")


def check_gripper(file: Path, urdf: Urdf, gripper: GripperModel) -> None:
    """Check the jaws of robot.yaml, and the limits of their joint in the URDF.

    Raises:
        ToolError: INVALID_ARGUMENT for what is more than the URDF or a known gripper allows.
    """
    name = gripper.joint
    rated = urdf.limit(name, "velocity")
    if not rated:
        raise urdf.file.error(urdf.joints[name], "it must have a <limit> with velocity above 0, for the jaws")
    _at_most(file, "gripper.speed", gripper.speed, rated, f"rad/s, the joint's in {urdf.path.name}")
    lower, upper = (urdf.limit(name, key) or 0.0 for key in ("lower", "upper"))
    if urdf.joints[name].attrib["type"] != "continuous":
        for value in (gripper.open_at, gripper.closed_at):
            if not lower - _ROUNDING <= value <= upper + _ROUNDING:
                raise robot_error(
                    file, f"gripper.closing must stay in the joint's range in {urdf.path.name}, {lower:g} to {upper:g}"
                )
    known = known_gripper(gripper)
    if known is None:
        return
    maker = f"that of the {known['name']}, whose build these fingers have"
    _at_most(file, "gripper.max_opening", gripper.max_opening, known["opening"], f"m, {maker}")
    for key, unit in (("velocity", "rad/s"), ("effort", "N m")):
        own = urdf.limit(name, key)
        if own is None or own > known[key] * (1.0 + _ROUNDING):
            raise _beyond(urdf, name, key, own, known[key], f"{unit}, {maker}")


def check_drive(simulation: Path, urdf: Urdf, gripper: Mapping[str, Any]) -> None:
    """Check that a servo of simulation.yaml pushes no finger harder than the URDF lets it.

    Raises:
        ToolError: INVALID_ARGUMENT where it does, or where the URDF has no effort.
    """
    force = float(gripper["force_limit"])
    if not force > 0.0:
        raise robot_error(simulation, f"gripper.force_limit must be above 0, got {force:g}")
    for name, share in gripper["drive"].items():
        if name not in urdf.joints:
            raise robot_error(simulation, f"gripper.drive names no joint of {urdf.path.name}: {name!r}")
        rated = urdf.limit(name, "effort") or 0.0
        if abs(share) * force > rated * (1.0 + _ROUNDING):
            most = rated / abs(share)
            raise robot_error(
                simulation,
                f"gripper.force_limit must be at most {most:g}, {name}'s effort in {urdf.path.name} by its share "
                f"of {abs(share):g}, got {force:g}",
            )


def _at_most(file: Path, key: str, value: float, most: float, of: str) -> None:
    if value > most * (1.0 + _ROUNDING):
        raise robot_error(file, f"{key} must be at most {most:g} {of}, got {value:g}")


def _beyond(
    urdf: Urdf, joint: str, key: str, value: float | None, most: float, of: str, side: str = "above"
) -> ToolError:
    got = "is missing" if value is None else f"of {value:g} is {side} {most:g} {of}"
    return urdf.file.error(urdf.joints[joint], f"its {key} {got}")
