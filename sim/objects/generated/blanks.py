"""Unpainted objects: lathe profiles, walls of convex sectors, extruded outlines and bent rods.

Lengths in metres. What is seen of an object is exactly the union of its convex solids, so that no camera shows a
surface that the physics does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from toolhand.sim.objects.asset import Cavity
from toolhand.sim.objects.meshes import TriangleMesh, convex_mesh, joined
from toolhand.tool_nodes.types import FloatArray

SECTORS = 12
"""Convex sectors of a round wall [-]: the flats inside stand 2 mm into a circle of 60 mm radius, and are seen so."""
_RING = 2 * SECTORS
"""Corners of what is round [-]: flat to 0.3 mm at a radius of 35 mm."""
_FLAT_M = 1e-6
"""Rings of a profile nearer than this stand at one height: a step, no solid of its own [m]."""

Profile = Sequence[tuple[float, float]]
"""(radius, height) of each ring of a lathe's work, from below [m]."""


@dataclass(frozen=True, eq=False)
class Blank:
    """An object before it has a colour and a mass.

    Attributes:
        parts: Corners (N, 3) of its convex solids [m].
        mesh: The surface that is seen.
        cavity: The inside of what is hollow, in the same frame.
        rolls: True if it rolls as it stands.
    """

    parts: tuple[FloatArray, ...]
    mesh: TriangleMesh
    cavity: Cavity | None = None
    rolls: bool = False


def of_solids(parts: Sequence[FloatArray], rolls: bool = False) -> Blank:
    """A union of convex solids; faces inside others stay, nobody sees them."""
    meshes = [convex_mesh(part) for part in parts]
    return Blank(tuple(mesh.vertices for mesh in meshes), joined(meshes), rolls=rolls)


def ring(radius: float, z: float, corners: int = _RING) -> FloatArray:
    """Corners (K, 3) of a level regular polygon about the z axis."""
    angle = np.arange(corners) * 2 * np.pi / corners
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.full(corners, z)])


def turned(profile: Profile) -> Blank:
    """A solid of revolution: a frustum between each two rings, where they are not at one height."""
    parts = [np.vstack([ring(*low), ring(*high)]) for low, high in pairwise(profile) if high[1] - low[1] > _FLAT_M]
    rings = [ring(*row) for row in profile]
    return Blank(tuple(parts), _revolved([rings[0][:1] * [0, 0, 1], *rings, rings[-1][:1] * [0, 0, 1]]))


def walled(outer: Profile, wall: float, floor: float, sectors: int = SECTORS) -> Blank:
    """A hollow solid of revolution: a floor, and a wall of convex sectors.

    Args:
        outer: Profile of the outside; the wall begins where the floor ends.
        wall: Thickness of the wall, measured along the radius [m].
        floor: Thickness of the floor [m]; 0 leaves it open below.
        sectors: Number of sectors of the wall; few give an outside with corners.
    """
    heights = [z for _, z in outer]
    rows = [(float(np.interp(floor, heights, [r for r, _ in outer])), floor)] if floor else []
    rows += [row for row in outer if row[1] > floor + _FLAT_M or not floor]
    corners = sectors if sectors < SECTORS else 2 * sectors
    outside = [ring(r, z, corners) for r, z in rows]
    inside = [_chords(r - wall, z, sectors, corners) for r, z in rows]
    step = corners // sectors
    parts = [np.vstack([ring(*outer[0], corners), outside[0]])] if floor else []
    for k in range(len(rows) - 1):
        for start in range(0, corners, step):
            arc = [(start + i) % corners for i in range(step + 1)]
            ends = [arc[0], arc[-1]]
            parts.append(np.vstack([outside[k][arc], outside[k + 1][arc], inside[k][ends], inside[k + 1][ends]]))
    loop = [*outside, *inside[::-1]]
    if floor:
        bottom = ring(*outer[0], corners)
        mesh = _revolved([bottom[:1] * [0, 0, 1], bottom, *loop, inside[0][:1] * [0, 0, 1]])
    else:
        mesh = _revolved([*loop, loop[0]])
    narrow = (rows[-1][0] - wall) * float(np.cos(np.pi / sectors))
    return Blank(tuple(parts), mesh, Cavity((narrow, narrow), True, floor, rows[-1][1]) if floor else None)


def extruded(outlines: Sequence[FloatArray], height: float, top: float = 1.0) -> Blank:
    """Convex outlines (K, 2) drawn upwards, the upper end scaled by `top`."""
    ends = ((1.0, 0.0), (top, height))
    return of_solids(
        [np.vstack([np.column_stack([scale * flat, np.full(len(flat), z)]) for scale, z in ends]) for flat in outlines]
    )


def stroke(start: ArrayLike, end: ArrayLike, width: float) -> FloatArray:
    """A straight stroke of a pen as a rectangle (4, 2), half its width beyond both ends."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    along = (b - a) / np.linalg.norm(b - a) * width / 2
    across = np.array([-along[1], along[0]])
    return np.array([a - along - across, a - along + across, b + along + across, b + along - across])


def box(sides: Sequence[float], low_corner: Sequence[float]) -> FloatArray:
    """Corners (8, 3) of a box by its sides and its corner of least x, y and z [m]."""
    unit = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    return unit * sides + np.asarray(low_corner, dtype=float)


def rod(path: FloatArray, width: float, thick: float) -> list[FloatArray]:
    """A bent flat rod through points (K, 2) of the x-z plane: one convex solid a piece, cut at the mitres."""
    along = np.diff(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    normals = np.column_stack([-along[:, 1], along[:, 0]])
    mitre = np.vstack([normals[:1], normals[:-1] + normals[1:], normals[-1:]])
    mitre /= np.einsum("ij,ij->i", mitre, np.vstack([normals[:1], normals]))[:, None]
    sides = np.stack([path - mitre * thick / 2, path + mitre * thick / 2], axis=1)
    ends = [np.array([[x, y, z] for x, z in pair for y in (-width / 2, width / 2)]) for pair in sides]
    return [np.vstack(pair) for pair in pairwise(ends)]


def superquadric(half: FloatArray, bend: FloatArray) -> FloatArray:
    """Points (N, 3) of a convex superquadric of half sides (3,) [m].

    Args:
        half: Half sides along x, y and z [m].
        bend: (2,) exponents over the height and around it: near 0 a box, 1 an ellipsoid.
    """
    rise, around = np.meshgrid(np.linspace(-np.pi / 2, np.pi / 2, 11), np.arange(_RING) * 2 * np.pi / _RING)

    def power(wave: FloatArray, exponent: float) -> FloatArray:
        return np.sign(wave) * np.abs(wave) ** exponent

    level = power(np.cos(rise), bend[0])
    x, y = level * power(np.cos(around), bend[1]), level * power(np.sin(around), bend[1])
    return np.stack([x, y, power(np.sin(rise), bend[0])], axis=-1).reshape(-1, 3) * half


def _chords(radius: float, z: float, sectors: int, corners: int) -> FloatArray:
    """As `ring`, with the corners between two sectors drawn back to the straight line between the sectors' ends."""
    points = ring(radius, z, corners)
    if corners > sectors:
        points[1::2, :2] *= np.cos(np.pi / sectors)
    return points


def _revolved(rings: Sequence[FloatArray]) -> TriangleMesh:
    """The surface through rings of equal length, in an order that has its outside to the right; one point closes it."""
    starts = np.cumsum([0, *(len(points) for points in rings)])
    faces: list[tuple[int, int, int]] = []
    for lower, upper, a, b in zip(rings, rings[1:], starts, starts[1:], strict=False):
        n = max(len(lower), len(upper))
        for i in range(n):
            j = (i + 1) % n
            if len(lower) > 1:
                faces.append((a + i, a + j, b + (j if len(upper) > 1 else 0)))
            if len(upper) > 1:
                faces.append((a + (i if len(lower) > 1 else 0), b + j, b + i))
    return TriangleMesh(np.vstack(rings), np.array(faces, dtype=np.int32))
