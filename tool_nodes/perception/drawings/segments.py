"""Regions of even colour in one image: cores away from edges, grown up to the edges, and strokes without a core.

Limits: an object differs from its surroundings by about 15 grey levels in some channel all along its outline. Objects
of one colour that touch are one object, what has a texture falls apart, and what runs along much of the image's border
is background.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse
from scipy.sparse.csgraph import connected_components

from toolhand.tool_nodes.types import BoolArray, FloatArray

MIN_AREA_PX = 12
"""Smaller regions are specks [px]."""
MAX_REGIONS = 300
"""Most objects that are separated, the largest: a page of print has thousands of letters."""

_EDGE_RANGE = (14.0, 60.0)
"""Colour difference of pixels two apart that is an edge: in a clean image, and at most [grey levels]."""
_NOISE_FACTOR = 2.5
"""An edge stands out of the median of those differences by this factor."""
_MIN_CORE_PX = 4
"""Smaller cores are not grown from [px]."""
_STROKE_REACH = 3
"""A stroke is narrower than twice this: it differs from what lies so far away on both its sides [px]."""
_STROKE_CONTRAST = 40.0
"""Difference of a stroke from both sides [grey levels]."""
_LINE_CONTRAST = 64
"""The same for a line of one pixel: compression sharpens outlines by less [grey levels]."""
_SPLINTER_PX = 80
"""A smaller piece needs as much contrast to be an object of its own: compression splits splinters off [px]."""
_GROWTH_STEPS = 6
"""A core grows by this many pixels at most."""
_BORDER_SHARE = 0.15
"""Share of the image's border that the main background has at least."""
_SECOND_BORDER_SHARE = 0.25
"""From here on a region is background too: a horizon divides some images."""
_SAME_COLOUR = 14.0
"""Colours nearer than this are one [grey levels]; the background's own spread widens it up to the next number."""
_MAX_SPREAD = 30.0
"""Upper bound of _SAME_COLOUR where the background's own spread widens it [grey levels]; a round figure."""
_OUTLINE_SHARE = 0.1
"""Share of the object's shorter side that its outline is thick, at most [-]; a round figure."""
_OUTLINE_PX = 4
"""Pixels that an outline may be thicker than that share [px]."""

_Planes = NDArray[np.uint8]  # (3, H, W)
_Labels = NDArray[np.int32]
_EIGHT = np.ones((3, 3), bool)
"""A pixel and its eight neighbours."""


@dataclass(frozen=True, eq=False)
class Regions:
    """The objects of an image, from the largest to the smallest.

    Attributes:
        labels: int32 (H, W), 1..n for the objects, 0 elsewhere.
        windows: Rows and columns of each object.
        colours: (n, 3) mean colours in 0..255, without the outlines.
    """

    labels: _Labels
    windows: tuple[tuple[slice, slice], ...]
    colours: FloatArray


@dataclass(eq=False)
class _Parts:
    """Pieces of objects, numbered from 1, in arrays of length n + 1 whose entry 0 is nothing.

    Attributes:
        labels: (H, W) the pieces.
        areas: [px].
        bounds: (n + 1, 4) first row, first column, last row + 1, last column + 1.
        colours: (n + 1, 3) in 0..255.
        group: The piece that stands for all of an object; 0 for background.
    """

    labels: _Labels
    areas: NDArray[np.intp]
    bounds: NDArray[np.intp]
    colours: FloatArray
    group: _Labels

    def join(self, to: _Labels) -> None:
        """Let each group become part of another, `to` (n + 1,)."""
        self.group = to[self.group]
        areas, bounds = np.zeros_like(self.areas), self.bounds.copy()
        np.add.at(areas, self.group, self.areas)
        np.minimum.at(bounds[:, :2], self.group, self.bounds[:, :2])
        np.maximum.at(bounds[:, 2:], self.group, self.bounds[:, 2:])
        alone = self.group == np.arange(len(self.group))
        self.areas, self.bounds = np.where(alone, areas, 0), bounds
        self.areas[0] = 0


def find_regions(rgb: NDArray[np.uint8]) -> Regions:
    """The objects in an image uint8 (H, W, 3) that stand out of its background by their colour."""
    planes = np.ascontiguousarray(np.moveaxis(rgb, 2, 0))
    smooth = median_of_nine(planes)
    edges = _edge_strength(smooth)
    limit = float(np.clip(_NOISE_FACTOR * np.median(edges[::3, ::3]), *_EDGE_RANGE))
    contrast = _stroke_contrast(planes)
    strokes = contrast > max(_STROKE_CONTRAST, 2.0 * limit)
    wiped_out = _wiped_out(strokes, planes, smooth)
    cores, _ = ndimage.label((edges < limit) & ~wiped_out)
    cores = _renumbered(cores, np.bincount(cores.ravel()) >= _MIN_CORE_PX)
    unclear = np.flatnonzero(cores == 0)
    beside = _neighbours(unclear, cores.shape)
    shown = np.where(wiped_out, planes, smooth)
    labels = _grown(cores.ravel(), unclear, beside, strokes.ravel(), shown.reshape(3, -1)).reshape(cores.shape)
    rest, n_strokes = ndimage.label(strokes & (labels == 0), _EIGHT)
    parts = _measured(labels, cores, rest, n_strokes, contrast, planes, smooth)
    parts.join(_touching_joined(parts, unclear, beside, int(cores.max(initial=0))))
    _drop_background(parts, smooth)
    order = _largest_first(parts)
    parts.join(_outlines_joined(parts, order))
    return _regions(parts)


def median_of_nine(planes: _Planes) -> _Planes:
    """Median of 3x3 pixels: of nine numbers it is that of the largest low, the middle mid and the smallest high."""
    padded = np.pad(planes, ((0, 0), (1, 1), (1, 1)), mode="edge")
    low, mid, high = _sorted3(padded[:, :-2], padded[:, 1:-1], padded[:, 2:])
    lows = np.maximum(np.maximum(low[..., :-2], low[..., 1:-1]), low[..., 2:])
    mids = _median3(mid[..., :-2], mid[..., 1:-1], mid[..., 2:])
    highs = np.minimum(np.minimum(high[..., :-2], high[..., 1:-1]), high[..., 2:])
    return _median3(lows, mids, highs)


def _sorted3(a: _Planes, b: _Planes, c: _Planes) -> tuple[_Planes, _Planes, _Planes]:
    a, b = np.minimum(a, b), np.maximum(a, b)
    b, c = np.minimum(b, c), np.maximum(b, c)
    return np.minimum(a, b), np.maximum(a, b), c


def _median3(a: _Planes, b: _Planes, c: _Planes) -> _Planes:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def _difference(a: _Planes, b: _Planes) -> _Planes:
    return np.maximum(a, b) - np.minimum(a, b)


def _edge_strength(planes: _Planes) -> NDArray[np.uint8]:
    """(H, W) largest difference of the pixels on both sides, over the axes and channels [grey levels]."""
    strength = np.zeros_like(planes)
    strength[:, :, 1:-1] = _difference(planes[:, :, :-2], planes[:, :, 2:])
    strength[:, 1:-1] = np.maximum(strength[:, 1:-1], _difference(planes[:, :-2], planes[:, 2:]))
    return strength.max(axis=0)


def _stroke_contrast(planes: _Planes) -> NDArray[np.uint8]:
    """(H, W) by how much a pixel is lighter, or darker, than both pixels beside it at a reach, along an axis."""
    far, near = 2 * _STROKE_REACH, _STROKE_REACH
    contrast = np.zeros_like(planes)
    for a, b, c, result in (
        (planes[:, :-far], planes[:, near:-near], planes[:, far:], contrast[:, near:-near]),
        (planes[..., :-far], planes[..., near:-near], planes[..., far:], contrast[..., near:-near]),
    ):
        lightest, darkest = np.maximum(a, c), np.minimum(a, c)
        np.maximum(result, np.maximum(b, lightest) - lightest, out=result)
        np.maximum(result, darkest - np.minimum(b, darkest), out=result)
    return contrast.max(axis=0)


def _wiped_out(strokes: BoolArray, planes: _Planes, smooth: _Planes) -> BoolArray:
    """(H, W) what the median has taken from lines of one pixel, which have no edge after it.

    A sharp corner that it has cut off is no such line: it takes only a few pixels from it.
    """
    gone = strokes & (_difference(planes, smooth).max(axis=0) > _LINE_CONTRAST)
    if np.count_nonzero(gone) < MIN_AREA_PX:
        return np.zeros_like(gone)
    lines, _ = ndimage.label(strokes, _EIGHT)
    loss = np.bincount(lines[gone], minlength=int(lines.max()) + 1)
    return gone & (loss >= MIN_AREA_PX)[lines]


def _renumbered(labels: NDArray[Any], keep: BoolArray) -> _Labels:
    """Labels 1..n of those that are kept, in order, 0 for the others."""
    keep = keep.copy()
    keep[:1] = False
    return np.where(keep, np.cumsum(keep), 0).astype(np.int32)[labels]


def _neighbours(pixels: NDArray[np.intp], shape: tuple[int, ...]) -> NDArray[np.intp]:
    """(4, N) flat indices of the pixels left of, right of, above and below others; beyond the border, themselves."""
    height, width = shape
    column = pixels % width
    return np.stack(
        [
            pixels - (column > 0),
            pixels + (column < width - 1),
            np.where(pixels >= width, pixels - width, pixels),
            np.where(pixels < (height - 1) * width, pixels + width, pixels),
        ]
    )


def _grown(
    cores: _Labels, waiting: NDArray[np.intp], beside: NDArray[np.intp], thin: BoolArray, planes: _Planes
) -> _Labels:
    """Each waiting pixel joins the core beside it whose colour is nearest; one of a stroke, only its own colour."""
    labels = cores.copy()
    source = np.arange(labels.size, dtype=np.int32)
    for _ in range(_GROWTH_STEPS):
        best = np.full(len(waiting), 256, np.int16)
        chosen = np.zeros(len(waiting), np.intp)
        for neighbour in beside:
            known = np.flatnonzero(labels[neighbour])
            here, there = waiting[known], source[neighbour[known]]
            distance = np.zeros(len(known), np.uint8)
            for plane in planes:
                np.maximum(distance, _difference(plane[here], plane[there]), out=distance)
            nearer = distance < best[known]
            best[known[nearer]], chosen[known[nearer]] = distance[nearer], neighbour[known[nearer]]
        joins = (best < 256) & (~thin[waiting] | (best < _STROKE_CONTRAST))
        if not joins.any():
            break
        labels[waiting[joins]] = labels[chosen[joins]]
        source[waiting[joins]] = source[chosen[joins]]
        waiting, beside = waiting[~joins], beside[:, ~joins]
    return labels


def _measured(
    labels: _Labels,
    cores: _Labels,
    strokes: NDArray[Any],
    n_strokes: int,
    contrast: NDArray[np.uint8],
    planes: _Planes,
    smooth: _Planes,
) -> _Parts:
    """The parts: grown cores, and the strokes that none of them has taken, which `labels` receives."""
    n_cores = int(cores.max(initial=0))
    n = n_cores + n_strokes
    at = np.flatnonzero(strokes)
    number, height = strokes.ravel()[at], contrast.ravel()[at]
    labels.ravel()[at] = number + n_cores
    highest = np.zeros(n_strokes + 1, np.uint8)
    np.maximum.at(highest, number, height)
    # The rim of a stroke is mixed with what is beside it.
    middle = at[height >= 0.7 * highest[number]]

    sizes = np.bincount(cores.ravel(), minlength=n + 1)
    sizes[0] = 0
    largest = int(np.argmax(sizes))
    inner = np.flatnonzero((cores > 0) & (cores != largest))
    sample = np.flatnonzero(cores.ravel()[::37] == largest) * 37
    colours = np.zeros((n + 1, 3))
    for pixels, image in ((inner, smooth), (sample, smooth), (middle, planes)):
        of = labels.ravel()[pixels]
        count = np.bincount(of, minlength=n + 1)
        for channel in range(3):
            total = np.bincount(of, image[channel].ravel()[pixels], n + 1)
            colours[:, channel] += total / np.maximum(count, 1)
    areas = np.bincount(labels.ravel(), minlength=n + 1)
    bounds = np.zeros((n + 1, 4), np.intp)
    for k, window in enumerate(ndimage.find_objects(labels, n), start=1):
        if window is not None:
            bounds[k] = window[0].start, window[1].start, window[0].stop, window[1].stop
    return _Parts(labels, areas, bounds, colours, np.arange(n + 1, dtype=np.int32))


def _touching_joined(parts: _Parts, unclear: NDArray[np.intp], beside: NDArray[np.intp], n_cores: int) -> _Labels:
    """Which part stands for each: touching cores of one colour, and a stroke or splinter with what it goes on from."""
    flat, n = parts.labels.ravel(), len(parts.areas)
    here, there = np.tile(flat[unclear], len(beside)), flat[beside].ravel()
    meet = (here != there) & (here > 0) & (there > 0)
    code = np.unique(
        np.concatenate([here[meet], there[meet]]).astype(np.int64) * n + np.append(there[meet], here[meet])
    )
    part, other = code // n, code % n
    apart = np.abs(parts.colours[part] - parts.colours[other]).max(axis=1)
    # One between two objects of like colours must not make them one: it goes to the nearer of them.
    splinter = (parts.areas[part] < _SPLINTER_PX) & (parts.areas[part] <= parts.areas[other])
    small = splinter | (part > n_cores)
    order = np.lexsort((apart, ~small, part))
    _, leading = np.unique(part[order], return_index=True)
    nearest = np.zeros(len(code), bool)
    nearest[order[leading]] = True
    joins = (apart < _SAME_COLOUR) | (small & nearest & (apart < _STROKE_CONTRAST))
    graph = sparse.coo_matrix((np.ones(np.count_nonzero(joins)), (part[joins], other[joins])), shape=(n, n))
    group = connected_components(graph, directed=False)[1]
    by_area = np.argsort(-parts.areas, kind="stable")
    _, at = np.unique(group[by_area], return_index=True)
    return by_area[at][group].astype(np.int32)


def _drop_background(parts: _Parts, smooth: _Planes) -> None:
    """Background and all that shows its colour is no object: the hole of a ring, the cells of a grid."""
    labels, n = parts.labels, len(parts.areas)
    border = parts.group[np.concatenate([labels[0], labels[-1], labels[1:-1, 0], labels[1:-1, -1]])]
    share = np.bincount(border, minlength=n) / len(border)
    share[0] = 0.0
    main = int(np.argmax(share))
    if share[main] < _BORDER_SHARE:
        return
    height, width = labels.shape
    step = max(labels.size // 20_000, 1) | 1
    sampled = parts.group[labels.ravel()[::step]]
    middles = np.stack([parts.bounds[:, 1] + parts.bounds[:, 3], parts.bounds[:, 0] + parts.bounds[:, 2]], axis=1) / 2
    dropped = np.zeros(n, bool)
    for number in {main, *np.flatnonzero(share >= _SECOND_BORDER_SHARE).tolist()}:
        pixels = np.flatnonzero(sampled == number) * step
        basis = _quadratic(np.stack([pixels % width, pixels // width], axis=1), (width, height))
        seen = smooth.reshape(3, -1)[:, pixels].T.astype(float)
        model = np.linalg.lstsq(basis, seen, rcond=None)[0]
        spread = 3.0 * float(np.sqrt(np.mean((basis @ model - seen) ** 2))) if len(pixels) else 0.0
        near = float(np.clip(spread, _SAME_COLOUR, _MAX_SPREAD))
        away = np.abs(parts.colours - _quadratic(middles, (width, height)) @ model).max(axis=1)
        dropped |= (away < near) | (np.arange(n) == number)
    parts.join(np.where(dropped, 0, np.arange(n)).astype(np.int32))


def _quadratic(points: NDArray[np.number], size: tuple[int, int]) -> FloatArray:
    """(N, 6) terms up to the second order of pixel positions (N, 2), for light that changes over an image."""
    x, y = (points / np.maximum(size, 1) - 0.5).T
    return np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)


def _largest_first(parts: _Parts) -> NDArray[np.intp]:
    """Numbers of the parts that are no specks."""
    order = np.argsort(-parts.areas, kind="stable")[:MAX_REGIONS]
    return order[parts.areas[order] >= MIN_AREA_PX]


def _outlines_joined(parts: _Parts, order: NDArray[np.intp]) -> _Labels:
    """Which part stands for each: an object also for the line drawn around it."""
    to = np.arange(len(parts.areas), dtype=np.int32)
    bounds = parts.bounds[order]
    sides = np.minimum(bounds[:, 2] - bounds[:, 0], bounds[:, 3] - bounds[:, 1])
    for k, line in enumerate(order):
        margins = (bounds - bounds[k]) * (1, 1, -1, -1)
        inside = ((margins >= 0) & (margins <= _OUTLINE_PX + _OUTLINE_SHARE * sides[k])).all(axis=1)
        for filling in order[inside]:
            if filling != line and _surrounds(parts, int(line), int(filling)):
                to[line] = filling
                break
    while (to[to] != to).any():
        to = to[to]
    return to


def _surrounds(parts: _Parts, line: int, filling: int) -> bool:
    """True if a part lies along most of the other's outline and is no larger than it."""
    top, left, bottom, right = parts.bounds[line]
    window = parts.group[parts.labels[top:bottom, left:right]]
    inside, around = window == filling, window == line
    ring = ndimage.binary_dilation(inside, _EIGHT) & ~inside
    enough = np.count_nonzero(ring & around) >= 0.8 * np.count_nonzero(ring)
    return bool(enough and np.count_nonzero(around) <= np.count_nonzero(inside))


def _regions(parts: _Parts) -> Regions:
    order = _largest_first(parts)
    number = np.zeros(len(parts.areas), np.int32)
    number[order] = np.arange(1, len(order) + 1)
    windows = tuple((slice(int(b[0]), int(b[2])), slice(int(b[1]), int(b[3]))) for b in parts.bounds[order])
    return Regions(number[parts.group][parts.labels], windows, parts.colours[order])
