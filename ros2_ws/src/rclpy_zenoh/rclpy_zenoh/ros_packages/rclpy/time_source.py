"""Where ROS time comes from: the system, or /clock where the parameter `use_sim_time` is true."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import rosgraph_msgs.msg
from rcl_interfaces.msg import SetParametersResult

from rclpy.clock import ROSClock
from rclpy.clock_type import ClockType
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy.subscription import Subscription

CLOCK_TOPIC = "/clock"
USE_SIM_TIME_NAME = "use_sim_time"


class TimeSource:
    """Sets the attached clocks from /clock, as the parameter `use_sim_time` of the attached node says."""

    def __init__(self, *, node: Node | None = None) -> None:
        self._clock_sub: Subscription | None = None
        self._node_weak_ref: weakref.ReferenceType[Node] | None = None
        self._associated_clocks: set[ROSClock] = set()
        self._last_time_set = Time(clock_type=ClockType.ROS_TIME)  # zero: no time came yet
        self._ros_time_is_active = False
        if node is not None:
            self.attach_node(node)

    @property
    def ros_time_is_active(self) -> bool:
        """True where the clocks follow /clock; they stand at zero until its first message."""
        return self._ros_time_is_active

    @ros_time_is_active.setter
    def ros_time_is_active(self, enabled: bool) -> None:
        if self._ros_time_is_active == enabled:
            return
        self._ros_time_is_active = enabled
        for clock in self._associated_clocks:
            clock._set_ros_time_is_active(enabled)
        if enabled:
            self._subscribe()
        else:
            self._unsubscribe()

    def attach_node(self, node: Node) -> None:
        """Follow the parameter `use_sim_time` of the node, which is declared if it is not yet."""
        from rclpy.node import Node

        if not isinstance(node, Node):
            raise TypeError("Node must be of type rclpy.node.Node")
        if self._node_weak_ref is not None:
            self.detach_node()
        self._node_weak_ref = weakref.ref(node)
        if not node.has_parameter(USE_SIM_TIME_NAME):
            node.declare_parameter(USE_SIM_TIME_NAME, False)
        use_sim_time = node.get_parameter(USE_SIM_TIME_NAME)
        if use_sim_time.type_ is Parameter.Type.BOOL:
            self.ros_time_is_active = use_sim_time.value
        else:
            node.get_logger().error(
                f"Invalid type for parameter '{USE_SIM_TIME_NAME}' {use_sim_time.type_!r} should be bool"
            )
        node.add_on_set_parameters_callback(self._on_set_parameters)

    def detach_node(self) -> None:
        """Forget the node; the clocks keep their time.

        Raises:
            RuntimeError: If the node is gone but its subscription is not.
        """
        node = self._get_node()
        if self._clock_sub is not None and node is None:
            raise RuntimeError("Unable to destroy previously created clock subscription")
        self._unsubscribe()
        if node is not None:
            node.remove_on_set_parameters_callback(self._on_set_parameters)
        self._node_weak_ref = None

    def attach_clock(self, clock: ROSClock) -> None:
        """Set this clock too.

        Raises:
            ValueError: If the clock does not have ROS time.
        """
        if not isinstance(clock, ROSClock):
            raise ValueError("Only clocks with type ROS_TIME can be attached.")
        clock.set_ros_time_override(self._last_time_set)
        clock._set_ros_time_is_active(self.ros_time_is_active)
        self._associated_clocks.add(clock)

    def clock_callback(self, msg: rosgraph_msgs.msg.Clock) -> None:
        """Set the clocks to the time of a message."""
        self._last_time_set = Time.from_msg(msg.clock)
        for clock in self._associated_clocks:
            clock.set_ros_time_override(self._last_time_set)

    def _subscribe(self) -> None:
        node = self._get_node()
        if self._clock_sub is None and node is not None:
            qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
            self._clock_sub = node.create_subscription(rosgraph_msgs.msg.Clock, CLOCK_TOPIC, self.clock_callback, qos)

    def _unsubscribe(self) -> None:
        node = self._get_node()
        if self._clock_sub is not None and node is not None:
            node.destroy_subscription(self._clock_sub)
        self._clock_sub = None

    def _on_set_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name != USE_SIM_TIME_NAME:
                continue
            if parameter.type_ is not Parameter.Type.BOOL:
                reason = f"{USE_SIM_TIME_NAME} parameter set to something besides a bool"
                if node := self._get_node():
                    node.get_logger().error(reason)
                return SetParametersResult(successful=False, reason=reason)
            self.ros_time_is_active = parameter.value
        return SetParametersResult(successful=True)

    def _get_node(self) -> Node | None:
        return None if self._node_weak_ref is None else self._node_weak_ref()
