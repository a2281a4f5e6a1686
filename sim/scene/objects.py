"""Objects of the simulated world: a few primitive solids each, for physics, pictures and truth alike.

Body frame of an item: origin at the centre of its bounding box, z up as it stands on the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from tool_nodes.catalogue import CatalogueItem, load_catalogue
from tool_nodes.types import FloatArray

if TYPE_CHECKING:
    from sim.scene.scenes import PlacedObject

from sim.scene.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, SPHERE, WALL_M, ShapePart, item_parts


@dataclass(frozen=True)
class Cavity:
    """The inside of a container, in its body frame.

    Attributes:
        half_extents_m: (2,) half width of the opening along x and y [m].
        round: True if the opening is a disc rather than a rectangle.
        floor_z: Height of the inner floor [m].
        rim_z: Height of the rim [m].
    """

    half_extents_m: tuple[float, float]
    round: bool
    floor_z: float
    rim_z: float

    def contains(self, xy: FloatArray) -> bool:
        """True if (x, y) in the body frame lies inside the opening."""
        scaled = np.abs(xy) / np.asarray(self.half_extents_m)
        return bool(np.hypot(*scaled) < 1 if self.round else np.all(scaled < 1))


def cavity(item: CatalogueItem) -> Cavity | None:
    """The inside of a bin, bowl or cup; None for everything else."""
    if item.shape not in ("bin", "bowl", "cup"):
        return None
    x, y, z = (side / 2 for side in item.size_m)
    return Cavity((x - WALL_M, y - WALL_M), item.shape != "bin", WALL_M - z, z)


@cache
def hull_points(name: str) -> FloatArray:
    """Points (K, 3) on the surface of a catalogue item in its body frame [m], K <= 120.

    They are the item's support points in evenly spread directions: their convex hull is the item's convex
    hull to about 0.2 mm, at any pose.
    """
    item = load_catalogue()[name]
    solids = [part for part in item_parts(name) if part.solid]
    supports = np.stack([_support(part, _DIRECTIONS) for part in solids])
    best = np.argmax(np.einsum("pkd,kd->pk", supports, _DIRECTIONS), axis=0)
    points = np.unique(np.round(supports[best, np.arange(len(_DIRECTIONS))], 6), axis=0)
    half = np.asarray(item.size_m) / 2
    points = np.clip(points, -half, half)
    points.setflags(write=False)
    return points


def _spread_directions(n: int) -> FloatArray:
    """Unit vectors (n, 3): the six axes, the rest on a Fibonacci spiral."""
    k = np.arange(n - 6) + 0.5
    z = 1 - 2 * k / (n - 6)
    azimuth = np.pi * (1 + np.sqrt(5)) * k
    ring = np.sqrt(1 - z**2)
    spiral = np.stack([ring * np.cos(azimuth), ring * np.sin(azimuth), z], axis=1)
    # A hair off the axes, so that a flat face gives one of its corners instead of its middle.
    axes = np.concatenate([np.eye(3), -np.eye(3)]) + 1e-3
    return np.concatenate([axes / np.linalg.norm(axes, axis=1, keepdims=True), spiral])


_DIRECTIONS = _spread_directions(120)
"""Directions (120, 3), evenly spread, in which the outline of an object is sampled; chosen by hand."""


def _support(part: ShapePart, directions: FloatArray) -> FloatArray:
    """The part's outermost points (K, 3) along directions (K, 3), all in the body frame."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(part.quat_wxyz, dtype=float))
    R_body_part = matrix.reshape(3, 3)
    local = directions @ R_body_part
    size = np.asarray(part.size)
    if part.geom == BOX:
        point = np.sign(local) * size
    elif part.geom == ELLIPSOID:
        scaled = local * size
        point = scaled * size / np.linalg.norm(scaled, axis=1, keepdims=True)
    elif part.geom == SPHERE:
        point = local * size[0]
    elif part.geom == CAPSULE:
        point = local * size[0] + np.sign(local[:, 2:]) * [0, 0, size[1]]
    else:
        radial = local[:, :2] / np.linalg.norm(local[:, :2], axis=1, keepdims=True)
        point = np.hstack([radial * size[0], np.sign(local[:, 2:]) * size[1]])
    return point @ R_body_part.T + np.asarray(part.pos)


def add_object(spec: mujoco.MjSpec, placed: PlacedObject, index: int) -> None:
    """Add a free body named `placed.id` to a MuJoCo specification.

    Args:
        spec: The model under construction.
        placed: What to add and where.
        index: Its number in the scene; its geoms are called `object{index}_{k}`.
    """
    body = spec.worldbody.add_body(
        name=placed.id,
        pos=np.asarray(placed.position_m, dtype=float),
        quat=[np.cos(placed.yaw / 2), 0.0, 0.0, np.sin(placed.yaw / 2)],
    )
    body.add_freejoint()
    if placed.solid is not None:
        placed.solid.add_to(spec, body, f"object{index}")
        return
    item = load_catalogue()[placed.item]
    parts = item_parts(item.name)
    volume, mass = sum(_volume(part) for part in parts if part.solid), placed.weight * item.mass_kg
    contact = _contact(item)
    if placed.grip != 1.0:
        contact |= {"friction": [placed.grip * value for value in contact["friction"]], "priority": _ABOVE_PADS}
    for k, part in enumerate(parts):
        physics = contact | {"mass": mass * _volume(part) / volume} if part.solid else _SEEN_ONLY
        body.add_geom(
            name=f"object{index}_{k}",
            type=part.geom,
            size=part.size,
            pos=part.pos,
            quat=part.quat_wxyz,
            rgba=[*(channel / 255 for channel in part.rgb), part.alpha],
            **physics,
        )


_ABOVE_PADS = 2
"""MuJoCo takes the contact parameters of the geom with the higher priority; a gripper's pads have 1."""
_SEEN_ONLY = {"group": 1, "contype": 0, "conaffinity": 0, "mass": 0.0}
"""MuJoCo's parameters of a part that is drawn and touches nothing."""
_ROLLING_SHAPES = ("apple", "ball", "flashlight", "lemon", "pear")


def _contact(item: CatalogueItem) -> dict[str, Any]:
    """Contact parameters. Rolling friction stops what is round, which would else leave the table."""
    soft = "soft" in item.attributes
    contact: dict[str, Any] = {"group": 0, "friction": [0.8 if soft else 0.7, 0.005, 0.0001], "condim": 4}
    if item.shape in _ROLLING_SHAPES:
        contact |= {"condim": 6, "friction": [0.7, 0.005, 0.001]}
    if soft:
        contact |= {"solref": [0.03, 1.0]}
    return contact


def _volume(part: ShapePart) -> float:
    a, b, c = part.size
    if part.geom == BOX:
        return 8 * a * b * c
    if part.geom == CYLINDER:
        return 2 * np.pi * a**2 * b
    if part.geom == CAPSULE:
        return np.pi * a**2 * (2 * b + 4 / 3 * a)
    return 4 / 3 * np.pi * a * (b * c if part.geom == ELLIPSOID else a**2)
