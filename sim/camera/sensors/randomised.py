"""A sensor that is another one in every station: for training that must not learn one camera's noise."""

from __future__ import annotations

import zlib
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from toolhand.sim.camera.sensor import Measured
from toolhand.sim.camera.sensors.noise import TERMS
from toolhand.sim.camera.sensors.unit import RgbdSensor, SensorUnit
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.results import invalid

GREATEST = 2.0
"""A term of a random sensor is 0 to so many times as strong as the term of the sensor that it varies [-]: the published
figures are bounds or typical values, and single devices differ by this much."""
_LEFT_OUT = 0.25
"""Share of the terms that are off altogether, so that no policy can rely on one of them [-]."""
_SHARES = ("flying", "edges", "dark", "glossy", "clear", "grazing", "speckle")
"""Attributes that are probabilities and stay below 1."""
_KEPT = ("near_m", "far_m", "shadow", "subpixel_px", "unit_m", "joint_step_rad", "jaw_step_m")
"""Attributes that a device has or has not; their strength is not varied."""
_INVERSE = ("electrons",)
"""Attributes whose term is the stronger the smaller they are; the noise goes with the square root."""
_BASES = ("realsense_d435", "zed2", "azure_kinect", "kinova_wrist", "hard")
"""Sensors that are drawn from where none is named."""


class Randomised:
    """Draws the terms of the noise model from the seed of each station; constant over its images.

    Args:
        model: Name of the sensor that is varied; one of the shipped devices, drawn for each station, where it is empty.

    Raises:
        ToolError: INVALID_ARGUMENT for a sensor that is no `RgbdSensor`.
    """

    def __init__(self, model: str = "") -> None:
        names = (model,) if model else _BASES
        self._bases = []
        for name in names:
            base = registry.make("sensor", name)
            if not isinstance(base, RgbdSensor):
                raise invalid(f"The sensor {name!r} has no noise terms that could be drawn at random.")
            self._bases.append(base)

    def unit(self, seed: int, camera: str) -> SensorUnit:
        """The device of a station, as `RgbdSensor.unit`."""
        return self.drawn(seed, camera).unit(seed, camera)

    def drawn(self, seed: int, camera: str) -> RgbdSensor:
        """The sensor of a station's camera."""
        rng = np.random.default_rng((seed, zlib.crc32(camera.encode()), 1))
        base = self._bases[rng.integers(len(self._bases))]
        drawn: dict[str, float] = {}
        for names in TERMS.values():
            strength = 0.0 if rng.random() < _LEFT_OUT else GREATEST * rng.random()
            for name in names:
                drawn[name] = _varied(name, getattr(base, name), strength)
        assert {entry.name for entry in fields(RgbdSensor)} >= drawn.keys()
        return replace(base, **drawn)

    def measure(self, rgb: NDArray[np.uint8], depth: NDArray[np.float32], rng: np.random.Generator) -> Measured:
        """Never called: `unit` gives what measures."""
        raise invalid("A random sensor measures nothing before a station has given it a seed.")


def _varied(name: str, value: float, strength: float) -> float:
    if name in _KEPT:
        return value
    if name == "jpeg":
        return 0.0 if not strength or not value else max(95.0 - (95.0 - value) * strength, 20.0)
    if name in _INVERSE:
        return value / strength**2 if strength > 0.1 else 0.0
    return min(value * strength, 0.95) if name in _SHARES else value * strength
