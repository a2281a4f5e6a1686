"""The robot's joints while a command is carried out over ROS 2, for its recording."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from rclpy.node import Node

from toolhand.agent_node.runs.mcap.recorder import MotionLog
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.ros.joint_states import JointReading, JointStates
from toolhand.tool_nodes.types import FloatArray

PERIOD_S = 0.04
"""A driver's 1 kHz is thinned to this [s]."""

MAX_SAMPLES = 250_000
"""Later ones are not kept: almost three hours, and 16 MB."""


class JointLog:
    """Keeps the measured joint positions and velocities from now on, for as long as the node is there.

    Args:
        clock: Time now [s], the recorder's clock.
        robot: The robot; the default one where None.
    """

    def __init__(
        self,
        node: Node,
        clock: Callable[[], float],
        robot: RobotModel | None = None,
    ) -> None:
        self._robot = robot or load_robot()
        self._clock = clock
        self._lock = threading.Lock()
        self._times: list[float] = []
        self._positions: list[FloatArray] = []
        self._velocities: list[FloatArray] = []
        JointStates(node, "joint_states", self._keep, self._robot)

    def _keep(self, reading: JointReading) -> None:
        now = self._clock()
        with self._lock:
            due = not self._times or now >= self._times[-1] + PERIOD_S - 1e-6  # a clock that is set back is waited for
            if due and now >= 0.0 and len(self._times) < MAX_SAMPLES:
                # A driver that reports continuous joints in (-pi, pi] would have them jump: the arm did not.
                q = reading.q
                if self._positions:
                    q = self._robot.nearest_turn(q, self._positions[-1][:-1])
                self._times.append(now)
                self._positions.append(np.append(q, reading.knuckle))
                self._velocities.append(np.append(reading.qd, reading.knuckle_velocity))

    def motion(self) -> MotionLog:
        """What was measured so far; empty where no driver has published anything."""
        with self._lock:
            positions, velocities = (
                np.array(rows).reshape(-1, len(self._robot.joints)) for rows in (self._positions, self._velocities)
            )
            return MotionLog(np.array(self._times), self._robot.joints, positions, velocities, self._robot)
