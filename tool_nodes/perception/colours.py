"""Colour models that survive shading: comparing a lit surface with a product's colour, and naming it.

Light scales a surface's linear RGB and hardly changes its direction, so a pixel is compared with the ray of all
brightnesses that a colour can take, not with one value.
"""

from __future__ import annotations

import colorsys

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toolhand.tool_nodes.types import FloatArray

_GAMMA = 2.2
"""Exponent from sRGB values to linear light [-]; the usual approximation of sRGB's piecewise curve (IEC 61966-2-1)."""
SHADE_RANGE = (0.33, 1.30)
"""Linear brightness of a surface over that in even light: from a side in shadow to a top in full light (1.12), which
automatic exposure takes for up to 16 % brighter."""
_SATURATED = 253
"""From this value on a channel may have had more light than it can show [grey levels]: noise is two or three levels."""

_GLOSS = (0.0, 0.02, 0.045, 0.08)
"""White light that a surface may mirror on top of its colour, linear."""

_TYPICAL_SHADE = 0.8
"""Linear brightness at which colours are named, over that in even light [-]; a round figure within SHADE_RANGE."""
_LINEAR = (np.arange(256) / 255.0) ** _GAMMA
"""Linear light in [0, 1] of each value of a channel."""


def linear(rgb: NDArray[np.uint8]) -> FloatArray:
    """Linear light in [0, 1] of uint8 colours (..., 3)."""
    return _LINEAR[rgb]


def encoded(light: FloatArray) -> FloatArray:
    """The inverse of `linear`, in [0, 255] without rounding."""
    return 255.0 * np.clip(light, 0.0, 1.0) ** (1.0 / _GAMMA)


def shade_and_misfit(pixels: NDArray[np.uint8], colours: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """How each pixel could be each colour under some light.

    Args:
        pixels: uint8 (N, 3).
        colours: (C, 3) in 0..255, in even light.

    Returns:
        Best brightness factors (N, C), unlimited, and distances left at the nearest brightness within
        `SHADE_RANGE` (N, C) [grey levels].
    """
    light = linear(pixels).astype(np.float32)
    palette = ((np.asarray(colours, dtype=np.float32) / 255.0) ** np.float32(_GAMMA)).T
    seen = np.sqrt(light)
    # What a channel cannot show says nothing of the brightness, unless all of them are full.
    unsaturated = pixels < _SATURATED
    known = (unsaturated | ~unsaturated.any(axis=1, keepdims=True)).astype(np.float32)
    norms = np.maximum(known @ (palette * palette), np.float32(1e-9))
    fitted, mirrored = (known * light) @ palette / norms, known @ palette / norms
    best_shade, best_square = fitted.copy(), np.full(fitted.shape, np.inf, dtype=np.float32)
    for gloss in _GLOSS:
        shade = fitted - np.float32(gloss) * mirrored
        used = np.minimum(np.maximum(shade, SHADE_RANGE[0]), SHADE_RANGE[1])
        square = np.zeros_like(best_square)
        for channel in range(3):
            # Roots of linear light are even steps for the eye, as the codes of an image are.
            away = used * palette[channel]
            away += np.float32(gloss)
            np.minimum(away, np.float32(1.0), out=away)
            np.sqrt(away, out=away)
            away -= seen[:, channel, None]
            away *= away
            square += away
        np.copyto(best_shade, shade, where=square < best_square)
        np.minimum(square, best_square, out=best_square)
    return best_shade.astype(float), 255.0 * np.sqrt(best_square).astype(float)


_HUES = (
    (14.0, "red"),
    (42.0, "orange"),
    (68.0, "yellow"),
    (78.0, "lime"),
    (160.0, "green"),
    (192.0, "turquoise"),
    (255.0, "blue"),
    (290.0, "purple"),
    (345.0, "pink"),
    (360.0, "red"),
)


def name_colour(rgb: ArrayLike) -> str:
    """A colour word such as "dark blue" for a colour (3,) in 0..255, in even light."""
    red, green, blue = (float(v) / 255.0 for v in np.asarray(rgb, dtype=float))
    hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
    degrees = 360.0 * hue
    if value < 0.22:
        return "black"
    if saturation < 0.12 or (saturation < 0.20 and value < 0.45):
        return "white" if value > 0.86 else "light grey" if value > 0.68 else "grey" if value > 0.35 else "dark grey"
    if 12.0 < degrees < 48.0 and value < 0.70:
        return "dark brown" if value < 0.30 else "brown"
    if 25.0 < degrees < 65.0 and saturation < 0.35:
        return "cream" if value > 0.85 else "tan"
    if 18.0 < degrees < 42.0 and saturation < 0.65 and value < 0.9:
        return "tan"
    base = next(word for limit, word in _HUES if degrees <= limit)
    if base == "red" and saturation < 0.5 and value > 0.7:
        return "pink"
    if value < 0.52 and base not in ("orange", "yellow"):
        return f"dark {base}"
    if saturation < (0.62 if base == "green" else 0.45) and value > 0.7 and base != "pink":
        return f"light {base}"
    return base


def main_colours(pixels: NDArray[np.uint8]) -> list[tuple[str, float]]:
    """Colour words of an object's pixels (N, 3) with their shares, most frequent first; shading is undone.

    Brightness is judged against the light that falls on a horizontal top.
    """
    if not len(pixels):
        return []
    codes = encoded(linear(pixels) / _TYPICAL_SHADE)
    names: dict[str, int] = {}
    # Shading is common to a surface: pixels of one chromaticity are named by their brighter half.
    level = codes.max(axis=1)
    chroma = np.floor(8.0 * codes / np.maximum(level, 1.0)[:, None]).astype(int)
    dark = level < 60.0
    chroma[dark] = -1
    _, group, sizes = np.unique(chroma, axis=0, return_inverse=True, return_counts=True)
    group = group.ravel()
    for k in range(len(sizes)):
        members = codes[group == k]
        bright = members[members.max(axis=1) >= np.quantile(members.max(axis=1), 0.6)]
        word = name_colour(np.median(bright, axis=0))
        names[word] = names.get(word, 0) + int(sizes[k])
    ranked = sorted(names.items(), key=lambda entry: -entry[1])
    return [(word, count / len(pixels)) for word, count in ranked]
