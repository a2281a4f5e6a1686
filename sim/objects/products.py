"""The simulated world's products by name, in the order of their file; the set "catalogue"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

from toolhand.sim.objects.asset import ObjectAsset
from toolhand.sim.objects.shapes import shaped
from toolhand.tool_nodes.catalogue import Description, load_catalogue
from toolhand.tool_nodes.plain_yaml import load

_FILE = Path(__file__).with_name("products.yaml")


class _Products(Mapping[str, ObjectAsset]):
    """Read when the first one is asked for. Bodies are the file's; what people call them is the catalogue's."""

    @cached_property
    def _assets(self) -> Mapping[str, ObjectAsset]:
        rows = load(_FILE.read_bytes())
        return {row["name"]: shaped(**_tuples(row), **_words(row["name"])) for row in rows}

    def __getitem__(self, name: str) -> ObjectAsset:
        return self._assets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._assets)

    def __len__(self) -> int:
        return len(self._assets)


PRODUCTS = _Products()


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


def _words(name: str) -> dict[str, Any]:
    """What people call a product; nothing where the catalogue does not have it, and its form is its kind then."""
    item = load_catalogue().get(name)
    return {field.name: getattr(item, field.name) for field in fields(Description) if item and field.name != "name"}
