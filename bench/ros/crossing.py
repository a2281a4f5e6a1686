"""Trajectories that lead a continuous joint through half a turn, where drivers jump from pi to -pi."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.stats import rate_row
from sim.ros.station import RemoteWorld
from tool_nodes.motion.planner import EmbeddedPlanner
from tool_nodes.ros.calling import Deadlines
from tool_nodes.ros.controllers import RosArm
from tool_nodes.ros.goals import Stepper
from tool_nodes.ros.joint_states import JointStates
from tool_nodes.ros.link import RosLink
from tool_nodes.stop_latch import StopLatch
from tool_nodes.types import CollisionScene, FloatArray, JointGoal, MotionStatus

BEND_RAD = 0.3
"""Joints between the continuous ones are bent by at most this from the upright arm, in which nothing is in the way
[rad]."""
NEAR_RAD = (0.05, 0.6)
"""Each trajectory begins and ends so far from half a turn [rad], on either side of it."""
LONG_WAY_RAD = 2.0
"""A joint that travels further than this went the long way round [rad]: the short way is 1.2 at most."""


def crossing_rows(link: RosLink, n: int, seed: int, report: Callable[[str], object]) -> list[dict[str, Any]]:
    """Rows: of n trajectories of each continuous joint, those that were carried out, and those of the short way.

    Args:
        link: To a graph in lockstep, with `driver:=kortex`.
        n: Trajectories of each joint.
        seed: Seeds them.
        report: Gets a line for each joint.
    """
    world = RemoteWorld(link)
    robot, model = world.robot, world.model
    joints = JointStates(link.node, "joint_states", lambda reading: None, robot)
    stepper = Stepper(link.node, Deadlines(), model.opt.timestep)
    arm = RosArm(link.node, joints, StopLatch(), Deadlines(), stepper=stepper)
    planner = EmbeddedPlanner(seed=seed, robot=robot)
    scene, draws = CollisionScene(), np.random.default_rng(seed)
    rows = []
    for joint in np.flatnonzero(robot.continuous):
        address = int(model.joint(robot.arm_joints[joint]).qposadr[0])
        done = short = 0
        side = 1.0
        for number in range(n + 1):
            goal = _upright(robot.continuous, draws)
            goal[joint] = side * (np.pi - draws.uniform(*NEAR_RAD))
            link.trigger("/sim/mark")
            outcome = arm.follow(planner.plan(arm.state().q, JointGoal(goal), scene, 1.0))
            if number:  # the first one leads to where the crossings begin
                done += outcome.status is MotionStatus.SUCCEEDED
                short += _travel(link, address) < LONG_WAY_RAD
            side = -side
        report(f"{robot.arm_joints[joint]}: {done} of {n} carried out, {short} the short way")
        rows.append(rate_row(f"{robot.arm_joints[joint]} through half a turn: carried out", done, n))
        rows.append(rate_row(f"{robot.arm_joints[joint]} through half a turn: the short way", short, n))
    return rows


def _upright(continuous: Any, draws: np.random.Generator) -> FloatArray:
    """Joint positions (n,) of an arm that points up, a little bent [rad]."""
    q = draws.uniform(-BEND_RAD, BEND_RAD, len(continuous))
    return np.asarray(q, float)


def _travel(link: RosLink, address: int) -> float:
    """How far a joint has truly turned, there and back, since the last mark [rad]."""
    log = json.loads(link.trigger("/sim/get_truth"))["log"]
    turned = [qpos[address] for qpos in log["qpos"]]
    return float(np.abs(np.diff(turned)).sum())
