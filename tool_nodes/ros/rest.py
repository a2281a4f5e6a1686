"""Whether the robot is at rest: the one judge, which every stop, wait, check and calibration asks.

A joint is at rest when fresh measurements of it cover a window of time over which its position does not travel. What
a driver says of its velocity is a second witness, and only against rest: many report none, or a constant. What no
driver measures cannot be judged: positions that are sent again under new stamps look like an arm that stands still.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from toolhand.tool_nodes.motion.robot_model import RobotModel

WINDOW_S = 0.3
"""Time of the robot over which positions must not travel [s]. The turning point of a swing of 0.3 rad in 4 s travels by
8 mrad meanwhile, of one of 0.05 rad in 1 s by 20 mrad, and of 0.3 rad in 10 s by 1.3 mrad: all more than ARM_TRAVEL."""
LEAST_MEASUREMENTS = 4
"""Measurements that a window has at least [-]: where they come seldom the window is longer; a round figure."""
ARM_TRAVEL = 0.001
"""By how much a joint of an arm at rest is measured to travel at most [rad]: a Gen3's encoders (steps of 0.17 mrad,
noise of 0.09 mrad) stay within 0.7 mrad, and a joint that turns by 0.0034 rad/s does not."""
JAWS_TRAVEL = 0.008
"""The same of the gripper's joint [rad]: two steps of a 2F-85's encoder, and more than what it holds lets it tremble
by. The slowest that it is commanded to move is 20 mm/s, 0.056 rad in a window."""
JAWS_STILL = 0.05
"""The jaws are not at rest above this reported velocity [rad/s]; a held object lets them tremble."""
FRESH_S = 0.5
"""A joint that was not measured anew for so long is not measured [s], by the wall clock; a longer gap between two
stamps begins its window anew [s]: what a swing did meanwhile is not known. Drivers must send 20 times a second."""
_BIN_S = 0.01
"""Measurements that are nearer to each other are kept as one, with their extremes [s]: a driver of 1 kHz costs no more
memory than one of 100 Hz."""


@dataclass(frozen=True)
class Unrest:
    """Why rest cannot be said.

    Attributes:
        why: The joint and what is wrong with it, as part of a sentence.
        what: "moves" where it was measured to move; "unmeasured" where it is not measured now; "brief" where it was
            not measured for long enough yet.
    """

    why: str
    what: Literal["moves", "unmeasured", "brief"]

    @property
    def order(self) -> int:
        """The least is told, where several joints are not known to be at rest."""
        return ("moves", "unmeasured", "brief").index(self.what)


@dataclass
class _Measured:
    """Measurements within _BIN_S: first stamp [ns] and arrival [s], extreme positions [rad], last speed [rad/s]."""

    stamp_ns: int
    arrived_s: float
    low: float
    high: float
    speed: float


class _Joint:
    """What was measured of one joint lately."""

    def __init__(self, name: str, turns: bool) -> None:
        self._name = name
        self._turns = turns
        self._window: deque[_Measured] = deque()
        self._stamp_ns = 0
        self._went_back = False
        self._advanced_s = self.heard_s = -math.inf

    def hear(self, stamp_ns: int, arrived_s: float, position: float, velocity: float) -> None:
        window, since_ns = self._window, stamp_ns - self._stamp_ns
        if self.heard_s == -math.inf or not 0 <= since_ns <= FRESH_S * 1e9:
            self._went_back = self.heard_s > -math.inf and since_ns < 0
            window.clear()
        if since_ns or not window:
            self._advanced_s = arrived_s
        self._stamp_ns, self.heard_s, speed = stamp_ns, arrived_s, abs(velocity)
        if window and self._turns:  # ros2_kortex shows joints without a stop in (-pi, pi], whatever turn they are in
            position += 2.0 * math.pi * round((window[-1].low - position) / (2.0 * math.pi))
        if window and stamp_ns - window[-1].stamp_ns < _BIN_S * 1e9:
            last = window[-1]
            last.low, last.high, last.speed = min(last.low, position), max(last.high, position), speed
        else:
            window.append(_Measured(stamp_ns, arrived_s, position, position, speed))
        while len(window) > LEAST_MEASUREMENTS and window[1].stamp_ns <= stamp_ns - WINDOW_S * 1e9:
            window.popleft()

    def unrest(self, most_rad: float, still: float, since_s: float, now_s: float) -> Unrest | None:
        name = self._name
        if not self._window:
            return Unrest(f"{name} has not been measured", "unmeasured")
        if now_s - self.heard_s > FRESH_S:
            return Unrest(f"{name} has not been measured for {now_s - self.heard_s:.1f} s", "unmeasured")
        if now_s - self._advanced_s > FRESH_S:
            frozen_s = now_s - self._advanced_s
            return Unrest(f"the time stamp of {name} has not advanced for {frozen_s:.1f} s", "unmeasured")
        window = [measured for measured in self._window if measured.arrived_s >= since_s]
        travel = max((each.high for each in window), default=0.0) - min((each.low for each in window), default=0.0)
        watched_s = (self._stamp_ns - window[0].stamp_ns) / 1e9 if window else 0.0
        if travel > most_rad:
            return Unrest(f"{name} moves: it was measured to travel by {travel:.4f} rad in {watched_s:.2f} s", "moves")
        speeds = [each.speed for each in window if math.isfinite(each.speed)]
        if speeds and (speed := statistics.median(speeds)) > still:
            return Unrest(f"{name} is reported to move at {speed:.3f} rad/s", "moves")
        if watched_s >= WINDOW_S and len(window) >= LEAST_MEASUREMENTS:
            return None
        if self._went_back:
            return Unrest(f"the time stamps of {name} go back", "unmeasured")
        return Unrest(f"{name} was measured without a gap for {watched_s:.2f} s, {WINDOW_S:g} s are needed", "brief")


class RestJudge:
    """Hears each measurement of the joints of arm and gripper, whichever driver it comes from. Not thread-safe.

    Args:
        robot: The robot.
        still_velocity: A joint of the arm that is reported to be faster is not at rest [rad/s].
    """

    def __init__(self, robot: RobotModel, still_velocity: float) -> None:
        turns = dict(zip(robot.arm_joints, robot.continuous.tolist(), strict=True))
        self._joints = {name: _Joint(name, turns.get(name, False)) for name in robot.joints}
        self._limits = dict.fromkeys(robot.arm_joints, (ARM_TRAVEL, still_velocity))
        self._limits[robot.gripper.joint] = (JAWS_TRAVEL, JAWS_STILL)

    def hear(self, measured: Mapping[str, tuple[float, float]], stamp_ns: int, arrived_s: float) -> None:
        """Note what one message measures.

        Args:
            measured: By joint, its position [rad] and velocity [rad/s]; NaN where there is none.
            stamp_ns: Time of the robot [ns].
            arrived_s: By the monotonic clock [s].
        """
        for name, (position, velocity) in measured.items():
            self._joints[name].hear(stamp_ns, arrived_s, position, velocity)

    def stale(self, now_s: float) -> list[str]:
        """Joints that no message has named lately."""
        return [name for name, joint in self._joints.items() if now_s - joint.heard_s > FRESH_S]

    def unrest(self, now_s: float, since_s: float = -math.inf, joints: Collection[str] = ()) -> Unrest | None:
        """Why the robot is not known to be at rest; None where it is.

        Args:
            now_s: The moment, by the monotonic clock [s].
            since_s: Only what arrived from then on counts [s].
            joints: Only these; all where empty.
        """
        found = [
            unrest
            for name, joint in self._joints.items()
            if (not joints or name in joints) and (unrest := joint.unrest(*self._limits[name], since_s, now_s))
        ]
        return min(found, key=lambda unrest: unrest.order, default=None)
