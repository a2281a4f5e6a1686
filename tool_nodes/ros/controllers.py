"""The Arm port over the controllers of ros2_control: joint trajectories, gripper commands, joint states.

Everything blocks its caller: use it from a thread of your own while executors spin the nodes. Time of the robot is the
stamp of its joint states, so that deadlines of motions hold in simulation at any speed, and nothing hangs with it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from control_msgs.msg import GripperCommand as GripperPosition
from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import JointState
from simulation_interfaces.msg import Result as SimulationResult
from simulation_interfaces.srv import StepSimulation
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from tool_nodes.motion.gripper import knuckle_from_opening, opening_from_knuckle
from tool_nodes.motion.robot import ARM_JOINTS, GRIPPER_JOINT
from tool_nodes.motion.stop_latch import StopLatch, StopWatch
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.ros.calling import Deadlines, call, cancel_late_goal, server_absent, server_gone, server_is_there
from tool_nodes.ros.joint_states import JointReading, JointStates
from tool_nodes.types import ArmState, GripperOutcome, MotionOutcome, MotionStatus, Trajectory

TRAJECTORY_ACTION = "joint_trajectory_controller/follow_joint_trajectory"
GRIPPER_ACTION = "robotiq_gripper_controller/gripper_cmd"
GRIPPER_TYPES = {"GripperCommand": GripperCommand, "ParallelGripperCommand": ParallelGripperCommand}

GRIPPER_LIMIT_S = 4.0
"""Longest motion of the jaws, in time of the robot [s]."""

BRAKE_LIMIT_S = 2.0
"""Longest time from a cancel to rest, in time of the robot [s]."""

TRANSPORT_S = 0.5
"""A result that comes this much after the limit, by the wall clock, was in time: time may run fast [s]."""

JUMP_S = 1.0
"""The robot's clock jumped if it goes on by more than this between two looks [s]."""

SILENCE_S = 0.5
"""Joint states that have not come for so long are silent [s]; else it is the clock in them that stands still."""

CHUNK = 50
"""Most time steps of one request in lockstep."""

JAM_TRAVEL = 0.0005
JAM_MISS = 0.005
"""Jaws that moved less than JAM_TRAVEL and are further than JAM_MISS from where they should be did not obey [m]."""

NO_GOAL_ACTIVE = "no goal is active"
"""What `sim_node` remarks when nothing would move in a further time step; the result is on its way then."""

_POLL_S = 0.01

_GRIPPER_EFFORT = 100.0
_ERROR_CODES = {
    value: name.replace("_", " ").lower()
    for name, value in vars(FollowJointTrajectory.Result).items()
    if name.isupper() and isinstance(value, int)
}


class ActiveGoal:
    """A goal that a controller has accepted."""

    def __init__(self, client: ActionClient, name: str, handle: Any) -> None:
        self._client = client
        self._name = name
        self._handle = handle
        self._result: Future = handle.get_result_async()
        self._ended = threading.Event()
        self._result.add_done_callback(lambda _: self._ended.set())
        self._missed = 0
        self._next_look = 0.0

    def wait(self, timeout_s: float) -> bool:
        """True once it has ended."""
        return self._ended.wait(timeout_s)

    def cancel(self) -> None:
        """Ask the controller to end it."""
        if server_is_there(self._client.server_is_ready):
            self._handle.cancel_goal_async()

    def require_server(self) -> None:
        """Raises ToolError UNAVAILABLE where the controller went away; looks ten times a second."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + 0.1
        self._missed = 0 if server_is_there(self._client.server_is_ready) else self._missed + 1
        if self._missed == 2:  # once may be a passing state of discovery
            raise server_gone(self._name)

    @property
    def outcome(self) -> tuple[int, Any]:
        """(status of action_msgs/msg/GoalStatus, result); only after it has ended."""
        response = self._result.result()
        return response.status, response.result


class RobotTime:
    """How much time of the robot has passed; jumps of its clock do not count.

    Args:
        joints: Their stamps are the clock.
        patience_s: Wall-clock seconds that the clock may stand still.
    """

    def __init__(self, joints: JointStates, patience_s: float) -> None:
        self._joints = joints
        self._patience_s = patience_s
        self._last_ns = self._stamp_ns()
        self._moved_s = time.monotonic()
        self.elapsed_s = 0.0

    def update(self) -> None:
        """Look at the clock. Raises ToolError UNAVAILABLE where it has stood still for too long."""
        now_ns, now = self._stamp_ns(), time.monotonic()
        if now_ns != self._last_ns:
            passed = (now_ns - self._last_ns) / 1e9
            self.elapsed_s += passed if 0.0 < passed <= JUMP_S else 0.0
            self._last_ns, self._moved_s = now_ns, now
        elif now - self._moved_s > self._patience_s:
            raise silence(self._joints.newest)

    def _stamp_ns(self) -> int:
        newest = self._joints.newest
        return -1 if newest is None else newest.stamp_ns


def silence(newest: JointReading | None) -> ToolError:
    """Why the state of the arm is unknown."""
    if newest is None:
        return ToolError(
            ErrorCode.UNAVAILABLE, "No joint states have come from the arm.", "Look whether its driver runs."
        )
    quiet_s = time.monotonic() - newest.received_s
    if quiet_s < SILENCE_S:
        what = f"The robot's clock stands still at {newest.stamp_ns / 1e9:.2f} s"
    else:
        what = f"The joint states have been silent for {quiet_s:.1f} s"
    return ToolError(ErrorCode.UNAVAILABLE, f"{what}.", "Look at the arm's driver, or at the simulator.")


class Stepper:
    """Lets simulated time pass, in lockstep.

    Args:
        node: Gets the client.
        deadlines: How long to wait for the simulator.
        time_step_s: Simulated time of one step.
    """

    def __init__(self, node: Node, deadlines: Deadlines, time_step_s: float) -> None:
        self._client = node.create_client(StepSimulation, "step_simulation", callback_group=ReentrantCallbackGroup())
        self._deadlines = deadlines
        self.time_step_s = time_step_s

    def step(self, count: int) -> bool:
        """Make time steps; True if the simulator says that no goal is left. Raises ToolError UNAVAILABLE, TIMEOUT."""
        request = StepSimulation.Request(steps=count)
        result = call(self._client, request, self._deadlines.response_s, self._deadlines.availability_s).result
        if result.result != SimulationResult.RESULT_OK:
            raise ToolError(ErrorCode.UNAVAILABLE, f"The simulator made no step: {result.error_message}")
        return bool(result.error_message == NO_GOAL_ACTIVE)


@dataclass(frozen=True)
class _Ended:
    """How a goal ended: `status` as in action_msgs/msg/GoalStatus, unknown where the controller refused the goal."""

    status: int
    result: Any = None
    halted: bool = False
    late: bool = False
    took_s: float = 0.0


class RosArm:
    """Drives an arm and a gripper through their controllers, one goal at a time.

    Args:
        node: Gets the clients.
        joints: What the robot measures.
        latch: Forbids motion.
        deadlines: How long to wait for the controllers, by the wall clock.
        gripper_action: "GripperCommand" or "ParallelGripperCommand".
        stepper: Lets time pass while a goal runs; None where time passes by itself.
        still_velocity: The arm is at rest below this [rad/s].

    Attributes:
        cancelled: Polled during motions; True brakes, ends the motion as STOPPED and refuses the next one.
    """

    def __init__(
        self,
        node: Node,
        joints: JointStates,
        latch: StopLatch,
        deadlines: Deadlines,
        gripper_action: str = "GripperCommand",
        stepper: Stepper | None = None,
        still_velocity: float = 0.002,
    ) -> None:
        group = ReentrantCallbackGroup()
        self._trajectories = ActionClient(node, FollowJointTrajectory, TRAJECTORY_ACTION, callback_group=group)
        self._gripper_type = GRIPPER_TYPES[gripper_action]
        self._grippers = ActionClient(node, self._gripper_type, GRIPPER_ACTION, callback_group=group)
        self._joints = joints
        self._latch = latch
        self._deadlines = deadlines
        self._stepper = stepper
        self._still_velocity = still_velocity
        self._expected_ns = self._epoch = 0
        self._not_before_s = 0.0
        self.cancelled: Callable[[], bool] = lambda: False

    # -- the Arm port ----------------------------------------------------------------------------

    def state(self) -> ArmState:
        """The measured state, not older than the last motion. Raises ToolError UNAVAILABLE."""
        return self._reading().state

    def follow(self, trajectory: Trajectory) -> MotionOutcome:
        """See ports.Arm. Raises ToolError UNAVAILABLE or TIMEOUT where the controller or its answers are missing."""
        goal = FollowJointTrajectory.Goal(trajectory=_trajectory_message(trajectory))
        limit_s = 1.1 * trajectory.duration + 0.5
        ended = self._run(self._trajectories, goal, TRAJECTORY_ACTION, limit_s, trajectory.duration)
        error = float(np.abs(trajectory.q[-1] - self.state().q).max())
        if ended.halted:
            return MotionOutcome(MotionStatus.STOPPED, "stopped", duration=ended.took_s)
        if ended.status == GoalStatus.STATUS_SUCCEEDED and ended.result.error_code == 0:
            return MotionOutcome(MotionStatus.SUCCEEDED, max_error_rad=error, duration=ended.took_s)
        return MotionOutcome(MotionStatus.FAILED, _trajectory_failure(ended, limit_s), error, ended.took_s)

    def move_gripper(self, opening_m: float) -> GripperOutcome:
        """See ports.Arm. Raises ToolError UNAVAILABLE or TIMEOUT where the controller or its answers are missing."""
        knuckle = knuckle_from_opening(opening_m)
        before_m = self.state().opening_m
        ended = self._run(self._grippers, self._gripper_goal(knuckle), GRIPPER_ACTION, GRIPPER_LIMIT_S, 0.0)
        measured_m = self.state().opening_m
        if ended.halted:
            return GripperOutcome(MotionStatus.STOPPED, measured_m, False, "stopped")
        if ended.result is None or ended.late or not (ended.result.reached_goal or ended.result.stalled):
            return GripperOutcome(MotionStatus.FAILED, measured_m, False, _gripper_failure(ended))
        position = self._gripper_position(ended.result)
        opening = measured_m if position is None else max(0.0, opening_from_knuckle(position))
        stalled = bool(ended.result.stalled)
        if stalled and abs(opening - before_m) < JAM_TRAVEL and abs(opening - opening_m) > JAM_MISS:
            message = f"the jaws did not move, they stay {1000 * opening:.0f} mm open"
            return GripperOutcome(MotionStatus.FAILED, opening, True, message)
        return GripperOutcome(MotionStatus.SUCCEEDED, opening, stalled)

    def stop(self) -> None:
        """Latch a stop; the running motion brakes, later ones are refused."""
        self._latch.set()

    def reset_stop(self) -> None:
        """Release the latch; what was stopped does not go on."""
        self._latch.clear()

    def job(self) -> AbstractContextManager[StopWatch]:
        """See ports.Arm."""
        return self._latch.job()

    # -- goals -----------------------------------------------------------------------------------

    def _run(self, client: ActionClient, goal: Any, name: str, limit_s: float, shortest_s: float) -> _Ended:
        """Send a goal and see it through.

        Args:
            client: Of the controller.
            goal: The goal.
            name: Of the action.
            limit_s: Cancelled after this time of the robot [s].
            shortest_s: It certainly takes as long [s].
        """
        with self._latch.job(), self._latch.goal_on_its_way():
            if self.halted:
                return _Ended(GoalStatus.STATUS_UNKNOWN, halted=True)
            self._reading()  # a motion whose course nobody could watch does not begin
            active = self._send(client, goal, name)
            if active is None:
                return _Ended(GoalStatus.STATUS_UNKNOWN, halted=self.halted)
            try:
                ended = self._see_through(active, name, limit_s, shortest_s)
            except ToolError:
                active.cancel()
                raise
            finally:
                self._not_before_s = time.monotonic()
            if ended.status != GoalStatus.STATUS_SUCCEEDED:
                self._wait_until_still()
            return ended

    @property
    def halted(self) -> bool:
        """True once this thread's job may not go on: a stop came since it began, or it was cancelled."""
        return self._latch.halted or self.cancelled()

    def _send(self, client: ActionClient, goal: Any, name: str) -> ActiveGoal | None:
        """The goal once it is accepted; None if it is refused, or not sent because of a stop.

        Raises ToolError UNAVAILABLE or TIMEOUT.
        """
        if not client.wait_for_server(timeout_sec=self._deadlines.availability_s):
            raise server_absent(name, self._deadlines.availability_s)
        if self.halted:  # both waits may have been long
            return None
        sent = client.send_goal_async(goal)
        answered = threading.Event()
        sent.add_done_callback(lambda _: answered.set())
        if not answered.wait(self._deadlines.response_s):
            sent.add_done_callback(cancel_late_goal)
            raise ToolError(
                ErrorCode.TIMEOUT, f"{name} did not answer the goal within {self._deadlines.response_s:g} s."
            )
        handle = sent.result()
        return ActiveGoal(client, name, handle) if handle.accepted else None

    def _see_through(self, active: ActiveGoal, name: str, limit_s: float, shortest_s: float) -> _Ended:
        clock = RobotTime(self._joints, self._deadlines.availability_s)
        end_s = time.monotonic() + self._deadlines.motion_s
        in_time_s = time.monotonic()
        certain = 0 if self._stepper is None else int(np.ceil(shortest_s / self._stepper.time_step_s))
        halted = late = idle = False
        while not active.wait(_POLL_S if self._stepper is None or idle else 0.0):
            active.require_server()
            clock.update()
            if clock.elapsed_s <= limit_s:
                in_time_s = time.monotonic()
            overdue = time.monotonic() > min(in_time_s + TRANSPORT_S, end_s)
            if not (halted or late):
                halted = self.halted
                late = overdue and not halted
                if halted or late:
                    limit_s = clock.elapsed_s + BRAKE_LIMIT_S
                    active.cancel()
                    end_s += self._deadlines.response_s
            elif overdue:
                raise ToolError(ErrorCode.TIMEOUT, f"{name} did not end its goal although it was cancelled.")
            if self._stepper is not None and not idle:
                count = 1 if halted or late else max(1, min(CHUNK, certain))
                certain -= count
                idle = self._stepper.step(count)
                self._expected_ns += round(count * self._stepper.time_step_s * 1e9)
        clock.update()
        status, result = active.outcome
        # Whoever stops cancels at the controllers too, so that the goal may end before this thread hears of it.
        halted = status != GoalStatus.STATUS_SUCCEEDED and (halted or self.halted)
        return _Ended(status, result, halted, late, clock.elapsed_s)

    # -- measuring -------------------------------------------------------------------------------

    def _reading(self) -> JointReading:
        """A reading that is fresh, and not from before the end of the last motion."""

        def fresh(reading: JointReading) -> bool:
            if self._stepper is not None:
                return reading.stamp_ns >= self._expected_ns or reading.epoch != self._epoch
            young = time.monotonic() - reading.received_s < self._deadlines.availability_s
            return young and reading.received_s >= self._not_before_s

        reading = self._joints.wait_for(fresh, self._deadlines.availability_s)
        if reading is None:
            raise silence(self._joints.newest)
        # Steps that are made from here on are counted from this stamp, less what rounding may take away.
        self._expected_ns, self._epoch = reading.stamp_ns - 100_000, reading.epoch
        return reading

    def _wait_until_still(self) -> None:
        """Wait until the arm rests; where time stands still it is as still as it gets. Raises ToolError TIMEOUT."""
        if self._stepper is not None:
            return
        began_s = time.monotonic()

        def still(reading: JointReading) -> bool:
            return reading.received_s > began_s and reading.is_still(self._still_velocity)

        if self._joints.wait_for(still, self._deadlines.availability_s) is None:
            raise ToolError(ErrorCode.TIMEOUT, "The motion has ended, but the arm was not measured at rest after it.")

    # -- messages --------------------------------------------------------------------------------

    def _gripper_goal(self, knuckle: float) -> Any:
        if self._gripper_type is GripperCommand:
            command = GripperPosition(position=knuckle, max_effort=_GRIPPER_EFFORT)
            return GripperCommand.Goal(command=command)
        return ParallelGripperCommand.Goal(command=JointState(name=[GRIPPER_JOINT], position=[knuckle]))

    def _gripper_position(self, result: Any) -> float | None:
        """Angle of the knuckle at the end [rad], None where the controller does not tell."""
        if self._gripper_type is GripperCommand:
            return float(result.position)
        return float(result.state.position[0]) if len(result.state.position) else None


def _trajectory_message(trajectory: Trajectory) -> JointTrajectory:
    """Positions and velocities at whole nanoseconds; it begins at once."""
    points = []
    for t, q, qd in zip(trajectory.t, trajectory.q, trajectory.qd, strict=True):
        nanoseconds = round(float(t) * 1e9)
        since = Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
        points.append(JointTrajectoryPoint(positions=q.tolist(), velocities=qd.tolist(), time_from_start=since))
    return JointTrajectory(joint_names=list(ARM_JOINTS), points=points)


def _trajectory_failure(ended: _Ended, limit_s: float) -> str:
    if ended.result is None:
        return "the controller refused the goal"
    if ended.late and ended.status == GoalStatus.STATUS_CANCELED:
        return f"the controller did not finish within {limit_s:.2f} s and was cancelled"
    if ended.status == GoalStatus.STATUS_CANCELED:
        return "somebody else cancelled the goal"
    return ended.result.error_string.rstrip(".") or _ERROR_CODES.get(ended.result.error_code, "no reason was given")


def _gripper_failure(ended: _Ended) -> str:
    if ended.result is None:
        return "the controller refused the goal"
    if ended.late:
        return f"the controller did not finish within {GRIPPER_LIMIT_S:g} s and was cancelled"
    if ended.status == GoalStatus.STATUS_CANCELED:
        return "somebody else cancelled the goal"
    return "the jaws neither arrived nor met anything"
