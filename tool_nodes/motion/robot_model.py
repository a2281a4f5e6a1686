"""The robot model: the URDF, what MuJoCo needs besides, and the constants of the arm."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import mujoco
import numpy as np

from rclpy_zenoh.plain_yaml import load
from tool_nodes.motion.joints import ARM_JOINTS as ARM_JOINTS
from tool_nodes.motion.joints import GRIPPER_JOINT as GRIPPER_JOINT
from tool_nodes.results import ErrorCode, ToolError

URDF_FOLDER = Path(__file__).parents[2] / "urdf"
"""Beside the package, both in a checkout and where it is installed."""

URDF_PATH = URDF_FOLDER / "gen3_robotiq_2f_85.urdf"
OVERLAY_PATH = URDF_FOLDER / "simulation.yaml"

TIP_FRAME = "end_effector_link"
GRIPPER_PREFIX = "robotiq_85_"
"""Links and joints of the gripper start with this."""

POSITION_LIMITS = np.array([np.inf, 2.24, np.inf, 2.57, np.inf, 2.09, np.inf])
"""(7,) [rad]; every range is symmetric, continuous joints are unlimited."""

CONTINUOUS = np.isinf(POSITION_LIMITS)
"""(7,) bool: joints without a stop."""

VELOCITY_LIMITS = np.array([1.3963, 1.3963, 1.3963, 1.3963, 1.2218, 1.2218, 1.2218])
"""(7,) [rad/s]."""

ACCELERATION_LIMITS = np.full(7, 8.6)
"""(7,) [rad/s^2]."""

NAMED_STATES = MappingProxyType(
    {
        "Home": np.array([0.0, 0.26, 3.14, -2.27, 0.0, 0.96, 1.57]),
        "Retract": np.array([0.0, -0.35, 3.14, -2.54, 0.0, -0.87, 1.57]),
        "Vertical": np.zeros(7),
        "Park": np.array([-0.00803, -0.31786, 3.15064, -1.75172, 0.00294, -1.70782, 1.57172]),
    }
)
"""Joint positions (7,) [rad]. `Park` points the gripper down and leaves the scene camera's picture free."""

for _state in NAMED_STATES.values():
    _state.setflags(write=False)

_DRIVEN_TENDON = "knuckles"


@cache
def _source() -> tuple[str, dict[str, Any]]:
    for path in (URDF_PATH, OVERLAY_PATH):
        if not path.is_file():
            raise ToolError(ErrorCode.UNAVAILABLE, f"The robot model {path} is missing.", "Install `urdf` beside it.")
    return URDF_PATH.read_text(encoding="utf-8"), load(OVERLAY_PATH.read_bytes())


def load_robot_spec() -> mujoco.MjSpec:
    """A fresh, editable model of arm and gripper for physics: no table, no objects, no light.

    The base frame is the world frame. Bodies and joints have their URDF names; collision geoms have the
    names of the URDF's collision elements and are in group 3, visual geoms in group 1. Actuators, in the
    order of `ARM_JOINTS` and then `GRIPPER_JOINT`, are position servos [rad] named as the joints.

    Raises:
        ToolError: UNAVAILABLE when the files of `urdf/` are missing.
    """
    urdf, overlay = _source()
    spec = mujoco.MjSpec.from_string(urdf)
    spec.modelname = "gen3_robotiq_2f_85"
    option = overlay["option"]
    spec.option.timestep = option["timestep"]
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{option['integrator'].upper()}")
    spec.option.cone = getattr(mujoco.mjtCone, f"mjCONE_{option['cone'].upper()}")
    spec.option.impratio = option["impratio"]
    for body in spec.bodies[1:]:
        body.gravcomp = 1.0
    _set_arm(spec, overlay["arm"])
    _set_gripper(spec, overlay["gripper"])
    _set_geoms(spec, overlay["pads"])
    for first, second in overlay["exclude"]:
        spec.add_exclude(bodyname1=first, bodyname2=second)
    return spec


def _position_servo(spec: mujoco.MjSpec, name: str, kp: float, kv: float) -> mujoco.MjsActuator:
    actuator = spec.add_actuator(name=name)
    actuator.gaintype = mujoco.mjtGain.mjGAIN_FIXED
    actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
    actuator.gainprm[0] = kp
    actuator.biasprm[:3] = [0.0, -kp, -kv]
    return actuator


def _set_arm(spec: mujoco.MjSpec, arm: dict[str, Any]) -> None:
    for index, name in enumerate(ARM_JOINTS):
        size = arm["large"] if index < 4 else arm["small"]
        spec.joint(name).armature = size["armature"]
        servo = _position_servo(spec, name, size["kp"], size["kv"])
        servo.trntype = mujoco.mjtTrn.mjTRN_JOINT
        servo.target = name


def _set_gripper(spec: mujoco.MjSpec, gripper: dict[str, Any]) -> None:
    for joint in spec.joints:
        if joint.name.startswith(GRIPPER_PREFIX):
            joint.armature = gripper["armature"]
            joint.damping[0] = gripper["damping"]
    for name in gripper["without_stops"]:
        spec.joint(name).limited = mujoco.mjtLimited.mjLIMITED_FALSE
    for equality in spec.equalities:
        equality.solref = gripper["equality_solref"]
        equality.solimp = gripper["equality_solimp"]
    tendon = spec.add_tendon(name=_DRIVEN_TENDON)
    tendon.wrap_joint(GRIPPER_JOINT, 0.5)
    tendon.wrap_joint(GRIPPER_JOINT.replace("left", "right"), -0.5)
    servo = _position_servo(spec, GRIPPER_JOINT, gripper["kp"], gripper["kv"])
    servo.trntype = mujoco.mjtTrn.mjTRN_TENDON
    servo.target = _DRIVEN_TENDON
    servo.forcelimited = True
    servo.forcerange = [-gripper["force_limit"], gripper["force_limit"]]


def _set_geoms(spec: mujoco.MjSpec, pads: dict[str, Any]) -> None:
    for geom in spec.geoms:
        if geom.contype == 0:
            continue
        geom.group = 3
        if geom.parent.name.startswith(GRIPPER_PREFIX):
            # The gripper's parts touch by construction: they meet everything but each other.
            geom.conaffinity = 0
        if "_pad_" in geom.name:
            geom.friction = pads["friction"]
            geom.condim = pads["condim"]
            geom.priority = pads["priority"]
            geom.solref = pads["solref"]
            geom.solimp = pads["solimp"]
