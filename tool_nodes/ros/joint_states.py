"""What the robot measures: positions and velocities of arm and gripper from /joint_states."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from tool_nodes.motion.gripper import opening_from_knuckle
from tool_nodes.motion.robot import ARM_JOINTS, GRIPPER_JOINT
from tool_nodes.ros.messages import nanoseconds
from tool_nodes.types import ArmState, FloatArray

GRIPPER_STILL = 0.05
"""The jaws are at rest below this [rad/s]; a held object lets them tremble."""


@dataclass(frozen=True)
class JointReading:
    """One measurement.

    Attributes:
        q: (7,) [rad].
        qd: (7,) [rad/s], NaN where the driver does not tell.
        knuckle: Angle of the gripper's driven knuckle [rad].
        knuckle_velocity: [rad/s], NaN where the driver does not tell.
        stamp_ns: Time of the robot [ns].
        received_s: When it arrived, by the monotonic clock [s].
        epoch: How often the robot's clock has gone back.
    """

    q: FloatArray
    qd: FloatArray
    knuckle: float
    knuckle_velocity: float
    stamp_ns: int
    received_s: float
    epoch: int

    @property
    def opening_m(self) -> float:
        """Jaw opening [m]."""
        return max(0.0, opening_from_knuckle(self.knuckle))

    @property
    def state(self) -> ArmState:
        """The same for the Arm port."""
        return ArmState(self.q, self.qd, self.opening_m, self.stamp_ns / 1e9)

    def is_still(self, arm_velocity: float) -> bool:
        """True if no joint of the arm is faster than this [rad/s] and the jaws rest; False where nobody knows."""
        slow = bool((np.abs(self.qd) < arm_velocity).all())
        return slow and not abs(self.knuckle_velocity) >= GRIPPER_STILL


class JointStates:
    """Listens to joint states; one message may have all joints, or each driver sends its own.

    Args:
        node: Listens.
        topic: Of sensor_msgs/JointState.
        on_reading: Gets each reading, in a callback of the node.
    """

    def __init__(self, node: Node, topic: str, on_reading: Callable[[JointReading], None]) -> None:
        self._on_reading = on_reading
        self._joints: dict[str, tuple[float, float]] = {}
        self._newest: JointReading | None = None
        self._arrived = threading.Condition()
        # Best effort matches every driver; only the newest counts.
        profile = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(
            JointState, topic, self._on_message, profile, callback_group=MutuallyExclusiveCallbackGroup()
        )

    @property
    def newest(self) -> JointReading | None:
        """The newest reading, None before the first."""
        with self._arrived:
            return self._newest

    def wait_for(self, wanted: Callable[[JointReading], bool], timeout_s: float) -> JointReading | None:
        """The newest reading once it is wanted; None if that takes longer than the timeout of wall-clock time."""
        with self._arrived:
            if self._arrived.wait_for(lambda: self._newest is not None and wanted(self._newest), timeout_s):
                return self._newest
            return None

    def _on_message(self, message: Any) -> None:
        velocities = message.velocity if len(message.velocity) == len(message.name) else [np.nan] * len(message.name)
        if len(message.position) != len(message.name) or not np.isfinite(message.position).all():
            return
        self._joints.update(
            {
                name: (float(position), float(velocity))
                for name, position, velocity in zip(message.name, message.position, velocities, strict=True)
            }
        )
        if ARM_JOINTS[0] not in message.name or not {*ARM_JOINTS, GRIPPER_JOINT} <= self._joints.keys():
            return
        arm = np.array([self._joints[name] for name in ARM_JOINTS])
        stamp_ns, before = nanoseconds(message.header.stamp), self._newest
        epoch = 0 if before is None else before.epoch + (stamp_ns < before.stamp_ns)
        knuckle, knuckle_velocity = self._joints[GRIPPER_JOINT]
        reading = JointReading(
            arm[:, 0].copy(), arm[:, 1].copy(), knuckle, knuckle_velocity, stamp_ns, time.monotonic(), epoch
        )
        with self._arrived:
            self._newest = reading
            self._arrived.notify_all()
        self._on_reading(reading)
