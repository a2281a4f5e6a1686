"""What UsdPhysics says in another way than MuJoCo: drives, coupled joints, pairs that do not touch, friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np

from toolhand.sim.objects.asset import ABOVE_PADS
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

Combine = Literal["average", "min", "max"]
"""How PhysX makes one friction of two; of two different ways the one that stands later here is taken."""

_JOINT_EQUALITY = int(mujoco.mjtEq.mjEQ_JOINT)
_TENDON = int(mujoco.mjtTrn.mjTRN_TENDON)


@dataclass(frozen=True)
class Drive:
    """A position servo of a joint.

    Attributes:
        stiffness: [N m/rad], or [N/m] of a sliding joint.
        damping: [N m s/rad], or [N s/m].
        max_force: [N m] or [N]; infinite where nothing limits it.
    """

    stiffness: float
    damping: float
    max_force: float


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another one: its position is offset + gear * position of the reference.

    Attributes:
        reference: Index of the joint that it follows.
        gear: Factor [-].
        offset: [rad] or [m].
    """

    reference: int
    gear: float
    offset: float


def mimics(model: mujoco.MjModel) -> dict[int, Mimic]:
    """Joints that follow another one, by their index.

    Raises:
        ToolError: INVALID_ARGUMENT for a coupling that is not linear: UsdPhysics' mimic joints have none.
    """
    found = {}
    for row in range(model.neq):
        if int(model.eq_type[row]) != _JOINT_EQUALITY or model.eq_obj2id[row] < 0:
            raise invalid("Only joints that mimic another joint can be exported, no other constraint.")
        offset, gear, *rest = model.eq_data[row, :5].tolist()
        if any(rest):
            raise invalid(f"Joint {model.joint(model.eq_obj1id[row]).name!r} does not mimic by a linear law.")
        found[int(model.eq_obj1id[row])] = Mimic(int(model.eq_obj2id[row]), gear, offset)
    return found


def drives(model: mujoco.MjModel, coupled: dict[int, Mimic]) -> dict[int, Drive]:
    """The servo of each driven joint, by the joint's index.

    A servo on a tendon over coupled joints is one on the joint that the others follow: as long as they do, its force
    and its gains act on that joint with the tendon's whole leverage.
    """
    found = {}
    for actuator in range(model.nu):
        stiffness, damping = (-float(value) for value in model.actuator_biasprm[actuator, 1:3])
        target = int(model.actuator_trnid[actuator, 0])
        moved = {target: 1.0}
        if int(model.actuator_trntype[actuator]) == _TENDON:
            rows = range(model.tendon_adr[target], model.tendon_adr[target] + model.tendon_num[target])
            moved = {int(model.wrap_objid[row]): float(model.wrap_prm[row]) for row in rows}
        gears = {joint: coupled[joint].gear if joint in coupled else 1.0 for joint in moved}
        leverage = sum(share * gears[joint] for joint, share in moved.items())
        most = float(model.actuator_forcerange[actuator, 1]) if model.actuator_forcelimited[actuator] else np.inf
        force = sum(abs(gears[joint]) * min(abs(share) * most, _most(model, joint)) for joint, share in moved.items())
        reference = next(coupled[joint].reference if joint in coupled else joint for joint in moved)
        found[reference] = Drive(stiffness * leverage**2, damping * leverage**2, force)
    return found


def _most(model: mujoco.MjModel, joint: int) -> float:
    """Greatest force of actuators on a joint [N m] or [N]."""
    return float(model.jnt_actfrcrange[joint, 1]) if model.jnt_actfrclimited[joint] else np.inf


def start_positions(model: mujoco.MjModel, robot: RobotModel, coupled: dict[int, Mimic]) -> FloatArray:
    """(nq,) generalised positions with the arm parked, the jaws open and the objects where the scene has them."""
    qpos = np.array(model.qpos0)
    for name, value in zip(robot.arm_joints, robot.park, strict=True):
        qpos[model.joint(name).qposadr[0]] = value
    qpos[model.joint(robot.gripper.joint).qposadr[0]] = robot.gripper.open_at
    for joint, mimic in coupled.items():
        qpos[model.jnt_qposadr[joint]] = mimic.offset + mimic.gear * qpos[model.jnt_qposadr[mimic.reference]]
    return qpos


def joint_range(model: mujoco.MjModel, joint: int, coupled: dict[int, Mimic]) -> tuple[float, float] | None:
    """(lower, upper) of a joint [rad] or [m]; None where it turns on. A joint that mimics has the range that follows.

    Isaac Sim refuses a joint that mimics and has no finite range.
    """
    if model.jnt_limited[joint]:
        lower, upper = model.jnt_range[joint].tolist()
        return lower, upper
    mimic = coupled.get(joint)
    its = joint_range(model, mimic.reference, coupled) if mimic else None
    if mimic is None or its is None:
        return None
    ends = sorted(mimic.offset + mimic.gear * end for end in its)
    return ends[0], ends[1]


def apart(model: mujoco.MjModel, first: int, second: int) -> bool:
    """True if the physics never lets two bodies touch, by MuJoCo's rules; the world is body 0."""
    weld = model.body_weldid
    if weld[first] == weld[second]:
        return True
    above = [weld[model.body_parentid[weld[body]]] for body in (first, second)]
    if weld[first] and weld[second] and (above[0] == weld[second] or above[1] == weld[first]):
        return True
    low, high = sorted((first, second))
    if any(int(signature) == (low << 16) + high for signature in model.exclude_signature):
        return True
    first_bits, second_bits = _bits(model, first), _bits(model, second)
    return not any((a & d) or (c & b) for a, b in first_bits for c, d in second_bits)


def _bits(model: mujoco.MjModel, body: int) -> list[tuple[int, int]]:
    """(contype, conaffinity) of each geom of a body."""
    geoms = range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body])
    return [(int(model.geom_contype[geom]), int(model.geom_conaffinity[geom])) for geom in geoms]


def is_collider(model: mujoco.MjModel, geom: int) -> bool:
    """True if a geom touches anything at all."""
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def friction(model: mujoco.MjModel, geom: int) -> tuple[float, Combine]:
    """(friction [-], how it is combined with another one), which give what MuJoCo's priorities give.

    Objects without a friction of their own take the greater of two; pads and the table leave it to what touches them;
    what has a friction of its own keeps it, be it less or more than a pad's.
    """
    own, priority = float(model.geom_friction[geom, 0]), int(model.geom_priority[geom])
    if priority >= ABOVE_PADS:
        return own, "max" if own > 1.0 else "min"
    return own, "average" if priority or int(model.geom_bodyid[geom]) == 0 else "max"
