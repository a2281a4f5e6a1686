"""The families of generated objects: each draws one object that a hand of 78 mm can hold somewhere.

Sides are drawn evenly between bounds in metres, which are those of household objects of the kind that fit: the narrow
side of a solid object is 74 mm at most, and what is wider has a rim, a handle or a knob thinner than that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from toolhand.sim.objects.asset import Cavity
from toolhand.sim.objects.generated.blanks import (
    Blank,
    box,
    extruded,
    of_solids,
    ring,
    rod,
    stroke,
    superquadric,
    turned,
    walled,
)
from toolhand.sim.objects.meshes import convex_mesh, joined

LIGHT, FULL, METAL = (250.0, 700.0), (600.0, 1100.0), (2000.0, 3500.0)
"""Densities of what an object is made of [kg/m^3]: wood and hard foam; plastics and filled packets; stone and light
metal, of which an object of this size is still borne by a small arm."""
WARE = (1000.0, 2300.0)
"""Densities of the walls of hollow objects [kg/m^3]: plastics to stoneware."""


@dataclass(frozen=True)
class Family:
    """One kind of generated objects.

    Attributes:
        draw: Makes a blank from random numbers.
        density: Bounds of the density [kg/m^3].
        categories: General classes that it belongs to.
        attributes: Adjectives that apply.
    """

    draw: Callable[[np.random.Generator], Blank]
    density: tuple[float, float]
    categories: tuple[str, ...]
    attributes: tuple[str, ...] = ()


def _bottle(rng: np.random.Generator) -> Blank:
    radius, body = rng.uniform(0.020, 0.034), rng.uniform(0.05, 0.10)
    neck, cap = rng.uniform(0.009, 0.013), rng.uniform(0.012, 0.016)
    shoulder, throat, lid = rng.uniform(0.012, 0.03), rng.uniform(0.006, 0.014), rng.uniform(0.012, 0.022)
    heights = np.cumsum([0.003, body, shoulder, throat, lid])
    sides = [0.94 * radius, radius, radius, neck, neck]
    profile = [*zip(sides, [0.0, *heights[:4]], strict=True), (cap, heights[3]), (0.92 * cap, heights[4])]
    return turned([(float(r), float(z)) for r, z in profile])


def _vase(rng: np.random.Generator) -> Blank:
    rings = 7
    height, mean, swing = rng.uniform(0.08, 0.14), rng.uniform(0.018, 0.025), rng.uniform(0.005, 0.010)
    phase, waves = rng.uniform(0, 2 * np.pi), rng.uniform(0.7, 1.3)
    share = np.linspace(0, 1, rings)
    radii = mean + swing * np.cos(phase + 2 * np.pi * waves * share)
    radii[0] = max(radii[0], 0.22 * height)  # a foot on which it stands
    return turned([(float(r), float(z)) for r, z in zip(radii, share * height, strict=True)])


def _cup(rng: np.random.Generator) -> Blank:
    top, height = rng.uniform(0.028, 0.036), rng.uniform(0.05, 0.11)
    return walled([(top * rng.uniform(0.7, 0.98), 0.0), (top, height)], rng.uniform(0.0028, 0.004), 0.004)


def _mug(rng: np.random.Generator) -> Blank:
    top, height = rng.uniform(0.032, 0.042), rng.uniform(0.07, 0.10)
    low, wall = top * rng.uniform(0.88, 1.0), rng.uniform(0.0032, 0.0045)
    cup = walled([(low, 0.0), (top, height)], wall, 0.005)
    thick, width, reach = rng.uniform(0.006, 0.009), rng.uniform(0.010, 0.016), rng.uniform(0.026, 0.036)
    upper, lower = height * rng.uniform(0.80, 0.90), height * rng.uniform(0.18, 0.3)
    side = [float(np.interp(z, [0.0, height], [low, top])) - wall / 2 for z in (upper, lower)]
    out, bend = max(side) + wall / 2 + reach, 0.35 * reach
    path = [(side[0], upper), (out - bend, upper), (out, upper - bend), (out, lower + bend), (out - bend, lower)]
    handle = rod(np.array([*path, (side[1], lower)]), width, thick)
    mesh = joined([cup.mesh, *map(convex_mesh, handle)])
    return replace(cup, parts=(*cup.parts, *handle), mesh=mesh)


def _bowl(rng: np.random.Generator) -> Blank:
    top, height = rng.uniform(0.042, 0.062), rng.uniform(0.032, 0.055)
    foot, belly = top * rng.uniform(0.45, 0.6), top * rng.uniform(0.82, 0.93)
    return walled([(foot, 0.0), (belly, 0.45 * height), (top, height)], rng.uniform(0.0035, 0.005), 0.004)


def _tube(rng: np.random.Generator) -> Blank:
    radius = rng.uniform(0.016, 0.036)
    return walled([(radius, 0.0), (radius, rng.uniform(0.04, 0.11))], rng.uniform(0.003, 0.006), 0.0)


def _plate(rng: np.random.Generator) -> Blank:
    top, height = rng.uniform(0.048, 0.062), rng.uniform(0.016, 0.026)
    foot = top - height * rng.uniform(0.3, 0.7)
    return walled([(foot, 0.0), (top, height)], rng.uniform(0.0035, 0.0045), 0.004)


def _lid(rng: np.random.Generator) -> Blank:
    radius, flat, dome = rng.uniform(0.026, 0.037), rng.uniform(0.005, 0.010), rng.uniform(0.001, 0.008)
    stem, knob, tall = rng.uniform(0.005, 0.008), rng.uniform(0.009, 0.013), rng.uniform(0.012, 0.020)
    top = flat + dome
    plate, handle = [(radius, 0.0), (radius, flat), (1.2 * knob, top)], [(stem, top), (knob, top + 0.4 * tall)]
    return turned([*plate, *handle, (0.8 * knob, top + tall)])


def _tray(rng: np.random.Generator) -> Blank:
    x, y, z = rng.uniform(0.045, 0.074), rng.uniform(0.06, 0.11), rng.uniform(0.03, 0.065)
    wall = rng.uniform(0.003, 0.0045)
    sides = [box((wall, y, z - wall), (at, 0.0, wall)) for at in (0.0, x - wall)]
    ends = [box((x - 2 * wall, wall, z - wall), (wall, at, wall)) for at in (0.0, y - wall)]
    middle = np.array([x / 2, y / 2, 0.0])
    blank = of_solids([part - middle for part in (box((x, y, wall), (0.0, 0.0, 0.0)), *sides, *ends)])
    return replace(blank, cavity=Cavity((x / 2 - wall, y / 2 - wall), False, wall, z))


def _block(rng: np.random.Generator) -> Blank:
    half = np.array([rng.uniform(0.014, 0.036), rng.uniform(0.02, 0.055), rng.uniform(0.015, 0.06)])
    return of_solids([superquadric(half, rng.uniform(0.08, 0.3, 2))])


def _pebble(rng: np.random.Generator) -> Blank:
    half = np.array([rng.uniform(0.016, 0.036), rng.uniform(0.018, 0.055), rng.uniform(0.012, 0.034)])
    return of_solids([superquadric(half, rng.uniform(0.4, 1.3, 2))], rolls=True)


def _prism(rng: np.random.Generator) -> Blank:
    n = int(rng.integers(3, 9))
    angle = (np.arange(n) + rng.uniform(-0.25, 0.25, n)) * 2 * np.pi / n
    flat = np.column_stack([np.cos(angle), np.sin(angle)]) * [rng.uniform(0.018, 0.036), rng.uniform(0.02, 0.05)]
    return extruded([flat], rng.uniform(0.025, 0.09), rng.uniform(0.55, 1.0))


_LETTERS: Mapping[str, tuple[tuple[tuple[float, float], tuple[float, float]], ...]] = {
    "A": (((0, 0), (0.5, 1)), ((0.5, 1), (1, 0)), ((0.25, 0.4), (0.75, 0.4))),
    "E": (((0, 0), (0, 1)), ((0, 0), (0.8, 0)), ((0, 0.5), (0.7, 0.5)), ((0, 1), (0.8, 1))),
    "F": (((0, 0), (0, 1)), ((0, 0.5), (0.6, 0.5)), ((0, 1), (0.8, 1))),
    "H": (((0, 0), (0, 1)), ((0.9, 0), (0.9, 1)), ((0, 0.5), (0.9, 0.5))),
    "L": (((0, 0), (0, 1)), ((0, 0), (0.7, 0))),
    "N": (((0, 0), (0, 1)), ((0, 1), (0.9, 0)), ((0.9, 0), (0.9, 1))),
    "T": (((0.5, 0), (0.5, 1)), ((0, 1), (1, 1))),
    "U": (((0, 0), (0, 1)), ((0, 0), (0.8, 0)), ((0.8, 0), (0.8, 1))),
    "X": (((0, 0), (0.9, 1)), ((0, 1), (0.9, 0))),
    "Y": (((0.5, 0), (0.5, 0.5)), ((0.5, 0.5), (0, 1)), ((0.5, 0.5), (1, 1))),
    "Z": (((0, 0), (0.9, 0)), ((0, 0), (0.9, 1)), ((0, 1), (0.9, 1))),
}
"""Letters as strokes in a square of side 1."""


def _letter(rng: np.random.Generator) -> Blank:
    strokes = _LETTERS[str(rng.choice(list(_LETTERS)))]
    side, width = rng.uniform(0.05, 0.085), rng.uniform(0.012, 0.02)
    lines = [stroke(side * np.array(a), side * np.array(b), width) for a, b in strokes]
    return extruded(lines, rng.uniform(0.016, 0.034))


def _star(rng: np.random.Generator) -> Blank:
    n, outer = int(rng.integers(4, 8)), rng.uniform(0.028, 0.042)
    inner = outer * rng.uniform(0.45, 0.65)
    tips, dents = ring(outer, 0.0, n)[:, :2], ring(inner, 0.0, 2 * n)[1::2, :2]
    arms = [np.array([tips[k], dents[k], [0.0, 0.0], dents[k - 1]]) for k in range(n)]
    return extruded(arms, rng.uniform(0.016, 0.034))


def _bracket(rng: np.random.Generator) -> Blank:
    """An angle or a channel standing on its edge."""
    thick, tall = rng.uniform(0.006, 0.014), rng.uniform(0.025, 0.06)
    base, arm = rng.uniform(0.04, 0.09), rng.uniform(0.03, 0.06)
    parts = [box((base, thick, tall), (0, 0, 0)), box((thick, arm - thick, tall), (0, thick, 0))]
    if rng.random() < 0.5:
        parts.append(box((thick, rng.uniform(0.5, 1.0) * (arm - thick), tall), (base - thick, thick, 0)))
    return of_solids(parts)


def _toy(rng: np.random.Generator) -> Blank:
    """A block with one or two smaller objects on it."""
    x, y, z = rng.uniform(0.034, 0.066), rng.uniform(0.04, 0.08), rng.uniform(0.02, 0.045)
    parts = [box((x, y, z), (-x / 2, -y / 2, 0.0))]
    for side in (-1, 1)[: int(rng.integers(1, 3))]:
        radius = rng.uniform(0.3, 0.48) * min(x, y / 2)
        at = np.array([0.0, side * rng.uniform(0.15, 0.25) * y, z])
        tall = rng.uniform(0.015, 0.045)
        if rng.random() < 0.5:
            part = np.vstack([ring(radius, 0.0), ring(radius * rng.uniform(0.3, 1.0), tall)])
        else:
            part = superquadric(np.array([radius, radius, tall]), np.array([1.0, 1.0]))
            part = np.vstack([part[part[:, 2] > 0.05 * tall], ring(radius, 0.0)])
        parts.append(part + at)
    return of_solids(parts)


def _hammer(rng: np.random.Generator) -> Blank:
    """A handle and a head, lying on one side."""
    length, width, thick = rng.uniform(0.08, 0.13), rng.uniform(0.014, 0.024), rng.uniform(0.014, 0.024)
    head, deep, tall = rng.uniform(0.04, 0.075), rng.uniform(0.022, 0.034), thick + rng.uniform(0.0, 0.012)
    shift = -head * rng.uniform(0.35, 0.65)
    return of_solids(
        [box((length, width, thick), (0.0, -width / 2, 0.0)), box((deep, head, tall), (length, shift, 0.0))]
    )


def _card(rng: np.random.Generator) -> Blank:
    return of_solids([box((rng.uniform(0.045, 0.07), rng.uniform(0.075, 0.11), rng.uniform(0.005, 0.009)), (0, 0, 0))])


def _ruler(rng: np.random.Generator) -> Blank:
    return of_solids([box((rng.uniform(0.018, 0.034), rng.uniform(0.12, 0.16), rng.uniform(0.005, 0.008)), (0, 0, 0))])


def _dumbbell(rng: np.random.Generator) -> Blank:
    radius, wide = rng.uniform(0.02, 0.03), rng.uniform(0.016, 0.028)
    grip, span = rng.uniform(0.008, 0.013), rng.uniform(0.05, 0.07)
    rows = [(radius, 0.0), (radius, wide), (grip, wide), (grip, wide + span)]
    lengths = [*rows, (radius, wide + span), (radius, 2 * wide + span)]
    standing = turned([(float(r), float(z)) for r, z in lengths])
    lying = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    mesh = replace(standing.mesh, vertices=standing.mesh.vertices @ lying)
    return Blank(tuple(part @ lying for part in standing.parts), mesh, rolls=True)


def _nut(rng: np.random.Generator) -> Blank:
    radius = rng.uniform(0.024, 0.040)
    return walled([(radius, 0.0), (radius, rng.uniform(0.016, 0.034))], radius * rng.uniform(0.35, 0.55), 0.0, 6)


FAMILIES: Mapping[str, Family] = {
    "bottle": Family(_bottle, FULL, ("container",), ("round", "tall")),
    "vase": Family(_vase, FULL, ("decoration",), ("round", "tall")),
    "cup": Family(_cup, WARE, ("dish",), ("round", "hollow")),
    "mug": Family(_mug, WARE, ("dish",), ("round", "hollow")),
    "bowl": Family(_bowl, WARE, ("dish",), ("round", "hollow")),
    "tube": Family(_tube, WARE, ("part",), ("round", "hollow")),
    "plate": Family(_plate, WARE, ("dish",), ("round", "flat")),
    "lid": Family(_lid, FULL, ("part",), ("round", "flat")),
    "tray": Family(_tray, WARE, ("container",), ("hollow",)),
    "block": Family(_block, LIGHT, ("toy",)),
    "pebble": Family(_pebble, FULL, ("decoration",), ("round",)),
    "prism": Family(_prism, LIGHT, ("toy",)),
    "letter": Family(_letter, LIGHT, ("toy",)),
    "star": Family(_star, LIGHT, ("toy",)),
    "bracket": Family(_bracket, FULL, ("part",)),
    "toy": Family(_toy, LIGHT, ("toy",)),
    "hammer": Family(_hammer, FULL, ("tool",)),
    "card": Family(_card, FULL, ("packet",), ("flat", "thin")),
    "ruler": Family(_ruler, FULL, ("tool",), ("flat", "thin", "long")),
    "dumbbell": Family(_dumbbell, METAL, ("weight",), ("heavy",)),
    "nut": Family(_nut, METAL, ("part",), ("heavy", "hollow")),
}
"""By name; an object without a named family has one of these, each as likely as the others."""
