"""Colours of generated objects: plain, banded, capped, striped, halved, or with a printed label."""

from __future__ import annotations

import colorsys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolhand.sim.objects.mesh_asset import Skin
from toolhand.sim.objects.meshes import TriangleMesh, centroids, cut, joined, picked
from toolhand.tool_nodes.types import FloatArray

_CUT_MARGIN_M = 0.004
"""Nearest that a border between colours comes to the end of an object [m]: what a camera at one metre still
resolves."""

_X, _Y, _Z = np.eye(3)
"""Axes of the body frame, unit vectors (3,)."""


@dataclass(frozen=True)
class Paint:
    """The colours of an object.

    Attributes:
        skins: Its surface, one part a colour; the colour of the largest part is first.
        pattern: Name of how they are spread.
    """

    skins: tuple[Skin, ...]
    pattern: str


def painted(mesh: TriangleMesh, hue: float | None, rng: np.random.Generator) -> Paint:
    """A surface in drawn colours.

    Args:
        mesh: The surface, about the middle of its bounding box.
        hue: The hue that all colours share, in [0, 1]; None draws one for each.
    """
    pattern = str(rng.choice(list(_PATTERNS)))
    mesh, number = _PATTERNS[pattern](mesh, rng)
    first = float(rng.random())
    colours: list[tuple[float, float, float]] = []
    while len(colours) <= number.max():
        colours.append(_colour(hue if hue is not None else (first + rng.uniform(0.2, 0.8) * len(colours)) % 1, rng))
    skins = [Skin(picked(mesh, number == k), rgb) for k, rgb in enumerate(colours) if (number == k).any()]
    return Paint(tuple(sorted(skins, key=lambda skin: -_area(skin.mesh))), pattern)


def _colour(hue: float, rng: np.random.Generator) -> tuple[float, float, float]:
    """Three in ten are nearly grey, from black to white; the others have the hue."""
    grey = rng.random() < 0.3
    saturation = rng.uniform(0.0, 0.12) if grey else rng.uniform(0.35, 0.95)
    return colorsys.hsv_to_rgb(hue, saturation, rng.uniform(0.12, 0.95) if grey else rng.uniform(0.35, 0.95))


Numbered = tuple[TriangleMesh, NDArray[np.int64]]
"""A surface and the number (M,) of the colour of each triangle."""


def _plain(mesh: TriangleMesh, rng: np.random.Generator) -> Numbered:
    return mesh, np.zeros(len(mesh.faces), dtype=np.int64)


def _bands(mesh: TriangleMesh, rng: np.random.Generator, axis: FloatArray = _Z, most: int = 4) -> Numbered:
    """Rings of two colours in turn."""
    low, high = _span(mesh, axis)
    borders = np.sort(rng.uniform(low, high, int(rng.integers(1, most))))
    for border in borders:
        mesh = cut(mesh, axis, border)
    return mesh, np.searchsorted(borders, centroids(mesh) @ axis) % 2


def _stripes(mesh: TriangleMesh, rng: np.random.Generator) -> Numbered:
    return _bands(mesh, rng, _Y if rng.random() < 0.7 else _X, most=6)


def _capped(mesh: TriangleMesh, rng: np.random.Generator) -> Numbered:
    """The upper end, as a cap or glaze."""
    low, high = _span(mesh, _Z)
    border = high - rng.uniform(0.1, 0.35) * (high - low)
    mesh = cut(mesh, _Z, border)
    return mesh, (centroids(mesh) @ _Z > border).astype(np.int64)


def _halved(mesh: TriangleMesh, rng: np.random.Generator) -> Numbered:
    """Two halves, parted by a slanting plane."""
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    mesh = cut(mesh, normal, 0.0)
    return mesh, (centroids(mesh) @ normal > 0).astype(np.int64)


def _labelled(mesh: TriangleMesh, rng: np.random.Generator) -> Numbered:
    """A label on one side or on top, with a printed bar or block on it."""
    away, along = (_Y, _X) if rng.random() < 0.7 else (_Z, _Y)
    up = np.cross(away, along)
    sign = 1.0 if rng.random() < 0.5 else -1.0
    spans = [_span(mesh, axis) for axis in (along, up)]
    sides = [rng.uniform(0.4, 0.85) * (high - low) / 2 for low, high in spans]
    centre = [rng.uniform(-0.3, 0.3) * side for side in sides]
    print_sides = [rng.uniform(0.3, 0.8) * side for side in sides]
    mesh = cut(mesh, away, 0.0)
    front = sign * (centroids(mesh) @ away) > 0
    layers, window = [picked(mesh, ~front)], picked(mesh, front)
    for half in (sides, print_sides):
        rest, window = _parted(window, (along, up), centre, half)
        layers.append(rest)
    layers.append(window)
    numbers = [0, 0, 1, 2]
    number = np.repeat(numbers, [len(layer.faces) for layer in layers])
    return joined(layers), number


def _parted(
    mesh: TriangleMesh, axes: tuple[FloatArray, FloatArray], centre: list[float], half: list[float]
) -> tuple[TriangleMesh, TriangleMesh]:
    """What of a surface lies outside of a rectangle across two axes, and what inside."""
    outside = []
    for axis, at, side in zip(axes, centre, half, strict=True):
        for sign in (-1, 1):
            mesh = cut(mesh, sign * axis, sign * at + side)
            beyond = centroids(mesh) @ (sign * axis) > sign * at + side
            outside.append(picked(mesh, beyond))
            mesh = picked(mesh, ~beyond)
    return joined(outside), mesh


_PATTERNS: dict[str, Callable[[TriangleMesh, np.random.Generator], Numbered]] = {
    "plain": _plain,
    "bands": _bands,
    "stripes": _stripes,
    "capped": _capped,
    "halved": _halved,
    "labelled": _labelled,
}


def _span(mesh: TriangleMesh, axis: FloatArray) -> tuple[float, float]:
    """Where borders across an axis may be [m]."""
    along = mesh.vertices @ axis
    margin = min(_CUT_MARGIN_M, float(np.ptp(along)) / 4)
    return float(along.min()) + margin, float(along.max()) - margin


def _area(mesh: TriangleMesh) -> float:
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)
