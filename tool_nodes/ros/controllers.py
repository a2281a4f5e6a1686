"""The Arm port over the controllers of ros2_control: joint trajectories, gripper commands, joint states.

Everything blocks its caller: use it from a thread of your own while executors spin the nodes. Time of the robot is the
stamp of its joint states, so that deadlines of motions hold in simulation at any speed, and nothing hangs with it.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from toolhand.tool_nodes.motion.trajectory_checks import beside, unfit
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.action_client import ActionClient, new_goal_id
from toolhand.tool_nodes.ros.calling import Deadlines, server_absent
from toolhand.tool_nodes.ros.faults import ControllerStates, DriverFaults
from toolhand.tool_nodes.ros.goals import CHUNK, ActiveGoal, Stepper
from toolhand.tool_nodes.ros.joint_states import JointReading, JointStates
from toolhand.tool_nodes.ros.motion_messages import (
    GRIPPER_TYPES,
    LEAST_S,
    gripper_failure,
    gripper_goal,
    trajectory_failure,
    trajectory_goal,
)
from toolhand.tool_nodes.ros.rest import WINDOW_S
from toolhand.tool_nodes.ros.watching import (
    END_TOLERANCE,
    SETTLE_S,
    START_TOLERANCE,
    PathWatch,
    RobotTime,
    distance,
    silence,
)
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.types import ArmState, FloatArray, GripperOutcome, MotionOutcome, MotionStatus, Trajectory

GRIPPER_LIMIT_S = 4.0
"""Longest motion of the jaws, in time of the robot [s]."""

UNMEASURED_S = 2.0
"""A motion in which the joints are not measured for so long is cancelled [s]: nobody knows where it leads. Less than a
busy computer may be late by would end good ones; at half speed the arm's joints turn by 1.4 rad meanwhile."""

BRAKE_LIMIT_S = 2.0
"""Longest time from a cancel to rest, in time of the robot [s]."""

TRANSPORT_S = 0.5
"""A result that comes this much after the limit, by the wall clock, was in time: time may run fast [s]."""

JAM_TRAVEL = 0.0005
"""Travel below which jaws have not moved [m]."""
JAM_MISS = 0.005
"""Jaws that moved less than JAM_TRAVEL and are further than JAM_MISS from where they should be did not obey [m]."""

REACHED = 0.02
"""The gripper's joint has arrived when it is no further away than this [rad], as in the simulated gripper: 2 mm of a
2F-85's opening. The driver of ros2_kortex closes to 0.81 rad where the model closes to 0.8."""

_POLL_S = 0.01
"""Longest wait in which a stop is not noticed [s]."""


@dataclass(frozen=True)
class _Ended:
    """How a goal ended: `status` as in action_msgs/msg/GoalStatus, unknown where it was refused, or not sent at all.

    `cause` is what kept it from being carried out, as part of a sentence; empty where that is not known.
    """

    status: int
    result: Any = None
    halted: bool = False
    late: bool = False
    took_s: float = 0.0
    cause: str = ""


class RosArm:
    """Drives an arm and a gripper through their controllers, one goal at a time.

    Args:
        node: Gets the clients.
        joints: Listener to the robot's joint states, which also knows the robot.
        latch: Forbids motion.
        deadlines: How long to wait for the controllers, by the wall clock.
        gripper_action: "GripperCommand" or "ParallelGripperCommand".
        stepper: Lets time pass while a goal runs; None where time passes by itself.
        cancelled: Polled during motions; True brakes, ends the motion as STOPPED and refuses the next one.
        faults: Listener to what the driver says of the arm; None where there is none.
    """

    def __init__(
        self,
        node: Node,
        joints: JointStates,
        latch: StopLatch,
        deadlines: Deadlines,
        gripper_action: str = "GripperCommand",
        stepper: Stepper | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        faults: DriverFaults | None = None,
    ) -> None:
        self._robot = robot = joints.robot
        group = ReentrantCallbackGroup()
        self._trajectories = ActionClient(node, FollowJointTrajectory, robot.trajectory_action, callback_group=group)
        self._gripper_type = GRIPPER_TYPES[gripper_action]
        self._grippers = ActionClient(node, self._gripper_type, robot.gripper_action, callback_group=group)
        self._joints = joints
        self._latch = latch
        self._deadlines = deadlines
        self._stepper = stepper
        self._expected_ns = self._epoch = 0
        self._not_before_s = 0.0
        self._cancelled = cancelled
        self._faults = faults or DriverFaults()
        self._controllers = ControllerStates(node, deadlines)

    # -- the Arm port ----------------------------------------------------------------------------

    def state(self) -> ArmState:
        """The measured state, not older than the last motion. Raises ToolError UNAVAILABLE."""
        return self._reading().state

    def follow(self, trajectory: Trajectory) -> MotionOutcome:
        """See ports.Arm; success is said only of an arm that was measured at start, path and end, see `watching`.

        Raises:
            ToolError: UNAVAILABLE or TIMEOUT where the controller or its answers are missing.
        """
        if why := unfit(trajectory, self._robot):
            return MotionOutcome(MotionStatus.FAILED, f"the trajectory was refused before it began: {why}")
        if not self._halted and (gap := distance(self.state().q, trajectory.q[0], self._robot)) > START_TOLERANCE:
            message = f"the trajectory starts {gap:.2f} rad away from where the arm is"
            return MotionOutcome(MotionStatus.FAILED, message, gap)
        took_s, end = max(trajectory.duration, LEAST_S), trajectory.q[-1]
        limit_s, watch, fault = 1.1 * took_s + 0.5, PathWatch(trajectory, self._robot), self._faults.watch()
        with self._joints.heard_by(watch):
            ended = self._run(
                self._trajectories,
                trajectory_goal(trajectory),
                self._robot.trajectory_action,
                limit_s,
                took_s,
                lambda accepted: watch.strayed or fault.came or (accepted and watch.stuck()),
            )
        if ended.halted:
            return MotionOutcome(MotionStatus.STOPPED, "stopped", duration=ended.took_s)
        succeeded = ended.status == GoalStatus.STATUS_SUCCEEDED and ended.result.error_code == 0
        error = self._settled_distance(end) if succeeded else distance(self.state().q, end, self._robot)
        message, faulty = "", False
        if why := fault.why or ended.cause:
            message, faulty = why, True
        elif watch.strayed:
            message = f"the arm was measured {watch.off_rad:.2f} rad off its path"
        elif watch.was_stuck:
            message, faulty = f"its controller carries on, but {watch.where(error)}", True
        elif not succeeded:
            message = trajectory_failure(ended.status, ended.result, ended.late, limit_s)
        elif error > END_TOLERANCE:
            message, faulty = f"its controller says that it has arrived, but {watch.where(error)}", True
        if message:
            if ended.status == GoalStatus.STATUS_SUCCEEDED:  # else it was waited for
                self._wait_until_still(patient=not fault.came)
            held_up = not (faulty or watch.strayed or self._faults.present) and self._rests_beside(trajectory)
            return MotionOutcome(MotionStatus.FAILED, message, error, ended.took_s, faulty, held_up)
        return MotionOutcome(MotionStatus.SUCCEEDED, max_error_rad=error, duration=ended.took_s)

    def _rests_beside(self, trajectory: Trajectory) -> bool:
        """Whether a fresh reading shows the arm at rest beside a path."""
        reading = self._reading()
        if self._stepper is None:
            rests = self._joints.unrest() is None
        else:  # no window of time passes by itself
            rests = bool((np.abs(reading.qd) <= self._joints.still_velocity).all())
        return rests and beside(trajectory, reading.q, self._robot)

    def move_gripper(self, opening_m: float) -> GripperOutcome:
        """See ports.Arm; where the jaws are, and whether they met something, is what the joints measure at rest.

        Raises:
            ToolError: UNAVAILABLE or TIMEOUT where the controller or its answers are missing.
        """
        gripper = self._robot.gripper
        position = gripper.joint_position(opening_m)
        before_m = self.state().opening_m
        goal, fault = gripper_goal(self._gripper_type, gripper.joint, position), self._faults.watch()
        ended = self._run(
            self._grippers, goal, self._robot.gripper_action, GRIPPER_LIMIT_S, 0.0, lambda accepted: fault.came
        )
        if ended.halted:
            return GripperOutcome(MotionStatus.STOPPED, self.state().opening_m, False, "stopped")
        if why := fault.why or ended.cause:
            return GripperOutcome(MotionStatus.FAILED, self.state().opening_m, False, why)
        if ended.result is None or ended.late or not (ended.result.reached_goal or ended.result.stalled):
            message = gripper_failure(ended.status, ended.result, ended.late, GRIPPER_LIMIT_S)
            return GripperOutcome(MotionStatus.FAILED, self.state().opening_m, False, message)
        reading, rests = self._jaws_at_rest(ended.took_s)
        opening = reading.opening_m
        if not rests:
            status = MotionStatus.STOPPED if self._halted else MotionStatus.FAILED
            return GripperOutcome(status, opening, False, "the jaws were not measured at rest")
        if why := fault.why:
            return GripperOutcome(MotionStatus.FAILED, opening, False, why)
        stalled = abs(reading.knuckle - position) > REACHED
        if stalled and abs(opening - before_m) < JAM_TRAVEL and abs(opening - opening_m) > JAM_MISS:
            message = f"the jaws did not move, they stay {1000 * opening:.0f} mm open"
            return GripperOutcome(MotionStatus.FAILED, opening, True, message)
        return GripperOutcome(MotionStatus.SUCCEEDED, opening, stalled)

    def rest(self, seconds: float) -> MotionOutcome:
        """See ports.Arm. Raises ToolError UNAVAILABLE or TIMEOUT where the robot's time stands still."""
        with self._latch.job():
            self._reading()
            clock = RobotTime(self._joints, self._deadlines.availability_s)
            left = 0 if self._stepper is None else round(seconds / self._stepper.time_step_s)
            while not self._halted and (left or (self._stepper is None and clock.elapsed_s < seconds)):
                if self._stepper is None:
                    time.sleep(_POLL_S)
                    clock.update()
                    continue
                count = min(left, CHUNK)
                self._pass(count)
                left -= count
            self._reading()
            if self._halted:
                return MotionOutcome(MotionStatus.STOPPED, "stopped", duration=clock.elapsed_s)
            return MotionOutcome(MotionStatus.SUCCEEDED, duration=seconds)

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

    def _run(
        self,
        client: ActionClient,
        goal: Any,
        name: str,
        limit_s: float,
        shortest_s: float,
        wrong: Callable[[bool], bool],
    ) -> _Ended:
        """Send a goal and see it through.

        Args:
            client: Action client of the controller.
            goal: The goal.
            name: Name of the action.
            limit_s: Cancelled after this time of the robot [s].
            shortest_s: It certainly takes as long [s].
            wrong: Polled with False before it is sent, and with True once it is accepted; True has it not sent, or
                cancelled as if it were late.
        """
        with self._latch.job(), self._latch.goal_on_its_way():
            if self._halted:
                return _Ended(GoalStatus.STATUS_UNKNOWN, halted=True)
            self._reading()  # a motion that could not be monitored does not begin
            if wrong(False):
                return _Ended(GoalStatus.STATUS_UNKNOWN)
            active = self._send(client, goal, name)
            if active is None:
                return _Ended(GoalStatus.STATUS_UNKNOWN, halted=self._halted, cause=self._controllers.why_not(name))
            try:
                ended = self._see_through(active, name, limit_s, shortest_s, wrong)
            except ToolError:
                active.cancel()
                raise
            finally:
                self._not_before_s = time.monotonic()
            if ended.status == GoalStatus.STATUS_SUCCEEDED:
                return ended
            self._wait_until_still(patient=not self._faults.present)
            why = ended.cause or ("" if ended.halted else self._controllers.why_not(name))
            return replace(ended, cause=why)

    @property
    def _halted(self) -> bool:
        """True once this thread's job may not go on: a stop came since it began, or it was cancelled."""
        return self._latch.halted or self._cancelled()

    def _send(self, client: ActionClient, goal: Any, name: str) -> ActiveGoal | None:
        """The goal once it is accepted; None if it is refused, or not sent because of a stop.

        Raises ToolError UNAVAILABLE or TIMEOUT.
        """
        if not client.wait_for_server(timeout_sec=self._deadlines.availability_s):
            raise server_absent(name, self._deadlines.availability_s)
        if self._halted:  # both waits may have been long
            return None
        goal_id = new_goal_id()
        sent = client.send_goal_async(goal, goal_uuid=goal_id)
        answered = threading.Event()
        sent.add_done_callback(lambda _: answered.set())
        if not answered.wait(self._deadlines.response_s):
            client.give_up(sent, goal_id)
            raise ToolError(
                ErrorCode.TIMEOUT, f"{name} did not answer the goal within {self._deadlines.response_s:g} s."
            )
        handle = sent.result()
        return ActiveGoal(client, name, handle) if handle.accepted else None

    def _see_through(
        self, active: ActiveGoal, name: str, limit_s: float, shortest_s: float, wrong: Callable[[bool], bool]
    ) -> _Ended:
        clock = RobotTime(self._joints, self._deadlines.availability_s)
        end_s = time.monotonic() + self._deadlines.motion_s
        in_time_s = time.monotonic()
        certain = 0 if self._stepper is None else int(np.ceil(shortest_s / self._stepper.time_step_s))
        halted = late = unmeasured = idle = False
        while not active.wait(_POLL_S if self._stepper is None or idle else 0.0):
            active.require_server()
            clock.update()
            if clock.elapsed_s <= limit_s:
                in_time_s = time.monotonic()
            overdue = time.monotonic() > min(in_time_s + TRANSPORT_S, end_s)
            if not (halted or late):
                halted = self._halted
                unmeasured = self._stepper is None and clock.still_s > UNMEASURED_S
                late = (overdue or unmeasured or wrong(True)) and not halted
                if halted or late:
                    limit_s = clock.elapsed_s + BRAKE_LIMIT_S
                    active.cancel()
                    end_s += self._deadlines.response_s
            elif overdue:
                raise ToolError(ErrorCode.TIMEOUT, f"{name} did not end its goal although it was cancelled.")
            if self._stepper is not None and not idle:
                count = 1 if halted or late else max(1, min(CHUNK, certain))
                certain -= count
                idle = self._pass(count)
        clock.update()
        status, result = active.outcome
        # A stop cancels at the controllers too, so that the goal may end before this thread hears of it.
        halted = status != GoalStatus.STATUS_SUCCEEDED and (halted or self._halted)
        why = f"its joints were not measured for {UNMEASURED_S:g} s" if unmeasured else ""
        return _Ended(status, result, halted, late, clock.elapsed_s, why)

    def _pass(self, steps: int) -> bool:
        """Make time steps, in lockstep; True if the simulator says that no goal is left."""
        assert self._stepper is not None
        idle = self._stepper.step(steps)
        self._expected_ns += round(steps * self._stepper.time_step_s * 1e9)
        return idle

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
            raise silence(self._joints)
        # Steps that are made from here on are counted from this stamp, less what rounding may take away.
        self._expected_ns, self._epoch = reading.stamp_ns - 100_000, reading.epoch
        return reading

    def _wait_until_still(self, patient: bool = True) -> None:
        """Wait until the arm rests; where it does not, in lockstep and without patience that is no error.

        Raises:
            ToolError: TIMEOUT; UNAVAILABLE where no joint states come.
        """
        if self._stepper is not None:
            left = round(BRAKE_LIMIT_S / self._stepper.time_step_s)
            # By the simulator's own velocities: no window of time passes by itself here, and steps in which nothing
            # happens would make another motion of it than the same one in process.
            while left > 0 and (np.abs(self._reading().qd) > self._joints.still_velocity).any():
                self._pass(min(left, CHUNK))
                left -= CHUNK
            return
        began_s = time.monotonic()
        patience_s = self._deadlines.availability_s if patient else min(BRAKE_LIMIT_S, self._deadlines.availability_s)
        patience_s += WINDOW_S
        if self._joints.wait_for(lambda _: self._joints.unrest(began_s) is None, patience_s) is None and patient:
            self._reading()
            unrest = self._joints.unrest(began_s)
            why = f": {unrest.why}" if unrest is not None else ""
            told = f"The motion has ended, but the arm was not measured at rest after it{why}."
            raise ToolError(ErrorCode.TIMEOUT, told)

    def _settled_distance(self, end: FloatArray) -> float:
        """How far the arm is from the end of its path (n,) once it is there, or has had time to get there [rad]."""
        reading = self._reading()
        if self._stepper is None:
            until_ns, epoch = reading.stamp_ns + round(SETTLE_S * 1e9), reading.epoch

            def settled(reading: JointReading) -> bool:
                over = reading.stamp_ns >= until_ns or reading.epoch != epoch
                return over or distance(reading.q, end, self._robot) <= END_TOLERANCE

            reading = self._joints.wait_for(settled, self._deadlines.availability_s) or self._reading()
        return distance(reading.q, end, self._robot)

    def _jaws_at_rest(self, took_s: float) -> tuple[JointReading, bool]:
        """The first reading that shows the jaws at rest, and True; or the newest, and False, if that takes too long.

        Where the controller says "stalled" the jaws of ros2_kortex may still move: its driver fills in no velocity, by
        which the controller would know.

        Args:
            took_s: How long ago the goal was accepted, in time of the robot [s].
        """
        reading = self._reading()
        if self._stepper is not None:
            return reading, True  # time stands still now, and the simulator's gripper ends a goal at rest
        clock = RobotTime(self._joints, self._deadlines.availability_s)
        while took_s + clock.elapsed_s < WINDOW_S or self._joints.unrest(jaws_alone=True) is not None:
            if self._halted or took_s + clock.elapsed_s > GRIPPER_LIMIT_S:
                return reading, False
            self._joints.wait_for(functools.partial(_is_later, reading.received_s), _POLL_S)
            clock.update()
            reading = self._reading()
        return reading, True


def _is_later(received_s: float, reading: JointReading) -> bool:
    return reading.received_s > received_s
