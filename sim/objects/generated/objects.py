"""Objects without end, drawn from a seed; the set "generated", and larger ones, "generated_large".

`17` is the first object of seed 17, of a drawn family; `bowl-17` is a bowl; `17-3` and `bowl-17-3` are further objects
of that seed, as a scene of several needs them. Some seeds give all their objects one hue.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from toolhand.sim.objects.asset import Cavity, Contact, ObjectAsset, Triple
from toolhand.sim.objects.generated.blanks import Blank
from toolhand.sim.objects.generated.families import FAMILIES
from toolhand.sim.objects.generated.paint import painted
from toolhand.sim.objects.mesh_asset import MeshAsset
from toolhand.sim.objects.meshes import TriangleMesh, convex_mesh, joined, mass_properties
from toolhand.tool_nodes.perception.colours import name_colour

FRICTION = (0.2, 1.2)
"""Bounds of the sliding friction [-], from wet plastic on steel to rubber on wood; evenly drawn."""
MASS_KG = (0.015, 0.6)
"""Bounds of the mass of a generated object [kg]: a light packet, and what a hand of 60 N still lifts at the friction
0.2 of the most slippery."""
LARGER = (1.2, 1.8)
"""Bounds of how much larger an object of "generated_large" is than that of the same name [-]: many have no side that is
narrow enough for jaws that open by 8.5 cm."""
_ALIKE = 0.3
"""Share of seeds whose objects have one hue [-]: colour alone must not tell neighbours apart in all scenes."""
_KEPT = 256
"""Objects that are kept once they were made [-]: those of some scenes."""
_STREAM = 0x6F62
"""Number of this set in its seeds, so that no other user of the same seed draws the same numbers."""
_NAME = re.compile(rf"(?:({'|'.join(FAMILIES)})-)?(0|[1-9][0-9]{{0,17}})(?:-([1-9][0-9]{{0,5}}))?")


class _Generated(Mapping[str, ObjectAsset]):
    """Objects by name; there is no end of them, and one of each family is listed.

    Args:
        larger: Bounds of how much larger they are than they were drawn [-].
    """

    def __init__(self, larger: tuple[float, float] = (1.0, 1.0)) -> None:
        self._larger = larger

    def __getitem__(self, name: str) -> ObjectAsset:
        match = _NAME.fullmatch(name)
        if match is None:
            raise KeyError(name)
        return _object(int(match[2]), int(match[3] or 0), match[1], self._larger)

    def __iter__(self) -> Iterator[str]:
        return (f"{family}-0" for family in FAMILIES)

    def __len__(self) -> int:
        return len(FAMILIES)

    def drawn(self, seed: int, n: int) -> list[str]:
        """Names of n objects of a seed: what a scene of that seed holds."""
        return [f"{seed}-{k}" if k else str(seed) for k in range(n)]


GENERATED, LARGE = _Generated(), _Generated(LARGER)


@lru_cache(_KEPT)
def _object(seed: int, number: int, family: str | None, larger: tuple[float, float]) -> MeshAsset:
    rng = np.random.default_rng([_STREAM, seed, number])
    name = str(rng.choice(list(FAMILIES)))
    if family is not None and family != name:
        name, rng = family, np.random.default_rng([_STREAM, seed, number, zlib.crc32(family.encode())])
    common = np.random.default_rng([_STREAM, seed])
    hue = float(common.random()) if common.random() < _ALIKE else None
    kind = FAMILIES[name]
    scale = float(np.random.default_rng([_STREAM, seed, number]).uniform(*larger))
    blank = _centred(kind.draw(rng), scale)
    paint = painted(blank.mesh, hue, rng)
    colours = list(dict.fromkeys(name_colour(255 * np.array(skin.rgb)) for skin in paint.skins))
    matter = mass_properties(joined([convex_mesh(part) for part in blank.parts]))
    low, high = np.log(kind.density)
    friction = float(rng.uniform(*FRICTION))
    return MeshAsset(
        name=name,
        kind=name,
        colour=colours[0],
        secondary_colour=colours[1] if len(colours) > 1 else None,
        categories=kind.categories,
        attributes=kind.attributes,
        container=blank.cavity is not None,
        size_m=_extents(blank),
        mass_kg=float(np.clip(np.exp(rng.uniform(low, high)) * matter.volume_m3, *MASS_KG)),
        contact=Contact((friction, 0.005, 0.001), 6) if blank.rolls else Contact((friction, 0.005, 0.0001), 4),
        cavity=blank.cavity,
        upright=not blank.rolls,
        shape=name,
        parts=blank.parts,
        skins=paint.skins,
        matter=matter,
        own_grip=True,
    )


def _centred(blank: Blank, scale: float) -> Blank:
    """The blank about the middle of its bounding box, larger by a factor [-]."""
    corners = np.vstack(blank.parts)
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
    inside = blank.cavity
    if inside is not None:
        wide, deep = inside.half_extents_m
        floor, rim = inside.floor_z - middle[2], inside.rim_z - middle[2]
        inside = Cavity((wide * scale, deep * scale), inside.round, floor * scale, rim * scale)
    mesh = TriangleMesh((blank.mesh.vertices - middle) * scale, blank.mesh.faces)
    return replace(blank, parts=tuple((part - middle) * scale for part in blank.parts), mesh=mesh, cavity=inside)


def _extents(blank: Blank) -> Triple:
    x, y, z = np.ptp(np.vstack(blank.parts), axis=0).tolist()
    return x, y, z
