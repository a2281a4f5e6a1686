"""Object recognition: a likelihood over the catalogue's products from size, shape and colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.catalogue import CatalogueItem
from toolhand.tool_nodes.perception.colours import shade_and_misfit
from toolhand.tool_nodes.perception.extents import Extents
from toolhand.tool_nodes.perception.naming import SURE, known_product
from toolhand.tool_nodes.types import FloatArray, ObjectView

_PIXEL_SCALE = 9.0
"""Misfit at which a pixel starts to speak against a colour [grey levels]."""

_OUTLIER = 0.01
"""Likelihood of a pixel that a colour does not explain at all [-]: one odd pixel decides nothing."""
_COLOUR_WEIGHT = 9.0
"""How many independent witnesses the pixels of one object are worth."""

_BEST_COLOUR = _COLOUR_WEIGHT * float(np.log1p(_OUTLIER))
"""What the colour of a perfect match adds to the likelihood: no item can gain more."""

_LIT_SHADE = (0.62, 1.28)
"""The brightest part of an object is lit within these factors, unless something shades it: up to 1.10, and by automatic
exposure up to 16 % brighter."""

_UNKNOWN = -24.0
"""Below this likelihood an object is none of the items, whatever `evidence` says: it saves comparing most of them. With
a noisy camera and an object half hidden products are seen down to about -22."""

CONFIDENCE = 2.5
"""The likelihoods are divided by this before they are compared as probabilities [-]: the features of an object err
together. Chosen, with `_STRANGER`, so that of readings with one probability that share is right, on 2071 looks at
640x480, 320x240 and 160x120 in generated and crowded scenes of seeds 1000 to 1049 (`toolhand bench perception
--first-seed 1000 --scenes 50` shows it)."""
_STRANGER = {False: -20.0, True: -16.0}
"""Log likelihood of being none of the items, of an object in full view (False) or partly hidden. Measured as
`CONFIDENCE`."""
STRANGE = _STRANGER[False]
"""That of an object in full view."""
_SLIGHT = 0.01
"""Readings of an object that are less likely than this are left out [-]: far below any threshold."""

_POSE_PENALTY = 3.0
"""What lying on a side takes from the log likelihood: most objects stand on their foot."""
_UNSEEN_PART_PENALTY = 3.0
"""What it takes that no pixel shows an item's large second colour [log likelihood]; a round figure."""
_FOREIGN = (12.0, 25.0)
"""Misfits over which a pixel shows neither of an item's colours: perhaps, and surely [grey levels]. Of known products
nine pixels of ten stay below the first with every sensor."""
_CLEARLY = 3.0
"""A pixel shows the second colour where that fits better by this much [grey levels]; a round figure, about the noise of
an image."""
_HIDDEN_SLACK = 2.5
"""How much larger constant errors of size are where a part is out of sight [-]; a round figure."""
_FARTHEST = 5.0
"""Errors of size count no more than this [standard deviations]: beyond it no item is meant; a round figure."""
_TINY_PARTS = (None, "stem", "tip")
_FILL = {"round": 0.80, "straight": 0.985}
"""Share of its smallest rectangle that a seen footprint fills [-]; near those of an ellipse, pi / 4, and of a
rectangle."""


@dataclass(frozen=True)
class Look:
    """What is known of a cluster before it has a name.

    Attributes:
        extents: Its box.
        hollow: True if it is an open container.
        pixels: uint8 (N, 3), a sample of its colours.
        levels: (N,) height of those pixels over its foot, 0..1.
        cut: True if part of it may be out of sight, behind something or beyond the image.
        clear: True if it is an open container of which rim and floor are seen, but no walls.
    """

    extents: Extents
    hollow: bool
    pixels: NDArray[np.uint8]
    levels: FloatArray
    cut: bool = False
    clear: bool = False


@dataclass(frozen=True)
class Reading:
    """What an object may be: an item, or None for none of them, with its probability in [0, 1]."""

    item: CatalogueItem | None
    probability: float


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
        self._main = np.array([index[item.rgb] for item in items], dtype=int)
        self._second = np.array([index[item.secondary_rgb or item.rgb] for item in items], dtype=int)
        self._parts = [item.secondary_part for item in items]
        self._has_large_part = np.array([item.secondary_part not in _TINY_PARTS for item in items], dtype=bool)
        self._heights = np.array([item.size_m[2] for item in items])
        self._hollow = np.array([item.container for item in items], dtype=bool)
        self._fill = np.array([_expected_fill(item) for item in items])
        sizes = np.array([item.size_m for item in items], dtype=float).reshape(-1, 3)
        # The three ways to lie (3, len(items), 3): on its foot first, each as length, width, height.
        flats = [np.sort(np.delete(sizes, up, axis=1), axis=1)[:, ::-1] for up in (2, 0, 1)]
        self._poses = np.stack(
            [np.column_stack([flat, sizes[:, up]]) for flat, up in zip(flats, (2, 0, 1), strict=True)]
        )

    def log_likelihood(self, look: Look, floor: float = -np.inf) -> FloatArray:
        """(len(items),) how well each item explains a look; 0 is a perfect match, -inf stands for any below `floor`."""
        scores = np.full(len(self.items), -np.inf)
        prior = self._size_term(look) + self._shape_term(look)
        chosen = np.flatnonzero(prior + _BEST_COLOUR > floor)
        if len(chosen):
            scores[chosen] = prior[chosen] + self._colour_term(look, chosen)
        return scores

    def score(self, look: Look, floor: float = -np.inf) -> float:
        """Log-likelihood of the item that explains a look best; -inf where there is none, or none above `floor`."""
        return float(np.max(self.log_likelihood(look, floor), initial=-np.inf))

    def colour_limits(self, pixels: NDArray[np.uint8]) -> FloatArray:
        """(len(items),) the most that the colours of pixels (N, 3) may add to the log-likelihood of each item."""
        likely = _likely(shade_and_misfit(pixels, self._palette)[1])
        either = likely[:, self._main] + np.where(self._main == self._second, 0.0, likely[:, self._second])
        limits: FloatArray = _COLOUR_WEIGHT * np.mean(np.log(np.minimum(either, 1.0) + _OUTLIER), axis=0)
        return limits

    def readings(self, look: Look) -> list[Reading]:
        """What a look is taken for, then what else it may be, likeliest first; together at most 1.

        An object has an item's name only where `evidence` is stronger than what unknown objects show by chance; one
        without a name is None alone. The items share the probability of being known by their likelihoods.
        """
        scores = self.log_likelihood(look, _UNKNOWN + CONFIDENCE * float(np.log(_SLIGHT)))
        winner = int(np.argmax(scores)) if self.items else -1
        if winner < 0 or scores[winner] <= _UNKNOWN:
            return [Reading(None, 1.0)]
        known = known_product(self.evidence(look, winner))
        if known < SURE:
            return [Reading(None, 1.0)]
        # A fragment looks like many objects: what is partly hidden is less certain at the same evidence.
        stranger = float(np.exp((_STRANGER[look.cut] - scores[winner]) / CONFIDENCE))
        likely = np.exp((scores - scores[winner]) / CONFIDENCE)
        likely *= known / (likely.sum() + stranger)
        known = float(likely.sum())
        order = [int(k) for k in np.argsort(-likely, kind="stable") if likely[k] >= _SLIGHT]
        found = [Reading(self.items[k], float(likely[k])) for k in order]
        unknown = [Reading(None, 1.0 - known)] if 1.0 - known >= _SLIGHT else []
        return [found[0], *sorted([*found[1:], *unknown], key=lambda reading: -reading.probability)]

    def best(self, look: Look) -> CatalogueItem | None:
        """The item that explains a look best, or None if none explains it."""
        return self.readings(look)[0].item

    def evidence(self, look: Look, k: int) -> FloatArray:
        """(len(EVIDENCE),) how well a look agrees with item k, size, shape and colours each by themselves."""
        z, terms = self._misfits(look)
        pose = int(np.argmax(terms[:, k]))
        colours = np.zeros(6)
        if len(look.pixels):
            main, second = shade_and_misfit(look.pixels, self._palette[[self._main[k], self._second[k]]])[1].T
            misfit = np.minimum(main, second)
            shows = float(np.mean(second < main - _CLEARLY)) if self.items[k].secondary_rgb is not None else 0.0
            wanted = float(np.mean(_secondary_share(self._parts[k], look.levels)))
            high = [float(np.mean(misfit > limit)) for limit in _FOREIGN]
            excess = max(shows - wanted, 0.0), max(wanted - shows, 0.0)
            colours = np.array([*high, np.median(misfit), np.quantile(misfit, 0.9), *excess])
        values = [
            terms[pose, k],
            *np.clip(-z[pose, k], 0.0, _FARTHEST),
            # What is hidden makes an object look smaller, never larger.
            *np.clip((_HIDDEN_SLACK if look.cut else 1.0) * z[pose, k], 0.0, _FARTHEST),
            self._colour_term(look, np.array([k]))[0],
            self._shape_term(look)[k],
            pose > 0,
            self.items[k].secondary_rgb is not None,
            *colours,
        ]
        return np.array(values, dtype=float)

    def _misfits(self, look: Look) -> tuple[FloatArray, FloatArray]:
        """Errors of size (3, len(items), 3) in their standard deviations, by pose, and log likelihoods (3, items)."""
        slack = _HIDDEN_SLACK if look.cut else 1.0
        sigma = slack * np.array([0.004, 0.004, 0.003]) + self._poses * np.array([0.03, 0.03, 0.015])
        z: FloatArray = (np.asarray(look.extents.size) - self._poses) / sigma
        lying = np.array([[0.0], [_POSE_PENALTY], [_POSE_PENALTY]])
        return z, -np.sum(np.minimum(0.5 * z**2, 10.0), axis=2) - lying

    def _size_term(self, look: Look) -> FloatArray:
        best: FloatArray = self._misfits(look)[1].max(axis=0)
        return best

    def _shape_term(self, look: Look) -> FloatArray:
        term = np.where(self._hollow != look.hollow, -6.0, 0.0)
        if not look.cut:
            upright = np.abs(look.extents.size[2] - self._heights) < 0.25 * self._heights
            odd = np.minimum(0.5 * ((look.extents.fill - self._fill) / 0.06) ** 2, 4.0)
            term -= np.where(upright & np.isfinite(self._fill), odd, 0.0)
        return term

    def _colour_term(self, look: Look, chosen: NDArray[np.intp]) -> FloatArray:
        """(len(chosen),) how well the colours of some items, given by index, fit."""
        n = len(look.pixels)
        if n == 0:
            return np.zeros(len(chosen))
        used, places = np.unique(np.concatenate([self._main[chosen], self._second[chosen]]), return_inverse=True)
        mains, seconds = places[: len(chosen)], places[len(chosen) :]
        shade, misfit = shade_and_misfit(look.pixels, self._palette[used])
        likely = _likely(misfit)
        main, second = likely[:, mains], likely[:, seconds]
        parts = [self._parts[k] for k in chosen]
        shares = {part: _secondary_share(part, look.levels) for part in set(parts)}
        share = np.stack([shares[part] for part in parts], axis=1)
        mixture = (share * second + (1.0 - share) * main) / np.maximum(share, 1.0 - share)
        term = _COLOUR_WEIGHT * np.mean(np.log(np.minimum(mixture, 1.0) + _OUTLIER), axis=0)
        unseen = np.mean(second > main + 0.1, axis=0) < 0.01
        term -= _UNSEEN_PART_PENALTY * (self._has_large_part[chosen] & unseen)

        ours = main >= second
        count = np.count_nonzero(ours, axis=0)
        ranked = np.sort(np.where(ours, shade[:, mains], -1.0), axis=0)
        lit = ranked[n - 1 - count // 10, np.arange(len(chosen))]
        odd = np.maximum(np.maximum(_LIT_SHADE[0] - lit, lit - _LIT_SHADE[1]), 0.0)
        return term - np.where(count >= 5, np.minimum(odd / 0.08, 4.0), 0.0)


def _likely(misfit: FloatArray) -> FloatArray:
    """Likelihood of pixels of a colour, relative to the best, by their misfits [grey levels]."""
    return np.asarray(1.0 / (1.0 + (misfit / _PIXEL_SCALE) ** 2) ** 1.5)


def _expected_fill(item: CatalogueItem) -> float:
    """Share of its rectangle that the outline of an upright item fills, NaN where its shape does not say."""
    words = set(item.attributes)
    if "long" in words:
        return np.nan
    if words & {"round", "cylindrical"}:
        return _FILL["round"]
    return _FILL["straight"] if words & {"rectangular", "square"} else np.nan


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
    several: bool = False,
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
    if look.clear:
        colours = [("transparent", 1.0), *colours]
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
        recognised=False,
        several=several,
    )
