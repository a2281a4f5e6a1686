"""What a scene can hold: an object that knows its own physics, outline, cavity, mass, colours and words.

Body frame of an object: origin at the centre of its bounding box, z up as it stands on the table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np
from scipy.spatial import ConvexHull

from toolhand.tool_nodes.catalogue import Description
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

Triple = tuple[float, float, float]


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


@dataclass(frozen=True)
class Contact:
    """How an object touches others: MuJoCo's parameters of its geoms.

    Attributes:
        friction: Sliding [-], torsional [m] and rolling [m].
        condim: Dimensions of the contact: 4 without rolling friction, 6 with it.
        solref: Time constant [s] and damping ratio [-] of the contact.
    """

    friction: Triple = (0.7, 0.005, 0.0001)
    condim: int = 4
    solref: tuple[float, float] = (0.02, 1.0)


SIZE_M = (0.001, 1.0)
"""Least and greatest side of an object [m]: from what the camera still sees to what the table still bears."""
MASS_KG = (0.001, 100.0)
"""Least and greatest mass of an object [kg]: the physics is sound between them beside an arm of 8 kg."""

ABOVE_PADS = 2
"""MuJoCo takes the contact parameters of the geom with the higher priority [-]; a gripper's pads have 1."""


def least_width(points: FloatArray) -> float:
    """Least distance of two parallel lines that points (N, 2) are between [unit of the points]."""
    outline = points[ConvexHull(points).vertices]
    edges = np.roll(outline, -1, axis=0) - outline
    across = np.column_stack([-edges[:, 1], edges[:, 0]]) / np.linalg.norm(edges, axis=1, keepdims=True)
    return float(np.ptp(outline @ across.T, axis=0).min())


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectAsset(Description, ABC):
    """One object that a scene can hold; scenes name it, and everything about its body is asked of it.

    Its words are what people call it: tasks are worded with them, and the simulator's truth answers in them. What a
    robot knows of it is another matter (`tool_nodes/catalogue.yaml`), and may be nothing.

    Raises:
        ToolError: INVALID_ARGUMENT for a size or a mass that nothing on a table has.

    Attributes:
        size_m: Extents (x, y, z) as it stands on the table [m].
        mass_kg: Mass [kg].
        contact: Friction and softness.
        cavity: The inside of what is hollow; None for everything else.
        graspable: True if a gripper can hold it from above.
        upright: False for what stands on any side, such as a ball: it never topples.
        shape: Name of its form, e.g. "bottle"; empty where it has none.
    """

    size_m: Triple
    mass_kg: float
    contact: Contact = Contact()
    cavity: Cavity | None = None
    graspable: bool = True
    upright: bool = True
    shape: str = ""

    def __post_init__(self) -> None:
        low, high = SIZE_M
        if len(self.size_m) != 3 or not all(low <= side <= high for side in self.size_m):
            raise invalid(
                f"size_m of {self.name!r} must be three numbers from {low:g} to {high:g} m, not {self.size_m}."
            )
        low, high = MASS_KG
        if not low <= self.mass_kg <= high:
            raise invalid(f"mass_kg of {self.name!r} must be a number from {low:g} to {high:g} kg, not {self.mass_kg}.")

    @abstractmethod
    def add_geoms(self, spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, grip: float, weight: float) -> None:
        """Give a body of a MuJoCo specification its geoms, in its colours.

        Args:
            spec: The model under construction.
            body: The body, which has a free joint.
            name: Prefix of the names of geoms and meshes: `{name}_{k}`.
            grip: Factor of the friction, above 0; see `contact_of`.
            weight: Factor of the mass, above 0.
        """

    @cached_property
    @abstractmethod
    def hull_points(self) -> FloatArray:
        """Points (K, 3) whose convex hull is that of the object, body frame [m]; not to be changed."""

    @property
    def takes_objects(self) -> bool:
        """True if something can be put in it: it is a container, and its cavity is known."""
        return self.container and self.cavity is not None

    @cached_property
    def outline(self) -> FloatArray:
        """Outline (K, 2) seen from above, counter-clockwise, body frame [m]."""
        flat = self.hull_points[:, :2]
        return flat[ConvexHull(flat).vertices]

    @cached_property
    def narrowest_m(self) -> float:
        """Least distance of two upright parallel planes that it is between, as it stands: what jaws from above open to
        [m]."""
        return least_width(self.outline)

    @cached_property
    def outer_radius(self) -> float:
        """Radius of the circle about the body's axis that encloses the outline [m]."""
        return float(np.linalg.norm(self.outline, axis=1).max())

    def contact_of(self, grip: float) -> dict[str, object]:
        """MuJoCo's contact parameters of its geoms; friction that is not its own holds against the gripper's pads."""
        own = {"friction": [grip * value for value in self.contact.friction], "condim": self.contact.condim}
        own["solref"] = list(self.contact.solref)
        return own if grip == 1.0 else own | {"priority": ABOVE_PADS}
