"""Three splits that share no layout, no product that is asked for, and no wording.

- **Products**: those of `HELD_OUT` stand on no table and are named in no sentence of another split. A task of
  validation or test asks about one of its own; what else stands there is of the training's.
- **Layouts**: how many objects stand in which part of the table, `layout_of`. Each such pattern belongs to one split.
- **Wordings**: each split has a file of them, see `toolhand.training.tasks.sayings`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache
from typing import Literal, cast, get_args

import numpy as np

from toolhand.sim.objects.products import PRODUCTS
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.tool_nodes.results import invalid

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)

HELD_OUT: dict[Split, tuple[str, ...]] = {
    "validation": (
        "cracker box", "apple juice", "lemon soda", "mustard", "honey", "salt", "paper cup", "green bowl", "baseball",
        "bunny", "toy block", "pear",
    ),
    "test": (
        "tea box", "orange juice", "tomato soup", "hot sauce", "strawberry jam", "cinnamon", "blue cup", "grey bin",
        "pink ball", "plush frog", "rice box", "orange",
    ),
}  # fmt: skip
"""Products of one split alone: of every large kind one or two."""

_BUCKETS: tuple[Split, ...] = ("train", "train", "validation", "test")
"""What a layout's checksum, modulo four, belongs to: half of all layouts to the training."""

_COLUMNS = (-0.15, 0.15)
"""Where the table is cut across: y in the base frame [m], so that each part holds two or three."""
_ROW = 0.5
"""Where it is cut along: x in the base frame [m]."""


def split_named(name: str) -> Split:
    """The split of this name.

    Raises:
        ToolError: INVALID_ARGUMENT for another one, with the three that there are.
    """
    if name not in SPLITS:
        raise invalid(f"There is no split {name[:60]!r}, only {', '.join(SPLITS)}.")
    return cast(Split, name)


@cache
def products_of(split: Split) -> tuple[str, ...]:
    """Names of the products that tasks of a split ask about, in the catalogue's order."""
    if split != "train":
        return tuple(name for name in PRODUCTS if name in HELD_OUT[split])
    held_out = {name for names in HELD_OUT.values() for name in names}
    return tuple(name for name in PRODUCTS if name not in held_out)


def layout_of(objects: Sequence[PlacedObject]) -> tuple[int, ...]:
    """How many objects stand in each of six parts of the table, three across times two along."""
    counts = [0] * 6
    for placed in objects:
        x, y, _ = placed.position_m
        counts[3 * int(x > _ROW) + int(np.searchsorted(_COLUMNS, y))] += 1
    return tuple(counts)


def split_of_layout(layout: Sequence[int]) -> Split:
    """The one split that a layout belongs to, of objects on a table or of anything else that is counted in parts."""
    return _BUCKETS[zlib.crc32(",".join(map(str, layout)).encode()) % len(_BUCKETS)]
