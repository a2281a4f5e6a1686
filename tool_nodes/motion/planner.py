"""The embedded planner: inverse kinematics, a straight joint path or RRT-Connect, and a time parameterization.

Budgets count iterations; the same seed and the same question give the same bytes, whatever was asked before. Only
beside an arm whose time runs on is a search limited by wall time too, if the planner was made so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes.geometry import shifted
from toolhand.tool_nodes.motion.collision import CLOSE_RESOLUTION, FINE_RESOLUTION, RESOLUTION, Checker
from toolhand.tool_nodes.motion.kinematics import (
    POSITION_TOLERANCE,
    ROTATION_TOLERANCE,
    Kinematics,
    check_pose,
)
from toolhand.tool_nodes.motion.limits import between
from toolhand.tool_nodes.motion.reach import (
    check_poses,
    check_speed,
    check_start,
    joint_target,
    no_solution,
    reach_error,
    reachable_poses,
)
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.motion.rrt import ITERATIONS, rrt_connect, shortcut
from toolhand.tool_nodes.motion.scene_model import SceneModels
from toolhand.tool_nodes.motion.timing import time_path, time_waypoints
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import (
    CollisionScene,
    FloatArray,
    Goal,
    JointGoal,
    LinearGoal,
    PoseGoal,
    Trajectory,
)

LINEAR_STEP = 0.005
"""Spacing of the poses that a straight line is followed through and checked at [m]."""

_LINEAR_TURN = 0.02
"""Angle between two poses of a straight line, at most [rad]; a round figure."""
_MAX_JUMP = 0.25
"""A joint that turns further between two of those poses has changed to another solution [rad]; a round figure."""
_RANK_COST_S = 0.1
"""Travel time that a pose must save to be preferred to the one before it in the list [s]; a round figure."""
_BATCH = 4
"""Poses that are solved before the best of them is tried."""
_RESTARTS = 12
"""Attempts of inverse kinematics from random postures where the usual one fails. Of poses at random free postures none
finds 93 of 100, 2 find 99, and 4, 12 and 60 find all; of those on a table, in clutter, on shelves, in bins and between
slabs none is needed for 500 of 500."""
_ATTEMPT_ITERATIONS = 40
"""Iterations of each attempt of inverse kinematics. With the attempts above 20, 40, 80 and 160 find the same 400 of 400
poses, random ones among them, in the same time."""
_REACHABLE_RESTARTS = 2
"""As _RESTARTS, where it is only asked whether a pose can be reached."""
_REACHABLE_ITERATIONS = 25
"""As _ATTEMPT_ITERATIONS, where it is only asked whether a pose can be reached; a round figure."""


class EmbeddedPlanner:
    """Plans on its own model of the robot, the table and the boxes of a `CollisionScene`.

    The fingers are modelled wide open when nothing is attached, else at the width of what is attached.

    Args:
        seed: Seed of every random choice.
        robot: The robot; the default one where None.
        planning_s: Time that one search for a path may take, besides its count of samples [s], for arms that stand in
            real time meanwhile; None, and only then does the same question always get the same answer, for no limit.

    Attributes:
        robot: The robot.
    """

    def __init__(self, seed: int = 0, robot: RobotModel | None = None, planning_s: float | None = None) -> None:
        self.robot = robot = robot or load_robot()
        self._seed, self._planning_s = seed, planning_s
        self._kinematics = Kinematics(robot)
        self._models = SceneModels(robot=robot)
        park = self._kinematics.fk(robot.park)
        axes = self._kinematics.axes(robot.park)
        # Which way the first joint turns the arm about the base's Z, and the last one the hand about its own.
        self._base_turn, self._hand_turn = float(np.sign(axes[0, 2])), float(np.sign(axes[-1] @ park[:3, 2]))
        self._followed: tuple[tuple[bytes, bytes] | None, FloatArray | None] = None, None

    def reseed(self, seed: int) -> None:
        """Answer from now on as a new one with this seed would."""
        self._seed = seed

    # -- the port ------------------------------------------------------------------------------------

    def plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        """A timed, collision-free trajectory from start to goal.

        Contacts that exist at the start are tolerated while they do not deepen, so that the gripper can
        back out from beside an object; so are fingertips outside the workspace while they return. A way to a
        pose is not searched from 2 cm and more within an obstacle: the image has shown the arm as one.

        Args:
            start: (n,) [rad]; the trajectory begins exactly there.
            goal: Any one of several poses (the nearest is taken, an earlier one if about as near), a
                straight line, or joint positions.
            scene: Obstacles.
            speed: In (0, 1]: scales velocity, and acceleration by its square.

        Returns:
            Samples at 100 Hz or a little denser, at rest at both ends, checked for limits and collision.

        Raises:
            ToolError: OUT_OF_WORKSPACE, IK_FAILED, PLAN_FAILED, or INVALID_ARGUMENT on malformed input.
        """
        start = check_start(start, self.robot)
        check_speed(speed)
        checker = Checker(self._models.of(scene), start)
        try:
            if isinstance(goal, LinearGoal):
                return self._plan_linear(start, goal, scene, checker, speed)
            if isinstance(goal, JointGoal):
                target = self._joint_target(start, goal, checker)
                straight = self._straight(start, target, checker, speed)
                return straight or self._detour(start, target, checker, speed)
            if isinstance(goal, PoseGoal):
                return self._plan_poses(start, goal, scene, checker, speed)
        except ToolError as error:
            # The frames that it passed hold it, and it them: only the garbage collector would part them.
            raise error.with_traceback(None) from None
        raise invalid(f"The goal must be a PoseGoal, LinearGoal or JointGoal, got {type(goal).__name__}.")

    def reachable(self, T_base_gripper: FloatArray, scene: CollisionScene, back: FloatArray | None = None) -> bool:
        """True if a few attempts find a configuration free of collision at the pose (4, 4), and a line to it.

        Args:
            T_base_gripper: The pose.
            scene: Obstacles.
            back: (3,) [m], base frame: the straight line to the pose starts at the pose moved by it; None for no line.

        Raises:
            ToolError: INVALID_ARGUMENT on malformed input.
        """
        T = check_pose(T_base_gripper, "pose")
        checker = Checker(self._models.of(scene))
        # Only on the line objects yield.
        strict = back is not None and scene.yielding_m > 0.0
        before = Checker(self._models.of(replace(scene, yielding_m=0.0))) if strict else checker
        first = T if back is None else shifted(T, back)
        if all(reach_error(each, scene, self.robot) is None for each in (T, first)):
            for q in self._configurations(first, None, _REACHABLE_RESTARTS, _REACHABLE_ITERATIONS):
                if not before.free(q):
                    if before.hand_refused():
                        break
                elif back is None or self._line_free(q, T, checker):
                    return True
                elif checker.hand_refused():
                    break
        return False

    # -- goals ---------------------------------------------------------------------------------------

    def _joint_target(self, start: FloatArray, goal: JointGoal, checker: Checker) -> FloatArray:
        target = joint_target(start, goal, self.robot)
        if not checker.free(target):
            raise checker.error("The goal configuration")
        return target[None]

    def _configurations(
        self,
        T: FloatArray,
        start: FloatArray | None,
        restarts: int,
        iterations: int,
        tolerance: tuple[float, float] = (POSITION_TOLERANCE, ROTATION_TOLERANCE),
    ) -> Iterator[FloatArray]:
        """Joint positions (n,) at T: from the parked posture turned towards T, from start, from anywhere."""
        seeds = [self._turned_park(T)] if start is None else [self._turned_park(T), start]
        rng = np.random.default_rng(self._seed)
        low, high = self.robot.sampled_range
        seeds += [rng.uniform(low, high) for _ in range(restarts)]
        reference = self.robot.park if start is None else start
        for seed in seeds:
            q = self._kinematics.solve_ik(T, seed, iterations, *tolerance)
            if q is not None:
                yield self.robot.nearest_turn(q, reference)

    def _turned_park(self, T: FloatArray) -> FloatArray:
        """The parked posture with the arm's plane through the wrist of T and the hand's yaw as in T.

        Starting there keeps the elbow up and postures alike from grasp to grasp.
        """
        wrist = T[:3, 3] - self.robot.reach.wrist_to_tip * T[:3, 2]
        q = self.robot.park.copy()
        q[0] += self._base_turn * np.arctan2(wrist[1], wrist[0])
        R = self._kinematics.fk(q)[:3, :3].T @ T[:3, :3]
        q[-1] += self._hand_turn * np.arctan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])
        return q

    def _plan_poses(
        self, start: FloatArray, goal: PoseGoal, scene: CollisionScene, checker: Checker, speed: float
    ) -> Trajectory:
        poses, tolerance = check_poses(goal)
        if (error := checker.start_error()) is not None:
            raise error
        within = reachable_poses(poses, scene, self.robot)

        failure: ToolError | None = None
        known: list[tuple[float, int, FloatArray]] = []
        for restarts in (0, _RESTARTS):
            for batch in _batched(within):
                fresh: list[tuple[float, int, FloatArray]] = []
                for rank, T in batch:
                    found, refused = self._free_configurations(T, start, checker, restarts, tolerance)
                    failure = failure or refused
                    for q in found:
                        cost = self._travel_time(start, q) + _RANK_COST_S * rank
                        fresh.append((cost, len(known) + len(fresh), q))
                straight = self._straight(start, self._by_cost(fresh), checker, speed)
                if straight is not None:
                    return straight
                known += fresh
            if known:
                return self._detour(start, self._by_cost(known), checker, speed)
        raise failure or no_solution(poses[0], self.robot)

    def _free_configurations(
        self, T: FloatArray, start: FloatArray, checker: Checker, restarts: int, tolerance: tuple[float, float]
    ) -> tuple[list[FloatArray], ToolError | None]:
        """Distinct free configurations at T, at most three, and why the first other one was refused."""
        found: list[FloatArray] = []
        refused: ToolError | None = None
        for q in self._configurations(T, start, restarts, _ATTEMPT_ITERATIONS, tolerance):
            if any(np.abs(q - other).max() < 0.05 for other in found):
                continue
            if checker.free(q):
                found.append(q)
            else:
                refused = refused or checker.error("The goal pose")
            if len(found) == 3:
                break
        return found, refused

    # -- paths ---------------------------------------------------------------------------------------

    def _straight(self, start: FloatArray, goals: FloatArray, checker: Checker, speed: float) -> Trajectory | None:
        """The straight joint path to the first goal (M, n) that has a free one."""
        for goal in goals:
            with checker.clearance(goal[None]):
                free = checker.segment_free(start, goal)
            if free:
                trajectory = time_waypoints(np.vstack([start, goal]), self.robot, speed)
                if checker.path_free(between(trajectory)):
                    return trajectory
        return None

    def _detour(self, start: FloatArray, goals: FloatArray, checker: Checker, speed: float) -> Trajectory:
        """A path of straight joint segments to any goal (M, n), found by RRT-Connect."""
        blocked: ToolError | None = None
        expired = self._time_limit()
        for resolution in (RESOLUTION, FINE_RESOLUTION, CLOSE_RESOLUTION):
            rng = np.random.default_rng(self._seed)
            with checker.clearance(goals):
                path = rrt_connect(start, goals, checker, rng, ITERATIONS, resolution, expired)
                if isinstance(path, int):
                    raise blocked or _not_found(path, None if path == ITERATIONS else self._planning_s)
                path = shortcut(path, checker, rng, resolution=resolution)
            trajectory = time_waypoints(path, self.robot, speed)
            if checker.path_free(between(trajectory)):
                return trajectory
            blocked = checker.error("The path that was found to the goal")
        assert blocked is not None
        raise blocked

    def _time_limit(self) -> Callable[[], bool]:
        """Says from `planning_s` after now on that time is up; never where there is no limit."""
        if self._planning_s is None:
            return lambda: False
        end = time.monotonic() + self._planning_s
        return lambda: time.monotonic() > end

    def _plan_linear(
        self, start: FloatArray, goal: LinearGoal, scene: CollisionScene, checker: Checker, speed: float
    ) -> Trajectory:
        T = check_pose(goal.T_base_gripper, "goal pose")
        if (error := reach_error(T, scene, self.robot)) is not None:
            raise error
        s, path = self._track(start, T)
        length = float(np.linalg.norm(T[:3, 3] - self._kinematics.fk(start)[:3, 3]))
        for k, q in enumerate(path):
            if not checker.free(q):
                raise checker.error(f"The straight line, {1000 * s[k] * length:.0f} mm from its start,")
        trajectory = time_path(s, path, self.robot, speed)
        if (self.robot.beyond(trajectory.q) > self.robot.beyond(start) + 1e-9).any():
            raise ToolError(ErrorCode.IK_FAILED, "The straight line runs into a joint's limit.")
        if not checker.path_free(between(trajectory)):
            raise checker.error("The straight line")
        return trajectory

    def _line_free(self, start: FloatArray, T: FloatArray, checker: Checker) -> bool:
        """True if a straight line leads from joint positions (n,) to T, and its end and what lies between are free."""
        end = self._kinematics.solve_ik(T, start, _REACHABLE_ITERATIONS)
        if end is not None and not checker.free(end) and checker.hand_refused():
            return False  # most that are blocked are so at the end
        key = start.tobytes(), T.tobytes()
        if self._followed[0] != key:  # one line is asked about in several scenes
            try:
                self._followed = key, self._track(start, T)[1]
            except ToolError:
                self._followed = key, None
        path = self._followed[1]
        return path is not None and all(checker.free(q) for q in path[::-1])

    def _track(self, start: FloatArray, T: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Joint positions (N, n) along the straight line from start to T, and their parameter (N,) in [0, 1]."""
        T_start = self._kinematics.fk(start)
        shift = T[:3, 3] - T_start[:3, 3]
        turn = Rotation.from_matrix(T[:3, :3] @ T_start[:3, :3].T).as_rotvec()
        steps = max(
            3, *(int(np.ceil(x)) for x in (np.linalg.norm(shift) / LINEAR_STEP, np.linalg.norm(turn) / _LINEAR_TURN))
        )
        s = np.linspace(0.0, 1.0, steps + 1)
        rotations = Rotation.from_rotvec(s[:, None] * turn).as_matrix() @ T_start[:3, :3]
        path = [start, start]
        for fraction, R in zip(s[1:], rotations[1:], strict=True):
            target = np.eye(4)
            target[:3, :3], target[:3, 3] = R, T_start[:3, 3] + fraction * shift
            q = self._kinematics.solve_ik(target, 2 * path[-1] - path[-2], _ATTEMPT_ITERATIONS, 1e-6, 1e-5)
            if q is None or float(np.abs(q - path[-1]).max()) > _MAX_JUMP:
                raise ToolError(
                    ErrorCode.IK_FAILED,
                    f"The straight line cannot be followed beyond {1000 * fraction * np.linalg.norm(shift):.0f} mm of "
                    f"{1000 * np.linalg.norm(shift):.0f} mm without a joint reaching its limit or jumping.",
                )
            path.append(q)
        return s, np.array(path[1:])

    # -- what cannot be --------------------------------------------------------------------------

    def _by_cost(self, ranked: list[tuple[float, int, FloatArray]]) -> FloatArray:
        """Configurations (M, n) of (cost, tie-breaker, configuration), cheapest first."""
        return np.array([q for _, _, q in sorted(ranked)]).reshape(-1, self.robot.dof)

    def _travel_time(self, a: FloatArray, b: FloatArray) -> float:
        """Lower bound of the time from a to b [s]."""
        return float((np.abs(b - a) / self.robot.velocity).max())


def _not_found(samples: int, limit_s: float | None) -> ToolError:
    """No path was found: the number of samples, and the limit of time [s] where it ran out."""
    within = f"{samples:,} samples" + ("" if limit_s is None else f" and {limit_s:g} s")
    return ToolError(
        ErrorCode.PLAN_FAILED,
        f"No path to the goal was found within {within}.",
        "The way between may be too narrow or walled up: try another pose, or move things out of the way first.",
    )


def _batched(items: list[tuple[int, FloatArray]]) -> Iterator[list[tuple[int, FloatArray]]]:
    """The items in small batches, so that many alternatives are not all solved when an early one will do."""
    source = iter(items)
    while batch := list(islice(source, _BATCH)):
        yield batch
