"""The product list: what a robot knows of things, what they are called and what they are expected to look like.

Perception recognises by it. It says nothing about what is there: a scene can hold what it does not list, and it may
list what no scene holds; what the simulator's things are like is `sim/objects/`.
"""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tool_nodes.files import read_file, why
from tool_nodes.plain_yaml import PlainYamlError, YamlLimits, load
from tool_nodes.results import ToolError, invalid
from tool_nodes.types import FloatArray, ObjectView

CATALOGUE_PATH = Path(__file__).with_name("catalogue.yaml")

HEIGHT_M = (0.03, 0.20)
"""Every item's height lies within these [m]."""

_REQUIRED = ("name", "kind", "size_m", "colour", "rgb", "synonyms", "categories", "attributes")
_OPTIONAL = ("secondary", "container")

Rgb = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Description:
    """What people say of a thing.

    Attributes:
        name: Name, lower case, e.g. "coconut water".
        kind: One word for its kind, e.g. "carton".
        colour: Main colour in words, e.g. "dark blue".
        secondary_colour: Colour of a part that has another one, in words, or None.
        synonyms: Other names people use for it.
        categories: General classes that it belongs to, e.g. ("drink", "juice").
        attributes: Adjectives that apply, e.g. ("tall", "plastic").
        container: True if things can be put in it.
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
        """The thing as perception reports it; arguments as those of `ObjectView`."""
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


def nearest_names(name: str, allowed: Iterable[str], n: int = 3) -> str:
    """The names most like a misspelt one, in quotes and separated by commas."""
    names = list(allowed)
    close = difflib.get_close_matches(name.lower(), names, n=n, cutoff=0.4)
    # A part of the name ("bin" for "black bin") is a common slip that letter similarity rates low.
    close += [other for other in names if name.lower() in other.split() and other not in close]
    return ", ".join(f'"{other}"' for other in (close or names)[: max(n, len(close))])


@cache
def _load(path: Path) -> Mapping[str, CatalogueItem]:
    try:
        rows = load(read_file(path, YamlLimits().size))
    except (OSError, PlainYamlError) as error:
        raise invalid(f"{path.name} cannot be read as YAML: {why(error)}.") from error
    if not isinstance(rows, list) or not rows:
        raise invalid(f"{path.name} must be a list of items.")
    items: dict[str, CatalogueItem] = {}
    for number, row in enumerate(rows, start=1):
        item = _item(row, f"{path.name}, item {number}")
        if item.name in items:
            raise _wrong(f"{path.name}, item {number}", f'the name "{item.name}" is used twice, names are unique')
        items[item.name] = item
    return MappingProxyType(items)


def _item(row: Any, where: str) -> CatalogueItem:
    if not isinstance(row, dict):
        raise _wrong(where, f"an item is a mapping with {', '.join(_REQUIRED)}")
    if isinstance(row.get("name"), str):
        where = f"{where} ({row['name']})"
    missing = [key for key in _REQUIRED if key not in row]
    unknown = [key for key in row if key not in (*_REQUIRED, *_OPTIONAL)]
    if missing or unknown:
        problem = f"{missing[0]} is missing" if missing else f"{unknown[0]} is not a field"
        raise _wrong(where, f"{problem}, the fields are {', '.join((*_REQUIRED, *_OPTIONAL))}")
    part, secondary_colour, secondary_rgb = _secondary(row.get("secondary"), where)
    return CatalogueItem(
        name=_text(row["name"], "name", where),
        kind=_text(row["kind"], "kind", where),
        colour=_text(row["colour"], "colour", where),
        rgb=_rgb(row["rgb"], "rgb", where),
        secondary_part=part,
        secondary_colour=secondary_colour,
        secondary_rgb=secondary_rgb,
        synonyms=_texts(row["synonyms"], "synonyms", where),
        categories=_texts(row["categories"], "categories", where),
        attributes=_texts(row["attributes"], "attributes", where),
        size_m=_size(row["size_m"], where),
        container=_flag(row.get("container", False), "container", where),
    )


def _secondary(value: Any, where: str) -> tuple[str | None, str | None, Rgb | None]:
    if value is None:
        return None, None, None
    if not isinstance(value, dict) or set(value) != {"part", "colour", "rgb"}:
        raise _wrong(where, "secondary is a mapping with part, colour and rgb")
    return (
        _text(value["part"], "secondary part", where),
        _text(value["colour"], "secondary colour", where),
        _rgb(value["rgb"], "secondary rgb", where),
    )


def _size(value: Any, where: str) -> tuple[float, float, float]:
    if not isinstance(value, list) or len(value) != 3:
        raise _wrong(where, "size_m is three numbers [x, y, z] in metres")
    x, y = (_number(v, "size_m", where, (0.015, 0.25)) for v in value[:2])
    return x, y, _number(value[2], "height", where, HEIGHT_M)


def _rgb(value: Any, field: str, where: str) -> Rgb:
    whole = isinstance(value, list) and len(value) == 3 and all(type(v) is int and 0 <= v <= 255 for v in value)
    if not whole:
        raise _wrong(where, f"{field} is three whole numbers from 0 to 255")
    return value[0], value[1], value[2]


def _text(value: Any, field: str, where: str) -> str:
    if not isinstance(value, str) or not value or value != value.strip().lower():
        raise _wrong(where, f"{field} is lower-case text")
    return value


def _texts(value: Any, field: str, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _wrong(where, f"{field} is a list of lower-case texts")
    return tuple(_text(v, field, where) for v in value)


def _flag(value: Any, field: str, where: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(where, f"{field} is true or false")
    return value


def _number(value: Any, field: str, where: str, span: tuple[float, float]) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not span[0] <= value <= span[1]:
        raise _wrong(where, f"{field} must lie between {_span(span)}, not {reprlib.repr(value)}")
    return float(value)


def _span(span: tuple[float, float]) -> str:
    return f"{span[0]:g} and {span[1]:g}"


def _wrong(where: str, what: str) -> ToolError:
    return invalid(f"{where}: {what}.")
