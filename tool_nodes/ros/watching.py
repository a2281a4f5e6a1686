"""What is seen of a motion while it runs: time of the robot, and whether the arm is on its path."""

from __future__ import annotations

import math
import time

import numpy as np

from tool_nodes.motion.robot_model import RobotModel
from tool_nodes.results import ToolError, unavailable
from tool_nodes.ros.joint_states import JointReading, JointStates
from tool_nodes.types import FloatArray

START_TOLERANCE = 0.05
"""A trajectory starts no further than this from where the arm is measured [rad]; the simulated arm's bound. MoveIt's
`allowed_start_tolerance` is 0.01 rad, less than joint states lag behind an arm that was just stopped."""

PATH_TOLERANCE = 0.2
"""No joint is measured further than this from the path [rad]; the simulated arm's bound. Joints that lag behind by
times that differ by 0.1 s are 0.14 rad off it at the velocity limit, and are no fault yet."""

END_TOLERANCE = 0.02
"""An arm has arrived when no joint is further away than this [rad]: 18 mm at 0.9 m of reach. It is twice what the
simulated controller promises. ros2_kortex's own configuration has neither path nor goal tolerances."""

SETTLE_S = 0.5
"""An arm may take so long to arrive after its controller has said that it has, in time of the robot [s]."""

JUMP_S = 1.0
"""The robot's clock jumped if it goes on by more than this between two looks [s]."""

SILENCE_S = 0.5
"""Joint states that have not come for so long are silent [s]; else it is the clock in them that stands still."""

BEGUN = 0.01
"""An arm none of whose joints was measured further than this from where it was has not begun to move [rad]: five times
what joints tremble by."""

_PATH_STEP = 0.02
"""Distance of the points that a path is compared at [rad]."""


class RobotTime:
    """How much time of the robot has passed; jumps of its clock do not count.

    Args:
        joints: Their stamps are the clock.
        patience_s: Wall-clock seconds that the clock may stand still.
    """

    def __init__(self, joints: JointStates, patience_s: float) -> None:
        self._joints = joints
        self._patience_s = patience_s
        self._last_ns = self._stamp_ns()
        self._moved_s = time.monotonic()
        self.elapsed_s = 0.0

    def update(self) -> None:
        """Look at the clock. Raises ToolError UNAVAILABLE where it has stood still for too long."""
        now_ns, now = self._stamp_ns(), time.monotonic()
        if now_ns != self._last_ns:
            passed = (now_ns - self._last_ns) / 1e9
            self.elapsed_s += passed if 0.0 < passed <= JUMP_S else 0.0
            self._last_ns, self._moved_s = now_ns, now
        elif now - self._moved_s > self._patience_s:
            raise silence(self._joints)

    def _stamp_ns(self) -> int:
        newest = self._joints.newest
        return -1 if newest is None else newest.stamp_ns


def silence(joints: JointStates) -> ToolError:
    """Why the state of the arm is unknown."""
    newest, complaint = joints.newest, joints.complaint
    quiet_s = math.inf if newest is None else time.monotonic() - newest.received_s
    if complaint and quiet_s >= SILENCE_S:
        return unavailable(
            f"The position of the arm is unknown: {complaint}.",
            "Look at what publishes them: ros2 topic echo /joint_states.",
        )
    if newest is None:
        return unavailable("No joint states have come from the arm.", "Look whether its driver runs.")
    if quiet_s < SILENCE_S:
        what = f"The robot's clock stands still at {newest.stamp_ns / 1e9:.2f} s"
    else:
        what = f"The joint states have been silent for {quiet_s:.1f} s"
    return unavailable(f"{what}.", "Look at the arm's driver, or at the simulator.")


def distance(q: FloatArray, goal: FloatArray, robot: RobotModel) -> float:
    """Of the joint that is furthest away (n,) [rad]; whole turns of continuous joints do not count."""
    return float(np.abs(robot.joint_difference(q, goal)).max())


class PathWatch:
    """Whether the arm is on a path, wherever along it; hears each reading of the joints.

    Args:
        path: (N, n) joint positions [rad], followed in straight lines.
        robot: Robot with the arm.

    Attributes:
        off_rad: The furthest that a joint was measured from the path [rad].
        moved_rad: The furthest that a joint was measured from the start of the path [rad].
    """

    def __init__(self, path: FloatArray, robot: RobotModel) -> None:
        self._robot = robot
        along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(path, axis=0)).max(axis=1))])
        fine = np.linspace(0.0, along[-1], int(np.ceil(along[-1] / _PATH_STEP)) + 1)
        self._path = np.column_stack([np.interp(fine, along, column) for column in path.T])
        self.off_rad = self.moved_rad = 0.0

    def __call__(self, reading: JointReading) -> None:
        """Look at a reading."""
        off = np.abs(self._robot.joint_difference(reading.q, self._path)).max(axis=1).min()
        self.off_rad = max(self.off_rad, float(off))
        self.moved_rad = max(self.moved_rad, distance(reading.q, self._path[0], self._robot))

    def where(self, short_rad: float) -> str:
        """Where an arm is that has not arrived, as part of a sentence.

        Args:
            short_rad: How far it is from the end of the path [rad].
        """
        if self.moved_rad <= BEGUN:
            return f"the arm has not begun to move: it was measured {short_rad:.2f} rad away from there"
        return f"the arm stopped elsewhere: it was measured {short_rad:.2f} rad away from there"

    @property
    def strayed(self) -> bool:
        """True once the arm was off the path."""
        return self.off_rad > PATH_TOLERANCE
