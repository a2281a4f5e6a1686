"""What the arm's and the gripper's encoders read of their true positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toolhand.sim.camera.sensors.noise import NoiseTerms
from toolhand.tool_nodes.types import FloatArray

_JOINTS, _JAWS = 1, 2
"""What distinguishes the numbers that are drawn for the two [-]."""


@dataclass(frozen=True)
class Readings:
    """Noise and steps of encoders. A reading depends on the seed, the time and the truth alone: nothing is kept.

    Attributes:
        seed: Seed of the station.
        joint_rad, joint_step_rad, jaw_m, jaw_step_m, jaw_bias_m: See `toolhand.sim.camera.sensors.noise.NoiseTerms`.
    """

    seed: int = 0
    joint_rad: float = 0.0
    joint_step_rad: float = 0.0
    jaw_m: float = 0.0
    jaw_step_m: float = 0.0
    jaw_bias_m: float = 0.0

    @staticmethod
    def of(sensor: NoiseTerms, seed: int) -> Readings:
        """The readings of a sensor's station."""
        return Readings(
            seed, sensor.joint_rad, sensor.joint_step_rad, sensor.jaw_m, sensor.jaw_step_m, sensor.jaw_bias_m
        )

    @property
    def of_jaws(self) -> bool:
        """True if the jaws' readings differ from the truth."""
        return bool(self.jaw_m or self.jaw_step_m or self.jaw_bias_m)

    def joints(self, q: FloatArray, time_s: float) -> FloatArray:
        """Readings (n,) of joint positions (n,) [rad] at a time [s]."""
        if self.joint_rad:
            q = q + self.joint_rad * self._rng(_JOINTS, time_s).standard_normal(len(q))
        return _stepped(q, self.joint_step_rad)

    def opening(self, opening_m: float, time_s: float) -> float:
        """The reading of the jaws' opening [m] at a time [s]; never below zero."""
        if self.jaw_bias_m:
            opening_m += self.jaw_bias_m * float(np.random.default_rng((self.seed, _JAWS)).uniform(-1.0, 1.0))
        if self.jaw_m:
            opening_m += self.jaw_m * float(self._rng(_JAWS, time_s).standard_normal())
        return max(float(_stepped(np.asarray(opening_m), self.jaw_step_m)), 0.0)

    def _rng(self, kind: int, time_s: float) -> np.random.Generator:
        return np.random.default_rng((self.seed, kind, round(time_s * 1e6)))


EXACT = Readings()
"""Encoders without error."""


def _stepped(value: FloatArray, step: float) -> FloatArray:
    return np.rint(value / step) * step if step else value
