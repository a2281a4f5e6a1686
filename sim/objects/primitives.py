"""Objects made of a few primitive solids each: the first kind of `ObjectAsset`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import mujoco
import numpy as np

from toolhand.sim.objects.asset import ObjectAsset, Triple
from toolhand.tool_nodes.catalogue import Rgb
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

BOX = mujoco.mjtGeom.mjGEOM_BOX
SPHERE = mujoco.mjtGeom.mjGEOM_SPHERE
CYLINDER = mujoco.mjtGeom.mjGEOM_CYLINDER
CAPSULE = mujoco.mjtGeom.mjGEOM_CAPSULE
ELLIPSOID = mujoco.mjtGeom.mjGEOM_ELLIPSOID

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
"""Quaternion wxyz that turns nothing."""

_SLACK_M = 1e-3
"""How far solid parts may reach out of the box of an object [m]: less than a camera can distinguish."""

_SEEN_ONLY = {"group": 1, "contype": 0, "conaffinity": 0, "mass": 0.0}
"""MuJoCo's parameters of a part that is drawn and touches nothing."""


@dataclass(frozen=True)
class ShapePart:
    """One primitive solid of an object.

    Attributes:
        geom: Kind of primitive.
        size: Half sizes as MuJoCo has them (cylinder and capsule: radius, half length, 0) [m].
        pos: Centre in the body frame [m].
        rgb: Colour, 0..255.
        quat_wxyz: Rotation in the body frame.
        alpha: Opacity; 1 is opaque.
        solid: False for labels and rims that are only seen, never touched.
    """

    geom: mujoco.mjtGeom
    size: Triple
    pos: Triple
    rgb: Rgb
    quat_wxyz: tuple[float, ...] = UPRIGHT
    alpha: float = 1.0
    solid: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class PrimitiveAsset(ObjectAsset):
    """An object made of primitive solids; `toolhand.sim.objects.shapes.shaped` makes one of a named form.

    Attributes:
        parts: The solids; labels, which are seen and not touched, come last.
    """

    parts: tuple[ShapePart, ...] = field(repr=False)

    def add_geoms(self, spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, grip: float, weight: float) -> None:
        """See ObjectAsset; the mass is spread over the solid parts by their volume."""
        volume, mass = sum(_volume(part) for part in self.parts if part.solid), weight * self.mass_kg
        contact = {"group": 0} | self.contact_of(grip)
        for k, part in enumerate(self.parts):
            body.add_geom(
                name=f"{name}_{k}",
                type=part.geom,
                size=part.size,
                pos=part.pos,
                quat=part.quat_wxyz,
                rgba=[*(channel / 255 for channel in part.rgb), part.alpha],
                **(contact | {"mass": mass * _volume(part) / volume} if part.solid else _SEEN_ONLY),
            )

    @cached_property
    def hull_points(self) -> FloatArray:
        """(K, 3), K <= 120: support points of the solid parts in evenly spread directions, body frame [m].

        Their convex hull is the object's convex hull to about 0.2 mm, at any pose.

        Raises:
            ToolError: INVALID_ARGUMENT where the parts reach out of `size_m`.
        """
        supports = np.stack([_support(part, _DIRECTIONS) for part in self.parts if part.solid])
        best = np.argmax(np.einsum("pkd,kd->pk", supports, _DIRECTIONS), axis=0)
        points = np.unique(np.round(supports[best, np.arange(len(_DIRECTIONS))], 6), axis=0)
        half = np.asarray(self.size_m) / 2
        if (np.abs(points) > half + _SLACK_M).any():
            raise invalid(f"The solid parts of {self.name!r} reach out of the box of its size_m, {self.size_m}.")
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
"""Directions (120, 3), evenly spread, in which the outline of an object is sampled: enough for hulls to 0.2 mm."""


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


def _volume(part: ShapePart) -> float:
    a, b, c = part.size
    if part.geom == BOX:
        return 8 * a * b * c
    if part.geom == CYLINDER:
        return 2 * np.pi * a**2 * b
    if part.geom == CAPSULE:
        return np.pi * a**2 * (2 * b + 4 / 3 * a)
    return 4 / 3 * np.pi * a * (b * c if part.geom == ELLIPSOID else a**2)
