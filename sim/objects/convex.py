"""Objects made of convex solids given by their corners: a kind of `ObjectAsset`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import mujoco
import numpy as np
from scipy.spatial import ConvexHull

from toolhand.sim.objects.asset import ObjectAsset, Triple
from toolhand.tool_nodes.types import FloatArray


def extents(parts: tuple[FloatArray, ...]) -> Triple:
    """Sides (x, y, z) of the smallest box about the origin that holds solids of corners (N, 3) [m]."""
    x, y, z = (2 * np.abs(np.vstack(parts)).max(axis=0)).tolist()
    return x, y, z


def hull_corners(parts: tuple[FloatArray, ...]) -> FloatArray:
    """(K, 3) corners of the convex hull of solids of corners (N, 3) [m]; not to be changed."""
    points = np.vstack(parts)
    points = points[ConvexHull(points).vertices]
    points.setflags(write=False)
    return points


@dataclass(frozen=True, kw_only=True, eq=False)
class ConvexAsset(ObjectAsset):
    """An object made of convex solids of one colour.

    Attributes:
        parts: Corners (N, 3) of each convex solid, body frame [m].
        rgb: Colour, 0..1.
    """

    parts: tuple[FloatArray, ...] = field(repr=False)
    rgb: tuple[float, float, float]

    def turned(self, R: FloatArray) -> ConvexAsset:
        """The same object in a body frame that is turned by R (3, 3)."""
        parts = tuple(part @ R.T for part in self.parts)
        return replace(self, parts=parts, size_m=extents(parts))

    def add_geoms(self, spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, grip: float, weight: float) -> None:
        """See ObjectAsset; the mass is spread over the solids by their volume."""
        volumes = [ConvexHull(part).volume for part in self.parts]
        for k, (part, volume) in enumerate(zip(self.parts, volumes, strict=True)):
            spec.add_mesh(name=f"{name}_{k}", uservert=part.ravel())
            body.add_geom(
                name=f"{name}_{k}",
                type=mujoco.mjtGeom.mjGEOM_MESH,
                meshname=f"{name}_{k}",
                rgba=[*self.rgb, 1.0],
                mass=weight * self.mass_kg * volume / sum(volumes),
                **self.contact_of(grip),
            )

    @cached_property
    def hull_points(self) -> FloatArray:
        """(K, 3) corners of the convex hull of all solids, body frame [m]."""
        return hull_corners(self.parts)
