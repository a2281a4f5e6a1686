"""Distortion of lenses: images that are raw become what a pinhole camera would have taken.

The models are those of ROS's CameraInfo. (x, y) is a ray's point on the plane z = 1 of the camera, (x', y') where the
lens puts it; fx x' + cx and fy y' + cy are its pixel in the raw image.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from toolhand.tool_nodes.types import FloatArray

COEFFICIENTS = {"plumb_bob": (4, 5), "rational_polynomial": (8,), "equidistant": (4,)}
"""Distortion models by their names in CameraInfo, and how many numbers each may have."""

_WIDEST_RAD = np.radians(85.0)
"""Largest angle from the optical axis that a pinhole image can show of a lens [rad]."""
_STEPS = 4000
"""Rays between the axis and that angle that are looked at; beyond it a pinhole image would be 11 times as
far from its middle as at 45 degrees."""


@dataclass(frozen=True)
class Lens:
    """How the raw images of one camera are distorted, and the pinhole camera that they are turned into.

    Attributes:
        model: A name of `COEFFICIENTS`.
        d: Its numbers: k1, k2, p1, p2 and k3, or k3, k4, k5 and k6; of equidistant k1, k2, k3, k4.
        raw: fx, fy, cx, cy of the raw image [px].
        pinhole: The same of the image without distortion, which has the same axes.
        size: Size of both images (width, height) [px].
    """

    model: str
    d: tuple[float, ...]
    raw: tuple[float, float, float, float]
    pinhole: tuple[float, float, float, float]
    size: tuple[int, int]

    def distorted(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the lens puts the rays (x, y), arrays of any one shape."""
        r2 = x * x + y * y
        if self.model == "equidistant":
            factor = self._factor(r2)
            return x * factor, y * factor
        p1, p2 = self.d[2:4]
        factor = self._factor(r2)
        return (
            x * factor + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x),
            y * factor + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y,
        )

    def _factor(self, r2: FloatArray) -> FloatArray:
        """By how much the distance from the middle grows, for squared distances."""
        if self.model == "equidistant":
            r = np.sqrt(r2)
            angle = np.arctan(r)
            a2 = angle * angle
            k1, k2, k3, k4 = self.d
            bent = angle * (1.0 + a2 * (k1 + a2 * (k2 + a2 * (k3 + a2 * k4))))
            return np.divide(bent, r, out=np.ones_like(r), where=r > 0.0)
        k1, k2, _, _, k3, k4, k5, k6 = (*self.d, *[0.0] * (8 - len(self.d)))
        with np.errstate(divide="ignore", invalid="ignore"):
            factor: FloatArray = (1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))) / (1.0 + r2 * (k4 + r2 * (k5 + r2 * k6)))
        return factor

    @cached_property
    def _reach(self) -> tuple[float, float, bool]:
        """The furthest ray and its place in the raw image up to which the one grows with the other, and whether the
        polynomial turns back there; beyond it a raw pixel belongs to a ray further in."""
        r = np.tan(np.linspace(0.0, _WIDEST_RAD, _STEPS))
        bent = r * self._factor(r * r)
        with np.errstate(invalid="ignore"):
            grows = np.diff(bent) > 0.0
        last = _STEPS - 1 if grows.all() else int(np.argmin(grows))
        return float(r[last]), float(bent[last]), last < _STEPS - 1

    @property
    def makes_sense(self) -> bool:
        """False where the polynomial turns back before the nearest edge of the raw image."""
        fx, fy, cx, cy = self.raw
        width, height = self.size
        edge = min(cx / fx, (width - 1 - cx) / fx, cy / fy, (height - 1 - cy) / fy)
        _, bent, turns_back = self._reach
        return not turns_back or bent >= edge

    @cached_property
    def _places(self) -> tuple[FloatArray, FloatArray]:
        """Columns and rows (H, W) of the raw image that each pixel shows; NaN where the raw image ends."""
        width, height = self.size
        fx, fy, cx, cy = self.pinhole
        x, y = np.meshgrid((np.arange(width) - cx) / fx, (np.arange(height) - cy) / fy)
        bent_x, bent_y = self.distorted(x, y)
        fx, fy, cx, cy = self.raw
        u, v = fx * bent_x + cx, fy * bent_y + cy
        with np.errstate(invalid="ignore"):
            inside = (u >= 0.0) & (u <= width - 1.0) & (v >= 0.0) & (v <= height - 1.0)
        inside &= np.hypot(x, y) <= self._reach[0]
        return np.where(inside, u, np.nan), np.where(inside, v, np.nan)

    @cached_property
    def _blend(self) -> csr_array:
        """Shares (H*W, H*W) of the raw pixels around each place."""
        width, height = self.size
        u, v = (side.ravel() for side in self._places)
        seen = np.isfinite(u)
        u, v = u[seen], v[seen]
        left, top = (np.minimum(c.astype(np.int32), max(side - 2, 0)) for c, side in ((u, width), (v, height)))
        right, low = np.minimum(left + 1, width - 1), np.minimum(top + 1, height - 1)
        along, down = u - left, v - top
        pixels = [top * width + left, top * width + right, low * width + left, low * width + right]
        shares = [(1 - down) * (1 - along), (1 - down) * along, down * (1 - along), down * along]
        begins = np.concatenate([[0], np.cumsum(4 * seen)])
        entries = np.stack(shares, axis=1).astype(np.float32).ravel(), np.stack(pixels, axis=1).ravel(), begins
        return csr_array(entries, shape=(width * height, width * height))

    def colours(self, rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The image (H, W, 3) without distortion: between pixels the mean of those around; black where it ends."""
        blended = self._blend @ rgb.reshape(-1, 3).astype(np.float32)
        return np.rint(blended).astype(np.uint8).reshape(rgb.shape)

    @cached_property
    def _nearest(self) -> NDArray[np.int64]:
        u, v = self._places
        flat = np.rint(v) * self.size[0] + np.rint(u)
        return np.where(np.isfinite(flat), flat, -1.0).astype(np.int64)

    def nearest(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Depth (H, W) without distortion, each the value of the nearest raw pixel, because a mean of depths on two
        sides of an edge is the depth of nothing; NaN where the raw image ends."""
        return np.where(self._nearest >= 0, values.ravel()[self._nearest], np.float32(np.nan))


make_lens: Callable[..., Lens] = lru_cache(maxsize=4)(Lens)
"""A lens; the same one for the same arguments, because its maps are costly."""
