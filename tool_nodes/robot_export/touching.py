"""Which links may touch: neighbours, parts of the gripper, and pairs that sampled configurations say about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import mujoco
import numpy as np

from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.robot_spec import compile_spec, gripper_links, load_robot_spec
from toolhand.tool_nodes.robot_export.shapes import link_shapes
from toolhand.tool_nodes.robot_export.spheres import EXCESS, Ball
from toolhand.tool_nodes.types import FloatArray

SAMPLES = 20_000
"""Configurations that are drawn: twice as many as MoveIt's Setup Assistant draws. What was in none of them is in less
than 0.015 % of all, with 95 % certainty (3 / n)."""

NEVER_WITHIN = 2.0 * EXCESS
"""Links that never came this close never touch, and neither do the balls that cover them [m]. To come close is more
frequent than to touch, so that a pair that touches seldom is not missed: of the 34 pairs of the Gen3 that touched in
10,000 configurations one did so once."""

_FOR_ALWAYS = 1_000
"""Configurations that show whether a pair touches always; a round figure."""
_ALWAYS = 0.95
"""Share of the configurations from which on a pair touches always: the Setup Assistant's."""

ADJACENT, OF_GRIPPER, ALWAYS, AT_REST, NEVER = "Adjacent", "User", "Always", "Default", "Never"
"""Why a pair is not checked, in the words of SRDF: neighbours; parts of the gripper, which touch by construction; those
that touch in nearly all configurations; those that touch where the arm is parked; and those that never come close."""


@dataclass(frozen=True)
class IgnoredPair:
    """Two links whose collision is not checked, in alphabetical order, and why (`ADJACENT` and so on)."""

    first: str
    second: str
    reason: str


def ignored_pairs(robot: RobotModel, seed: int) -> list[IgnoredPair]:
    """The pairs of links that need no check, in alphabetical order.

    Args:
        robot: The robot.
        seed: Seed of the configurations that are drawn, 0 or more.
    """
    spec = load_robot_spec(robot)
    for geom in spec.geoms:
        geom.margin = NEVER_WITHIN
    hand = gripper_links(spec, robot)
    shaped = sorted({shape.link for shape in link_shapes(robot)})
    adjacent = neighbours(robot, shaped)
    for first, second in adjacent:
        spec.add_exclude(bodyname1=first, bodyname2=second)
    model = compile_spec(spec, robot)  # whose gripper does not meet itself
    configurations = _drawn(robot, model, seed)
    close = _within(model, configurations, NEVER_WITHIN)
    often = _within(model, configurations[:_FOR_ALWAYS])
    parked = _within(model, configurations[:1])  # the first is the parked arm
    found = []
    for pair in combinations(shaped, 2):
        if pair in adjacent:
            reason = ADJACENT
        elif hand.issuperset(pair):
            reason = OF_GRIPPER
        elif often[pair] > _ALWAYS * _FOR_ALWAYS:
            reason = ALWAYS
        elif parked[pair]:
            reason = AT_REST
        elif not close[pair]:
            reason = NEVER
        else:
            continue
        found.append(IgnoredPair(*pair, reason))
    return found


def touching_balls(robot: RobotModel, balls: dict[str, list[Ball]]) -> set[tuple[str, str]]:
    """Pairs of links whose balls touch in a named state, open or closed: balls are larger than what they cover."""
    spec = load_robot_spec(robot)
    for items in (spec.geoms, spec.excludes):
        for item in list(items):
            spec.delete(item)
    for link, of_link in balls.items():
        for ball in of_link:
            spec.body(link).add_geom(
                type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[ball.radius, 0, 0], pos=ball.center, contype=1, conaffinity=1
            )
    model = compile_spec(spec, robot)
    named = np.array([q for _, q in sorted(robot.named_states.items())])
    open_at, closed_at = robot.gripper.open_at, robot.gripper.closed_at
    states = [(q, jaws) for q in named for jaws in (open_at, closed_at)]
    arms, jaws = (np.array(part) for part in zip(*states, strict=True))
    return set(_within(model, joint_positions(robot, model, arms, jaws)))


def neighbours(robot: RobotModel, shaped: Iterable[str]) -> set[tuple[str, str]]:
    """Pairs of links with shapes that a joint joins, or joints over links without shapes, in alphabetical order."""
    urdf, with_shape = robot.urdf, set(shaped)
    ends: dict[str, set[str]] = {}
    for joint in urdf.joints.values():
        parent, child = urdf.parent(joint), urdf.child(joint)
        ends.setdefault(parent, set()).add(child)
        ends.setdefault(child, set()).add(parent)
    found = set()
    for link in with_shape:
        seen, pending = {link}, [link]
        while pending:
            for other in ends.get(pending.pop(), set()) - seen:
                seen.add(other)
                if other in with_shape:
                    found.add((min(link, other), max(link, other)))
                else:
                    pending.append(other)
    return found


def _drawn(robot: RobotModel, model: mujoco.MjModel, seed: int) -> FloatArray:
    """Positions (SAMPLES + 1, nq) of all joints: the parked arm with open jaws, then arm and jaws at random."""
    rng = np.random.default_rng(seed)
    low, high = robot.sampled_range
    arms = np.vstack([robot.park, rng.uniform(low, high, (SAMPLES, robot.dof))])
    jaws = np.append(robot.gripper.open_at, rng.uniform(robot.gripper.open_at, robot.gripper.closed_at, SAMPLES))
    return joint_positions(robot, model, arms, jaws)


def joint_positions(robot: RobotModel, model: mujoco.MjModel, arms: FloatArray, jaws: FloatArray) -> FloatArray:
    """Positions (N, nq) of all joints, for arms (N, n) and positions (N,) of the gripper's driven joint [rad]."""
    q = np.zeros((len(arms), model.nq))
    for column, name in enumerate(robot.arm_joints):
        q[:, model.joint(name).qposadr[0]] = arms[:, column]
    q[:, model.joint(robot.gripper.joint).qposadr[0]] = jaws
    for follower in range(model.neq):
        if model.eq_type[follower] == int(mujoco.mjtEq.mjEQ_JOINT):
            offset, factor = model.eq_data[follower, :2]
            q[:, model.jnt_qposadr[model.eq_obj1id[follower]]] = offset + factor * jaws
    return q


def _within(model: mujoco.MjModel, configurations: FloatArray, distance: float = 0.0) -> Counter[tuple[str, str]]:
    """In how many of the configurations (N, nq) each pair of links, in alphabetical order, is closer than this [m]."""
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FILTERPARENT  # also between links with one moving joint
    data = mujoco.MjData(model)
    names = [model.body(body).name for body in range(model.nbody)]
    found: Counter[tuple[str, str]] = Counter()
    for q in configurations:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        bodies = model.geom_bodyid[data.contact.geom[data.contact.dist < distance]]
        pairs = {(min(a, b), max(a, b)) for a, b in ((names[a], names[b]) for a, b in bodies.tolist()) if a != b}
        found.update(pairs)
    return found
