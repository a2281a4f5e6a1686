"""What the robot measures: positions and velocities of arm and gripper from /joint_states."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from tool_nodes.motion.robot_model import RobotModel, load_robot
from tool_nodes.ros.messages import BadMessage, nanoseconds
from tool_nodes.types import ArmState, FloatArray

GRIPPER_STILL = 0.05
"""The jaws are at rest below this [rad/s]; a held object lets them tremble."""

REST_S = 0.25
"""Time over which the knuckle's travel is measured [s]."""
REST_TRAVEL = 0.008
"""Jaws whose knuckle stayed within REST_TRAVEL [rad] for REST_S [s] are at rest, whatever velocity is reported:
ros2_kortex reports none. The slowest that a 2F-85 moves is 20 mm/s, 0.047 rad in that time; what it holds lets the
knuckle tremble by less."""

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
        knuckle_travel: By how much the knuckle has moved within the last REST_S; infinite if that is not known [rad].
        stamp_ns: Time of the robot [ns].
        received_s: When it arrived, by the monotonic clock [s].
        epoch: How often the robot's clock has gone back.
        opening_m: Jaw opening [m].
    """

    q: FloatArray
    qd: FloatArray
    knuckle: float
    knuckle_velocity: float
    knuckle_travel: float
    stamp_ns: int
    received_s: float
    epoch: int
    opening_m: float

    @property
    def state(self) -> ArmState:
        """The same for the Arm port."""
        return ArmState(self.q, self.qd, self.opening_m, self.stamp_ns / 1e9)

    def is_still(self, arm_velocity: float) -> bool:
        """True if no joint of the arm is faster than this [rad/s] and the jaws rest; False where not known."""
        return bool((np.abs(self.qd) < arm_velocity).all()) and self.jaws_rest

    @property
    def jaws_rest(self) -> bool:
        """True if the jaws rest, by their velocity where it is known and by where they have been."""
        return self.knuckle_travel <= REST_TRAVEL and not abs(self.knuckle_velocity) >= GRIPPER_STILL


class JointStates:
    """Listens to joint states; one message may have all joints, or each driver sends its own.

    A message that names a joint of the robot twice or without a position is logged and leaves none of the robot's
    joints that it names known: there is no reading until they come again.

    Args:
        node: Listens.
        topic: Topic of sensor_msgs/JointState.
        on_reading: Gets each reading, in a callback of the node.
        robot: The robot; the default one where None.
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        on_reading: Callable[[JointReading], None],
        robot: RobotModel | None = None,
    ) -> None:
        self.robot = robot or load_robot()
        self._node = node
        self._heard = False
        self._complaint = ""
        self._listeners: tuple[Callable[[JointReading], None], ...] = (on_reading,)
        self._knuckles: deque[tuple[int, float]] = deque()
        self._watched_since_s = 0.0
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
            if self._complaint or not self._heard or not missing:
                return self._complaint
            return f"joint states come, but none of {', '.join(missing)}"

    def wait_for(self, wanted: Callable[[JointReading], bool], timeout_s: float) -> JointReading | None:
        """The newest reading once it is wanted; None if that takes longer than the timeout of wall-clock time."""
        with self._arrived:
            if self._arrived.wait_for(lambda: self._newest is not None and wanted(self._newest), timeout_s):
                return self._newest
            return None

    def _on_message(self, message: Any) -> None:
        robot = self.robot
        try:
            found = measured(message, robot.joints)
        except BadMessage as error:
            self._refuse(message, str(error))
            return
        with self._arrived:
            self._heard = True
            self._joints.update(found)
        if robot.arm_joints[0] not in found or not {*robot.joints} <= self._joints.keys():
            return
        arm = np.array([self._joints[name] for name in robot.arm_joints])
        stamp_ns, before = nanoseconds(message.header.stamp), self._newest
        epoch = 0 if before is None else before.epoch + (stamp_ns < before.stamp_ns)
        knuckle, knuckle_velocity = self._joints[robot.gripper.joint]
        travel = self._travel(stamp_ns, knuckle)
        reading = JointReading(
            arm[:, 0].copy(),
            arm[:, 1].copy(),
            knuckle,
            knuckle_velocity,
            travel,
            stamp_ns,
            time.monotonic(),
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

    def _travel(self, stamp_ns: int, knuckle: float) -> float:
        """How far the knuckle moved within REST_S, the newest position that is older included [rad]."""
        past, now_s = self._knuckles, time.monotonic()
        if past and stamp_ns < past[-1][0]:
            past.clear()  # the robot's clock went back: how long ago that was is unknown
        if not past:
            self._watched_since_s = now_s
        if past and stamp_ns == past[-1][0]:
            past.pop()
        past.append((stamp_ns, knuckle))
        while len(past) > 2 and past[1][0] <= stamp_ns - REST_S * 1e9:
            past.popleft()
        # Time of the robot that stands still hides no motion: then the wall clock measures how long it was watched.
        if stamp_ns - past[0][0] < REST_S * 1e9 and now_s - self._watched_since_s < REST_S:
            return np.inf
        positions = [position for _, position in past]
        return max(positions) - min(positions)
