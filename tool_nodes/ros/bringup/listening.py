"""How the checks hear a topic, read a parameter and measure the joints of a graph that they are no part of."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image
from tf2_ros import Buffer, TransformListener

from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.ros.bringup.findings import problem
from toolhand.tool_nodes.ros.joint_states import JointReading, JointStates
from toolhand.tool_nodes.ros.link import RosLink

HEARD_S = 3.0
"""How long a driver that is there may take to be heard [s]: joint states and cameras come tens of times a second."""

_STILL = 0.01
"""An arm at rest is reported to turn no joint faster [rad/s]; `still_velocity` of launch/params/kinova.yaml."""


class Listening:
    """A node that looks at a graph.

    Args:
        link: Entered; its node is spun in the background.
        robot: The robot that the graph is for.
        ask: Shown a question, returns whether a person said yes; None where there is no person, and nothing moves.
        hardware: False where there is no arm: simulated hardware of ros2_control has no fault, nor its controller.
    """

    def __init__(
        self, link: RosLink, robot: RobotModel, ask: Callable[[str], bool] | None = None, hardware: bool = True
    ) -> None:
        self._link, self._robot, self._ask, self._hardware = link, robot, ask, hardware
        self._node = link.node
        self._readings: list[JointReading] = []
        self._joints = JointStates(self._node, "joint_states", self._readings.append, robot, _STILL)
        self._transforms = Buffer(node=self._node)
        self._listener = TransformListener(self._transforms, self._node)
        self._frames: dict[str, str] = {}

    def _hear(self, kind: Any, topic: str, profile: QoSProfile | None = None, beside: Sequence[str] = ()) -> Any:
        """The first message of a topic, or None after HEARD_S.

        Args:
            kind: Class of the message.
            topic: Topic of the message.
            profile: Quality of service; best effort, which matches every publisher, where None.
            beside: Topics of sensor_msgs/Image that are listened to meanwhile: some cameras do nothing for nobody.
        """
        heard: list[Any] = []
        usual = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        subscriptions = [self._node.create_subscription(Image, name, lambda _: None, usual) for name in beside]
        subscriptions.append(self._node.create_subscription(kind, topic, heard.append, profile or usual))
        try:
            end = time.monotonic() + HEARD_S
            while not heard and time.monotonic() < end:
                time.sleep(0.02)
        finally:
            for subscription in subscriptions:
                self._node.destroy_subscription(subscription)
        return heard[0] if heard else None

    def _parameter(self, node: str, name: str) -> Any:
        """A parameter of one of this project's nodes. Raises ToolError UNAVAILABLE."""
        service = f"/{node}/get_parameters"
        if not self._link.offers(service):
            raise problem(
                f"The node {node} is not in the graph.",
                f"toolhand up kinova, and look at the log of the node {node}.",
            )
        (value,) = self._link.call(GetParameters, service, GetParameters.Request(names=[name])).values
        return parameter_value_to_python(value)
