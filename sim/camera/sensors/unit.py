"""One device of a simulated sensor: what was drawn once for it, and what it does to an image and a calibration."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from toolhand.sim.camera.sensor import Measured, View
from toolhand.sim.camera.sensors import colour
from toolhand.sim.camera.sensors.depth import measured_depth, smooth_noise, window_of
from toolhand.sim.camera.sensors.noise import NoiseTerms
from toolhand.sim.camera.sensors.readings import Readings
from toolhand.sim.camera.shading import FloatImage
from toolhand.tool_nodes import geometry, workspace
from toolhand.tool_nodes.types import FloatArray


class SensorUnit:
    """One camera of one station with a sensor.

    Args:
        seed: Seed of the station.
        camera: "scene" or "wrist"; each draws errors of its own.
    """

    def __init__(self, sensor: NoiseTerms, seed: int, camera: str) -> None:
        self._key = seed, zlib.crc32(camera.encode())
        rng = np.random.default_rng(self._key)
        self.sensor = sensor
        self.latency_s = sensor.latency_s
        self._drawn: FloatImage | None = None
        self.readings = Readings.of(sensor, seed)
        self._bias, gain, red, blue, focal, *centre = rng.uniform(-1.0, 1.0, 7)
        self._focal, self._centre = 1.0 + sensor.focal_share * focal, sensor.centre_px * np.asarray(centre)
        shift, turn = _in_a_ball(rng) * sensor.hand_eye_m, _in_a_ball(rng) * sensor.hand_eye_rad
        self._hand_eye = geometry.pose(Rotation.from_rotvec(turn).as_matrix(), shift)
        # A uniform number in [-1, 1] has a standard deviation of 1 / sqrt(3).
        light = np.exp(np.sqrt(3.0) * sensor.exposure * gain)
        balance = np.exp(np.sqrt(3.0) * sensor.white_balance * np.array([red, 0.0, blue]))
        self._tables = colour.tables(light * balance, sensor.electrons, sensor.read)

    def measure(
        self, rgb: NDArray[np.uint8], depth: NDArray[np.float32], rng: np.random.Generator, view: View
    ) -> Measured:
        """See toolhand.sim.camera.sensor.SensorModel."""
        pattern = self._pattern(depth.shape, window_of(self.sensor, view)) if self.sensor.pattern_px else None
        measured = measured_depth(self.sensor, rgb, depth, view, self._bias, pattern, rng)
        return colour.measured_colour(self.sensor, rgb, self._tables, rng), measured

    def _pattern(self, shape: tuple[int, ...], window: int) -> FloatImage:
        """Normal numbers (H, W) that are the same in each image; drawn once, from the seed alone."""
        if self._drawn is None or self._drawn.shape != shape:
            self._drawn = smooth_noise(shape, window, np.random.default_rng((*self._key, 1)))
        return self._drawn

    def calibrated(self, K: FloatArray, T_base_camera: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See toolhand.sim.camera.sensor.SensorModel."""
        scale = 2.0 * K[0, 2] / workspace.IMAGE_SIZE[0]
        reported = K.copy()
        reported[[0, 1], [0, 1]] *= self._focal
        reported[:2, 2] += self._centre * scale
        return reported, T_base_camera @ self._hand_eye


@dataclass(frozen=True)
class RgbdSensor(NoiseTerms):
    """A sensor with the terms of the noise model; see there for its attributes."""

    def unit(self, seed: int, camera: str) -> SensorUnit:
        """The one device of a station: what is drawn once for it is drawn from its seed and the camera's name."""
        return SensorUnit(self, seed, camera)

    def measure(
        self, rgb: NDArray[np.uint8], depth: NDArray[np.float32], rng: np.random.Generator, view: View
    ) -> Measured:
        """See toolhand.sim.camera.sensor.SensorModel: as the scene camera of a station with the seed 0."""
        return self.unit(0, "scene").measure(rgb, depth, rng, view)


def _in_a_ball(rng: np.random.Generator) -> FloatArray:
    """A vector (3,) of any direction, and of a length that is uniform in [0, 1]."""
    direction = rng.standard_normal(3)
    return direction / np.linalg.norm(direction) * rng.uniform()
