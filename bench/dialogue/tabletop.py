"""The true table as the maker of a conversation sees it: what is where, what it can be called, where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from toolhand.bench.dialogue.expected import Expected, Uttered
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.sim.snapshot import ObjectState, Snapshot
from toolhand.sim.tasks.arranged import ArrangedTask, Placing
from toolhand.sim.tasks.places import Change, Closer, Direction, GoalPlace, Nudged, free_spots
from toolhand.sim.tasks.sentences import choose, unique_descriptions
from toolhand.sim.tasks.task import Task, held_ids
from toolhand.tool_nodes.types import FloatArray

CONTAINERS = ("black bin", "grey bin", "transparent bin", "white bowl")
TWINS = ("baseball", "toy block", "ketchup", "cola", "apple juice", "sugar box")
"""Things of which two alike are there; they are small and have a plain plural."""
TOPS = ("red box", "tea box", "sugar box")
"""What small things are put on; low and flat."""
SMALL = ("cinnamon", "basil", "salt", "tuna can")
"""What is put on them."""
_MOVABLE_M = 0.115
"""Widest things that are moved [m]."""
_MOVED_RADIUS = 0.058
"""Their widest footprint [m]."""
OTHERS = ("lemon", "orange", "pear", "apple", "strawberry jam", "chocolate milk", "pudding box", "tomato soup", "honey")
"""Of these some are there besides."""
_ROOM = 2
"""A place is asked for where at least so many of the spots that are looked at would do: one would be luck."""
_LOOKED_AT = 90
"""Spots of a grid of 2 cm that are looked at [-]: about a quarter of those that are free."""
_SPACIOUS_M = 0.02
"""A spot counts as room where so much more than the least clearance is free about it [m]."""
_CHANGING = (Nudged, Closer)
"""Places that are said from where a thing is: they are never true before."""


def conversation_scene(rng: np.random.Generator, few: bool = False) -> Scene:
    """A scene with a container, two things alike, a box with a flat top, something small and two more; or a few things.

    Args:
        rng: Random choices.
        few: Only a bin and two small things, which fit into it.
    """
    if few:
        small = [SMALL[k] for k in rng.permutation(len(SMALL))[:2]]
        return generate_scene(int(rng.integers(2**31)), [choose(rng, CONTAINERS[:2]), *small], n_objects=3)
    twin = choose(rng, TWINS)
    others = [OTHERS[k] for k in rng.permutation(len(OTHERS))[:2]]
    tops = [name for name in TOPS if name != twin]
    required = [choose(rng, CONTAINERS), twin, twin, choose(rng, tops), choose(rng, SMALL), *others]
    return generate_scene(int(rng.integers(2**31)), required, n_objects=len(required))


@dataclass
class Tabletop:
    """What a conversation is made over; it is brought up to date after each utterance.

    Attributes:
        rng: Random choices.
        scene: Scene with the shapes.
        T_base_camera: (4, 4) true pose of the scene camera.
        now: The things now.
    """

    rng: np.random.Generator
    scene: Scene
    T_base_camera: FloatArray
    now: Snapshot

    # -- what is there --

    @property
    def held(self) -> PlacedObject | None:
        """What the gripper holds."""
        found = sorted(held_ids(self.now))
        return self.scene.find(found[0]) if found else None

    def state(self, thing: PlacedObject) -> ObjectState:
        """Where a thing is."""
        return self.now.objects[thing.id]

    def xy(self, thing: PlacedObject) -> FloatArray:
        """(2,) on the table [m]."""
        return self.state(thing).position_m[:2]

    @property
    def things(self) -> list[PlacedObject]:
        """All things but what is held, in random order."""
        held = held_ids(self.now)
        return [self.scene.objects[k] for k in self.rng.permutation(len(self.scene.objects)) if self._free(k, held)]

    def _free(self, index: int, held: frozenset[str]) -> bool:
        return self.scene.objects[index].id not in held

    @property
    def container(self) -> PlacedObject:
        """The container."""
        return next(placed for placed in self.scene.objects if placed.asset.container)

    @property
    def has_twins(self) -> bool:
        """True if two things are alike."""
        return sum(map(self._twin, self.scene.objects)) == 2

    @property
    def twins(self) -> tuple[PlacedObject, PlacedObject]:
        """The two things alike, the left one first."""
        first, second = [p for p in self.scene.objects if self._twin(p)][:2]
        return (first, second) if self.xy(first)[1] <= self.xy(second)[1] else (second, first)

    def _twin(self, thing: PlacedObject) -> bool:
        return sum(placed.item == thing.item for placed in self.scene.objects) == 2

    @property
    def named(self) -> list[PlacedObject]:
        """Things that stand on the table and that words single out, no container, in random order."""
        return [p for p in self.things if self.names(p) and not p.asset.container and self.on_table(p)]

    @property
    def movable(self) -> list[PlacedObject]:
        """Of these what can be moved."""
        return [p for p in self.named if is_movable(p)]

    def on_table(self, thing: PlacedObject) -> bool:
        """True if it stands on the table itself."""
        return "table" in self.state(thing).touching

    # -- words --

    def names(self, thing: PlacedObject) -> list[str]:
        """Words that only it can mean, its name first."""
        return unique_descriptions(thing.asset, [placed.asset for placed in self.scene.objects])

    def the(self, thing: PlacedObject) -> str:
        """ "the red box"."""
        options = self.names(thing) or [thing.item]
        plain = self.rng.random() < 0.7
        return f"the {options[0] if plain else choose(self.rng, options)}"

    def say(self, *options: str) -> str:
        """One of several wordings."""
        return choose(self.rng, options)

    # -- where there is room --

    def room(self, thing: PlacedObject, place: GoalPlace) -> bool:
        """True if a place is not yet reached and there is room for it on the table."""
        states = self.now.objects
        change = Change(self.scene, states, states, self.T_base_camera)
        if not isinstance(place, _CHANGING) and self.held is None and place.fault(thing.id, change) is None:
            return False
        others = [name for name in states if name != thing.id and name not in held_ids(self.now)]
        spots = free_spots(thing.id, others, change, spare_m=_SPACIOUS_M)
        half, found = thing.asset.size_m[2] / 2, 0
        for x, y in spots[self.rng.permutation(len(spots))[:_LOOKED_AT]]:
            there = replace(
                states[thing.id],
                position_m=np.array([x, y, half]),
                quat_wxyz=np.array([1.0, 0.0, 0.0, 0.0]),
                touching=frozenset({"table"}),
            )
            moved = Change(self.scene, states, {**states, thing.id: there}, self.T_base_camera)
            found += place.fault(thing.id, moved) is None
            if found >= _ROOM:
                return True
        return False

    def fits_in(self, thing: PlacedObject, container: PlacedObject) -> bool:
        """True if a thing surely fits into a container, which is empty."""
        cavity = container.asset.cavity
        empty = not any(container.id in state.touching for state in self.now.objects.values())
        return cavity is not None and empty and thing.asset.outer_radius < 0.9 * min(cavity.half_extents_m)

    # -- what is meant --

    def deed(self, kind: str, words: str, *tasks: Task) -> Uttered:
        """An utterance that is to be carried out, in any of these ways."""
        return Uttered(kind, words, tuple(Expected("deed", task) for task in tasks))

    def to(self, kind: str, words: str, thing: PlacedObject, place: GoalPlace) -> Uttered:
        """One thing is to be put somewhere."""
        return self.deed(kind, words, self.arranged(words, (thing, place)))

    def pick(self, kind: str, words: str, *things: PlacedObject) -> Uttered:
        """Any one of some things is to be held."""
        ids = tuple(thing.id for thing in things)
        return self.deed(kind, words, ArrangedTask(words, self.scene, held=ids))

    def arranged(
        self, words: str, *placed: tuple[PlacedObject, GoalPlace], held: PlacedObject | None = None, order: bool = False
    ) -> ArrangedTask:
        """Things in places, and perhaps one in the gripper."""
        placings = tuple(Placing((thing.id,), place) for thing, place in placed)
        return ArrangedTask(words, self.scene, placings, (held.id,) if held else (), order)


def is_movable(thing: PlacedObject) -> bool:
    """True for what is surely gripped and has room beside others."""
    asset = thing.asset
    return asset.graspable and max(asset.size_m[:2]) <= _MOVABLE_M and asset.outer_radius <= _MOVED_RADIUS


def plural(name: str) -> str:
    """More than one of a thing."""
    return f"{name}es" if name.endswith(("x", "s", "ch")) else f"{name}s"


SEEN: dict[Direction, str] = {"left": "left", "right": "right", "front": "front", "behind": "back"}
"""Words for a side."""


def apart_m(first: Sequence[float] | FloatArray, second: Sequence[float] | FloatArray) -> float:
    """Distance on the table [m]."""
    return float(np.linalg.norm(np.subtract(first[:2], second[:2])))
