"""What a colour camera makes of an ideal image: optics, exposure, white balance, noise and compression."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.special import ndtri

from toolhand.sim.camera.sensors.noise import NoiseTerms
from toolhand.sim.camera.shading import linear_light
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.toolbox.image_files import opened
from toolhand.tool_nodes.types import FloatArray

_LEVELS = 256
"""Values of a channel of 8 bits [-]."""
_NORMAL = ndtri((np.arange(_LEVELS) + 0.5) / _LEVELS)
"""Normal numbers (256,), one for each value of a random byte."""
_MOST = 0.25
"""Greatest weight of a neighbour in one pass of the blur: the binomial kernel [-]."""


def tables(gains: FloatArray, electrons: float, read: float) -> NDArray[np.uint8] | None:
    """What becomes of each grey level of each channel (3, 256 levels * 256 random bytes); None where nothing does.

    Args:
        gains: (3,) brightness of red, green and blue over that of the ideal image [-].
        electrons: Photoelectrons of full light [-]; 0 is without noise.
        read: Read noise [electrons].
    """
    if not electrons and np.all(gains == 1.0):
        return None
    light = linear_light(np.arange(_LEVELS) / 255.0) * gains[:, None]
    light = np.repeat(light[:, :, None], _LEVELS, axis=2)
    if electrons:
        light += np.sqrt(light / electrons + (read / electrons) ** 2) * _NORMAL
    grey = np.rint(255.0 * np.clip(light, 0.0, 1.0) ** (1.0 / 2.2))
    return grey.astype(np.uint8).reshape(3, -1)


def measured_colour(
    sensor: NoiseTerms, rgb: NDArray[np.uint8], through: NDArray[np.uint8] | None, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """The colours (H, W, 3) that are measured of ideal ones; `through` as `tables` gives it."""
    scale = rgb.shape[1] / workspace.IMAGE_SIZE[0]
    if sensor.blur_px:
        rgb = _blurred(rgb, sensor.blur_px * scale)
    if sensor.motion_px:
        rgb = _smeared(rgb, sensor.motion_px * scale, rng)
    if through is not None:
        index = rgb.astype(np.uint16) << 8
        if sensor.electrons:
            index |= np.frombuffer(rng.bytes(rgb.size), dtype=np.uint8).reshape(rgb.shape)
        else:
            index |= _LEVELS // 2
        rgb = np.stack([through[channel][index[:, :, channel]] for channel in range(3)], axis=2)
    if sensor.jpeg:
        buffer = io.BytesIO()
        Image.fromarray(rgb).save(buffer, "JPEG", quality=round(sensor.jpeg))
        with opened(buffer.getvalue()) as image:
            rgb = np.array(image)
    return rgb


def _blurred(rgb: NDArray[np.uint8], sigma: float) -> NDArray[np.uint8]:
    """The image under a Gaussian of a standard deviation [px], by passes of a kernel of three pixels."""
    passes = int(np.ceil(sigma**2 / (2.0 * _MOST)))
    weight = np.uint16(round(256.0 * sigma**2 / (2.0 * max(passes, 1))))
    image = rgb.astype(np.uint16)
    for _ in range(passes):
        for axis in (0, 1):
            padded = np.pad(image, [(1, 1) if axis == k else (0, 0) for k in range(3)], mode="edge")
            before, after = (padded[:-2], padded[2:]) if axis == 0 else (padded[:, :-2], padded[:, 2:])
            mixed = image * (256 - 2 * weight) + (before + after) * weight + np.uint16(128)
            image = np.right_shift(mixed, np.uint16(8), dtype=np.uint16)
    return image.astype(np.uint8)


def _smeared(rgb: NDArray[np.uint8], longest: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    """The image as moved during the exposure along a straight way of at most so many pixels."""
    length, angle = longest * rng.uniform(), np.pi * rng.uniform()
    steps = max(int(np.ceil(length)), 1)
    way = np.rint(np.outer(np.linspace(-0.5, 0.5, steps + 1), length * np.array([np.cos(angle), np.sin(angle)])))
    total = np.zeros(rgb.shape, dtype=np.uint32)
    reach = int(np.abs(way).max())
    padded = np.pad(rgb, ((reach, reach), (reach, reach), (0, 0)), mode="edge")
    height, width = rgb.shape[:2]
    for du, dv in way.astype(int) + reach:
        total += padded[dv : dv + height, du : du + width]
    return (total // len(way)).astype(np.uint8)
