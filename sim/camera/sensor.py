"""What a simulated camera measures of the ideal picture, by name: entry points of the group `toolhand.sensor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sim.camera.ray_casting import MAX_DEPTH
from tool_nodes.results import unavailable

Measured = tuple[NDArray[np.uint8], NDArray[np.float32]]
"""Colour (H, W, 3) sRGB and depth (H, W) [m] of one picture."""


class SensorModel(Protocol):
    """An RGB-D sensor: noise, range, and whatever else lies between a scene and a measured picture."""

    def measure(
        self, rgb: NDArray[np.uint8], depth: NDArray[np.float32], rng: np.random.Generator
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """The measured picture. It depends on the arguments alone: nothing is kept between two pictures.

        Args:
            rgb: (H, W, 3) ideal colour, sRGB; may be changed in place.
            depth: (H, W) ideal depth along the optical axis [m], infinite where nothing is; may be changed in place.
            rng: seeded by the camera's seed and the number of the picture.

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


def measured(
    sensor: SensorModel, rgb: NDArray[np.uint8], depth: NDArray[np.float32], rng: np.random.Generator
) -> Measured:
    """What a sensor measures of a picture, see `SensorModel.measure`; depth that is not finite is NaN.

    Raises:
        ToolError: UNAVAILABLE where the sensor returns pictures of another size or type.
    """
    shapes = rgb.shape, depth.shape
    rgb, depth = sensor.measure(rgb, depth, rng)
    if (rgb.shape, depth.shape) != shapes or (rgb.dtype, depth.dtype) != (np.uint8, np.float32):
        raise unavailable(
            f"The sensor {type(sensor).__name__} must return uint8 colour {shapes[0]} and float32 depth {shapes[1]}, "
            f"but returned {rgb.dtype} {rgb.shape} and {depth.dtype} {depth.shape}.",
        )
    return rgb, np.where(np.isfinite(depth), depth, np.float32(np.nan))
