"""Places that are more than one relation to one object, each with its own judgement by true poses; no parser has a say.

A place judges where an object came to stand. What was there before counts for places that are said from it: a nudge,
closer, further away.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from toolhand.sim.scene.scenes import FREE_CLEARANCE, Scene, distances, gap, reachable_grid
from toolhand.sim.snapshot import ObjectState
from toolhand.sim.tasks.predicates import (
    STANDING,
    THRESHOLDS,
    Relation,
    Shapes,
    camera_directions,
    relation_fault,
    tilt,
)
from toolhand.sim.tasks.regions import TableRegion, in_region, outside_m
from toolhand.tool_nodes.geometry import matrix_from_quat_wxyz
from toolhand.tool_nodes.types import FloatArray

Direction = Literal["left", "right", "front", "behind"]
"""As the scene camera sees it: front is towards the camera."""
Person = Literal["operator", "robot"]
"""The operator stands where the scene camera does, the robot at the origin of the base frame."""

BACK_M = 0.01
"""An object is back where it was within this [m]."""
EXCHANGED_M = 0.04
"""An object stands where another one stood within this [m]: less than half a product's width."""
CLOSER_M = 0.02
"""Closer or further away is by at least this much [m]: less is not seen as a change."""
MEASURED_M = 0.02
"""A measure is kept within this, or within MEASURED_SHARE of it where that is more [m]."""
MEASURED_SHARE = 0.2
"""See MEASURED_M [-]; people who put objects "20 cm" apart by eye err by so much."""
A_BIT_M = (0.015, 0.15)
"""Least and greatest way of "a bit" [m]."""
FARTHEST_M = 0.08
"""As far as possible falls short of the farthest free spot by no more than this [m]: a product's width."""
LOOSELY_M = 0.30
"""Objects that a place of two relations speaks of are at most this far, edge to edge [m]."""
LINE_M = 0.05
"""An object is in line with two others where its middle is this close to the line through theirs [m]."""
_LONG = 2.0
"""What is longer than both its other sides by this factor is upright on its end, however it stands by itself [-]."""
_ELSEWHERE_M = 0.05
"""What was moved somewhere else is at least this far from where it was [m]."""


@dataclass(frozen=True)
class Change:
    """The objects at two times.

    Attributes:
        T_base_camera: (4, 4) true pose of the scene camera.
    """

    scene: Scene
    before: Mapping[str, ObjectState]
    after: Mapping[str, ObjectState]
    T_base_camera: FloatArray

    @property
    def view(self) -> Shapes:
        """Shapes at the later time."""
        return Shapes(self.scene, self.after, THRESHOLDS)

    @property
    def earlier(self) -> Shapes:
        """Shapes at the earlier time."""
        return Shapes(self.scene, self.before, THRESHOLDS)

    def direction(self, direction: Direction) -> FloatArray:
        """Unit vector (2,) on the table."""
        right, away = camera_directions(self.T_base_camera)
        return {"left": -right, "right": right, "front": -away, "behind": away}[direction]


class GoalPlace(ABC):
    """Where an object is to be.

    Attributes:
        phrase: Format of `words` for a place `p`.
        on_table: The object must stand on the table, too.
    """

    phrase: ClassVar[str] = ""
    on_table: ClassVar[bool] = True

    @property
    def words(self) -> str:
        """The place in a few words of the scene's ids, for goals and reports."""
        return self.phrase.format(p=self)

    def fault(self, moved: str, change: Change) -> str | None:
        """Why an object is not there, in one sentence; None where it is."""
        fault = change.view.fault_on_table(moved) if self.on_table else None
        return fault or self._fault(moved, change)

    @abstractmethod
    def _fault(self, moved: str, change: Change) -> str | None:
        """The same of what this place alone asks for."""


@dataclass(frozen=True)
class OnTable(GoalPlace):
    """Standing on the table, wherever; with `elsewhere` not where it was."""

    elsewhere: bool = False

    on_table: ClassVar[bool] = False

    @property
    def words(self) -> str:
        """See GoalPlace."""
        return "somewhere else" if self.elsewhere else "anywhere"

    def _fault(self, moved: str, change: Change) -> str | None:
        if self.elsewhere and _way(moved, change) < _ELSEWHERE_M:
            return f"{moved} is where it was."
        return change.view.fault_on_table(moved)


@dataclass(frozen=True)
class InRegion(GoalPlace):
    """In a part of the table."""

    region: TableRegion

    phrase: ClassVar[str] = "{p.region}"

    def _fault(self, moved: str, change: Change) -> str | None:
        centre = change.view.centre(moved)
        if in_region(self.region, centre):
            return None
        return f"{moved} is {100 * outside_m(self.region, centre):.0f} cm outside of the {self.region}."


@dataclass(frozen=True)
class InPart(GoalPlace):
    """Inside a container, in its part on one side: the middle of the object is beyond the container's middle."""

    container: str
    side: Direction

    on_table: ClassVar[bool] = False
    phrase: ClassVar[str] = "{p.side} inside {p.container}"

    def _fault(self, moved: str, change: Change) -> str | None:
        if fault := change.view.fault_in(moved, self.container):
            return fault
        beyond = (change.view.centre(moved) - change.view.centre(self.container)) @ change.direction(self.side)
        return None if beyond >= 0 else f"{moved} is not in the {self.side} part of {self.container}."


@dataclass(frozen=True)
class Related(GoalPlace):
    """In a relation to other objects, see `predicates.relation_holds`."""

    relation: Relation
    references: tuple[str, ...]

    on_table: ClassVar[bool] = False

    @property
    def words(self) -> str:
        """See GoalPlace."""
        return f"{self.relation.replace('_', ' ')} {' and '.join(self.references)}"

    def _fault(self, moved: str, change: Change) -> str | None:
        return relation_fault(self.relation, moved, self.references, change.scene, change.after, change.T_base_camera)


@dataclass(frozen=True)
class NotRelated(GoalPlace):
    """On the table, and in no such relation to an object."""

    relation: Relation
    references: tuple[str, ...]

    @property
    def words(self) -> str:
        """See GoalPlace."""
        return f"not {self.relation.replace('_', ' ')} {' and '.join(self.references)}"

    def _fault(self, moved: str, change: Change) -> str | None:
        holds = Related(self.relation, self.references).fault(moved, change) is None
        return f"{moved} is {self.words.removeprefix('not ')}." if holds else None


@dataclass(frozen=True)
class Towards(GoalPlace):
    """On one side of an object, its middle there by the margin and its edge at most LOOSELY_M off."""

    direction: Direction
    reference: str

    phrase: ClassVar[str] = "{p.direction} of {p.reference}"

    def _fault(self, moved: str, change: Change) -> str | None:
        view = change.view
        if fault := view.fault_apart(moved, [self.reference]):
            return fault
        offset = view.centre(moved) - view.centre(self.reference)
        if offset @ change.direction(self.direction) < THRESHOLDS.margin_m:
            return f"{moved} is not {self.words}."
        apart = gap(view.outline(moved), view.outline(self.reference))
        return None if apart <= LOOSELY_M else f"{moved} is {100 * apart:.0f} cm from {self.reference}."


@dataclass(frozen=True)
class AllOf(GoalPlace):
    """In several places at once."""

    places: tuple[GoalPlace, ...]

    on_table: ClassVar[bool] = False

    @property
    def words(self) -> str:
        """See GoalPlace."""
        return " and ".join(place.words for place in self.places)

    def _fault(self, moved: str, change: Change) -> str | None:
        return next((fault for place in self.places if (fault := place.fault(moved, change))), None)


@dataclass(frozen=True)
class AtDistance(GoalPlace):
    """So far to one side of an object, from edge to edge.

    Attributes:
        metres: Wanted gap [m].
        direction: Side of the reference.
    """

    metres: float
    direction: Direction
    reference: str

    @property
    def words(self) -> str:
        """See GoalPlace."""
        return f"{100 * self.metres:g} cm {self.direction} of {self.reference}"

    def _fault(self, moved: str, change: Change) -> str | None:
        view = change.view
        offset = view.centre(moved) - view.centre(self.reference)
        direction = change.direction(self.direction)
        along, across = _along_across(offset, direction)
        if along < across + THRESHOLDS.margin_m:
            return f"{moved} is not {self.direction} of {self.reference}."
        apart = gap(view.outline(moved), view.outline(self.reference))
        if abs(apart - self.metres) <= _tolerance(self.metres):
            return None
        return f"{moved} is {100 * apart:.1f} cm from {self.reference}, not {100 * self.metres:g} cm."


@dataclass(frozen=True)
class Nudged(GoalPlace):
    """Moved from where it was in one direction, by a measure or by a bit.

    Attributes:
        metres: Length of the way [m]; None for a bit.
    """

    direction: Direction
    metres: float | None = None

    @property
    def words(self) -> str:
        """See GoalPlace."""
        return f"{'a bit' if self.metres is None else f'{100 * self.metres:g} cm'} further {self.direction}"

    def _fault(self, moved: str, change: Change) -> str | None:
        way = change.view.centre(moved) - change.earlier.centre(moved)
        along, across = _along_across(way, change.direction(self.direction))
        low, high = A_BIT_M
        if self.metres is not None:
            low, high = self.metres - _tolerance(self.metres), self.metres + _tolerance(self.metres)
        if low <= along <= high and across <= max(MEASURED_M, along / 2):
            return None
        return f"{moved} went {100 * along:.1f} cm {self.direction} and {100 * across:.1f} cm aside."


@dataclass(frozen=True)
class Closer(GoalPlace):
    """Closer to an object or a person than it was; or further away."""

    to: str
    """Id of an object, or a Person."""
    away: bool = False

    @property
    def words(self) -> str:
        """See GoalPlace."""
        return f"{'further from' if self.away else 'closer to'} {self.to}"

    def _fault(self, moved: str, change: Change) -> str | None:
        gained = self._distance(moved, change.view, change) - self._distance(moved, change.earlier, change)
        if (gained if self.away else -gained) >= CLOSER_M:
            return None
        return f"{moved} came {-100 * gained:.1f} cm closer to {self.to}."

    def _distance(self, moved: str, view: Shapes, change: Change) -> float:
        if self.to == "robot":
            return float(np.linalg.norm(view.centre(moved)))
        if self.to == "operator":
            return float(np.linalg.norm(view.centre(moved) - change.T_base_camera[:2, 3]))
        return float(np.linalg.norm(view.centre(moved) - view.centre(self.to)))


@dataclass(frozen=True)
class Farthest(GoalPlace):
    """As far from an object as the free table within reach allows."""

    reference: str

    phrase: ClassVar[str] = "as far as possible from {p.reference}"

    def _fault(self, moved: str, change: Change) -> str | None:
        view = change.view
        reference = view.centre(self.reference)
        spots = free_spots(moved, [name for name in change.after if name != moved], change)
        farthest = float(np.linalg.norm(spots - reference, axis=1).max()) if len(spots) else 0.0
        now = float(np.linalg.norm(view.centre(moved) - reference))
        if now >= farthest - FARTHEST_M:
            return None
        return f"{moved} is {100 * now:.0f} cm from {self.reference}, where {100 * farthest:.0f} cm were free."


@dataclass(frozen=True)
class InLine(GoalPlace):
    """On the straight line through the middles of two objects, apart from both."""

    references: tuple[str, str]

    phrase: ClassVar[str] = "in line with {p.references[0]} and {p.references[1]}"

    def _fault(self, moved: str, change: Change) -> str | None:
        view = change.view
        if fault := view.fault_apart(moved, self.references):
            return fault
        first, second = (view.centre(name) for name in self.references)
        _, aside = _along_across(view.centre(moved) - first, (second - first) / np.linalg.norm(second - first))
        return None if aside <= LINE_M else f"{moved} is {100 * aside:.0f} cm beside the line."


@dataclass(frozen=True)
class AtSpot(GoalPlace):
    """At a point of the table or of what stands there, as high as it was to stand.

    Attributes:
        position_m: Body origin (x, y, z) of the object there, base frame [m].
        tolerance_m: On the table and upwards [m].
    """

    position_m: tuple[float, float, float]
    tolerance_m: float = BACK_M

    on_table: ClassVar[bool] = False
    phrase: ClassVar[str] = "at ({p.position_m[0]:.3f}, {p.position_m[1]:.3f}) m"

    def _fault(self, moved: str, change: Change) -> str | None:
        offset = change.after[moved].position_m - np.asarray(self.position_m)
        aside, above = float(np.linalg.norm(offset[:2])), abs(float(offset[2]))
        if aside <= self.tolerance_m and above <= max(self.tolerance_m, THRESHOLDS.support_m):
            return None
        return f"{moved} is {100 * aside:.1f} cm beside and {100 * above:.1f} cm above or below its spot."


@dataclass(frozen=True)
class Upright(GoalPlace):
    """Standing upright on the table."""

    phrase: ClassVar[str] = "upright"

    def _fault(self, moved: str, change: Change) -> str | None:
        *_, middle, length = sorted(sides := change.scene.find(moved).asset.size_m)
        off = tilt(STANDING, change.after[moved])
        if length > _LONG * middle:  # it stands on either end
            along = matrix_from_quat_wxyz(change.after[moved].quat_wxyz)[2, sides.index(length)]
            off = float(np.arccos(min(abs(along), 1.0)))
        return None if off < THRESHOLDS.tilt_rad else f"{moved} lies."


def free_spots(moved: str, others: Sequence[str], change: Change) -> FloatArray:
    """Points (N, 2) of the table within reach on which an object, at any yaw, stands apart from others [m].

    Args:
        moved: Id of the object.
        change: The objects, as they are at the later time.
    """
    grid, radius = reachable_grid(0.02), change.scene.find(moved).asset.outer_radius
    free = np.ones(len(grid), dtype=bool)
    for name in others:
        free &= distances(grid, change.view.outline(name)) >= radius + FREE_CLEARANCE
    return grid[free]


def _way(moved: str, change: Change) -> float:
    return float(np.linalg.norm(change.view.centre(moved) - change.earlier.centre(moved)))


def _along_across(offset: FloatArray, direction: FloatArray) -> tuple[float, float]:
    return float(offset @ direction), abs(float(offset[0] * direction[1] - offset[1] * direction[0]))


def _tolerance(metres: float) -> float:
    return max(MEASURED_M, MEASURED_SHARE * metres)
