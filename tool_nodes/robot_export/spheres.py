"""Balls that cover a convex shape, and stick out of it by no more than is allowed; in closed form.

A ball about a point at depth d inside a convex shape sticks out by its radius less d, and by no more anywhere. So a
shape is cut into cells, each gets the smallest ball that holds it, and the cells are made small enough that no ball
sticks out too far. What is covered is the whole shape, or of a large box and of a mesh its surface: nothing gets inside
that has not crossed it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.distance import cdist

from toolhand.tool_nodes.geometry import transform
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.robot_export.shapes import BOX, CYLINDER, SPHERE, LinkShape
from toolhand.tool_nodes.types import FloatArray

_SIDE_SHARE = 0.75
"""Longest side of a triangle as a share of the excess: up to sqrt(3) a ball about its middle holds it. Round figure."""
_GRID_STEPS = 12
"""Points of the grid along the hull's longest side at least; a round figure."""
_ROWS = 512
"""Balls whose distances are computed at once; a round figure."""
MOST_TRIANGLES = 20_000
"""Most triangles, and points of the grid, of one hull: with an excess of 12 mm a surface of 0.4 m^2 at least, where the
shoulder of a Gen3 has 0.1 m^2. They take 0.8 GB for a moment."""


def cover_hull(vertices: FloatArray, excess: float) -> tuple[FloatArray, FloatArray]:
    """Centres (N, 3) and radii (N,) of balls that cover the surface of the convex hull of vertices (V, 3) [m].

    Raises:
        ToolError: INVALID_ARGUMENT for a mesh without a volume, or that is too large.
    """
    try:
        hull = ConvexHull(vertices)
    except (QhullError, ValueError) as error:
        raise invalid("A collision mesh must have a volume, so that spheres can cover it.") from error
    triangles = _small_triangles(vertices[hull.simplices], _SIDE_SHARE * excess)
    centers = np.vstack([_grid(vertices, excess), triangles.mean(axis=1)])
    depth = -(centers @ hull.equations[:, :3].T + hull.equations[:, 3]).max(axis=1)
    inside = depth > -1e-9
    centers, radii = centers[inside], np.maximum(depth[inside], 0.0) + excess
    return _fewest(triangles, centers, radii)


def _grid(vertices: FloatArray, excess: float) -> FloatArray:
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    step = min(excess, float((high - low).max()) / _GRID_STEPS)
    axes = [np.linspace(a, b, max(2, math.ceil((b - a) / step) + 1)) for a, b in zip(low, high, strict=True)]
    if math.prod(map(len, axes)) > MOST_TRIANGLES:
        raise _too_large()
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _small_triangles(triangles: FloatArray, longest_side: float) -> FloatArray:
    """Triangles (F, 3, 3), cut in halves until no side is longer [m]."""
    small: list[FloatArray] = []
    while len(triangles):
        if sum(map(len, small)) + len(triangles) > MOST_TRIANGLES:
            raise _too_large()
        sides = np.linalg.norm(triangles - np.roll(triangles, -1, axis=1), axis=2)
        long = sides.max(axis=1) > longest_side
        small.append(triangles[~long])
        triangles, index = triangles[long], sides[long].argmax(axis=1)
        rows = np.arange(len(triangles))
        a, b, c = (triangles[rows, (index + k) % 3] for k in range(3))
        middle = (a + b) / 2.0
        triangles = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return np.concatenate(small)


def _too_large() -> ToolError:
    return invalid("A collision mesh is too large for spheres that keep close to it.")


def _fewest(triangles: FloatArray, centers: FloatArray, radii: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of the balls those that together hold every triangle (F, 3, 3); greedily, the largest gain first."""
    corners, corner = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    of_triangle = corner.reshape(-1, 3)
    covers = np.empty((len(centers), len(triangles)), bool)
    for rows in np.array_split(np.arange(len(centers)), max(1, len(centers) // _ROWS)):
        covers[rows] = (cdist(centers[rows], corners) <= radii[rows, None])[:, of_triangle].all(axis=2)
    left = np.ones(len(triangles), bool)
    gains = covers.sum(axis=1)
    chosen: list[int] = []
    while left.any():
        # A gain can only have fallen since it was counted: what is still the largest after a count is the largest.
        best = int(np.argmax(gains))
        gain = int((covers[best] & left).sum())
        if gain < gains[best]:
            gains[best] = gain
            continue
        chosen.append(best)
        left &= ~covers[best]
        gains[best] = 0
    return centers[chosen], radii[chosen]


EXCESS = 0.012
"""How far a ball may stick out of a link [m]. At 20 mm the Gen3 and its gripper take 110 balls, at 12 mm 210, at 8 mm
400; what is twice this from the next link never touches it."""

MOST_BALLS = 2_000
"""Most balls of a robot: planners on a GPU compare them pair by pair."""

_STEPS = 48
"""Heights of slabs, and radii of rings, that are tried at least; a round figure."""
_MOST_DIVISIONS = 1_000_000
"""Most ways to divide a box that are compared: a cube of 1.3 m and an excess of 12 mm."""
_DIGITS = 6
"""Digits after the point that centres and radii are written with [m]: micrometres."""


_Flat = tuple[float, float, float]
_Placed = tuple[float, float, float, float]


@dataclass(frozen=True)
class Ball:
    """A ball in the frame of a link [m]."""

    center: tuple[float, float, float]
    radius: float


def cover_links(shapes: tuple[LinkShape, ...]) -> dict[str, list[Ball]]:
    """The balls of each link that has a shape, in the link's frame.

    Raises:
        ToolError: INVALID_ARGUMENT where that would take more than `MOST_BALLS`.
    """
    links: dict[str, list[Ball]] = {}
    total = 0
    for shape in shapes:
        centers, radii = cover_shape(shape, EXCESS)
        total += len(radii)
        if total > MOST_BALLS:
            raise invalid(
                f"The robot's shapes take more than {MOST_BALLS} collision spheres: {shape.link!r} is too large."
            )
        placed = np.round(transform(shape.T_link_shape, centers), _DIGITS)
        grown = np.ceil(radii * 10**_DIGITS + 1.0) / 10**_DIGITS  # what rounding the centres may uncover
        balls = links.setdefault(shape.link, [])
        balls += [
            Ball((x + 0.0, y + 0.0, z + 0.0), round(r, _DIGITS))
            for (x, y, z), r in zip(placed.tolist(), grown.tolist(), strict=True)
        ]
    return links


def cover_shape(shape: LinkShape, excess: float) -> tuple[FloatArray, FloatArray]:
    """Centres (N, 3) in the shape's own frame, and radii (N,), of balls that cover a shape [m]."""
    if shape.kind == SPHERE:
        return np.zeros((1, 3)), np.array(shape.size)
    if shape.kind == BOX:
        return cover_box(np.array(shape.size), excess)
    if shape.kind == CYLINDER:
        radius, half_length = shape.size
        return cover_cylinder(radius, half_length, excess)
    return cover_hull(shape.vertices, excess)


def cover_box(half: FloatArray, excess: float) -> tuple[FloatArray, FloatArray]:
    """Balls about the cells of a box with half extents (3,) [m]; cells that have no part in its surface have none."""
    counts = _cell_counts(half, excess)
    cell = half / counts
    radius = float(np.linalg.norm(cell))
    steps = [np.arange(count) for count in counts]
    inside = [
        indices
        for indices in product(*steps)
        if any(index in (0, count - 1) for index, count in zip(indices, counts, strict=True))
    ]
    centers = (2.0 * np.array(inside) + 1.0) * cell - half
    return centers, np.full(len(centers), radius)


def _cell_counts(half: FloatArray, excess: float) -> tuple[int, int, int]:
    """Numbers of cells along the axes that keep the balls of a box within the excess, with the fewest balls.

    A ball about a cell sticks out by sqrt(a^2 + b^2 + c^2) - min(a, b, c), with a, b, c its half extents. Cells of half
    extents below excess / sqrt(3) always do.
    """
    most = np.ceil(half * math.sqrt(3.0) / excess)
    if most.prod() > _MOST_DIVISIONS:
        raise invalid(f"A box of {' x '.join(f'{2 * extent:g}' for extent in half)} m takes too many spheres.")
    counts = np.stack(np.meshgrid(*(np.arange(1, n + 1) for n in most), indexing="ij"), axis=-1).reshape(-1, 3)
    cells = half / counts
    fits = np.linalg.norm(cells, axis=1) - cells.min(axis=1) <= excess
    counts = counts[fits]
    balls = counts.prod(axis=1) - np.maximum(counts - 2, 0).prod(axis=1)
    first, second, third = counts[np.argmin(balls)].tolist()
    return first, second, third


def cover_cylinder(radius: float, half_length: float, excess: float) -> tuple[FloatArray, FloatArray]:
    """Balls that cover a cylinder about Z [m]: slabs at its ends, between them slices of the axis, or more slabs.

    Args:
        radius: Radius of the cylinder.
        half_length: Half of its length.
        excess: How far a ball may stick out.

    Raises:
        ToolError: INVALID_ARGUMENT where no number of balls up to `MOST_BALLS` does.
    """
    most_slabs = math.ceil(2.0 * half_length / excess)
    covers = [_equal_slabs(radius, half_length, count, excess) for count in range(1, most_slabs + 1)]
    heights = np.linspace(half_length / 2.0, 0.0, _STEPS, endpoint=False).tolist()
    covers += [_slabs_and_slices(radius, half_length, height, excess) for height in heights]
    found = [cover for cover in covers if cover is not None]
    if not found:
        raise invalid(f"A cylinder of radius {radius:g} m and length {2 * half_length:g} m takes too many spheres.")
    balls = np.array(min(found, key=len))
    return balls[:, :3], balls[:, 3]


def _equal_slabs(radius: float, half_length: float, count: int, excess: float) -> list[_Placed] | None:
    """(x, y, z, ball's radius) of balls about equal slabs; between those at the ends only what is at the side."""
    half_height = half_length / count
    rings = _cover_disc(radius, radius, half_height, excess)
    if rings is None:
        return None
    balls: list[_Placed] = []
    for slab in range(count):
        z = (2 * slab + 1) * half_height - half_length
        balls += _at(z, rings if slab in (0, count - 1) else rings[:1])
    return balls


def _slabs_and_slices(radius: float, half_length: float, half_height: float, excess: float) -> list[_Placed] | None:
    """As `_equal_slabs`, of a slab at each end and balls about the axis between them; None where one sticks out."""
    rings = _cover_disc(radius, radius, half_height, excess)
    rest = half_length - 2.0 * half_height  # half of what the slabs leave
    if rings is None:
        return None
    balls = _at(half_length - half_height, rings) + _at(half_height - half_length, rings)
    if rest > 1e-9:
        slices = math.ceil(rest / math.sqrt(excess * excess + 2.0 * radius * excess) - 1e-9)
        slice_half = rest / slices
        r = math.hypot(radius, slice_half)
        if r - min(radius, 2.0 * half_height + slice_half) > excess + 1e-12:
            return None
        balls += [(0.0, 0.0, rest - (2 * k + 1) * slice_half, r) for k in range(slices)]
    return balls


def _at(z: float, rings: tuple[tuple[_Flat, ...], ...]) -> list[_Placed]:
    return [(x, y, z, r) for ring in rings for x, y, r in ring]


@lru_cache(maxsize=4096)
def _cover_disc(
    covered: float, radius: float, half_height: float, excess: float
) -> tuple[tuple[_Flat, ...], ...] | None:
    """Rings of (x, y, ball's radius), the outermost first, that cover a round slab about the axis; None without any.

    Args:
        covered: Radius of the slab [m].
        radius: Radius of the cylinder that it is a part of [m].
        half_height: Half of its height, and how deep the balls are below the cylinder's end at least [m].
        excess: How far a ball may stick out of the cylinder [m].
    """
    one = math.hypot(covered, half_height)
    if one - min(radius, half_height) <= excess:
        return (((0.0, 0.0, one),),)
    best: tuple[float, float, float, int, float] | None = None
    steps = max(_STEPS, math.ceil(4.0 * covered / excess))
    for offset in np.linspace(0.0, covered, steps, endpoint=False)[1:].tolist():
        allowed = excess + min(radius - offset, half_height)
        # The ball reaches the rim half way to the next one: allowed^2 = covered^2 + a^2 - 2 covered a cos + height^2.
        cosine = (covered**2 + offset**2 + half_height**2 - allowed**2) / (2.0 * covered * offset)
        if cosine >= 1.0 - 1e-9:
            continue
        count = max(3, math.ceil(math.pi / math.acos(max(cosine, -0.5)) - 1e-9))
        cosine = math.cos(math.pi / count)
        # Where two neighbours meet again on the inside: the other root of the same equation along that ray.
        inner = 2.0 * offset * cosine - covered
        if count > MOST_BALLS or inner >= covered:
            continue
        balls_per_area = count / (1.0 - (max(inner, 0.0) / covered) ** 2)
        if best is None or balls_per_area < best[0]:
            r = math.sqrt(covered**2 + offset**2 - 2.0 * covered * offset * cosine + half_height**2)
            best = balls_per_area, offset, r, count, inner
    if best is None:
        return None
    _, offset, r, count, inner = best
    turns = [2.0 * math.pi * k / count for k in range(count)]
    ring = tuple((offset * math.cos(turn), offset * math.sin(turn), r) for turn in turns)
    rest = _cover_disc(inner, radius, half_height, excess) if inner > 0.0 else ()
    return None if rest is None else (ring, *rest)
