"""Objects made of meshes: convex solids that touch, and surfaces that are seen; a kind of `ObjectAsset`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

from toolhand.sim.objects.asset import ABOVE_PADS, ObjectAsset, Triple
from toolhand.sim.objects.convex import hull_corners
from toolhand.sim.objects.meshes import MassProperties, TriangleMesh
from toolhand.tool_nodes.types import FloatArray

_SEEN_ONLY: dict[str, Any] = {"group": 1, "contype": 0, "conaffinity": 0, "mass": 0.0}
"""MuJoCo's parameters of a surface that is drawn and touches nothing."""
_TOUCHED_ONLY: dict[str, Any] = {"group": 3}
"""MuJoCo's parameters of a solid that touches and is not drawn: cameras see groups 0 to 2."""

Rgb01 = Triple
"""Red, green and blue in [0, 1]."""


@dataclass(frozen=True, eq=False)
class Skin:
    """A part of an object's surface in one colour; it is seen and touches nothing.

    Attributes:
        mesh: Its triangles, in the body frame.
        rgb: Colour, each in [0, 1].
    """

    mesh: TriangleMesh
    rgb: Rgb01


@dataclass(frozen=True, kw_only=True, eq=False)
class MeshAsset(ObjectAsset):
    """An object whose convex solids touch, and whose skins are seen.

    Attributes:
        parts: Corners (N, 3) of each convex solid, body frame [m].
        skins: Surfaces that cameras see, one a colour.
        matter: Centre of mass and inertia.
        own_grip: Whether its friction holds against a gripper's pads too, which else have their own.
    """

    parts: tuple[FloatArray, ...] = field(repr=False)
    skins: tuple[Skin, ...] = field(repr=False)
    matter: MassProperties = field(repr=False)
    own_grip: bool = False

    def add_geoms(self, spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, grip: float, weight: float) -> None:
        """See ObjectAsset; mass and inertia are the body's own, not summed up from its geoms."""
        for k, part in enumerate(self.parts):
            spec.add_mesh(name=f"{name}_{k}", uservert=part.ravel())
            self._add_mesh_geom(body, f"{name}_{k}", _TOUCHED_ONLY | self.contact_of(grip))
        for k, skin in enumerate(self.skins, start=len(self.parts)):
            spec.add_mesh(
                name=f"{name}_{k}",
                # MuJoCo takes no mesh of three vertices: a lone triangle has one twice.
                uservert=np.resize(skin.mesh.vertices, (max(len(skin.mesh.vertices), 4), 3)).ravel(),
                userface=skin.mesh.faces.ravel(),
                inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,  # a surface may be open or flat
            )
            self._add_mesh_geom(body, f"{name}_{k}", _SEEN_ONLY | {"rgba": [*skin.rgb, 1.0]})
        mass, J = weight * self.mass_kg, self.matter.inertia_m2
        body.explicitinertial = True
        body.mass, body.ipos = mass, self.matter.centre_m
        body.fullinertia = mass * np.array([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])

    @staticmethod
    def _add_mesh_geom(body: mujoco.MjsBody, name: str, options: dict[str, object]) -> None:
        body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, **options)

    @cached_property
    def hull_points(self) -> FloatArray:
        """(K, 3) corners of the convex hull of all solids, body frame [m]."""
        return hull_corners(self.parts)

    def contact_of(self, grip: float) -> dict[str, object]:
        """See ObjectAsset; friction of its own is above that of the pads."""
        contact = super().contact_of(grip)
        return contact | {"priority": ABOVE_PADS} if self.own_grip else contact
