"""Trajectories that lead a continuous joint through half a turn, where drivers jump from pi to -pi."""

import json

import numpy as np

from toolhand.sim.ros.station import RemoteWorld
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.calling import Deadlines
from toolhand.tool_nodes.ros.controllers import RosArm
from toolhand.tool_nodes.ros.goals import Stepper
from toolhand.tool_nodes.ros.joint_states import JointStates
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.stop_latch import StopLatch
from toolhand.tool_nodes.types import CollisionScene, FloatArray, JointGoal, MotionStatus

ASIDE_RAD = 0.1
"""Each other joint is moved by at most this, so that all joints move and nothing comes into the way [rad]."""
NEAR_RAD = (0.05, 0.6)
"""Each trajectory begins and ends so far from half a turn [rad], on either side of it."""
_POSTURES = 200
"""So many postures are tried at most to begin with [-]."""
_DRAWS = 20
"""So many goals are drawn at most for each trajectory [-]."""
LONG_WAY_RAD = 2.0
"""A joint that travels further than this went the long way round [rad]: the short way is 1.2 at most."""


def crossings(link: RosLink, joint: int, n: int, seed: int) -> list[tuple[bool, bool]]:
    """For each of n trajectories of a continuous joint, whether it was carried out, and by the short way.

    Args:
        link: To a graph in lockstep, with `driver:=kortex`.
        joint: Which joint, counted from 0.
        n: How many trajectories.
        seed: Seeds them.
    """
    world = RemoteWorld(link)
    robot, model = world.robot, world.model
    states = JointStates(link.node, "joint_states", lambda reading: None, robot)
    stepper = Stepper(link.node, Deadlines(), model.opt.timestep)
    arm = RosArm(link.node, states, StopLatch(), Deadlines(), stepper=stepper)
    planner = EmbeddedPlanner(seed=seed, robot=robot)
    draws = np.random.default_rng(seed)
    address = int(model.joint(robot.arm_joints[joint]).qposadr[0])
    middle = _go_to_half_a_turn(arm, planner, joint, draws)
    found: list[tuple[bool, bool]] = []
    for _ in range(_DRAWS * n):
        if len(found) == n:
            break
        goal = middle + draws.uniform(-ASIDE_RAD, ASIDE_RAD, robot.dof)
        goal[joint] = np.pi + (-1.0) ** len(found) * draws.uniform(*NEAR_RAD)
        try:
            trajectory = planner.plan(arm.state().q, JointGoal(goal), CollisionScene(), 1.0)
        except ToolError:  # that one would leave the workspace, or touch something: draw another one
            continue
        link.trigger("/sim/mark")
        done = arm.follow(trajectory).status is MotionStatus.SUCCEEDED
        found.append((done, _travel(link, address) < LONG_WAY_RAD))
    return found


def _go_to_half_a_turn(arm: RosArm, planner: EmbeddedPlanner, joint: int, draws: np.random.Generator) -> FloatArray:
    """Lead the arm to a posture (n,) with one joint at half a turn, and 0.5 rad before that for now [rad].

    Raises:
        ToolError: INTERNAL where none of many can be reached.
    """
    low, high = planner.robot.sampled_range
    for _ in range(_POSTURES):
        middle = draws.uniform(low, high)
        middle[joint] = np.pi
        try:
            for offset in (0.6, -0.6):  # the whole way from side to side is free
                end = middle + offset * np.eye(len(middle))[joint]
                planner.plan(middle, JointGoal(end), CollisionScene(), 1.0)
            trajectory = planner.plan(arm.state().q, JointGoal(end), CollisionScene(), 1.0)
        except ToolError:
            continue
        if arm.follow(trajectory).status is MotionStatus.SUCCEEDED:
            return middle
    raise ToolError(ErrorCode.INTERNAL, "No posture with that joint at half a turn could be reached.")


def _travel(link: RosLink, address: int) -> float:
    """How far a joint has truly turned, there and back, since the last mark [rad]."""
    log = json.loads(link.trigger("/sim/get_truth"))["log"]
    turned = [qpos[address] for qpos in log["qpos"]]
    return float(np.abs(np.diff(turned)).sum())
