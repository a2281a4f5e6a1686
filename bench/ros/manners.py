"""Manners of joint states: how drivers report an arm that moves, or one that is at rest; true and false ones.

One table for `toolhand bench stop`, which has a motion node hear them, and for the test of the judge of rest alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from toolhand.tool_nodes.motion.robot_model import RobotModel

LEAD_S = 1.2
"""A manner is heard for so long before the stop comes [s]."""
LEFT_OUT_S = 0.5
"""Drivers that fall silent do so then: 0.7 s before the stop [s]."""

ARM, JAWS = tuple(f"j{k}" for k in range(1, 8)), "jaws"
"""The joints of an arm of seven, and of its gripper; `of_robot` gives them a robot's own names."""

MeasuredJoints = Mapping[str, tuple[float, float]]
"""By joint, its position [rad] and velocity [rad/s]."""


@dataclass(frozen=True)
class JointReport:
    """One message: its stamp [s], what it measures, and whether it has velocities at all."""

    stamp_s: float
    joints: MeasuredJoints
    velocities: bool = True


@dataclass(frozen=True)
class Reporter:
    """One driver.

    Attributes:
        rate_hz: How often it sends [1/s].
        said: Message at a time since the manner began [s]; None where it is silent.
    """

    rate_hz: float
    said: Callable[[float], JointReport | None]


@dataclass(frozen=True)
class Manner:
    """How joint states come.

    Attributes:
        name: Title of the manner.
        moves: True where a joint moves, or where nobody measures it: a stop must not be confirmed.
    """

    name: str
    moves: bool
    reporters: tuple[Reporter, ...]

    def messages(self, begin_s: float, end_s: float) -> Iterator[tuple[float, JointReport]]:
        """What is sent within a time, in order, with the moment of each [s]."""
        due = [
            (k / reporter.rate_hz, reporter)
            for reporter in self.reporters
            for k in range(math.ceil(begin_s * reporter.rate_hz), math.ceil(end_s * reporter.rate_hz))
        ]
        for t, reporter in sorted(due, key=lambda entry: entry[0]):
            if (said := reporter.said(t)) is not None:
                yield t, said


def of_robot(measured: MeasuredJoints, robot: RobotModel) -> dict[str, tuple[float, float]]:
    """The same by a robot's own names; joints of others keep theirs."""
    own = dict(zip((*ARM, JAWS), robot.joints, strict=True))
    return {own.get(name, name): value for name, value in measured.items()}


def _truth(**joints: tuple[float, float]) -> dict[str, tuple[float, float]]:
    """Joints at rest but for those that are named."""
    return {name: joints.get(name, (0.1, 0.0)) for name in (*ARM, JAWS)}


def _turning(t: float, velocity: float = 0.0) -> dict[str, tuple[float, float]]:
    """j2 turns by 0.5 rad/s, which is told as `velocity`."""
    return _truth(j2=(0.5 * t, velocity))


def _swing(rad: float, hz: float, t: float, true: bool = True) -> dict[str, tuple[float, float]]:
    w = 2.0 * math.pi * hz
    return _truth(j3=(rad * math.sin(w * t), rad * w * math.cos(w * t) if true else 0.0))


def _only(joints: MeasuredJoints, kept: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    return {name: joints[name] for name in kept}


def _noisy(t: float, sd_rad: float, step_rad: float = 0.0) -> dict[str, tuple[float, float]]:
    noise = np.random.default_rng(round(t * 1e6)).normal(0.0, sd_rad, len(ARM))
    q = 0.1 + noise
    q = np.rint(q / step_rad) * step_rad if step_rad else q
    return dict(zip(ARM, ((float(value), math.nan) for value in q), strict=True)) | {JAWS: (0.1, math.nan)}


def _one(name: str, moves: bool, said: Callable[[float], JointReport | None], rate_hz: float = 50.0) -> Manner:
    return Manner(name, moves, (Reporter(rate_hz, said),))


def _two(name: str, moves: bool, first: Reporter, second: Reporter) -> Manner:
    return Manner(name, moves, (first, second))


def _until(t: float) -> bool:
    return t < LEFT_OUT_S


_FORE, _AFT = ARM[:3], (*ARM[3:], JAWS)
_STILL_FORE = Reporter(100.0, lambda t: JointReport(t, _only(_truth(), _FORE)))
"""A driver of joints at rest, 100 times a second [1/s]."""

MOVING = (
    _one("velocity 0, j2 turns", True, lambda t: JointReport(t, _turning(t))),
    _one("velocity 0, stamp 0", True, lambda t: JointReport(0.0, _turning(t))),
    _one("velocity in a wrong unit", True, lambda t: JointReport(t, _turning(t, 0.5 / 667.0))),
    _one(
        "j2 left out, and turning",
        True,
        lambda t: JointReport(t, _turning(t) if _until(t) else _only(_truth(), tuple({*ARM, JAWS} - {ARM[1]}))),
    ),
    _one("only j1 still sent", True, lambda t: JointReport(t, _turning(t) if _until(t) else _only(_truth(), ARM[:1]))),
    _two(
        "second driver silent",
        True,
        _STILL_FORE,
        Reporter(50.0, lambda t: JointReport(t, _only(_truth(j5=(0.5 * t, 0.5)), _AFT)) if _until(t) else None),
    ),
    _two(
        "gripper's driver silent",
        True,
        Reporter(100.0, lambda t: JointReport(t, _only(_truth(), ARM))),
        Reporter(50.0, lambda t: JointReport(t, _only(_truth(), (JAWS,))) if _until(t) else None),
    ),
    _one("the same message again and again", True, lambda t: JointReport(1.0, _truth())),
    _one("j3 jumps", True, lambda t: JointReport(t, _truth(j3=(float(round(t * 50.0) % 2), 0.0)))),
    _one("jaws creep", True, lambda t: JointReport(t, _truth(jaws=(0.1 + 0.03 * t, 0.0)))),
    _one("jaws creep, no velocity", True, lambda t: JointReport(t, _truth(jaws=(0.1 + 0.03 * t, 0.0)), False)),
    _two(
        "a second publisher of zeros",
        True,
        Reporter(50.0, lambda t: JointReport(t, _turning(t, 0.5))),
        Reporter(50.0, lambda t: JointReport(t, dict.fromkeys((*ARM, JAWS), (0.0, 0.0)))),
    ),
    _one("swing 0.3 rad at 0.25 Hz", True, lambda t: JointReport(t, _swing(0.3, 0.25, t)), 100.0),
    _one("swing 0.3 rad at 0.25 Hz, 500 Hz", True, lambda t: JointReport(t, _swing(0.3, 0.25, t)), 500.0),
    _one("swing 0.05 rad at 1 Hz, 500 Hz", True, lambda t: JointReport(t, _swing(0.05, 1.0, t)), 500.0),
    _one("honest motion", True, lambda t: JointReport(t, _turning(t, 0.5))),
    _one("motion without velocities", True, lambda t: JointReport(t, _turning(t), False)),
    _one("motion with velocity nan", True, lambda t: JointReport(t, _turning(t, math.nan))),
    _one("motion with velocity inf", True, lambda t: JointReport(t, _turning(t, math.inf))),
    _one("clock running back", True, lambda t: JointReport(100.0 - t, _turning(t))),
    _one("jaws at 0.4 rad/s, velocity 0", True, lambda t: JointReport(t, _truth(jaws=(0.1 + 0.4 * t, 0.0)))),
    _one("a message three times, at 1 Hz", True, lambda t: JointReport(math.floor(t), _turning(math.floor(t))), 3.0),
    _one("swing 0.05 rad at 1 Hz", True, lambda t: JointReport(t, _swing(0.05, 1.0, t)), 100.0),
    _one("swing 0.05 rad at 5 Hz", True, lambda t: JointReport(t, _swing(0.05, 5.0, t)), 100.0),
    # Others of the kind.
    _one("swing 0.3 rad at 0.1 Hz, velocity 0", True, lambda t: JointReport(t, _swing(0.3, 0.1, t, False)), 100.0),
    _one("swing 0.02 rad at 0.5 Hz, velocity 0", True, lambda t: JointReport(t, _swing(0.02, 0.5, t, False))),
    _one(
        "swing 0.1 rad at 1 Hz, one message a second", True, lambda t: JointReport(t, _swing(0.1, 1.0, t, False)), 1.0
    ),
    _one("j2 creeps by 5 mrad/s", True, lambda t: JointReport(t, _truth(j2=(0.005 * t, 0.0)))),
    _one("j2 trembles by 2 mrad", True, lambda t: JointReport(t, _truth(j2=(0.002 * math.sin(160.0 * t), 0.0))), 100.0),
    _one("stamps a thousand times too slow", True, lambda t: JointReport(t / 1000.0, _turning(t))),
    _one("positions stand, velocity does not", True, lambda t: JointReport(t, _truth(j4=(0.1, 0.1)))),
    _one("turning through half a turn", True, lambda t: JointReport(t, _truth(j3=((t + 3.0) % 6.2832 - 3.1416, 0.0)))),
    _one("turning, 10 Hz", True, lambda t: JointReport(t, _turning(t)), 10.0),
    _one("turning, clock leaps each 0.1 s", True, lambda t: JointReport(t + 10.0 * math.floor(10.0 * t), _turning(t))),
    _two(
        "the slow driver's joint turns",
        True,
        _STILL_FORE,
        Reporter(10.0, lambda t: JointReport(t, _only(_truth(j5=(0.05 * t, 0.0)), _AFT))),
    ),
    _two(
        "one driver's stamp stands still",
        True,
        _STILL_FORE,
        Reporter(50.0, lambda t: JointReport(min(t, LEFT_OUT_S), _only(_truth(), _AFT))),
    ),
    _one("begins to turn as the stop comes", True, lambda t: JointReport(t, _turning(max(0.0, t - LEAD_S)))),
)
"""Something moves, or is not measured: none may be confirmed."""

AT_REST = (
    _one("honest", False, lambda t: JointReport(t, _truth())),
    _one("no velocities", False, lambda t: JointReport(t, _truth(), False)),
    _one("velocity nan", False, lambda t: JointReport(t, dict.fromkeys((*ARM, JAWS), (0.1, math.nan)))),
    _one("velocity inf", False, lambda t: JointReport(t, dict.fromkeys((*ARM, JAWS), (0.1, math.inf)))),
    _two("two drivers", False, _STILL_FORE, Reporter(20.0, lambda t: JointReport(t, _only(_truth(), _AFT)))),
    _two(
        "two drivers with two clocks",
        False,
        _STILL_FORE,
        Reporter(20.0, lambda t: JointReport(9e5 + t, _only(_truth(), _AFT))),
    ),
    _one("10 Hz", False, lambda t: JointReport(t, _truth()), 10.0),
    _one("1 kHz", False, lambda t: JointReport(t, _truth()), 1000.0),
    _one("noise of 0.1 mrad", False, lambda t: JointReport(t, _noisy(t, 1e-4))),
    _one("noise of 0.1 mrad, 500 Hz", False, lambda t: JointReport(t, _noisy(t, 1e-4)), 500.0),
    _one("steps and noise of a Gen3", False, lambda t: JointReport(t, _noisy(t, 8.7e-5, math.radians(0.01))), 100.0),
    _one("the clock leaps forward", False, lambda t: JointReport(t + 10.0 * (t > LEAD_S + 0.1), _truth())),
    _one("the clock leaps back", False, lambda t: JointReport(t + 10.0 * (t < LEAD_S + 0.1), _truth())),
    _one("each message twice", False, lambda t: JointReport(math.floor(50.0 * t + 1e-6) / 50.0, _truth()), 100.0),
    _one("half a turn is shown with either sign", False, lambda t: JointReport(t, _truth(j3=(_either(t), 0.0)))),
    _one(
        "what is held trembles", False, lambda t: JointReport(t, _truth(jaws=(0.3 + 0.003 * math.sin(90.0 * t), 0.03)))
    ),
    _one("time runs eight times as fast", False, lambda t: JointReport(8.0 * t, _truth())),
    _one("time runs a quarter as fast", False, lambda t: JointReport(t / 4.0, _truth())),
    _one(
        "a wheel turns beside it",
        False,
        lambda t: JointReport(t, _truth() | {"wheel": (t, math.nan)}),
    ),
    _one(
        "came to rest as the stop came", False, lambda t: JointReport(t, _turning(min(t, LEAD_S), 0.5 * (t < LEAD_S)))
    ),
)
"""All joints are at rest and measured: each must be confirmed, and the reset taken."""


def _either(t: float) -> float:
    """3.1415 and -3.1415 in turn [rad]."""
    return 3.1415 if round(50.0 * t) % 2 else -3.1415
