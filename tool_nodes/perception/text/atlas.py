"""What each character looks like: normalized pictures and measures of all glyphs at several sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from scipy import ndimage

from tool_nodes.perception.text.glyphs import CHARACTERS, draw_smooth_text, draw_text
from tool_nodes.types import FloatArray

CELLS = 16
"""A glyph is compared as CELLS x CELLS mean coverages."""
SLENDER = 0.5
"""The shorter side of what is compared is at least this part of the longer one, so that an l stays slender."""
SHARPENING = 1.0
"""Weight of what a blur of one pixel takes away [-]; chosen by hand."""
EM_PX = 40.0
"""Font size at which glyphs are measured [px]."""
SMOOTH_SIZES, HINTED_SIZES = (9.5, 13, 20, 40), (10, 12, 15, 20)
"""Font sizes at which the glyphs of the atlas are drawn, without and with hinting [px]; chosen by hand."""

SCRIPT_SCALE, RAISED_EM, LOWERED_EM = 0.65, 0.36, -0.16
"""Size of a raised or lowered character, and how far its baseline is from the line's."""
RARE = {"!": 0.5, "î": 2.5, "ï": 2.5, "è": 0.3, "á": 0.4, "ó": 0.4, "ú": 0.4} | dict.fromkeys(
    "·|{}[]~°±\\_@#ÁÉÍÓÚÝÀÈÌÒÙÂÊÎÔÛÄËÏÖÜÃÑÕÇãõñòý", 1.0
)
"""How much less likely than others a character is before it is seen: a negative log likelihood."""
SCRIPT_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-"


def resized(ink: NDArray[np.float32], scale: float) -> NDArray[np.float32]:
    """Coverage (h, w) in [0, 1], sharpened and then enlarged or reduced, so that small letters come apart."""
    height, width = (max(1, round(n * scale)) for n in ink.shape)
    sharp = ink + SHARPENING * (ink - ndimage.gaussian_filter(ink, 1.0))
    picture = Image.fromarray(np.ascontiguousarray(sharp, np.float32))
    enlarged = np.asarray(picture.resize((width, height), Image.Resampling.BICUBIC), np.float32)
    return np.clip(enlarged, 0.0, 1.0)


def sample(ink: NDArray[np.float32], boxes: ArrayLike) -> NDArray[np.float32]:
    """Normalized pictures of parts of a picture.

    Args:
        ink: Coverage (H, W).
        boxes: (N, 4) left, top, right, bottom [px], right and bottom exclusive. What lies outside is empty.

    Returns:
        (N, CELLS * CELLS) with zero mean and unit norm, so that a scalar product is a normalized correlation.
    """
    boxes = np.asarray(boxes, float).reshape(-1, 4)
    total = np.zeros((ink.shape[0] + 1, ink.shape[1] + 1))
    np.cumsum(np.cumsum(ink, axis=0, dtype=float), axis=1, out=total[1:, 1:])
    low, high = boxes[:, :2], boxes[:, 2:]
    size = high - low
    side = np.maximum(size, SLENDER * size.max(axis=1, keepdims=True))
    # One empty cell all around.
    reach = side * (CELLS / (CELLS - 2.0))
    start = (low + high - reach) / 2.0
    edges = start[:, :, None] + reach[:, :, None] * np.linspace(0.0, 1.0, CELLS + 1)
    edges = np.clip(edges, low[:, :, None], high[:, :, None])
    x, y = edges[:, 0], edges[:, 1]
    corners = _between(total, x, y)
    cells = np.diff(np.diff(corners, axis=1), axis=2) / (reach.prod(axis=1) / CELLS**2)[:, None, None]
    flat = cells.reshape(len(boxes), -1)
    flat = flat - flat.mean(axis=1, keepdims=True)
    return (flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-9)).astype(np.float32)


def _between(total: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Bilinear values of a summed-area table at every y of (N, A) and x of (N, B): (N, A, B)."""
    column = np.clip(x.astype(int), 0, total.shape[1] - 2)
    row = np.clip(y.astype(int), 0, total.shape[0] - 2)
    fx, fy = (x - column)[:, None, :], (y - row)[:, :, None]
    c, r = column[:, None, :], row[:, :, None]
    upper = total[r, c] * (1.0 - fx) + total[r, c + 1] * fx
    lower = total[r + 1, c] * (1.0 - fx) + total[r + 1, c + 1] * fx
    return np.asarray(upper * (1.0 - fy) + lower * fy)


@dataclass(frozen=True)
class Atlas:
    """All glyphs.

    Attributes:
        templates: (T, CELLS * CELLS) float32, as `sample` gives them; V = T / G variants of each glyph, glyph by glyph.
        characters: The G glyphs.
        top, bottom, width: (E,) ink measures of every entry [em], over the line's baseline, up positive.
        glyph: (E,) which glyph an entry is: G entries on the line, then raised and lowered ones.
        level: (E,) 0 on the line, 1 raised, -1 lowered.
        prior: (E,) cost of an entry before it is seen, see `RARE`.
        bearing, advance: (G,) blank left of the ink, and how far the next character's origin is [em].
    """

    templates: NDArray[np.float32]
    characters: Sequence[str]
    top: FloatArray
    bottom: FloatArray
    width: FloatArray
    glyph: NDArray[np.intp]
    level: NDArray[np.intp]
    prior: FloatArray
    bearing: FloatArray
    advance: FloatArray

    def likeness(self, pictures: NDArray[np.float32]) -> NDArray[np.float32]:
        """Normalized correlation of pictures (N, CELLS * CELLS) with the best variant of each glyph: (N, G)."""
        all_variants = pictures @ self.templates.T
        return np.asarray(all_variants.reshape(len(pictures), len(self.characters), -1).max(axis=2))


@lru_cache(maxsize=1)
def atlas() -> Atlas:
    """The atlas, drawn at the first call (about half a second)."""
    templates, measures = [], []
    for character in CHARACTERS:
        drawn = [(*draw_smooth_text(character, size), size) for size in SMOOTH_SIZES]
        drawn += [(*draw_text(character, size), size) for size in HINTED_SIZES]
        for ink, _, _, size in drawn:
            left, top, right, bottom = ink_box(ink)
            near = ink[max(top - 3, 0) : bottom + 3, max(left - 3, 0) : right + 3]
            enlarged = resized(near, EM_PX / size)
            templates.append(sample(enlarged, ink_box(enlarged)))
        measures.append(_measure(character))
    top, bottom, width, bearing, advance = np.array(measures).T
    scripts = np.array([CHARACTERS.index(c) for c in SCRIPT_CHARACTERS])
    entries = np.concatenate([np.arange(len(CHARACTERS)), scripts, scripts])
    level = np.repeat([0, 1, -1], [len(CHARACTERS), len(scripts), len(scripts)])
    scale = np.where(level == 0, 1.0, SCRIPT_SCALE)
    shift = np.select([level == 1, level == -1], [RAISED_EM, LOWERED_EM])
    return Atlas(
        templates=np.concatenate(templates),
        characters=CHARACTERS,
        top=top[entries] * scale + shift,
        bottom=bottom[entries] * scale + shift,
        width=width[entries] * scale,
        glyph=entries,
        level=level,
        prior=np.array([RARE.get(CHARACTERS[entry], 0.0) for entry in entries]),
        bearing=bearing,
        advance=advance,
    )


def ink_box(ink: NDArray[np.float32]) -> tuple[int, int, int, int]:
    """Left, top, right, bottom (exclusive) of what is at least half covered; all of it where nothing is."""
    solid = ink >= 0.5 * max(float(ink.max()), 1e-6)
    rows, columns = np.flatnonzero(solid.any(axis=1)), np.flatnonzero(solid.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def _measure(character: str) -> tuple[float, float, float, float, float]:
    size = 100
    ink, x, y = draw_text(character, size)
    left, top, right, bottom = ink_box(ink)
    pair, x_pair, _ = draw_text(character + "H", size)
    single, x_single, _ = draw_text("H", size)
    advance = (ink_box(pair)[2] - x_pair) - (ink_box(single)[2] - x_single)
    return (y - top) / size, (y - bottom) / size, (right - left) / size, (left - x) / size, advance / size
