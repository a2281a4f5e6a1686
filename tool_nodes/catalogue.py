"""The product list: what a robot knows of objects, what they are called and what they are expected to look like.

Perception recognises by it. It says nothing about what is there: a scene can hold what it does not list, and it may
list what no scene holds; what the simulator's objects are like is `sim/objects/`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from annotated_types import Interval, Len

from toolhand.tool_nodes.records import Rule, read_yaml
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray, ObjectView

CATALOGUE_PATH = Path(__file__).with_name("catalogue.yaml")

HEIGHT_M = (0.03, 0.20)
"""Every item's height lies within these [m]."""

Rgb = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Description:
    """What people say of an object.

    Attributes:
        name: Name, lower case, e.g. "coconut water".
        kind: One word for its kind, e.g. "carton".
        colour: Main colour in words, e.g. "dark blue".
        secondary_colour: Colour of a part that has another one, in words, or None.
        synonyms: Other names people use for it.
        categories: General classes that it belongs to, e.g. ("drink", "juice").
        attributes: Adjectives that apply, e.g. ("tall", "plastic").
        container: True if objects can be put in it.
    """

    name: str
    kind: str
    colour: str
    secondary_colour: str | None = None
    synonyms: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    container: bool = False

    def seen(self, point: tuple[float, float], position_m: FloatArray, size_m: FloatArray) -> ObjectView:
        """The object as perception reports it; arguments as those of `ObjectView`."""
        return ObjectView(
            name=self.name,
            kind=self.kind,
            colour=self.colour,
            synonyms=self.synonyms,
            categories=self.categories,
            attributes=self.attributes,
            point=point,
            position_m=position_m,
            size_m=size_m,
            container=self.container,
        )

    @property
    def words(self) -> frozenset[str]:
        """Every word or phrase that describes it: name, kind, colour, synonyms, categories, attributes."""
        return frozenset({self.name, self.kind, self.colour, *self.synonyms, *self.categories, *self.attributes})


@dataclass(frozen=True, kw_only=True)
class CatalogueItem(Description):
    """One product as a robot knows it; its name is unique.

    Attributes:
        rgb: Main colour, 0..255, in even light.
        secondary_part: Which part has another colour ("cap", "label", "lid", ...), or None.
        secondary_rgb: That colour, 0..255, or None.
        size_m: Expected extents (x, y, z) as it stands on the table, z up [m].
    """

    rgb: Rgb
    secondary_part: str | None
    secondary_rgb: Rgb | None
    size_m: tuple[float, float, float]


def load_catalogue(path: Path | None = None) -> Mapping[str, CatalogueItem]:
    """All items by name, in the order of the file (read once).

    Args:
        path: A catalogue file; the one that is shipped where None.

    Raises:
        ToolError: INVALID_ARGUMENT, naming the file, the item and what is allowed.
    """
    return _load(path or CATALOGUE_PATH)


def nearest_names(name: str, allowed: Iterable[str]) -> str:
    """The names most like a misspelt one, in quotes and separated by commas."""
    names = list(allowed)
    close = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.4)
    # A part of the name ("bin" for "black bin") is a common slip that letter similarity rates low.
    close += [other for other in names if name.lower() in other.split() and other not in close]
    return ", ".join(f'"{other}"' for other in (close or names)[: max(3, len(close))])


@dataclass(frozen=True)
class ProductWords:
    """What people call a product beside what the list says.

    Attributes:
        synonyms: Other names.
        categories: Classes that it belongs to.
        attributes: Adjectives that are true of it.
    """

    synonyms: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()


@cache
def spoken_words() -> Mapping[str, ProductWords]:
    """What people call each product, by its name in the list."""
    lines = CATALOGUE_PATH.with_name("catalogue_words.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {name: ProductWords(*(tuple(words.split(", ")) for words in said)) for name, *said in rows}


@cache
def _load(path: Path) -> Mapping[str, CatalogueItem]:
    items: dict[str, CatalogueItem] = {}
    for number, row in enumerate(read_yaml(_Rows, path), start=1):
        if row.name in items:
            raise invalid(f'{path.name}, item {number}: the name "{row.name}" is used twice, names are unique.')
        second = row.secondary
        items[row.name] = CatalogueItem(
            name=row.name,
            kind=row.kind,
            colour=row.colour,
            rgb=row.rgb,
            secondary_part=None if second is None else second.part,
            secondary_colour=None if second is None else second.colour,
            secondary_rgb=None if second is None else second.rgb,
            synonyms=row.synonyms,
            categories=row.categories,
            attributes=row.attributes,
            size_m=row.size_m,
            container=row.container,
        )
    return MappingProxyType(items)


_Text = Annotated[str, Rule("lower-case text", lambda text: bool(text) and text == text.strip().lower())]
_Channel = Annotated[int, Interval(ge=0, le=255)]
_Rgb = tuple[_Channel, _Channel, _Channel]
_Width = Annotated[float, Interval(ge=0.015, le=0.25)]


@dataclass(frozen=True)
class _Secondary:
    """A part of another colour."""

    part: _Text
    colour: _Text
    rgb: _Rgb


@dataclass(frozen=True, kw_only=True)
class _Row:
    """An item of the file; see `CatalogueItem`."""

    name: _Text
    kind: _Text
    size_m: tuple[_Width, _Width, Annotated[float, Interval(ge=HEIGHT_M[0], le=HEIGHT_M[1])]]
    colour: _Text
    rgb: _Rgb
    synonyms: tuple[_Text, ...]
    categories: tuple[_Text, ...]
    attributes: tuple[_Text, ...]
    secondary: _Secondary | None = None
    container: bool = False


_Rows = Annotated[tuple[_Row, ...], Len(1)]
