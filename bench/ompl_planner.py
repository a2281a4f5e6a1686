"""RRT-Connect and path simplification of OMPL over Toolhand's own collision checks, for `toolhand bench planning`.

Not a backend: OMPL seeds its generator once per process and stops by time, so that the same question may get another
answer.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from tool_nodes.motion.collision import RESOLUTION, Checker
from tool_nodes.motion.rrt import sampled_box
from tool_nodes.types import FloatArray


def installed() -> bool:
    """True if OMPL can be imported (`pip install ompl`)."""
    return find_spec("ompl") is not None


def ompl_path(start: FloatArray, goal: FloatArray, checker: Checker, limit_s: float) -> FloatArray | None:
    """A simplified path (K, n) [rad] from start to goal, or None.

    It samples the box that Toolhand's planner samples and checks a motion at least as densely, every `RESOLUTION` [rad]
    of its Euclidean length.

    Args:
        start: (n,) [rad].
        goal: (n,) free [rad].
        checker: Decides what is free.
        limit_s: Wall time for the search, and once more for the simplification [s].
    """
    from ompl import base, geometric, util

    util.setLogLevel(util.LogLevel.LOG_NONE)
    robot = checker.robot
    low, high = sampled_box(start, goal[None], robot)
    space = base.RealVectorStateSpace(robot.dof)
    bounds = base.RealVectorBounds(robot.dof)
    for joint in range(robot.dof):
        bounds.setLow(joint, float(low[joint]))
        bounds.setHigh(joint, float(high[joint]))
    space.setBounds(bounds)
    setup = geometric.SimpleSetup(space)
    information = setup.getSpaceInformation()
    setup.setStateValidityChecker(lambda state: checker.free(np.array([state[j] for j in range(robot.dof)])))
    # It is a share of the space's extent.
    information.setStateValidityCheckingResolution(RESOLUTION / space.getMaximumExtent())
    ends = []
    for q in (start, goal):
        state = space.allocState()
        for joint in range(robot.dof):
            state[joint] = float(q[joint])
        ends.append(state)
    setup.setStartAndGoalStates(*ends)
    setup.setPlanner(geometric.RRTConnect(information))
    if not setup.solve(limit_s) or not setup.haveExactSolutionPath():
        return None
    setup.simplifySolution(limit_s)
    states = setup.getSolutionPath().getStates()
    return np.array([[state[j] for j in range(robot.dof)] for state in states])
