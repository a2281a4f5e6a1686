"""Things that no catalogue knows: convex solids and their unions, drawn at random.

Body frame: origin at the centre of the bounding box, z up as the thing was drawn.
"""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from scipy.spatial import ConvexHull

from tool_nodes.types import FloatArray

DENSITY = 350.0
"""Of what is light as a toy or a packet is [kg/m^3]; chosen by hand."""
_LIGHTEST_KG, _HEAVIEST_KG = 0.03, 0.35
"""Bounds of the mass of one thing [kg]; chosen by hand."""
_RING = 20
"""Corners of what is round [-]; chosen by hand."""


@dataclass(frozen=True, eq=False)
class Solid:
    """A thing made of convex parts.

    Attributes:
        family: How it was drawn, e.g. "lathe".
        parts: Corners (N, 3) of each convex part, body frame [m].
        rgb: Colour, 0..1.
        mass_kg: Of the whole.
    """

    family: str
    parts: tuple[FloatArray, ...]
    rgb: tuple[float, float, float]
    mass_kg: float

    def turned(self, R: FloatArray) -> Solid:
        """The same thing in a body frame that is turned by R (3, 3)."""
        return replace(self, parts=tuple(part @ R.T for part in self.parts))

    @property
    def radius_m(self) -> float:
        """Of the ball about the body's origin that holds it [m]."""
        return float(np.linalg.norm(np.vstack(self.parts), axis=1).max())

    @property
    def half_extents_m(self) -> FloatArray:
        """(3,) half sides of the bounding box [m]."""
        return np.abs(np.vstack(self.parts)).max(axis=0)

    def add_to(self, spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str) -> None:
        """Give a body of a MuJoCo specification its geoms, called `{name}_{k}`."""
        volumes = [ConvexHull(part).volume for part in self.parts]
        for k, (part, volume) in enumerate(zip(self.parts, volumes, strict=True)):
            spec.add_mesh(name=f"{name}_{k}", uservert=part.ravel())
            body.add_geom(
                name=f"{name}_{k}",
                type=mujoco.mjtGeom.mjGEOM_MESH,
                meshname=f"{name}_{k}",
                rgba=[*self.rgb, 1.0],
                mass=self.mass_kg * volume / sum(volumes),
                friction=[0.7, 0.005, 0.001],
                condim=6,
            )


def draw_solid(rng: np.random.Generator, hue: float | None = None) -> Solid:
    """A random thing whose narrowest side fits between the jaws of a hand; of a given hue [0, 1) where there is one."""
    family = str(rng.choice(list(_FAMILIES)))
    parts = _FAMILIES[family](rng)
    corners = np.vstack(parts)
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
    parts = tuple(part - middle for part in parts)
    volume = sum(ConvexHull(part).volume for part in parts)
    colour = colorsys.hsv_to_rgb(rng.random() if hue is None else hue, rng.uniform(0.15, 0.9), rng.uniform(0.35, 0.95))
    return Solid(family, parts, colour, float(np.clip(DENSITY * volume, _LIGHTEST_KG, _HEAVIEST_KG)))


def _disc(radius: float, z: float) -> FloatArray:
    angle = np.arange(_RING) * 2 * np.pi / _RING
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.full(_RING, z)])


def _lathe(rng: np.random.Generator) -> tuple[FloatArray, ...]:
    """Cones upon each other, as a bottle, a spool or a mushroom."""
    rings = int(rng.integers(3, 6))
    radii = rng.uniform(0.010, 0.034, rings)
    heights = np.concatenate([[0.0], np.cumsum(rng.uniform(0.012, 0.032, rings - 1))])
    return tuple(
        np.vstack([_disc(radii[k], heights[k]), _disc(radii[k + 1], heights[k + 1])]) for k in range(rings - 1)
    )


def _superquadric(rng: np.random.Generator) -> tuple[FloatArray, ...]:
    half = np.sort(rng.uniform(0.014, 0.05, 3))
    half = np.array([min(half[0], 0.032), half[2], half[1]])
    bend = rng.uniform(0.25, 1.3, 2)
    along, around = np.meshgrid(np.linspace(-np.pi / 2, np.pi / 2, 9), np.arange(_RING) * 2 * np.pi / _RING)
    power = [np.sign(w) * np.abs(w) ** e for w, e in (
        (np.cos(along), bend[0]), (np.sin(along), bend[0]), (np.cos(around), bend[1]), (np.sin(around), bend[1])
    )]  # fmt: skip
    points = np.stack([power[0] * power[2], power[0] * power[3], power[1]], axis=-1).reshape(-1, 3) * half
    return (_corners(points),)


def _extruded(rng: np.random.Generator) -> tuple[FloatArray, ...]:
    """An outline with three to seven corners drawn upwards, narrower at the top or not."""
    n = int(rng.integers(3, 8))
    angle = (np.arange(n) + rng.uniform(-0.3, 0.3, n)) * 2 * np.pi / n
    outline = np.column_stack([np.cos(angle), np.sin(angle)]) * [rng.uniform(0.02, 0.036), rng.uniform(0.02, 0.055)]
    height, top = rng.uniform(0.02, 0.10), rng.uniform(0.6, 1.0)
    rings = [np.column_stack([scale * outline, np.full(n, z)]) for scale, z in ((1.0, 0.0), (top, height))]
    return (_corners(np.vstack(rings)),)


def _blob(rng: np.random.Generator) -> tuple[FloatArray, ...]:
    points = rng.normal(size=(18, 3))
    points *= rng.uniform(0.7, 1.0, (18, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    return (_corners(points * [rng.uniform(0.022, 0.034), rng.uniform(0.025, 0.05), rng.uniform(0.02, 0.04)]),)


def _bars(rng: np.random.Generator) -> tuple[FloatArray, ...]:
    """Two bars that meet as an L, a T or a cross, lying or standing."""
    thick, tall = rng.uniform(0.018, 0.034), rng.uniform(0.018, 0.05)
    first, second = rng.uniform(0.06, 0.11), rng.uniform(0.035, 0.07)
    meets = {"L": -first / 2 + thick / 2, "T": 0.0, "cross": 0.0}[(kind := str(rng.choice(["L", "T", "cross"])))]
    shift = 0.0 if kind == "cross" else second / 2 + thick / 2
    bars = [_box([first, thick, tall], [0.0, 0.0, 0.0]), _box([thick, second, tall], [meets, shift, 0.0])]
    if rng.random() < 0.4:
        bars = [bar[:, [0, 2, 1]] for bar in bars]
    return tuple(bars)


def _box(sides: Sequence[float], centre: Sequence[float]) -> FloatArray:
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    return corners * sides + centre


def _corners(points: FloatArray) -> FloatArray:
    return points[ConvexHull(points).vertices]


_FAMILIES: dict[str, Callable[[np.random.Generator], tuple[FloatArray, ...]]] = {
    "lathe": _lathe, "superquadric": _superquadric, "extruded": _extruded, "blob": _blob, "bars": _bars,
}  # fmt: skip
