"""Things that are in no catalogue: convex solids and their unions, drawn at random; the set "foreign"."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, cast, get_args

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from sim.objects.asset import Contact, ObjectAsset
from sim.objects.convex import ConvexAsset, extents
from tool_nodes.perception.colours import name_colour
from tool_nodes.types import FloatArray

ForeignLayout = Literal["packed", "pile"]
LAYOUTS: tuple[ForeignLayout, ...] = get_args(ForeignLayout)
"""`packed` stands side by side, 0 to 15 mm apart; `pile` was dropped one upon the other."""

_STREAMS: dict[ForeignLayout, int] = {"packed": 0, "pile": 1}
"""Number of each layout in the seed of its scenes: it stays, whatever layouts are added."""

THINGS = 5
"""Things of a scene [-]; as many as find room under the camera in a heap."""
DENSITY = 350.0
"""Density of what is light as a toy or a packet is [kg/m^3]: half that of wood."""
_LIGHTEST_KG, _HEAVIEST_KG = 0.03, 0.35
"""Bounds of the mass of one thing [kg]: those of the catalogue's products."""
_ALIKE = 0.3
"""Share of scenes whose things have one hue [-]: colour alone must not tell neighbours apart in all of them."""
_RING = 20
"""Corners of what is round [-]: flat to 0.4 mm at a radius of 34 mm."""
_KEPT = 64
"""Scenes whose things are kept [-]."""


def drawn(seed: int, layout: ForeignLayout) -> tuple[tuple[ConvexAsset, ...], np.random.Generator]:
    """The things of a scene, and the random numbers that go on where they ended."""
    rng = np.random.default_rng([seed, _STREAMS[layout], 0xF0])
    hue = float(rng.random()) if rng.random() < _ALIKE else None
    things = tuple(draw_solid(rng, hue) for _ in range(THINGS))
    if layout == "pile":
        turns = Rotation.random(THINGS, random_state=int(rng.integers(2**31))).as_matrix()
        things = tuple(thing.turned(R) for thing, R in zip(things, turns, strict=True))
    return things, rng


@lru_cache(_KEPT)
def _things(seed: int, layout: ForeignLayout) -> tuple[ConvexAsset, ...]:
    return drawn(seed, layout)[0]


class _Foreign(Mapping[str, ObjectAsset]):
    """Things by layout, seed and number, e.g. "pile-7-2"; there is no end of them, and seed 0 is listed."""

    def __getitem__(self, name: str) -> ObjectAsset:
        match = re.fullmatch(rf"({'|'.join(LAYOUTS)})-([0-9]{{1,18}})-([0-{THINGS - 1}])", name)
        if match is None:
            raise KeyError(name)
        layout, seed, k = cast(ForeignLayout, match[1]), int(match[2]), int(match[3])
        return _things(seed, layout)[k]

    def __iter__(self) -> Iterator[str]:
        return (foreign_name(0, layout, k) for layout in LAYOUTS for k in range(THINGS))

    def __len__(self) -> int:
        return len(LAYOUTS) * THINGS


FOREIGN = _Foreign()


def foreign_name(seed: int, layout: ForeignLayout, k: int) -> str:
    """Name of a thing in the set."""
    return f"{layout}-{seed}-{k}"


def draw_solid(rng: np.random.Generator, hue: float | None = None) -> ConvexAsset:
    """A random thing whose narrowest side fits between the jaws of a hand; of a given hue [0, 1) where there is one."""
    family = str(rng.choice(list(_FAMILIES)))
    parts = _FAMILIES[family](rng)
    corners = np.vstack(parts)
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
    parts = tuple(part - middle for part in parts)
    volume = sum(ConvexHull(part).volume for part in parts)
    rgb = colorsys.hsv_to_rgb(rng.random() if hue is None else hue, rng.uniform(0.15, 0.9), rng.uniform(0.35, 0.95))
    return ConvexAsset(
        name=family,
        kind=family,
        colour=name_colour(255 * np.array(rgb)),
        size_m=extents(parts),
        mass_kg=float(np.clip(DENSITY * volume, _LIGHTEST_KG, _HEAVIEST_KG)),
        contact=Contact(friction=(0.7, 0.005, 0.001), condim=6),
        parts=parts,
        rgb=rgb,
    )


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

    def power(wave: FloatArray, exponent: float) -> FloatArray:
        return np.sign(wave) * np.abs(wave) ** exponent

    ring = power(np.cos(along), bend[0])
    x, y = ring * power(np.cos(around), bend[1]), ring * power(np.sin(around), bend[1])
    points = np.stack([x, y, power(np.sin(along), bend[0])], axis=-1).reshape(-1, 3) * half
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
    "lathe": _lathe,
    "superquadric": _superquadric,
    "extruded": _extruded,
    "blob": _blob,
    "bars": _bars,
}
