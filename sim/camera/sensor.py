"""What a simulated camera measures of the ideal image, by name: entry points of the group `toolhand.sensor`."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from toolhand.sim.camera.ray_casting import MAX_DEPTH
from toolhand.sim.camera.sensors.readings import EXACT, Readings
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.registry import Setting
from toolhand.tool_nodes.results import unavailable
from toolhand.tool_nodes.types import BoolArray, FloatArray

Measured = tuple[NDArray[np.uint8], NDArray[np.float32]]
"""Colour (H, W, 3) sRGB and depth (H, W) [m] of one image."""


@dataclass(frozen=True)
class View:
    """What a sensor may ask for beside the ideal image, by having a parameter `view` of `measure`.

    Attributes:
        K: (3, 3) true intrinsics [px].
        clear: (H, W) True where a transparent surface stands before what the depth is of; None where the renderer does
            not tell.
    """

    K: FloatArray
    clear: BoolArray | None = None


class SensorModel(Protocol):
    """An RGB-D sensor: noise, range, and whatever else lies between a scene and a measured image.

    `measure` is all that a sensor must have. What it may have besides:

    - `measure` with a parameter `view`: is given the `View`.
    - `unit(seed, camera)`: the sensor as one device, "scene" or "wrist" of a station with a seed. What is constant over
      its images is drawn there, and the device is asked for all else.
    - `calibrated(K, T_base_camera)`: the intrinsics (3, 3) [px] and the pose (4, 4) that its frames report of the true
      ones. Judges know the truth from the simulator.
    - `latency_s`: by how much an image is older than its stamp [s].
    - `readings`: the `toolhand.sim.camera.sensors.readings.Readings` of the station's joints and jaws.
    """

    def measure(
        self, rgb: NDArray[np.uint8], depth: NDArray[np.float32], rng: np.random.Generator
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """The measured image. It depends on the arguments alone: nothing is kept between two images.

        Args:
            rgb: (H, W, 3) ideal colour, sRGB; may be changed in place.
            depth: (H, W) ideal depth along the optical axis [m], infinite where nothing is; may be changed in place.
            rng: seeded by the camera's seed and the number of the image.

        Returns:
            Colour uint8 (H, W, 3) and depth float32 (H, W) [m] of the same sizes; NaN where no depth is measured.
        """


@dataclass(frozen=True)
class SensorNoise:
    """Gaussian noise whose standard deviation in depth grows with the square of the distance, as a stereo camera's.

    Attributes:
        depth: k of the depth noise, sigma = k * z^2 [1/m].
        rgb: standard deviation of the colour noise [grey levels].
    """

    depth: float = 0.0005
    rgb: float = 0.0

    def measure(self, rgb: NDArray[np.uint8], depth: NDArray[np.float32], rng: np.random.Generator) -> Measured:
        """See SensorModel; depth beyond `MAX_DEPTH` becomes NaN."""
        depth = np.where(depth < MAX_DEPTH, depth, np.float32(np.nan))
        if self.depth > 0.0:
            depth += np.float32(self.depth) * depth**2 * rng.standard_normal(depth.shape, dtype=np.float32)
        if self.rgb > 0.0:
            noisy = rgb + np.float32(self.rgb) * rng.standard_normal(rgb.shape, dtype=np.float32)
            rgb = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
        return rgb, depth


STEREO = SensorNoise()


def stereo() -> SensorNoise:
    """Depth noise of 0.5 mm at 1 m, and none in the colours."""
    return STEREO


def ideal() -> SensorNoise:
    """A sensor without noise."""
    return SensorNoise(depth=0.0)


def make_sensor(names: str, camera: str, seed: int) -> SensorModel:
    """The sensor of a station's camera.

    Args:
        names: NAME of the group `toolhand.sensor`, for both cameras; or SCENE+WRIST.
        camera: "scene", "wrist", or another one, which has the sensor of the scene camera.
        seed: Seed of the station.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown name.
    """
    parts = PortNames(sensor=names).parts("sensor")
    made: SensorModel = registry.make("sensor", parts[-1] if camera == "wrist" else parts[0], Setting(seed))
    return made


@lru_cache(maxsize=32)
def device(names: str, camera: str, seed: int) -> SensorModel:
    """The one device of a station, "scene", "wrist" or "arm"; see `make_sensor` and `unit_of`."""
    return unit_of(make_sensor(names, camera, seed), seed, camera)


def unit_of(sensor: SensorModel, seed: int, camera: str) -> SensorModel:
    """The one device of a station, see `SensorModel`; the sensor itself where its devices are all alike."""
    draw = getattr(sensor, "unit", None)
    unit: SensorModel = sensor if draw is None else draw(seed, camera)
    return unit


def calibrated(sensor: SensorModel, K: FloatArray, T_base_camera: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The intrinsics (3, 3) [px] and the pose (4, 4) that a device reports of the true ones."""
    report = getattr(sensor, "calibrated", None)
    reported: tuple[FloatArray, FloatArray] = (K, T_base_camera) if report is None else report(K, T_base_camera)
    return reported


def latency_of(sensor: SensorModel) -> float:
    """By how much a device's images are older than their stamp [s]."""
    return float(getattr(sensor, "latency_s", 0.0))


def readings_of(sensor: SensorModel) -> Readings:
    """What a device's station reads of its joints and jaws."""
    readings: Readings = getattr(sensor, "readings", EXACT)
    return readings


def measured(
    sensor: SensorModel, rgb: NDArray[np.uint8], depth: NDArray[np.float32], rng: np.random.Generator, view: View
) -> Measured:
    """What a sensor measures of an image, see `SensorModel.measure`; depth that is not finite is NaN.

    Raises:
        ToolError: UNAVAILABLE where the sensor returns images of another size or type.
    """
    shapes = rgb.shape, depth.shape
    asked: dict[str, Any] = {"view": view} if "view" in inspect.signature(sensor.measure).parameters else {}
    rgb, depth = sensor.measure(rgb, depth, rng, **asked)
    if (rgb.shape, depth.shape) != shapes or (rgb.dtype, depth.dtype) != (np.uint8, np.float32):
        raise unavailable(
            f"The sensor {type(sensor).__name__} must return uint8 colour {shapes[0]} and float32 depth {shapes[1]}, "
            f"but returned {rgb.dtype} {rgb.shape} and {depth.dtype} {depth.shape}.",
        )
    return rgb, np.where(np.isfinite(depth), depth, np.float32(np.nan))
