"""How surely an object in a drawing is what it may be called: how well its outline and colour fit each name.

An outline is compared with the ideal shapes by two numbers, log aspect and spread (see `shapes`), each shape with a
normal density around its ideal; what fits none is a polygon. A colour is compared with the borders between the names by
naming colours that are a little off.
"""

from __future__ import annotations

import colorsys
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from toolhand.tool_nodes.perception.certainty import LEAST
from toolhand.tool_nodes.perception.drawings.shapes import (
    LINE_ASPECT,
    ShapeName,
    ShapeNumbers,
    called,
    is_hollow,
    largest_spiked_solidity,
    measure_shape,
    name_flat_colour,
    name_shape,
)
from toolhand.tool_nodes.types import BoolArray, FloatArray


@dataclass(frozen=True)
class _Ideal:
    """A shape's log aspect (None: any) with its standard deviation, its spread, and how common it is."""

    log_aspect: float | None
    aspect_sigma: float
    spread: float
    common: float = 1.0


def _spread_of_polygon(corners: int) -> float:
    """Area over that of the ellipse with the same second moments, for a regular polygon."""
    turn = 2.0 * math.pi / corners
    area = corners / 2.0 * math.sin(turn)
    return area**2 / (4.0 * math.pi * corners / 24.0 * math.sin(turn) * (2.0 + math.cos(turn)))


_ROUND_SIGMA = 0.05
"""Standard deviation of the log aspect of what people draw as a circle or a square [-]: a score of 0.25 is where
`name_shape` ends them, at an aspect of 1.15."""
_IDEALS = {
    "circle": _Ideal(0.0, _ROUND_SIGMA, 1.0),
    "ellipse": _Ideal(None, 0.0, 1.0),
    "square": _Ideal(0.0, _ROUND_SIGMA, 3.0 / math.pi),
    "rectangle": _Ideal(None, 0.0, 3.0 / math.pi),
    "triangle": _Ideal(None, 0.0, _spread_of_polygon(3)),
    "pentagon": _Ideal(0.025, 0.03, _spread_of_polygon(5), common=0.5),
    "hexagon": _Ideal(0.09, 0.05, _spread_of_polygon(6), common=0.5),
}
"""Aspects of pentagons and hexagons are measured, those of turned ones vary with the pixels; that they are half as
common as other shapes is an assumption."""
_ANY_ASPECT = math.log(LINE_ASPECT)
"""Log aspects of shapes that may be long are even from 0 to this [-]."""
_OTHER = 0.4
"""Density of spread of shapes that are none of the ideals, over that of each [-]; a round figure."""
_SPREAD_SIGMA = 0.003
"""Standard deviation of the spread of a large shape [-]; the numbers below are measured too, on random drawings of
shapes with radii of 6 to 50 px: clean, noisy, compressed and in uneven light."""
_COARSE_PX, _BLUNT_PX, _BLUNT_SIGMA_PX = 0.6, 33.0, 20.0
"""Over the area [px]: what coarse pixels add to that sigma; how far blunted corners bring the spread to 1, as a share
of its distance; and what the same adds to the sigma."""
_COARSE_ASPECT = 0.5
"""Over the root of the area [px]: what coarse pixels add to the sigma of log aspect."""
_SOLIDITY_SCALE, _LINE_SCALE = 0.01, 0.15
"""Widths of the borders to shapes that are not convex [-], and to lines [log aspect]; a round figure."""
_COARSE_SOLIDITY = 0.4
"""Over the root of the area [px]: solidity that coarse pixels take."""

_HUE_SIGMA, _SATURATION_SIGMA, _VALUE_SIGMA = 4.0, 0.04, 0.04
"""How far the eyes, or the light, of two people differ in hue [degrees], and in saturation and value [-]."""
_HUE_STEPS = np.linspace(-3.0, 3.0, 25)
"""Where hues are looked at [sigma]."""
_THREE = ((-math.sqrt(3.0), 1 / 6), (0.0, 2 / 3), (math.sqrt(3.0), 1 / 6))
"""Points [sigma] and weights of Gauss-Hermite's rule of three points."""


def read_shape(mask: BoolArray, empty: BoolArray) -> list[tuple[ShapeName, float]]:
    """What a shape may be called with the probability of each, first what `name_shape` calls it; arguments as there."""
    taken = name_shape(mask, empty)
    hollow = is_hollow(mask, empty)
    numbers = measure_shape(mask)
    area = np.count_nonzero(mask) / max(1.0 - numbers.holes, 1e-3)
    chances = _shape_chances(numbers, area, taken.name)
    others = {called(_own_name(name, numbers, hollow), hollow): chance for name, chance in chances.items()}
    own = others.pop(taken, 0.0)
    return [(taken, own), *((name, chance) for name, chance in others.items() if chance >= LEAST)]


def _own_name(name: str, numbers: ShapeNumbers, hollow: bool) -> str:
    if name == "circle" and hollow:
        return "ring"
    return "diamond" if name == "square" and numbers.turned else name


def _shape_chances(numbers: ShapeNumbers, area: float, taken: str) -> dict[str, float]:
    """The probability of each name; `taken` stands for all that are neither convex nor lines, if it is one of them."""
    log_aspect = math.log(max(float(numbers.aspect), 1.0))
    line = _logistic((log_aspect - _ANY_ASPECT) / _LINE_SCALE)
    solidity = float(numbers.solidity) + _COARSE_SOLIDITY / math.sqrt(area)
    spiked = (1.0 - line) * _logistic((largest_spiked_solidity(numbers) - solidity) / _SOLIDITY_SCALE)
    fits = {
        name: ideal.common * _fit(ideal, log_aspect, float(numbers.spread), area) for name, ideal in _IDEALS.items()
    }
    fits["polygon"] = _OTHER / _ANY_ASPECT
    convex = (1.0 - line - spiked) / sum(fits.values())
    chances = {name: convex * fit for name, fit in fits.items()}
    chances["line"] = line
    not_convex = taken if taken in ("star", "cross", "curve") else "shape"
    return chances | {not_convex: spiked}


def _fit(ideal: _Ideal, log_aspect: float, spread: float, area: float) -> float:
    """The density of log aspect and spread that are seen of an ideal shape of an area [px]."""
    sharp = 1.0 - ideal.spread
    expected = ideal.spread + sharp * min(_BLUNT_PX / area, 1.0)
    fit = _normal(spread - expected, _SPREAD_SIGMA + (_COARSE_PX + _BLUNT_SIGMA_PX * sharp) / area)
    if ideal.log_aspect is None:
        return fit / _ANY_ASPECT
    return fit * _normal(log_aspect - ideal.log_aspect, ideal.aspect_sigma + _COARSE_ASPECT / math.sqrt(area))


def _normal(off: float, sigma: float) -> float:
    return math.exp(-0.5 * (off / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))


def _logistic(x: float) -> float:
    return 0.5 * (1.0 + math.tanh(0.5 * x))


def read_colour(rgb: FloatArray) -> list[tuple[str, float]]:
    """What a colour (3,) in 0..255 may be called with the probability of each, first what `name_flat_colour` says."""
    taken = name_flat_colour(rgb)
    chances = dict(_colour_chances(*(round(float(v)) for v in rgb)))
    own = chances.pop(taken, 0.0)
    return [(taken, own), *((name, chance) for name, chance in chances.items() if chance >= LEAST)]


@lru_cache(maxsize=4096)
def _colour_chances(red: int, green: int, blue: int) -> tuple[tuple[str, float], ...]:
    hue, saturation, value = colorsys.rgb_to_hsv(red / 255.0, green / 255.0, blue / 255.0)
    weights = np.exp(-0.5 * _HUE_STEPS**2)
    chances: dict[str, float] = {}
    for step, weight in zip(_HUE_STEPS, weights / weights.sum(), strict=True):
        turned = (hue + float(step) * _HUE_SIGMA / 360.0) % 1.0
        for paler, by_saturation in _THREE:
            # Black and white have no saturation to differ in: it is what little of a colour is in them.
            pale = min(max(saturation + paler * _SATURATION_SIGMA, 0.0), 1.0)
            for lighter, by_value in _THREE:
                light = min(max(value + lighter * _VALUE_SIGMA, 0.0), 1.0)
                name = name_flat_colour(255.0 * np.array(colorsys.hsv_to_rgb(turned, pale, light)))
                chances[name] = chances.get(name, 0.0) + float(weight) * by_saturation * by_value
    return tuple(chances.items())
