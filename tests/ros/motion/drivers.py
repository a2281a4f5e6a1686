"""Drivers of an arm that can be made to misbehave: both controllers and the joint states, without physics."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory, GripperCommand
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState

from tool_nodes.motion.robot import ARM_JOINTS, GRIPPER_JOINT, NAMED_STATES
from tool_nodes.ros.messages import nanoseconds, time_message

PERIOD_S = 0.01


class Drivers(Node):
    """Perfect, unless told otherwise.

    Attributes:
        fault: "" or one of: reject, abort, hang (never ends, but obeys a cancel), deaf (never ends, whatever is asked),
            mute (a goal is never answered), restless (the arm trembles for ever).
        silent: No joint states.
        frozen: The clock of the robot stands still.
        offset_s: Added to the robot's clock.
        goals: How many goals were accepted.
        cancels: How many goals ended because they were cancelled.
    """

    def __init__(self, context: Any) -> None:
        super().__init__("drivers", context=context, start_parameter_services=False)
        self.fault = ""
        self.silent = self.frozen = False
        self.offset_s = 0.0
        self.goals = self.cancels = 0
        self.q = np.asarray(NAMED_STATES["Park"], float).copy()
        self.qd = np.zeros(7)
        self.knuckle = 0.0
        self.release = threading.Event()
        """Ends what is mute or deaf."""
        self._now_s = 0.0
        group = ReentrantCallbackGroup()
        self._joints = self.create_publisher(JointState, "joint_states", 10)
        self.create_timer(PERIOD_S, self._show, clock=Clock(clock_type=ClockType.STEADY_TIME), callback_group=group)
        for kind, name, execute in (
            (FollowJointTrajectory, "joint_trajectory_controller/follow_joint_trajectory", self._follow),
            (GripperCommand, "robotiq_gripper_controller/gripper_cmd", self._grip),
        ):
            ActionServer(
                self, kind, name, execute, goal_callback=self._take, callback_group=group,
                cancel_callback=lambda goal: CancelResponse.REJECT if self.fault == "deaf" else CancelResponse.ACCEPT,
            )  # fmt: skip

    def _show(self) -> None:
        if not self.frozen:
            self._now_s += PERIOD_S
        if self.silent:
            return
        message = JointState(name=[*ARM_JOINTS, GRIPPER_JOINT], position=[*self.q.tolist(), self.knuckle])
        trembling = 0.1 if self.fault == "restless" else 0.0
        message.velocity = [*(self.qd + trembling).tolist(), 0.0]
        message.header.stamp = time_message(round((self._now_s + self.offset_s) * 1e9))
        self._joints.publish(message)

    def _take(self, goal: Any) -> GoalResponse:
        if self.fault == "mute":
            self.release.wait()
        if self.fault == "reject":
            return GoalResponse.REJECT
        self.goals += 1
        return GoalResponse.ACCEPT

    def _follow(self, goal: Any) -> Any:
        points = goal.request.trajectory.points
        duration_s = nanoseconds(points[-1].time_from_start) / 1e9
        start, end = self.q.copy(), np.array(points[-1].positions)
        moved_s, result = 0.0, FollowJointTrajectory.Result()
        while moved_s < duration_s or self.fault in ("hang", "deaf"):
            time.sleep(PERIOD_S)
            if goal.is_cancel_requested:
                return self._rest(goal.canceled, result)
            if self.release.is_set() and self.fault == "deaf":
                return self._rest(goal.abort, result)
            if moved_s > duration_s / 2 and self.fault == "abort":
                result.error_code, result.error_string = -4, "Aborted due to path tolerance violation."
                return self._rest(goal.abort, result)
            if not self.frozen:
                moved_s += PERIOD_S
            self.q = start + (end - start) * min(1.0, moved_s / duration_s)
            self.qd = (end - start) / duration_s if moved_s < duration_s else np.zeros(7)
        return self._rest(goal.succeed, result)

    def _rest(self, end: Any, result: Any) -> Any:
        self.qd = np.zeros(7)
        self.cancels += end.__name__ == "canceled"
        end()
        return result

    def _grip(self, goal: Any) -> Any:
        if self.fault != "jam":
            self.knuckle = goal.request.command.position
        reached = abs(self.knuckle - goal.request.command.position) < 1e-6
        goal.succeed()
        return GripperCommand.Result(position=self.knuckle, stalled=not reached, reached_goal=reached)
