"""The robot as MuJoCo has it: its URDF, and what MuJoCo needs besides."""

from __future__ import annotations

from functools import cache
from typing import Any

import mujoco

from toolhand.tool_nodes.motion.rated import check_drive
from toolhand.tool_nodes.motion.robot_file import read_file, robot_error
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.urdf import compiled
from toolhand.tool_nodes.plain_yaml import PlainYamlError, load
from toolhand.tool_nodes.results import words_of

_DRIVEN_TENDON = "fingers"


@cache
def _overlay(robot: RobotModel) -> dict[str, Any]:
    try:
        simulation = load(read_file(robot.simulation_path))
    except PlainYamlError as error:
        raise robot_error(robot.simulation_path, f"it is no plain YAML: {str(error).rstrip('.')}") from error
    if not isinstance(simulation, dict):
        raise robot_error(robot.simulation_path, "the document must be a mapping")
    return simulation


def load_robot_spec(robot: RobotModel) -> mujoco.MjSpec:
    """A fresh, editable model of arm and gripper for physics: no table, no objects, no light.

    The base frame is the world frame. Bodies and joints have their URDF names; collision geoms have the
    names of the URDF's collision elements and are in group 3, visual geoms in group 1. Actuators, in the
    order of `robot.joints`, are position servos [rad] named as the joints.

    Raises:
        ToolError: UNAVAILABLE when a file is missing, INVALID_ARGUMENT when simulation.yaml lacks something.
    """
    overlay = _overlay(robot)
    xml, meshes = robot.urdf.for_physics
    spec = compiled(robot.urdf_path, lambda: mujoco.MjSpec.from_string(xml, assets=dict(meshes)))
    spec.modelname = robot.urdf_path.stem
    try:
        option = overlay["option"]
        spec.option.timestep = option["timestep"]
        spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{option['integrator'].upper()}")
        spec.option.cone = getattr(mujoco.mjtCone, f"mjCONE_{option['cone'].upper()}")
        spec.option.impratio = option["impratio"]
        spec.option.noslip_iterations = option.get("noslip_iterations", 0)
        spec.option.noslip_tolerance = option.get("noslip_tolerance", spec.option.noslip_tolerance)
        for body in spec.bodies[1:]:
            body.gravcomp = 1.0
        _set_arm(spec, robot, overlay["arm"])
        _set_gripper(spec, robot, overlay["gripper"])
        _set_geoms(spec, robot, overlay["pads"])
        for first, second in overlay["exclude"]:
            spec.add_exclude(bodyname1=first, bodyname2=second)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise robot_error(
            robot.simulation_path, f"a value is missing or of the wrong kind: {words_of(error)}"
        ) from error
    return spec


def compile_spec(spec: mujoco.MjSpec, robot: RobotModel) -> mujoco.MjModel:
    """Compile a model with a robot in it. Raises ToolError INVALID_ARGUMENT where MuJoCo refuses the robot."""
    model: mujoco.MjModel = compiled(robot.urdf_path, spec.compile)
    return model


def gripper_links(spec: mujoco.MjSpec, robot: RobotModel) -> frozenset[str]:
    """Names of the links that are the gripper."""
    links: list[str] = []
    pending = [spec.body(robot.gripper.base_link)]
    while pending:
        body = pending.pop()
        links.append(body.name)
        pending.extend(body.bodies)
    return frozenset(links)


def _position_servo(spec: mujoco.MjSpec, name: str, kp: float, kv: float) -> mujoco.MjsActuator:
    actuator = spec.add_actuator(name=name)
    actuator.gaintype = mujoco.mjtGain.mjGAIN_FIXED
    actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
    actuator.gainprm[0] = kp
    actuator.biasprm[:3] = [0.0, -kp, -kv]
    return actuator


def _set_arm(spec: mujoco.MjSpec, robot: RobotModel, arm: dict[str, Any]) -> None:
    sizes = {name: size for size in arm.values() for name in size["joints"]}
    for name in robot.arm_joints:
        size = sizes[name]
        spec.joint(name).armature = size["armature"]
        servo = _position_servo(spec, name, size["kp"], size["kv"])
        servo.trntype = mujoco.mjtTrn.mjTRN_JOINT
        servo.target = name


def _set_gripper(spec: mujoco.MjSpec, robot: RobotModel, gripper: dict[str, Any]) -> None:
    links = gripper_links(spec, robot)
    check_drive(robot.simulation_path, robot.urdf, gripper)
    for joint in spec.joints:
        if joint.parent.name in links:
            joint.armature = gripper["armature"]
            joint.damping[0] = gripper["damping"]
    for name in gripper["without_stops"]:
        spec.joint(name).limited = mujoco.mjtLimited.mjLIMITED_FALSE
    for equality in spec.equalities:
        equality.solref = gripper["equality_solref"]
        equality.solimp = gripper["equality_solimp"]
    tendon = spec.add_tendon(name=_DRIVEN_TENDON)
    for name, share in gripper["drive"].items():
        tendon.wrap_joint(name, share)
    servo = _position_servo(spec, robot.gripper.joint, gripper["kp"], gripper["kv"])
    servo.trntype = mujoco.mjtTrn.mjTRN_TENDON
    servo.target = _DRIVEN_TENDON
    servo.forcelimited = True
    servo.forcerange = [-gripper["force_limit"], gripper["force_limit"]]


def _set_geoms(spec: mujoco.MjSpec, robot: RobotModel, pads: dict[str, Any]) -> None:
    links = gripper_links(spec, robot)
    named, of_links = set(pads.get("geoms", ())), set(pads.get("links", ()))
    known = {geom.name for geom in spec.geoms if geom.contype}
    if missing := sorted(named - known) + sorted(of_links - links):
        raise robot_error(
            robot.simulation_path, f"pads names no collision shape and no link of the gripper: {missing[0]!r}"
        )
    if not named | of_links:
        raise robot_error(
            robot.simulation_path, "pads must name collision shapes (geoms) or links of the gripper (links)"
        )
    for geom in spec.geoms:
        if geom.contype == 0:
            continue
        geom.group = 3
        if geom.parent.name in links:
            # The gripper's parts touch by construction: they meet everything but each other.
            geom.conaffinity = 0
        if geom.name in named or geom.parent.name in of_links:
            geom.friction = pads["friction"]
            geom.condim = pads["condim"]
            geom.priority = pads["priority"]
            geom.solref = pads["solref"]
            geom.solimp = pads["solimp"]
