"""What the robot measures: positions and velocities of arm and gripper from /joint_states."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.ros.messages import BadMessage, nanoseconds
from toolhand.tool_nodes.ros.rest import FRESH_S, RestJudge, Unrest
from toolhand.tool_nodes.types import ArmState, FloatArray

STILL_VELOCITY = 0.002
"""A joint of the arm is not at rest above this reported velocity [rad/s]: what a simulated one trembles by; measured
arms are never that still (`still_velocity` of launch/params/kinova.yaml)."""
STILL_VELOCITIES = 1e-6, 0.1
"""Least and greatest that may be set instead [rad/s]; round figures. No arm is more still, and none at rest less."""

_TELL_S = 10.0
"""What is wrong with the joint states is logged once in so long [s]."""


def measured(message: Any, joints: Collection[str]) -> dict[str, tuple[float, float]]:
    """Positions [rad] and velocities [rad/s] of those of `joints` that a JointState names; a velocity that is not given
    is NaN.

    Whatever a message says of other joints hides none of these: drivers of wheels have velocities, and NaN positions.

    Raises:
        BadMessage: It names one of `joints` twice, or gives it no finite position. The text is part of a sentence.
    """
    found: dict[str, tuple[float, float]] = {}
    names, positions, velocities = list(message.name), message.position, message.velocity
    for index, name in enumerate(names):
        if name not in joints:
            continue
        if name in found:
            raise BadMessage(f"the joint states name {name} twice in one message")
        if len(positions) != len(names):
            raise BadMessage(f"the joint states of {name} have {len(names)} names, but {len(positions)} positions")
        if not math.isfinite(positions[index]):
            raise BadMessage(f"the joint states give {positions[index]:g} as the position of {name}")
        velocity = velocities[index] if len(velocities) == len(names) else math.nan
        found[name] = float(positions[index]), float(velocity)
    return found


@dataclass(frozen=True)
class JointReading:
    """One measurement.

    Attributes:
        q: (n,) [rad].
        qd: (n,) [rad/s], NaN where the driver reports none.
        knuckle: Angle of the gripper's driven joint [rad].
        knuckle_velocity: [rad/s], NaN where the driver reports none.
        stamp_ns: Time of the robot [ns].
        received_s: When it arrived, by the monotonic clock [s].
        epoch: How often the robot's clock has gone back.
        opening_m: Jaw opening [m].
    """

    q: FloatArray
    qd: FloatArray
    knuckle: float
    knuckle_velocity: float
    stamp_ns: int
    received_s: float
    epoch: int
    opening_m: float

    @property
    def state(self) -> ArmState:
        """The same for the Arm port."""
        return ArmState(self.q, self.qd, self.opening_m, self.stamp_ns / 1e9)


class JointStates:
    """Listens to joint states; one message may have all joints, or each driver sends its own.

    A message that names a joint of the robot twice or without a position is logged and leaves none of the robot's
    joints that it names known: there is no reading until they come again. Nor is there one while a joint is left out.

    Args:
        node: Listens.
        topic: Topic of sensor_msgs/JointState.
        on_reading: Gets each reading, in a callback of the node.
        robot: The robot; the default one where None.
        still_velocity: A joint of the arm that is reported to be faster is not at rest [rad/s].
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        on_reading: Callable[[JointReading], None],
        robot: RobotModel | None = None,
        still_velocity: float = STILL_VELOCITY,
    ) -> None:
        self.robot = robot or load_robot()
        self._node = node
        self._heard = False
        self._complaint = ""
        self._listeners: tuple[Callable[[JointReading], None], ...] = (on_reading,)
        self.still_velocity = still_velocity
        self._rest = RestJudge(self.robot, still_velocity)
        self._joints: dict[str, tuple[float, float]] = {}
        self._newest: JointReading | None = None
        self._arrived = threading.Condition()
        # Best effort matches every driver; only the newest counts.
        profile = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(
            JointState, topic, self._on_message, profile, callback_group=MutuallyExclusiveCallbackGroup()
        )

    @contextlib.contextmanager
    def heard_by(self, listener: Callable[[JointReading], None]) -> Iterator[None]:
        """Within it a listener gets each reading too, in a callback of the node."""
        self._listeners = (*self._listeners, listener)
        try:
            yield
        finally:
            self._listeners = tuple(other for other in self._listeners if other is not listener)

    @property
    def newest(self) -> JointReading | None:
        """The newest reading, None before the first."""
        with self._arrived:
            return self._newest

    @property
    def complaint(self) -> str:
        """Why the last message that names a joint of the robot gave no reading, as part of a sentence; else ""."""
        with self._arrived:
            missing = [name for name in self.robot.joints if name not in self._joints]
            if self._complaint or not self._heard:
                return self._complaint
            if missing:
                return f"joint states come, but none of {', '.join(missing)}"
            left_out = self._rest.stale(time.monotonic())
            if 0 < len(left_out) < len(self.robot.joints):
                return f"joint states come, but none of {', '.join(left_out)} for {FRESH_S:g} s or more"
            return ""

    def wait_for(self, wanted: Callable[[JointReading], bool], timeout_s: float) -> JointReading | None:
        """The newest reading once it is wanted; None if that takes longer than the timeout of wall-clock time."""
        with self._arrived:
            if self._arrived.wait_for(lambda: self._newest is not None and wanted(self._newest), timeout_s):
                return self._newest
            return None

    def unrest(self, since_s: float = -math.inf, jaws_alone: bool = False) -> Unrest | None:
        """Why the robot is not known to be at rest; None where it is.

        Args:
            since_s: Only what arrived from then on counts, by the monotonic clock [s].
            jaws_alone: Only the gripper's joint is asked about.
        """
        with self._arrived:
            joints = (self.robot.gripper.joint,) if jaws_alone else ()
            return self._rest.unrest(time.monotonic(), since_s, joints)

    def _on_message(self, message: Any) -> None:
        robot, arrived_s = self.robot, time.monotonic()
        try:
            found = measured(message, robot.joints)
        except BadMessage as error:
            self._refuse(message, str(error))
            return
        stamp_ns, before = nanoseconds(message.header.stamp), self._newest
        with self._arrived:
            self._heard = True
            self._joints.update(found)
            self._rest.hear(found, stamp_ns, arrived_s)
            left_out = not {*robot.joints} <= self._joints.keys() or self._rest.stale(arrived_s)
        if robot.arm_joints[0] not in found or left_out:
            return
        arm = np.array([self._joints[name] for name in robot.arm_joints])
        epoch = 0 if before is None else before.epoch + (stamp_ns < before.stamp_ns)
        knuckle, knuckle_velocity = self._joints[robot.gripper.joint]
        reading = JointReading(
            arm[:, 0].copy(),
            arm[:, 1].copy(),
            knuckle,
            knuckle_velocity,
            stamp_ns,
            arrived_s,
            epoch,
            max(0.0, robot.gripper.opening(knuckle)),
        )
        with self._arrived:
            self._newest, self._complaint = reading, ""
            self._arrived.notify_all()
        for listener in self._listeners:
            listener(reading)

    def _refuse(self, message: Any, why: str) -> None:
        with self._arrived:
            self._heard, self._complaint = True, why
            for name in message.name:
                self._joints.pop(name, None)
        self._node.get_logger().warning(f"A message is ignored: {why}.", throttle_duration_sec=_TELL_S)
