"""The places of free sentences as goals over true poses: what the robot's own grammar read, never what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from toolhand.sim.camera.ray import CameraModel
from toolhand.sim.scene.scenes import gap
from toolhand.sim.tasks.places import (
    MEASURED_M,
    MEASURED_SHARE,
    AllOf,
    AtDistance,
    Change,
    Closer,
    Direction,
    Farthest,
    GoalPlace,
    InLine,
    InPart,
    InRegion,
    NotRelated,
    Nudged,
    OnTable,
    Related,
)
from toolhand.sim.tasks.regions import TABLE_REGIONS, TableRegion
from toolhand.tool_nodes.language.places import FreeSpaceRequest
from toolhand.tool_nodes.results import invalid

_DIRECTIONS: dict[str, Direction] = {
    "left": "left", "right": "right", "front": "front", "back": "behind",
    "left_of": "left", "right_of": "right", "in_front_of": "front", "behind": "behind",
}  # fmt: skip
_SAID_M = 0.02
"""An object is at a point of the image that was said within this [m]: placing is uncertain by 8 mm, and an object
stands with its middle over the point by as much."""


@dataclass(frozen=True)
class AnyOf(GoalPlace):
    """In one of several places, such as any corner."""

    places: tuple[GoalPlace, ...]

    on_table: ClassVar[bool] = False

    @property
    def words(self) -> str:
        """See GoalPlace."""
        return " or ".join(place.words for place in self.places)

    def _fault(self, moved: str, change: Change) -> str | None:
        faults = [place.fault(moved, change) for place in self.places]
        return None if None in faults else faults[0]


@dataclass(frozen=True)
class Elsewhere(GoalPlace):
    """On the table, and not in a place."""

    place: GoalPlace

    on_table: ClassVar[bool] = False
    phrase: ClassVar[str] = "not {p.place.words}"

    def _fault(self, moved: str, change: Change) -> str | None:
        if self.place.fault(moved, change) is None:
            return f"{moved} is {self.place.words}."
        return change.view.fault_on_table(moved)


@dataclass(frozen=True)
class Apart(GoalPlace):
    """So far from the nearest of some objects, from edge to edge [m], on any side."""

    metres: float
    references: tuple[str, ...]

    @property
    def words(self) -> str:
        """See GoalPlace."""
        return f"{100 * self.metres:g} cm from {' and '.join(self.references)}"

    def _fault(self, moved: str, change: Change) -> str | None:
        apart = min(gap(change.view.outline(moved), change.view.outline(name)) for name in self.references)
        if abs(apart - self.metres) <= max(MEASURED_M, MEASURED_SHARE * self.metres):
            return None
        return f"{moved} is {100 * apart:.1f} cm from {' and '.join(self.references)}, not {100 * self.metres:g} cm."


@dataclass(frozen=True)
class AtPoint(GoalPlace):
    """Over what the scene camera's image shows at a point.

    Attributes:
        point: Normalized (x, y).
        ray: Direction (x, y, z) of the point's line of sight in the camera's frame.
    """

    point: tuple[float, float]
    ray: tuple[float, float, float]

    on_table: ClassVar[bool] = False
    phrase: ClassVar[str] = "at ({p.point[0]:.3f}, {p.point[1]:.3f}) in the picture"

    def _fault(self, moved: str, change: Change) -> str | None:
        lowest = float(change.view.points(moved)[:, 2].min())
        eye, ray = change.T_base_camera[:3, 3], change.T_base_camera[:3, :3] @ np.asarray(self.ray)
        spot = (eye + ray * ((lowest - eye[2]) / ray[2]))[:2]
        off = float(np.linalg.norm(change.view.centre(moved) - spot))
        return None if off <= _SAID_M else f"{moved} is {100 * off:.1f} cm beside its spot."


def goal_place(request: FreeSpaceRequest, references: Sequence[Sequence[str]], camera: CameraModel) -> GoalPlace:
    """The place that a request means in the true scene.

    Args:
        request: With the words of its references.
        references: Ids of what each of `all_references` means.

    Raises:
        ToolError: INVALID_ARGUMENT where a reference is not the one object that the place needs.
    """
    own = len(request.references)
    places = [_one(request, references[:own], camera)]
    for part in request.also:
        ids, own = references[own : own + len(part.references)], own + len(part.references)
        if not part.denied:
            places.append(_one(part, ids, camera))
        elif part.references:
            places.append(NotRelated(part.relation, tuple(name for group in ids for name in group)))  # type: ignore[arg-type]
        else:
            places.append(Elsewhere(_one(part, ids, camera)))
    return places[0] if len(places) == 1 else AllOf(tuple(places))


def _one(request: FreeSpaceRequest, references: Sequence[Sequence[str]], camera: CameraModel) -> GoalPlace:
    ids = tuple(name for group in references for name in group)
    relation = request.relation
    if relation == "anywhere":
        return OnTable()
    if relation == "region":
        return _region(request)
    if relation == "at":
        point = request.point or (0.5, 0.5)
        ray = np.linalg.solve(camera.K, [*(np.asarray(point) * camera.size - 0.5), 1.0])
        return AtPoint(point, (float(ray[0]), float(ray[1]), float(ray[2])))
    if relation == "moved" and request.way in _DIRECTIONS:
        length = None if request.loosely and (request.distance_m or 0.0) < 0.15 else request.distance_m
        return Nudged(_DIRECTIONS[request.way], length)
    if relation == "moved":
        return Closer(_single(request, ids), away=request.way == "away")
    if relation == "farthest_from":
        return Farthest(_single(request, ids))
    if relation == "in_line":
        if len(ids) != 2:
            raise invalid(f"A line goes through two things, not through {len(ids)}.")
        return InLine((ids[0], ids[1]))
    if relation == "in" and request.region not in ("", "middle"):
        container = _single(request, ids)
        return AllOf(tuple(InPart(container, _DIRECTIONS[side]) for side in request.region.split()))
    if request.distance_m is not None:
        if relation == "next_to":
            return Apart(request.distance_m, ids)
        return AtDistance(request.distance_m, _DIRECTIONS[relation], _single(request, ids))
    return Related(relation, ids)


def _single(request: FreeSpaceRequest, ids: Sequence[str]) -> str:
    if len(ids) != 1:
        raise invalid(f"A place {request.relation.replace('_', ' ')} something is to one thing, not to {len(ids)}.")
    return ids[0]


def _region(request: FreeSpaceRequest) -> GoalPlace:
    sides = set(request.region.split())
    if request.extent in ("corner", "edge"):
        fitting = [name for name in TABLE_REGIONS if name.endswith(request.extent) and sides <= set(name.split())]
        return AnyOf(tuple(InRegion(name) for name in fitting))
    parts: dict[str, TableRegion] = {
        "left": "left side", "right": "right side", "front": "front", "back": "back", "middle": "middle",
    }  # fmt: skip
    places = tuple(InRegion(parts[side]) for side in request.region.split())
    return places[0] if len(places) == 1 else AllOf(places)
