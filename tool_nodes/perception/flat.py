"""Finds what lies flat on the table: it differs from the table in colour, and over its whole area in height.

A pixel's depth may be off by more than a card is thick; the mean over the card is not. Colour says which pixels belong
together, and their mean height against the bare table around them says whether it is an object or a shadow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.perception.masks import dilated, eroded, filled, widened
from toolhand.tool_nodes.perception.relief import Image32
from toolhand.tool_nodes.perception.surface import Surface
from toolhand.tool_nodes.types import BoolArray, Frame

_HUE, _HUE_NOISE = 0.03, 6.0
"""Hue that surely differs from the table's: by this share of red or blue [-], and by so many times what is usual on
it; round figures."""
_TINGE, _TINGE_NOISE = 0.012, 4.0
"""Hue that may differ from it, where the height decides [-]: white paper on a beige table has 0.025."""
_SHADE, _SHADE_NOISE = 0.06, 3.0
"""The same of the logarithm of the brightness [-]; round figures."""
_DARK = 8.0
"""Added to each colour, so that noise does not decide the hue of what is black [grey levels]; a round figure."""
_BARE_M = 0.003
"""Within this height a pixel may show the bare table [m], or within twice its roughness; as the foot of an object."""
_PITCH_PX = 2
"""Pixels at 640x480 that are looked at together [px]: outlines are found later."""
_STEP = 5
"""Every so many-th of those tells the table's colour and its noise; bounds the time."""
_ROUNDS = 3
"""Fits of the table's colour, each without what is far from the one before [-]: two settle it."""

_BOX = 7
"""Side of the squares whose mean heights tell how much mean heights differ on the bare table [_PITCH_PX]: twice as far
as the noise of a stereo camera is alike."""
_LEAST_M = {False: 0.002, True: 0.001}
"""Least height of a flat object over the table around it, where the colour may differ (False) and where it surely
does (True) [m]: half a millimetre and more is bent table or a step of disparity."""
_CLEAR = {False: 4.0, True: 2.0}
"""The same in standard deviations of the mean height [-]: an odd square of table is seen in one of ten images."""
_ALIKE = 0.5
"""Mean heights of ever larger areas differ by at least this share of what those of squares do [-]: depth also errs
slowly over the image, which no mean over an area takes out; that of four squares is the last that falls."""
_RING = 7
"""Width of the ring of bare table that an object is compared with [_PITCH_PX]: about half an object."""
_LEAST_RING = 20
"""Fewest of its pixels [-]; with less the table's plane is taken in its place."""


def flat_pixels(frame: Frame, surface: Surface, solid: BoolArray, smallest: int, rough: bool) -> BoolArray:
    """Pixels (H, W) of objects that are too flat to be surely seen by the height of each pixel.

    Args:
        frame: The image.
        surface: Its cloud and table.
        solid: bool (H, W), pixels that are surely part of an object.
        smallest: Fewest pixels of an object.
        rough: True where heights of single pixels say little, and colour says what belongs together; what surely
            differs in hue then belongs to what is solid beside it.
    """
    pitch = max(round(_PITCH_PX * float(frame.K[0, 0]) / workspace.SCENE_CAMERA_FOCAL_PX), 1)
    grid = np.s_[::pitch, ::pitch]
    height, inside, solid = surface.height[grid], surface.inside[grid], _any(solid, pitch)
    smallest //= pitch**2
    with np.errstate(invalid="ignore"):
        bare = inside & (np.abs(height) < max(_BARE_M, 2.0 * surface.rough))
    if rough:
        surely, candidates = _coloured(_averaged(frame.rgb, pitch), bare, pitch)
        candidates |= surely
    else:
        surely = np.zeros_like(bare)
        candidates = ndimage.uniform_filter(np.where(inside, height, np.float32(0.0)), 3) > _BARE_M
    candidates = dilated(eroded(candidates & inside & ~solid))
    labels, n = ndimage.label(candidates, np.ones((3, 3)))
    sizes = np.bincount(labels.ravel(), minlength=n + 1)
    noise = _noise_of_means(height, bare)
    others = dilated(candidates | solid, diagonally=True)
    found = surely & inside
    for k, (rows, columns) in enumerate(ndimage.find_objects(labels), start=1):
        if sizes[k] < smallest:
            continue
        window = rows, columns
        own = filled(labels[window] == k) & ~solid[window]
        known = height[window][own & np.isfinite(height[window])]
        sure = bool(2 * np.count_nonzero(surely[window] & own) > np.count_nonzero(own))
        around = widened(window, _RING)
        ring = height[around][inside[around] & ~others[around]]
        table = float(np.mean(ring)) if len(ring) >= _LEAST_RING else 0.0
        if not sure:
            table = max(table, 0.0)  # bare table beside a hollow of the measured one is no object
        clear = _CLEAR[sure] * noise * max(_BOX / np.sqrt(max(len(known), 1)), _ALIKE)
        if len(known) and float(np.median(known)) - table > max(_LEAST_M[sure], clear):
            found[window] |= own
        elif not sure or not (dilated(own) & solid[window]).any():
            found[window] &= ~own
    fine = np.repeat(np.repeat(found, pitch, axis=0), pitch, axis=1)
    return surface.inside & fine[: surface.inside.shape[0], : surface.inside.shape[1]]


def _any(mask: BoolArray, pitch: int) -> BoolArray:
    """A mask (H, W) on the grid, true where one of the next pixels is."""
    grown = mask.copy()
    for by in range(1, pitch):
        grown[:-by] |= mask[by:]
    rows = grown.copy()
    for by in range(1, pitch):
        grown[:, :-by] |= rows[:, by:]
    return grown[::pitch, ::pitch]


def _averaged(rgb: NDArray[np.uint8], pitch: int) -> Image32:
    """An image (H, W, 3) on the grid, each pixel with those after it, as float32."""
    rows, columns = (-(-n // pitch) for n in rgb.shape[:2])
    padded = np.pad(rgb, ((0, rows * pitch - rgb.shape[0]), (0, columns * pitch - rgb.shape[1]), (0, 0)), "edge")
    sums = np.zeros((rows, columns, 3), np.float32)
    for v in range(pitch):
        for u in range(pitch):
            sums += padded[v::pitch, u::pitch]
    return np.asarray(sums / np.float32(pitch**2), np.float32)


def _noise_of_means(height: Image32, bare: BoolArray) -> float:
    """Standard deviation of the mean height of a square of bare table of side `_BOX` [m]."""
    known = bare & np.isfinite(height)
    sums = ndimage.uniform_filter(np.where(known, height, np.float32(0.0)), _BOX)
    share = ndimage.uniform_filter(known.astype(np.float32), _BOX)
    step = np.s_[_BOX // 2 :: _STEP, _BOX // 2 :: _STEP]
    whole = share[step] > 0.9
    means = sums[step][whole] / share[step][whole]
    return float(1.4826 * np.median(np.abs(means - np.median(means)))) if len(means) else 0.0


def _coloured(rgb: Image32, bare: BoolArray, pitch: int) -> tuple[BoolArray, BoolArray]:
    """Pixels (h, w) whose hue is surely not the table's, and those whose hue or brightness may not be."""
    channels = rgb + np.float32(_DARK)
    total = channels.sum(axis=2)
    surely = np.zeros(bare.shape, dtype=bool)
    maybe = np.zeros(bare.shape, dtype=bool)
    images = [(channels[..., 0] / total, True), (channels[..., 2] / total, True), (np.log(total), False)]
    for image, hue in images:
        away, usual = _away(ndimage.uniform_filter(image, 3) if pitch == 1 else image, bare)
        if hue:
            surely |= away > max(_HUE, _HUE_NOISE * usual)
            maybe |= away > max(_TINGE, _TINGE_NOISE * usual)
        else:
            maybe |= away > max(_SHADE, _SHADE_NOISE * usual)
    return surely, maybe


def _away(image: Image32, bare: BoolArray) -> tuple[Image32, float]:
    """How far each pixel of an image (h, w) is from the table's, which bends slowly, and what is usual on the table."""
    rows, columns = (np.linspace(-1.0, 1.0, n, dtype=np.float32) for n in image.shape)
    v, u = np.nonzero(bare[::_STEP, ::_STEP])
    seen = image[::_STEP, ::_STEP][v, u].astype(float)
    if len(seen) < _LEAST_RING:
        return np.zeros_like(image), 0.0
    x, y = columns[u * _STEP].astype(float), rows[v * _STEP].astype(float)
    terms = np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y])
    off = np.abs(seen - np.median(seen))
    plane = np.zeros(6)
    for _ in range(_ROUNDS):
        kept = off <= 3.0 * 1.4826 * float(np.median(off)) + 1e-6
        some = terms[kept]
        plane = np.linalg.lstsq(some.T @ some, some.T @ seen[kept], rcond=None)[0]
        off = np.abs(seen - terms @ plane)
    a, b, c, d, e, f = plane.astype(np.float32)
    level = (a + c * rows + f * rows * rows)[:, None] + (b * columns + d * columns * columns)[None]
    level += (e * rows)[:, None] * columns[None]
    return np.abs(image - level), 1.4826 * float(np.median(off))
