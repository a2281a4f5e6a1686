"""Drivers of an arm that can be made to misbehave: both controllers and the joint states, without physics.

In another process: `python -m rclpy_zenoh.run tests.ros.motion.drivers --ros-args -p wrapped:=true -p fault:=ignore`.
"""

import threading
import time
from typing import Any

import numpy as np
import rclpy
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

from tests.gen3 import ARM_JOINTS, GRIPPER_JOINT, NAMED_STATES, nearest_turn
from toolhand.tool_nodes.ros.messages import nanoseconds, time_message

PERIOD_S = 0.01
EARLY_S = 0.05
"""After so long [s] a gripper's controller says "stalled" where it is told to be early."""


class Drivers(Node):
    """Perfect, unless told otherwise; the parameters have the names of the first five attributes.

    Attributes:
        fault: "" or one of: reject, abort, hang (never ends, but obeys a cancel), deaf (never ends, whatever is asked),
            mute (a goal is never answered), restless (the arm trembles for ever); ignore (the arm stays where it is),
            short (it stays halfway), stray (it goes half a radian aside on its way), late (it arrives 0.3 s after the
            end), in all of which its controller says success; jam (the jaws stay where they are, which is said to be a
            stall), idle (the same, said to be success), early (said to be a stall while the jaws still move).
        wrapped: True shows continuous joints in (-pi, pi], as ros2_kortex does.
        gripper_action: "GripperCommand" or "ParallelGripperCommand".
        gripper_velocity: What is shown as velocity of the knuckle: "measured", "zero" as by ros2_kortex, or "none".
        knuckle_speed: How fast the jaws move [rad/s].
        object: The knuckle closes no further than this [rad].
        silent: No joint states.
        beside: Positions of joints of other devices in the same messages, by name [rad].
        frozen: The clock of the robot stands still.
        by_wall: Motions of the arm go by the wall clock, also where this process is starved; else by ticks.
        offset_s: Added to the robot's clock.
        goals: How many goals were accepted.
        cancels: How many goals ended because they were cancelled.
    """

    def __init__(self, context: Any = None, **parameters: Any) -> None:
        super().__init__("drivers", context=context, start_parameter_services=False)

        def parameter(name: str, default: Any) -> Any:
            return parameters.get(name, self.declare_parameter(name, default).value)

        self.fault: str = parameter("fault", "")
        self.wrapped: bool = parameter("wrapped", False)
        self.gripper_action: str = parameter("gripper_action", "GripperCommand")
        self.gripper_velocity: str = parameter("gripper_velocity", "measured")
        self.knuckle_speed: float = parameter("knuckle_speed", 4.0)
        self.object = 0.8
        self.silent = self.frozen = self.by_wall = False
        self.offset_s = 0.0
        self.beside: dict[str, float] = {}
        self.goals = self.cancels = 0
        self.jaws_commanded = 0
        self.q = np.asarray(NAMED_STATES["Park"], float).copy()
        self.qd = np.zeros(7)
        self.knuckle = self._knuckle_goal = 0.0
        self.release = threading.Event()
        """Ends what is mute or deaf."""
        self._now_s = 0.0
        group = ReentrantCallbackGroup()
        self._joints = self.create_publisher(JointState, "joint_states", 10)
        self.create_timer(
            PERIOD_S,
            self._show,
            clock=Clock(clock_type=ClockType.STEADY_TIME),
            callback_group=MutuallyExclusiveCallbackGroup(),
        )
        self._parallel = self.gripper_action == "ParallelGripperCommand"
        gripper = ParallelGripperCommand if self._parallel else GripperCommand
        for kind, name, execute in (
            (FollowJointTrajectory, "joint_trajectory_controller/follow_joint_trajectory", self._follow),
            (gripper, "robotiq_gripper_controller/gripper_cmd", self._grip),
        ):
            ActionServer(
                self,
                kind,
                name,
                execute,
                goal_callback=self._take,
                callback_group=group,
                cancel_callback=lambda goal: CancelResponse.REJECT if self.fault == "deaf" else CancelResponse.ACCEPT,
            )

    def _show(self) -> None:
        if not self.frozen:
            self._now_s += PERIOD_S
        step = self.knuckle_speed * PERIOD_S
        before = self.knuckle
        self.knuckle = min(self.object, before + min(step, max(-step, self._knuckle_goal - before)))
        if self.silent:
            return
        q = nearest_turn(self.q, np.zeros(7)) if self.wrapped else self.q
        names, others = [*self.beside, *ARM_JOINTS, GRIPPER_JOINT], [*self.beside.values()]
        message = JointState(name=names, position=[*others, *q.tolist(), self.knuckle])
        trembling = 0.1 if self.fault == "restless" else 0.0
        shown = {"measured": (self.knuckle - before) / PERIOD_S, "zero": 0.0, "none": float("nan")}
        message.velocity = [*others, *(self.qd + trembling).tolist(), shown[self.gripper_velocity]]
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
        message = goal.request.trajectory
        t = np.array([nanoseconds(point.time_from_start) / 1e9 for point in message.points])
        order = [list(message.joint_names).index(name) for name in ARM_JOINTS]
        path = np.array([point.positions for point in message.points])[:, order]
        path += nearest_turn(path[0], self.q) - path[0]
        duration_s, moved_s, result = float(t[-1]), 0.0, FollowJointTrajectory.Result()
        looked_s = time.monotonic()
        while moved_s < duration_s or self.fault in ("hang", "deaf"):
            time.sleep(PERIOD_S)
            passed_s, looked_s = time.monotonic() - looked_s, time.monotonic()
            if goal.is_cancel_requested:
                return self._rest(goal.canceled, result)
            if self.release.is_set() and self.fault == "deaf":
                return self._rest(goal.abort, result)
            if moved_s > duration_s / 2 and self.fault == "abort":
                result.error_code, result.error_string = -4, "Aborted due to path tolerance violation."
                return self._rest(goal.abort, result)
            if not self.frozen:
                moved_s += passed_s if self.by_wall else PERIOD_S
            self._move(t, path, min(moved_s, duration_s))
        if self.fault == "late":
            threading.Thread(target=self._arrive_late, args=(path[-1],)).start()
        return self._rest(goal.succeed, result)

    def _move(self, t: Any, path: Any, now_s: float) -> None:
        """Where the arm is after so long [s] of a path (N, 7) at times t (N,)."""
        share = now_s / t[-1]
        reached = {"ignore": 0.0, "short": min(share, 0.5), "late": 0.5 * share}.get(self.fault, share)
        q = np.array([np.interp(reached * t[-1], t, column) for column in path.T])
        if self.fault == "stray":
            q[0] += 0.5 * np.sin(np.pi * share)
        self.qd = np.zeros(7) if share >= 1.0 else (q - self.q) / PERIOD_S
        self.q = q

    def _arrive_late(self, end: Any) -> None:
        time.sleep(0.3)
        self.q = end

    def _rest(self, end: Any, result: Any) -> Any:
        self.qd = np.zeros(7)
        self.cancels += end.__name__ == "canceled"
        end()
        return result

    def _grip(self, goal: Any) -> Any:
        self.jaws_commanded += 1
        command = goal.request.command
        target = float(command.position[0] if self._parallel else command.position)
        if self.fault not in ("jam", "idle"):
            self._knuckle_goal = target
        wanted, began_s = min(self._knuckle_goal, self.object), time.monotonic()
        while abs(self.knuckle - wanted) > 1e-6 and not (
            self.fault == "early" and time.monotonic() - began_s > EARLY_S
        ):
            time.sleep(PERIOD_S)
        reached = abs(self.knuckle - target) < 1e-6 or self.fault == "idle"
        goal.succeed()
        if self._parallel:
            state = JointState(name=[GRIPPER_JOINT], position=[self.knuckle])
            return ParallelGripperCommand.Result(state=state, stalled=not reached, reached_goal=reached)
        return GripperCommand.Result(position=self.knuckle, stalled=not reached, reached_goal=reached)


def main(args: list[str] | None = None) -> None:
    """Run the node, until Ctrl-C."""
    rclpy.init(args=args)
    executor = MultiThreadedExecutor(4)
    executor.add_node(Drivers())
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
