"""Nodes for the commands to look at: /robot/talker, /_hidden and a second /twin; prints `ready`."""

from __future__ import annotations

import sys
import time
from typing import Any

import rclpy
from example_interfaces.action import Fibonacci
from example_interfaces.srv import AddTwoInts
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger


class Talker(Node):
    def __init__(self) -> None:
        super().__init__("talker", namespace="/robot")
        self.chatter = self.create_publisher(String, "chatter", 10)
        self.picture = self.create_publisher(Image, "picture", 10)
        self.joints = self.create_publisher(JointState, "joints", 10)
        self.hidden = self.create_publisher(String, "_secret", 10)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.description = self.create_publisher(String, "description", latched)
        self.description.publish(String(data="<robot/>"))
        best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.mixed = [self.create_publisher(String, "mixed", qos) for qos in (10, best_effort)]
        self.heard = self.create_subscription(String, "orders", lambda message: None, 10)
        self.create_service(AddTwoInts, "add", self.add)
        self.create_service(Trigger, "_inner", lambda request, response: response)
        self.create_timer(0.05, self.talk)
        self.group = ReentrantCallbackGroup()
        self.action = ActionServer(
            self,
            Fibonacci,
            "fibonacci",
            self.execute,
            goal_callback=self.judge,
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
            callback_group=self.group,
        )
        self.action_client = ActionClient(self, Fibonacci, "elsewhere")
        self.declare_parameter(
            "speed",
            0.5,
            ParameterDescriptor(
                description="How fast [m/s].",
                floating_point_range=[FloatingPointRange(from_value=0.0, to_value=2.0, step=0.5)],
            ),
        )
        self.declare_parameter("name", "arm", ParameterDescriptor(read_only=True, additional_constraints="short"))
        self.declare_parameter("grip.limits", [1, 2])
        self.declare_parameter("grip.soft", True)
        self.declare_parameter("unset", Parameter.Type.STRING)
        self.add_on_set_parameters_callback(self.check)

    def talk(self) -> None:
        self.chatter.publish(String(data="hello"))
        self.hidden.publish(String(data="secret"))
        self.picture.publish(Image(width=200, height=1, encoding="mono8", step=200, data=bytes(200)))
        self.joints.publish(JointState(name=["a", "b"], position=[1.0, 2.5]))

    def add(self, request: AddTwoInts.Request, response: AddTwoInts.Response) -> AddTwoInts.Response:
        response.sum = request.a + request.b
        return response

    def check(self, parameters: list[Parameter]) -> SetParametersResult:
        bad = any(p.name == "grip.soft" and not p.value for p in parameters)
        return SetParametersResult(successful=not bad, reason="grip.soft stays on" if bad else "")

    def judge(self, goal: Any) -> GoalResponse:
        return GoalResponse.REJECT if goal.order < 0 else GoalResponse.ACCEPT

    def execute(self, goal: Any) -> Fibonacci.Result:
        """Order 1000 waits for a cancel; 13 aborts; others are computed with feedback."""
        sequence = [0, 1]
        while goal.request.order == 1000:
            if goal.is_cancel_requested:
                goal.canceled()
                return Fibonacci.Result(sequence=sequence)
            goal.publish_feedback(Fibonacci.Feedback(sequence=sequence))
            time.sleep(0.05)
        time.sleep(0.1)  # a client's feedback subscription is found a moment after its goal
        for _ in range(2, goal.request.order):
            sequence.append(sequence[-1] + sequence[-2])
            goal.publish_feedback(Fibonacci.Feedback(sequence=sequence))
            time.sleep(0.05)  # the result of a goal may overtake its feedback, which is then dropped
        goal.abort() if goal.request.order == 13 else goal.succeed()
        return Fibonacci.Result(sequence=sequence)


def main() -> None:
    rclpy.init()
    executor = MultiThreadedExecutor(4)
    for node in (Talker(), Node("_hidden"), Node("twin"), Node("twin")):
        executor.add_node(node)
    print("ready", flush=True)
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        sys.exit(0)


if __name__ == "__main__":
    main()
