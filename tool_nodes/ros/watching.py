"""What is seen of a motion while it runs: time of the robot, and whether the arm is on its path."""

from __future__ import annotations

import math
import sys
import time
from collections import deque

import numpy as np

from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.results import ToolError, unavailable
from toolhand.tool_nodes.ros.joint_states import JointReading, JointStates
from toolhand.tool_nodes.types import FloatArray, Trajectory

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

STUCK_S = 0.5
"""An arm is stuck that has turned by no more than BEGUN for so long, in time of the robot [s]: ten times what a
controller's loop takes to begin; a motion that begins later than this is a fault too."""
_LATE_READINGS = 6
"""Readings that may have been on their way for so long that they show the time before a goal was accepted: one more
than are queued [-]."""
STUCK_RAD = 0.1
"""But should have turned by this [rad]: ten times BEGUN."""

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

    @property
    def still_s(self) -> float:
        """For how long the clock has stood still, by the wall clock [s]."""
        return time.monotonic() - self._moved_s

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
    """Whether the arm is on a path, wherever along it, and gets on; hears each reading of the joints.

    Args:
        trajectory: Path in time, followed in straight lines.
        robot: Robot with the arm.

    Attributes:
        off_rad: The furthest that a joint was measured from the path [rad].
        moved_rad: The furthest that a joint was measured from the start of the path [rad].
        was_stuck: True once `stuck` was.
    """

    def __init__(self, trajectory: Trajectory, robot: RobotModel) -> None:
        self._robot = robot
        self._trajectory = trajectory
        path = trajectory.q
        along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(path, axis=0)).max(axis=1))])
        fine = np.linspace(0.0, along[-1], int(np.ceil(along[-1] / _PATH_STEP)) + 1)
        self._path = np.column_stack([np.interp(fine, along, column) for column in path.T])
        self._recent: deque[tuple[int, FloatArray]] = deque()
        self.off_rad = self.moved_rad = 0.0
        self.was_stuck = False
        self._heard = 0
        self._counts_from: int | None = None
        self._began_ns: int | None = None

    def __call__(self, reading: JointReading) -> None:
        """Look at a reading."""
        off = np.abs(self._robot.joint_difference(reading.q, self._path)).max(axis=1).min()
        self.off_rad = max(self.off_rad, float(off))
        self.moved_rad = max(self.moved_rad, distance(reading.q, self._path[0], self._robot))
        recent = self._recent
        if recent and not 0 <= reading.stamp_ns - recent[-1][0] < JUMP_S * 1e9:
            recent.clear()  # the robot's clock was set: how long the motion has taken is not known any more
            self._began_ns, self._counts_from = None, sys.maxsize
        self._heard += 1
        if self._began_ns is None and self._counts_from is not None and self._heard > self._counts_from:
            self._began_ns = reading.stamp_ns
        recent.append((reading.stamp_ns, reading.q))
        while len(recent) > 2 and recent[1][0] <= reading.stamp_ns - STUCK_S * 1e9:
            recent.popleft()

    def stuck(self) -> bool:
        """True where the arm has stood still while it should have turned; asked from the goal's acceptance on.

        The trajectory is taken to have begun a few readings after the first question, in which older ones may still
        have been on their way: rather too late than too early.
        """
        if self._counts_from is None:
            self._counts_from = self._heard + _LATE_READINGS
        recent = list(self._recent)
        if self._began_ns is None or recent[-1][0] - recent[0][0] < STUCK_S * 1e9:
            return False
        elapsed_s = (recent[-1][0] - self._began_ns) / 1e9
        before, now = self._where_at(elapsed_s - STUCK_S), self._where_at(elapsed_s)
        if np.abs(now - before).max() < STUCK_RAD:
            return False
        first = recent[0][1]
        if distance(first, self._trajectory.q[-1], self._robot) <= END_TOLERANCE:
            return False  # it has arrived: it had begun before the time that is counted from
        self.was_stuck = all(distance(q, first, self._robot) <= BEGUN for _, q in recent)
        return self.was_stuck

    def _where_at(self, elapsed_s: float) -> FloatArray:
        """Where the trajectory is after so long [s] (n,) [rad]."""
        return np.array([np.interp(elapsed_s, self._trajectory.t, column) for column in self._trajectory.q.T])

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
