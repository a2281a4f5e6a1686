"""Where the arm was lately, by the stamps of its joint states: whether it moved between two images."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.ros.joint_states import measured
from toolhand.tool_nodes.ros.messages import BadMessage, nanoseconds
from toolhand.tool_nodes.types import FloatArray

STILL_RAD = 0.002
"""An arm none of whose joints turned further did not move: 2 mm at its full reach, ten times an encoder's noise."""

_KEPT = 4096
"""Readings that are remembered: 4 s of a driver that publishes at 1 kHz."""


class ArmTrace:
    """The arm's joint positions of the last seconds. It listens from the first question on, until it is closed.

    Args:
        node: Listens.
        on_reading: Called after each reading, in a callback of the node.
        robot: The robot; the default one where None.
    """

    def __init__(self, node: Node, on_reading: Callable[[], None], robot: RobotModel | None = None) -> None:
        self._arm_joints = (robot or load_robot()).arm_joints
        self._node = node
        self._on_reading = on_reading
        self._group = MutuallyExclusiveCallbackGroup()
        self._lock = threading.Lock()
        self._readings: deque[tuple[int, FloatArray]] = deque(maxlen=_KEPT)
        self._subscription: Subscription | None = None

    def turned(self, begin_ns: int, end_ns: int) -> float | None:
        """How far the joint that turned most turned from `begin_ns` to `end_ns` [rad].

        None while no readings are known from both before and after that time.
        """
        with self._lock:
            if self._subscription is None:
                self._subscription = self._listen()
            readings = list(self._readings)
        first = bisect_right(readings, begin_ns, key=_stamp) - 1
        last = bisect_left(readings, end_ns, key=_stamp)
        if first < 0 or last == len(readings):
            return None
        positions = np.array([q for _, q in readings[first : last + 1]])
        # Drivers give angles from -pi to pi: a joint that passes pi has not turned round.
        turns = (positions - positions[0] + np.pi) % (2.0 * np.pi) - np.pi
        return float(np.ptp(turns, axis=0).max())

    def close(self) -> None:
        """Listen no more, until the next question."""
        with self._lock:
            subscription, self._subscription = self._subscription, None
            self._readings.clear()
        if subscription is not None:
            self._node.destroy_subscription(subscription)

    def _listen(self) -> Subscription:
        return self._node.create_subscription(
            JointState,
            "joint_states",
            self._on_message,
            # A short queue: readings that are lost only widen the interval, late ones come after the images are gone.
            QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT),
            callback_group=self._group,
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
        )

    def _on_message(self, message: Any) -> None:
        try:
            joints = measured(message, self._arm_joints)
        except BadMessage:
            return  # the mover of the arm says so
        if len(joints) < len(self._arm_joints):
            return
        q, stamp_ns = np.array([joints[name][0] for name in self._arm_joints]), nanoseconds(message.header.stamp)
        with self._lock:
            if self._readings and stamp_ns < self._readings[-1][0]:
                self._readings.clear()  # the robot's clock was set back
            self._readings.append((stamp_ns, q))
        self._on_reading()


def _stamp(reading: tuple[int, FloatArray]) -> int:
    return reading[0]
