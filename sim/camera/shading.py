"""Shading of surfaces: light, colour encoding, the grain of the table and smooth outlines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.types import FloatArray

FloatImage = NDArray[np.float32]

_AMBIENT, _SKYLIGHT, _DIRECT, _GLOSS = 0.30, 0.15, 0.58, 0.10
"""Light from everywhere, from above, from the lamp, and its mirrored share, over full light [-]; chosen to look at."""


@dataclass(frozen=True)
class Lamp:
    """A point light over the table, with soft light from the whole sky."""

    position: FloatArray

    def factors(
        self, points: FloatImage, normal: FloatImage, eye: FloatImage
    ) -> tuple[FloatImage, FloatImage, FloatImage]:
        """(ambient, diffuse, gloss) factors (n, 1) for points, normals and directions to the eye (n, 3)."""
        to_lamp = self.position.astype(np.float32) - points
        distance_sq = np.einsum("ij,ij->i", to_lamp, to_lamp)
        to_lamp /= np.sqrt(distance_sq)[:, None]
        falloff = np.float32(np.sum((self.position - workspace.SCENE_CAMERA_TARGET) ** 2)) / distance_sq
        cosine = np.maximum(np.einsum("ij,ij->i", normal, to_lamp), 0.0)
        halfway = np.maximum(np.einsum("ij,ij->i", normal, unit(to_lamp + eye)), 0.0)
        ambient = _AMBIENT + _SKYLIGHT * (0.5 + 0.5 * normal[:, 2])
        gloss = np.float32(_GLOSS) * (cosine > 0.0) * halfway**32
        return ambient[:, None], (_DIRECT * cosine * falloff)[:, None], gloss[:, None]


def unit(vectors: FloatImage) -> FloatImage:
    """Vectors (n, 3) scaled to length 1; zero stays zero."""
    return vectors / np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), np.float32(1e-9))[:, None]


def linear_light(srgb: FloatArray) -> FloatArray:
    """Light intensity in [0, 1] of a colour on the screen in [0, 1]."""
    return srgb**2.2


_DECODE = linear_light(np.arange(256) / 255.0).astype(np.float32)
_ENCODE = np.rint(255.0 * (np.arange(4096) / 4095.0) ** (1.0 / 2.2)).astype(np.uint8)


def decode_rgb(rgb: NDArray[np.uint8]) -> FloatImage:
    """Light intensity (n, 3) in [0, 1] of uint8 pixels (n, 3)."""
    return _DECODE[rgb]


def encode_rgb(linear: FloatImage) -> NDArray[np.uint8]:
    """uint8 pixels (n, 3) of light intensities (n, 3); brighter than 1 is white."""
    return _ENCODE[(np.clip(linear, 0.0, 1.0) * np.float32(4095.0) + np.float32(0.5)).astype(np.int16)]


@lru_cache(maxsize=1)
def _wood() -> FloatImage:
    """Faint wood grain (512, 512) about 1; it repeats every 512 cells without a seam."""
    rng = np.random.default_rng(7)
    coarse = ndimage.gaussian_filter(rng.standard_normal((512, 512)), (60.0, 6.0), mode="wrap")
    fine = ndimage.gaussian_filter(rng.standard_normal((512, 512)), (25.0, 0.8), mode="wrap")
    grain = 0.6 * coarse / coarse.std() + 0.4 * fine / fine.std()
    return (1.0 + 0.045 * np.clip(grain, -2.5, 2.5)).astype(np.float32)


def wood_grain(points: FloatImage) -> FloatImage:
    """Brightness (n,) of the grain at points (n, 3), 2 mm per cell."""
    cell = (points[:, :2] * np.float32(500.0)).astype(np.int32) % 512
    return _wood()[cell[:, 1], cell[:, 0]]


def smooth_edges(rgb: NDArray[np.uint8], geom: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Blends each pixel on the outline of a geom with its neighbours, which hides the stairs."""
    height, width = geom.shape
    outline = np.zeros((height, width), dtype=bool)
    outline[:, :-1] = geom[:, :-1] != geom[:, 1:]
    outline[:, 1:] |= outline[:, :-1]
    rows = geom[:-1] != geom[1:]
    outline[:-1] |= rows
    outline[1:] |= rows
    outline[[0, -1]] = outline[:, [0, -1]] = False
    pixels = np.flatnonzero(outline)
    flat = rgb.reshape(-1, 3)
    blend = np.zeros((len(pixels), 3), dtype=np.uint16)
    for dv, dv_weight in ((-width, 1), (0, 2), (width, 1)):
        for du, du_weight in ((-1, 1), (0, 2), (1, 1)):
            blend += np.uint16(dv_weight * du_weight) * flat[pixels + dv + du]
    smooth = flat.copy()
    smooth[pixels] = (blend + 8) // 16
    return smooth.reshape(height, width, 3)
