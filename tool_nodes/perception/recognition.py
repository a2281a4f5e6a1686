"""Which product a cluster is: a likelihood over the catalogue from size, shape and colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tool_nodes.catalogue import CatalogueItem
from tool_nodes.perception.colours import shade_and_misfit
from tool_nodes.perception.extents import Extents
from tool_nodes.types import FloatArray, ObjectView

_PIXEL_SCALE = 9.0
"""Misfit at which a pixel starts to speak against a colour [grey levels]."""

_OUTLIER = 0.01
_COLOUR_WEIGHT = 9.0
"""How many independent witnesses the pixels of one thing are worth."""

_LIT_SHADE = (0.62, 1.10)
"""The brightest part of a thing is lit within these factors, unless something shades it."""

_UNKNOWN = -16.0
"""Below this likelihood a thing is none of the items; a thing that is partly hidden is given more credit."""
_POSE_PENALTY = 3.0
_UNSEEN_PART_PENALTY = 3.0
_TINY_PARTS = (None, "stem", "tip")
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
        self._parts = list(dict.fromkeys(item.secondary_part for item in items))
        self._part = np.array([self._parts.index(item.secondary_part) for item in items])
        self._has_large_part = np.array([item.secondary_part not in _TINY_PARTS for item in items])
        self._sizes = np.array([item.size_m for item in items])

    def log_likelihood(self, look: Look) -> FloatArray:
        """(len(items),) how well each item explains a look; 0 is a perfect match."""
        if not self.items:
            return np.zeros(0)
        return self._size_term(look) + self._shape_term(look) + self._colour_term(look)

    def score(self, look: Look) -> float:
        """Log-likelihood of the item that explains a look best; -inf where there are no items."""
        return float(np.max(self.log_likelihood(look), initial=-np.inf))

    def best(self, look: Look) -> CatalogueItem | None:
        """The item that explains a look best, or None if none explains it."""
        scores = self.log_likelihood(look)
        if not len(scores):
            return None
        winner = int(np.argmax(scores))
        limit = 1.5 * _UNKNOWN if look.cut else _UNKNOWN
        return self.items[winner] if scores[winner] > limit else None

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
            kind = (
                "round" if words & {"round", "cylindrical"} else "straight" if words & {"rectangular", "square"} else ""
            )
            if kind and "long" not in words:
                term[k] -= min(0.5 * ((look.extents.fill - _FILL[kind]) / 0.06) ** 2, 4.0)
        return term

    def _colour_term(self, look: Look) -> FloatArray:
        n = len(look.pixels)
        if n == 0:
            return np.zeros(len(self.items))
        shade, misfit = shade_and_misfit(look.pixels, self._palette)
        likely = 1.0 / (1.0 + (misfit / _PIXEL_SCALE) ** 2) ** 1.5
        main, second = likely[:, self._main], likely[:, self._second]
        share = np.stack([_secondary_share(part, look.levels) for part in self._parts])[self._part].T
        mixture = (share * second + (1.0 - share) * main) / np.maximum(share, 1.0 - share)
        term = _COLOUR_WEIGHT * np.mean(np.log(np.minimum(mixture, 1.0) + _OUTLIER), axis=0)
        term -= _UNSEEN_PART_PENALTY * (self._has_large_part & (np.mean(second > main + 0.1, axis=0) < 0.01))

        ours = main >= second
        count = np.count_nonzero(ours, axis=0)
        ranked = np.sort(np.where(ours, shade[:, self._main], -1.0), axis=0)
        lit = ranked[n - 1 - count // 10, np.arange(len(self.items))]
        odd = np.maximum(np.maximum(_LIT_SHADE[0] - lit, lit - _LIT_SHADE[1]), 0.0)
        return term - np.where(count >= 5, np.minimum(odd / 0.08, 4.0), 0.0)


def _secondary_share(part: str | None, levels: FloatArray) -> FloatArray:
    """Prior (N,) that a pixel at a height 0..1 shows the second colour of an item, which is on a certain part."""
    if part is None:
        return np.zeros(len(levels))
    if part in ("cap", "lid", "top"):
        return np.where(levels > 0.96, 0.8, np.where(levels > 0.82, 0.5, 0.04))
    if part in ("label", "band"):
        return np.where((levels > 0.2) & (levels < 0.8), 0.5, 0.04)
    return np.full(len(levels), 0.04 if part in _TINY_PARTS else 0.35)


def describe_unknown(
    look: Look,
    colours: Sequence[tuple[str, float]],
    point: tuple[float, float],
    position_m: FloatArray,
    size_m: FloatArray,
) -> ObjectView:
    """A view of something that is in no catalogue, in words such as "red box-shaped object"."""
    length, width, height = size_m
    round_outline = look.extents.fill < 0.90
    if look.hollow:
        shape, words = ("bowl-shaped", "bowl") if round_outline else ("bin-shaped", "bin")
    elif length > 1.9 * width:
        shape, words = "long", "thing"
    elif round_outline:
        shape, words = ("ball-shaped", "ball") if abs(height - width) < 0.15 * width else ("cylindrical", "cylinder")
    else:
        shape, words = "box-shaped", "box"
    colour = colours[0][0] if colours else "grey"
    others = tuple(word for word, share in colours[1:3] if share > 0.15)
    adjectives = [shape, "round" if round_outline else "rectangular"]
    adjectives += ["tall"] if height > 0.14 else ["short"] if height < 0.06 else []
    return ObjectView(
        name=f"{colour} {shape} object",
        kind="object",
        colour=colour,
        synonyms=(f"{colour} {words}",),
        categories=("container",) if look.hollow else (),
        attributes=(*adjectives, *others),
        point=point,
        position_m=position_m,
        size_m=size_m,
        container=look.hollow,
    )
