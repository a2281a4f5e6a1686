"""The controllers of ros2_kortex: joint trajectories for the arm, positions for the gripper.

A goal is checked, and its motion started, before the goal is answered: who steps the simulation after the answer steps
the motion. A new goal ends the one before it (aborted); a cancelled goal ends when what moved stands still.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from toolhand.sim.arm import PATH_TOLERANCE, Motion, StopCheck, follow_trajectory, move_knuckle
from toolhand.sim.ros.awaiting import awaited
from toolhand.sim.ros.driver import Driver
from toolhand.sim.ros.physics import MotionFactory, MovingPart, Physics, PreemptedError, Run
from toolhand.sim.ros.state import stamp_ns
from toolhand.sim.world import World
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.trajectory_checks import AT_REST, jump
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.ros.messages import nanoseconds, time_message
from toolhand.tool_nodes.types import FloatArray, GripperOutcome, MotionOutcome, MotionStatus, Trajectory

GRIPPER_ACTIONS = ("GripperCommand", "ParallelGripperCommand")

FEEDBACK_PERIOD_NS = 50_000_000
"""As joint_trajectory_controller's action_monitor_rate has it, in simulated time."""

MAX_DURATION_S = 600.0
"""The longest trajectory; each of its time steps is kept in memory."""

FARTHEST = 100.0
"""No continuous joint is sent further from zero [rad]."""

_KNUCKLE_SLACK = 1e-6
"""Rounding of a knuckle's goal that is let pass [rad]."""
_ARM_SLACK = 0.01
"""A trajectory may lead this far beyond a joint's limit, where measurements may lie [rad]; a round figure."""

Outcome = TypeVar("Outcome", MotionOutcome, GripperOutcome)
FaultSource = Callable[[], str]


class GoalError(ValueError):
    """What is wrong with a goal, in one sentence."""


class Controller(Generic[Outcome]):
    """One action server whose goals are motions of one part; subclasses say how goals and results are read.

    Attributes:
        refuses_inactive: False where goals are accepted, and not carried out, while the controller is inactive.

    Args:
        physics: Runs the motions.
        part: Part of the robot that moves.
        driver: Stands between the controller and the arm.
    """

    refuses_inactive = True

    def __init__(
        self, node: Node, physics: Physics, part: MovingPart, action_type: Any, name: str, driver: Driver
    ) -> None:
        self._node = node
        self._physics = physics
        self._part = part
        self._driver = driver
        self._type = action_type
        self._name = name
        self._accepted: deque[Run[Outcome]] = deque()
        self._runs: dict[bytes, Run[Outcome]] = {}
        self._active: ServerGoalHandle | None = None
        self._fed_back = 0
        self._server = ActionServer(
            node,
            action_type,
            name,
            self._execute,
            callback_group=MutuallyExclusiveCallbackGroup(),
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=lambda goal_handle: CancelResponse.ACCEPT,
        )

    def motion(self, goal: Any) -> MotionFactory[Outcome]:
        """The motion that a goal asks for. Raises GoalError."""
        raise NotImplementedError

    def result(self, outcome: Outcome) -> Any:
        """The action's result for how the motion ended."""
        raise NotImplementedError

    def failure(self, sentence: str) -> Any:
        """The action's result for a motion that could not begin, or did not end by itself."""
        raise NotImplementedError

    def feedback(self, world: World, now_ns: int) -> Any:
        """The action's feedback now; called in the physics thread."""
        raise NotImplementedError

    def show_feedback(self, world: World, offset_s: float) -> None:
        """Send feedback of the active goal, if it is due; called in the physics thread."""
        active, now = self._active, stamp_ns(world, offset_s)
        if active is not None and not 0 <= now - self._fed_back < FEEDBACK_PERIOD_NS:
            self._fed_back = now
            active.publish_feedback(self.feedback(world, now))

    def _on_goal(self, goal: Any) -> GoalResponse:
        if self.refuses_inactive and not self._driver.active(self._name.partition("/")[0]):
            self._node.get_logger().warning(f"{self._name}: goal rejected: the controller is not running.")
            return GoalResponse.REJECT
        try:
            motion = self.motion(goal)
        except GoalError as error:
            self._node.get_logger().warning(f"{self._name}: goal rejected: {error}")
            return GoalResponse.REJECT
        self._accepted.append(self._physics.begin(self._part, motion))
        return GoalResponse.ACCEPT

    def _on_accepted(self, goal_handle: ServerGoalHandle) -> None:
        # Goals are answered one after the other, so that the oldest run is this goal's.
        run = self._accepted.popleft()
        run.stop_asked = lambda: goal_handle.is_cancel_requested
        self._active = goal_handle
        self._runs[bytes(goal_handle.goal_id.uuid)] = run
        goal_handle.execute()

    async def _execute(self, goal_handle: ServerGoalHandle) -> Any:
        run = self._runs.pop(bytes(goal_handle.goal_id.uuid))
        try:
            outcome = await awaited(self._node, run.ended)
        except (ToolError, PreemptedError) as error:
            goal_handle.abort()
            return self.failure(str(error))
        finally:
            if self._active == goal_handle:
                self._active = None
        if outcome.status is MotionStatus.SUCCEEDED:
            goal_handle.succeed()
        elif outcome.status is MotionStatus.STOPPED and goal_handle.is_cancel_requested:
            goal_handle.canceled()
        else:
            goal_handle.abort()
        return self.result(outcome)


class TrajectoryController(Controller[MotionOutcome]):
    """Follows joint trajectories with positions for all joints of the arm, in any order, linearly between the points.

    Continuous joints may be given in any turn, as joint_trajectory_controller takes them; the first point's counts.
    Tolerances of the goal are not used: `toolhand.sim.arm` has its own, and the driver kortex none. A start stamp is
    not used
    either: motion begins at once.

    Args:
        physics: Runs the motions.
        driver: Stands between the controller and the arm.
    """

    def __init__(self, node: Node, physics: Physics, robot: RobotModel, fault: FaultSource, driver: Driver) -> None:
        super().__init__(node, physics, MovingPart.ARM, FollowJointTrajectory, robot.trajectory_action, driver)
        self._robot = robot
        self._fault = fault

    def motion(self, goal: Any) -> MotionFactory[MotionOutcome]:
        """See `Controller.motion`."""
        points, order = _checked(goal.trajectory, self._robot)
        t = np.array([nanoseconds(point.time_from_start) / 1e9 for point in points])
        q = np.array([point.positions for point in points], dtype=float)[:, order]

        def follow(world: World, stopped: StopCheck) -> Motion[MotionOutcome]:
            # As joint_trajectory_controller does: a first point later than now is reached from where the arm is.
            lead = t[0] > 0.0
            times = np.insert(t, 0, 0.0) if lead else t
            positions = np.vstack([world.arm_reference, _on_the_turn_of(world, q)]) if lead else q
            trajectory = Trajectory(world.robot.arm_joints, times, positions, np.zeros_like(positions))
            return self._with_faults(world, trajectory, stopped)

        return follow

    def _with_faults(self, world: World, trajectory: Trajectory, stopped: StopCheck) -> Motion[MotionOutcome]:
        halfway = world.time + trajectory.duration / 2.0

        def aborted() -> bool:
            return stopped() or (self._fault() == "controller_abort" and world.time >= halfway)

        obedient = self._driver.follow if self._driver.kortex else follow_trajectory
        followed = pretend_to_follow if self._fault() == "arm_deaf" else obedient
        outcome = yield from followed(world, trajectory, aborted)
        while self._fault() == "controller_hang" and not stopped():
            yield
        return MotionOutcome(MotionStatus.STOPPED, outcome.message or "stopped") if stopped() else outcome

    def result(self, outcome: MotionOutcome) -> Any:
        """See `Controller.result`."""
        codes = FollowJointTrajectory.Result
        result = codes(error_code=codes.SUCCESSFUL, error_string=outcome.message)
        if outcome.status is MotionStatus.FAILED:
            off_path = outcome.max_error_rad > PATH_TOLERANCE
            result.error_code = codes.PATH_TOLERANCE_VIOLATED if off_path else codes.GOAL_TOLERANCE_VIOLATED
        elif outcome.status is MotionStatus.STOPPED and self._fault() == "controller_abort":
            result.error_code = codes.PATH_TOLERANCE_VIOLATED
            result.error_string = "the controller aborted, as the parameter fault asks for"
        elif outcome.status is MotionStatus.STOPPED and not self._driver.active(self._driver.trajectory_controller):
            result.error_code = codes.INVALID_GOAL
        return result

    def failure(self, sentence: str) -> Any:
        """See `Controller.failure`."""
        codes = FollowJointTrajectory.Result
        return codes(error_code=codes.INVALID_GOAL, error_string=sentence)

    def feedback(self, world: World, now_ns: int) -> Any:
        """See `Controller.feedback`."""
        desired, actual = world.arm_reference, world.arm_position
        return FollowJointTrajectory.Feedback(
            header=Header(stamp=time_message(now_ns)),
            joint_names=list(world.robot.arm_joints),
            desired=JointTrajectoryPoint(positions=desired.tolist()),
            actual=JointTrajectoryPoint(positions=actual.tolist(), velocities=world.arm_velocity.tolist()),
            error=JointTrajectoryPoint(positions=(desired - actual).tolist()),
        )


def pretend_to_follow(world: World, trajectory: Trajectory, stopped: StopCheck) -> Motion[MotionOutcome]:
    """The arm stays where it is, and is said to have arrived."""
    began = world.time
    while world.time - began < trajectory.duration and not stopped():
        yield
    return MotionOutcome(MotionStatus.STOPPED if stopped() else MotionStatus.SUCCEEDED)


def _on_the_turn_of(world: World, q: FloatArray) -> FloatArray:
    """The points (N, n), all moved by the whole turns that bring the first one nearest to where the arm is."""
    return q + (world.robot.nearest_turn(q[0], world.arm_reference) - q[0])


def _checked(trajectory: JointTrajectory, robot: RobotModel) -> tuple[list[Any], list[int]]:
    """The points, and at which index of them each arm joint is. Raises GoalError."""
    arm_joints = robot.arm_joints
    names = list(trajectory.joint_names)
    if sorted(names) != sorted(arm_joints):
        raise GoalError(f"joint_names must be {', '.join(arm_joints)} in any order, got {', '.join(names) or 'none'}.")
    points = list(trajectory.points)
    if not points:
        raise GoalError("the trajectory has no points.")
    order = [names.index(name) for name in arm_joints]
    low = np.maximum(robot.lower - _ARM_SLACK, -FARTHEST)
    high = np.minimum(robot.upper + _ARM_SLACK, FARTHEST)
    times = [nanoseconds(point.time_from_start) for point in points]
    if times[0] < 0 or any(later <= earlier for earlier, later in pairwise(times)):
        raise GoalError("time_from_start must not be negative and must grow from point to point.")
    for index, point in enumerate(points):
        if len(point.positions) != len(names):
            raise GoalError(f"point {index} must have {len(names)} positions, got {len(point.positions)}.")
        if len(point.velocities) not in (0, len(names)):
            raise GoalError(f"point {index} must have {len(names)} velocities or none, got {len(point.velocities)}.")
        if not np.isfinite(point.positions).all() or not np.isfinite(point.velocities).all():
            raise GoalError(f"point {index} holds NaN or an infinite number.")
        position = np.asarray(point.positions)[order]
        beyond = (position < low) | (position > high)
        if beyond.any():
            joint = int(np.argmax(beyond))
            limit = low[joint] if position[joint] < low[joint] else high[joint]
            raise GoalError(
                f"point {index} sends {arm_joints[joint]} to {point.positions[order[joint]]:.4g} rad, "
                f"beyond its limit of {limit:.4g} rad."
            )
    if np.abs(points[-1].velocities).max(initial=0.0) > AT_REST:
        raise GoalError("the last point must be at rest: all its velocities 0.")
    positions = np.array([point.positions for point in points])[:, order]
    if len(points) > 1 and (why := jump(np.array(times) / 1e9, positions, robot)):
        raise GoalError(f"{why}.")
    if not 0 < times[-1] <= MAX_DURATION_S * 1e9:
        raise GoalError(f"the trajectory must take more than 0 s and at most {MAX_DURATION_S:g} s.")
    return points, order


class GripperController(Controller[GripperOutcome]):
    """Moves the gripper's joint to a position between open and closed until it arrives or stalls.

    A stall is a success, as ros2_kortex configures it (allow_stalling). The effort of a goal is not used. As
    parallel_gripper_action_controller 4.42 does, an inactive one accepts goals and never ends them by itself.

    Args:
        physics: Runs the motions.
        action: "GripperCommand" or "ParallelGripperCommand".
        driver: Stands between the controller and the jaws.
    """

    refuses_inactive = False

    def __init__(self, node: Node, physics: Physics, robot: RobotModel, action: str, driver: Driver) -> None:
        self._gripper = robot.gripper
        self._parallel = action == "ParallelGripperCommand"
        action_type = ParallelGripperCommand if self._parallel else GripperCommand
        self._position = 0.0
        super().__init__(node, physics, MovingPart.GRIPPER, action_type, robot.gripper_action, driver)

    def motion(self, goal: Any) -> MotionFactory[GripperOutcome]:
        """See `Controller.motion`."""
        target = self._target(goal.command)
        low, high = self._gripper.open_at, self._gripper.closed_at
        if not low - _KNUCKLE_SLACK <= target <= high + _KNUCKLE_SLACK:
            raise GoalError(f"the position must be from {low:g} (open) to {high:g} rad (closed), got {target:g}.")
        target = min(max(target, low), high)

        def move(world: World, stopped: StopCheck) -> Motion[GripperOutcome]:
            moved = self._driver.move_knuckle if self._driver.kortex else move_knuckle
            outcome = yield from moved(world, target, stopped)
            self._position = world.knuckle
            return outcome

        return move

    def _target(self, command: Any) -> float:
        if not self._parallel:
            return float(command.position)
        names, positions = list(command.name), list(command.position)
        if names not in ([], [self._gripper.joint]) or len(positions) != 1:
            raise GoalError(f"the command must have one position, for {self._gripper.joint}.")
        return float(positions[0])

    def result(self, outcome: GripperOutcome) -> Any:
        """See `Controller.result`."""
        return self._result(outcome.stalled, outcome.status is MotionStatus.SUCCEEDED and not outcome.stalled)

    def feedback(self, world: World, now_ns: int) -> Any:
        """See `Controller.feedback`."""
        position = world.knuckle
        if self._parallel:
            return ParallelGripperCommand.Feedback(state=JointState(name=[self._gripper.joint], position=[position]))
        return GripperCommand.Feedback(position=position)

    def failure(self, sentence: str) -> Any:
        """See `Controller.failure`; the action has no field for the sentence."""
        self._node.get_logger().warning(f"{self._name}: {sentence}")
        return self._result(stalled=False, reached=False)

    def _result(self, stalled: bool, reached: bool) -> Any:
        if self._parallel:
            state = JointState(name=[self._gripper.joint], position=[self._position])
            return ParallelGripperCommand.Result(state=state, stalled=stalled, reached_goal=reached)
        return GripperCommand.Result(position=self._position, stalled=stalled, reached_goal=reached)
