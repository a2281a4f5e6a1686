"""Which product a cluster is: a likelihood over the catalogue from size, shape and colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tool_nodes.catalogue import CatalogueItem
from tool_nodes.perception.colours import shade_and_misfit
from tool_nodes.perception.extents import Extents
from tool_nodes.types import FloatArray

_PIXEL_SCALE = 9.0
"""Misfit at which a pixel starts to speak against a colour [grey levels]."""

_OUTLIER = 0.01
_COLOUR_WEIGHT = 9.0
"""How many independent witnesses the pixels of one thing are worth."""

_LIT_SHADE = 0.62
_POSE_PENALTY = 3.0
_FILL = {"round": 0.80, "straight": 0.985}


@dataclass(frozen=True)
class Look:
    """What is known of a cluster before it has a name.

    Attributes:
        extents: Its box.
        hollow: True if it is an open container.
        pixels: uint8 (N, 3), a sample of its colours.
        levels: (N,) height of those pixels over its foot, 0..1.
        cut: True if part of it may be out of sight, behind something or beyond the picture.
    """

    extents: Extents
    hollow: bool
    pixels: NDArray[np.uint8]
    levels: FloatArray
    cut: bool = False


class Recogniser:
    """Compares clusters with catalogue items.

    Args:
        items: The products that may be on the table.
    """

    def __init__(self, items: Sequence[CatalogueItem]) -> None:
        self.items = list(items)
        colours = sorted({rgb for item in items for rgb in (item.rgb, item.secondary_rgb) if rgb is not None})
        self._palette = np.array(colours, dtype=float)
        index = {rgb: k for k, rgb in enumerate(colours)}
        self._main = np.array([index[item.rgb] for item in items])
        self._second = np.array([index[item.secondary_rgb or item.rgb] for item in items])

    @cached_property
    def _sizes(self) -> FloatArray:
        return np.array([item.size_m for item in self.items])

    def log_likelihood(self, look: Look) -> FloatArray:
        """(len(items),) how well each item explains a look; 0 is a perfect match, below about -14 is none."""
        return self._size_term(look) + self._shape_term(look) + self._colour_term(look)

    def _size_term(self, look: Look) -> FloatArray:
        length, width, height = look.extents.size
        slack = 2.5 if look.cut else 1.0
        best = np.full(len(self.items), -np.inf)
        for up in (2, 0, 1):
            flat = np.sort(np.delete(self._sizes, up, axis=1), axis=1)
            expected = np.column_stack([flat[:, 1], flat[:, 0], self._sizes[:, up]])
            sigma = slack * np.array([0.004, 0.004, 0.003]) + expected * np.array([0.03, 0.03, 0.015])
            z = (np.array([length, width, height]) - expected) / sigma
            term = -np.sum(np.minimum(0.5 * z**2, 10.0), axis=1) - (0.0 if up == 2 else _POSE_PENALTY)
            best = np.maximum(best, term)
        return best

    def _shape_term(self, look: Look) -> FloatArray:
        term = np.zeros(len(self.items))
        for k, item in enumerate(self.items):
            if item.container != look.hollow:
                term[k] -= 6.0
            words = set(item.attributes)
            upright = abs(look.extents.size[2] - item.size_m[2]) < 0.25 * item.size_m[2]
            if not upright or look.cut:
                continue
            kind = "round" if words & {"round", "cylindrical"} else "straight" if words & {"rectangular", "square"} else ""
            if kind and "long" not in words:
                term[k] -= min(0.5 * ((look.extents.fill - _FILL[kind]) / 0.06) ** 2, 4.0)
        return term

    def _colour_term(self, look: Look) -> FloatArray:
        if not len(look.pixels):
            return np.zeros(len(self.items))
        shade, misfit = shade_and_misfit(look.pixels, self._palette)
        likely = 1.0 / (1.0 + (misfit / _PIXEL_SCALE) ** 2) ** 1.5
        term = np.empty(len(self.items))
        for k, item in enumerate(self.items):
            main = likely[:, self._main[k]]
            share = _secondary_share(item, look.levels)
            second = likely[:, self._second[k]]
            mixture = share * second + (1.0 - share) * main
            term[k] = _COLOUR_WEIGHT * float(np.mean(np.log(mixture + _OUTLIER)))
            ours = main >= second
            if np.count_nonzero(ours) >= 5:
                lit = float(np.quantile(shade[ours, self._main[k]], 0.9))
                term[k] -= min(max(_LIT_SHADE - lit, lit - SHADE_LIMIT, 0.0) / 0.08, 4.0)
        return term


SHADE_LIMIT = 1.1


def _secondary_share(item: CatalogueItem, levels: FloatArray) -> FloatArray:
    """Prior (N,) that a pixel at a height 0..1 shows the item's second colour."""
    part = item.secondary_part
    if part is None:
        return np.zeros(len(levels))
    if part in ("cap", "lid", "top"):
        return np.where(levels > 0.96, 0.8, np.where(levels > 0.82, 0.5, 0.04))
    if part in ("label", "band"):
        return np.where((levels > 0.2) & (levels < 0.8), 0.5, 0.04)
    return np.full(len(levels), 0.04 if part in ("stem", "tip") else 0.25)
