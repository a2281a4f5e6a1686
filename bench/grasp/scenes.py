"""Which scenes are worked at, and what each is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import cast

from toolhand.bench.commands.grasp import GraspProtocol
from toolhand.bench.grasp.sides import GraspSide
from toolhand.sim.objects.census import counts_of, object_row
from toolhand.sim.objects.chosen import choose_sets
from toolhand.sim.objects.folders import folder_sets
from toolhand.sim.objects.products import PRODUCTS
from toolhand.sim.scene.clutter import CLUTTER, Clutter, clutter_scene
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.tool_nodes.results import invalid

CATALOGUE = "catalogue"
OF_PRODUCTS = ("alone", "clutter")
"""Kinds of scenes in which each product of the catalogue is asked for in turn, with and without others around it."""
USUAL = ("single", "packed", "pile", "bin")
"""Kinds of scenes of all other sets where none is named: those that published figures are given for."""
_COUNTED = 100
"""Most objects of a folder whose objects are counted [-]: reading one takes some tenths of a second."""
_KEPT = 4
"""Scenes that are kept, so that the sides of one scene do not make it again [-]."""


@dataclass(frozen=True)
class GraspJob:
    """One scene for one side.

    Attributes:
        seed: Seed of the scene, and of everything random in it.
        sets: Names of the object sets that its objects come from.
        protocol: `attempt`: one object is grasped once. `any`: one attempt at whatever the tools see best. `clear`:
            such attempts until the scene is empty or two running fail.
        item: Product that is asked for; an object that is well visible, drawn from the seed, where empty.
        out: Folder of the run; nothing is written where empty.
        per_scene: Objects of a scene of clutter; as many as its kind has where None.
    """

    side: GraspSide
    kind: str
    seed: int
    sets: tuple[str, ...]
    protocol: GraspProtocol = "attempt"
    item: str = ""
    out: str = ""
    per_scene: int | None = None

    @property
    def key(self) -> str:
        """What it is known by within the run."""
        return f"{self.side.role}-{self.kind}-{self.seed}"


def sets_of(text: str) -> tuple[str, ...]:
    """The object sets that --objects names, see `choose_sets`; no text and no set twice. Raises ToolError."""
    names = choose_sets(text)
    if not names:
        raise invalid("--objects must name an object set or a folder of meshes, or several with +.")
    if len(set(names)) < len(names):
        raise invalid(f"--objects names a set twice: {text[:200]}.")
    return names


def contents_of(sets: Sequence[str]) -> dict[str, str]:
    """What the sets that are folders held, a hash for each by name: another folder may be called so too."""
    folders = folder_sets()
    return {name: folders[name].content_hash() for name in sets if name in folders}


def counts_in(sets: Sequence[str], jaws_m: float) -> dict[str, dict[str, int]]:
    """How many objects of the sets that are folders can be used, fit the gripper, are containers or refused, by name;
    of large folders nothing, whose objects are not all drawn."""
    folders = folder_sets()
    few = [name for name in sets if name in folders and len(folders[name]) <= _COUNTED]
    return {name: counts_of([object_row(folders[name], item, jaws_m) for item in folders[name]]) for name in few}


def titled(objects: str, contents: Mapping[str, str]) -> str:
    """What --objects named, with the hash of each folder's content, for titles."""
    return objects + "".join(f" ({name} {content})" for name, content in contents.items())


def kinds_of(text: str, sets: Sequence[str]) -> list[str]:
    """The kinds of scenes that --scene names; where it is empty, those that suit the sets.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown kind, one named twice, or one that the sets cannot fill.
    """
    of_products = tuple(sets) == (CATALOGUE,)
    kinds = text.split(",") if text else [*(OF_PRODUCTS if of_products else USUAL)]
    allowed = [*(OF_PRODUCTS if of_products else ()), *CLUTTER]
    for kind in kinds:
        if kind not in allowed:
            only = f"; {' and '.join(OF_PRODUCTS)} need --objects {CATALOGUE} alone" if kind in OF_PRODUCTS else ""
            raise invalid(f"--scene must be {' or '.join(allowed)}, or several with commas, got {kind[:60]!r}{only}.")
    if len(set(kinds)) < len(kinds):
        raise invalid(f"--scene names a kind twice: {text}.")
    return kinds


def jobs_of(
    sides: Sequence[GraspSide],
    kinds: Sequence[str],
    sets: tuple[str, ...],
    n: int,
    first_seed: int,
    protocol: GraspProtocol = "attempt",
    out: str = "",
    per_scene: int | None = None,
) -> list[GraspJob]:
    """The scenes of each kind, all sides of a scene one after the other.

    Products take turns: kinds of products one after the other, alone and in clutter in turn, and each round swaps
    those two, so that any n is spread over all of them and 58 of each grasp every product alone and in clutter.
    """
    turns = _product_turns(2 * n, first_seed)
    jobs = []
    for kind in kinds:
        if kind in OF_PRODUCTS:
            scenes = [(seed, item) for seed, item, clutter in turns if clutter == (kind == "clutter")]
        else:
            scenes = [(seed, "") for seed in range(first_seed, first_seed + n)]
        jobs += [
            GraspJob(side, kind, seed, sets, protocol, item, out, per_scene) for seed, item in scenes for side in sides
        ]
    return jobs


def _product_turns(n: int, first_seed: int) -> list[tuple[int, str, bool]]:
    """(seed, product, in clutter) of the first n grasps."""
    of_kind: dict[str, list[str]] = {}
    for item in sorted(PRODUCTS.values(), key=lambda item: (item.kind, item.name)):
        if not item.container:
            of_kind.setdefault(item.kind, []).append(item.name)
    items = [name for names in zip_longest(*of_kind.values()) for name in names if name is not None]
    turns = []
    for k in range(n):
        turn, place = divmod(k, len(items))
        turns.append((first_seed + k, items[place], (turn + place) % 2 == 1))
    return turns


@lru_cache(_KEPT)
def make_scene(kind: str, seed: int, sets: tuple[str, ...], item: str, per_scene: int | None = None) -> Scene:
    """The scene of a job. Raises ToolError as the generator of its kind does."""
    if kind in OF_PRODUCTS:
        return generate_scene(seed, required=(item,), n_objects=1 if kind == "alone" else None)
    return clutter_scene(cast(Clutter, kind), seed, sets, per_scene)


def is_asked_for(placed: PlacedObject) -> bool:
    """True for an object that is to be grasped: no bin, shelf or other container."""
    return placed.asset.graspable
