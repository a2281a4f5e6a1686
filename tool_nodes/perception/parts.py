"""Patches of one cluster: borders from relief and colour, and what lies between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from toolhand.tool_nodes.perception.fitted import Network, logistic
from toolhand.tool_nodes.perception.relief import Image32, Relief
from toolhand.tool_nodes.types import BoolArray

FEATURES = 21
"""Features of a pair of neighbouring pixels, see `pair_features` [-]."""

_REACHES = (1, 3, 6)
"""How far on either side of a pair its surroundings are compared [px]: from noise to half of a small object."""
_SPACING_PX = 7
"""Patches have their middles at least half of this apart [px]: the narrowest object is some 10 px wide."""
_WALL = 0.3
"""From this probability on a border keeps the middles of patches away [-]; a round figure."""
_AT_ONCE = 4096
"""Pairs whose features are computed together [-]: what is in between stays in a core's cache."""
_FLAT = 1e-3
"""Weight of a step between pixels without any border, so that all are counted [-]."""


@dataclass(frozen=True)
class Pairs:
    """Neighbouring pixels of a cluster, first those one above the other, then those side by side.

    Attributes:
        first: (N,) flat index of the upper or left one.
        second: (N,) that of the other.
        features: float32 (N, FEATURES).
        logits: (N,) that a border runs between them.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    features: Image32
    logits: Image32


def find_pairs(relief: Relief, border: Network) -> Pairs:
    """All pairs of neighbouring pixels within a cluster, and how likely a border runs between them."""
    index = np.arange(relief.mask.size).reshape(relief.mask.shape)
    firsts, seconds = [], []
    for axis in (0, 1):
        one, other = (np.s_[:-1], np.s_[1:]) if axis == 0 else (np.s_[:, :-1], np.s_[:, 1:])
        both = relief.mask[one] & relief.mask[other]
        firsts.append(index[one][both])
        seconds.append(index[other][both])
    first = np.concatenate(firsts)
    features, logits = np.empty((len(first), FEATURES), np.float32), np.empty(len(first), np.float32)
    for start, end, axis in ((0, len(firsts[0]), 0), (len(firsts[0]), len(first), 1)):
        for at in range(start, end, _AT_ONCE):
            some = slice(at, min(at + _AT_ONCE, end))
            features[some] = _pair_features(relief, first[some], axis)
            logits[some] = border.logits(features[some])
    return Pairs(first, np.concatenate(seconds), features, logits)


def _pair_features(relief: Relief, pixels: NDArray[np.intp], axis: int) -> Image32:
    """(N, FEATURES) of the pairs of pixels, given by flat index, with the next ones along an axis."""
    height, width = relief.depth.shape
    row, column = np.divmod(pixels, width)
    along, last = (row, height - 1) if axis == 0 else (column, width - 1)
    stride = width if axis == 0 else 1
    places = {k: pixels + (np.minimum(np.maximum(along + k, 0), last) - along) * stride for k in range(-6, 8)}
    z = {k: relief.depth.ravel().take(places[k]) for k in (-3, -1, 0, 1, 2, 4)}
    points, normals, colours = (image.reshape(-1, 3) for image in (relief.points, relief.normals, relief.colour))
    out = np.empty((len(pixels), FEATURES), np.float32)
    bend = z[1] - z[0] - np.float32(0.5) * ((z[0] - z[-1]) + (z[2] - z[1]))
    out[:, 0] = np.log1p(np.abs(bend) / np.float32(0.002))
    out[:, 1] = np.log1p(np.abs(z[2] - z[-1]) / np.float32(0.003))
    out[:, 2] = np.log1p(np.abs(z[4] - z[-3]) / np.float32(0.005))
    middle = np.float32(0.5) * (points.take(places[0], axis=0) + points.take(places[1], axis=0))
    at = 3
    for reach in _REACHES:
        points_a, points_b, normals_a, normals_b = (
            image.take(places[k], axis=0) for image in (points, normals) for k in (-reach, 1 + reach)
        )
        apart, turn = points_b - points_a, normals_b - normals_a
        length = np.sqrt(_dot(apart, apart)) + np.float32(1e-6)
        out[:, at] = _dot(apart, turn) / length
        out[:, at + 1] = np.sqrt(_dot(turn, turn))
        at += 2
        if reach > 1:
            sunk = middle - np.float32(0.5) * (points_a + points_b)
            out[:, at] = np.clip(_dot(sunk, normals_a + normals_b) / np.float32(0.01), -2.0, 2.0)
            at += 1
    for reach in (0, 1, 3):
        change = colours.take(places[1 + reach], axis=0) - colours.take(places[-reach], axis=0)
        out[:, at] = np.minimum(np.abs(change[:, 0]), 1.0)
        out[:, at + 1] = np.minimum(5.0 * np.hypot(change[:, 1], change[:, 2]), 1.5)
        at += 2
    out[:, at] = np.minimum(points[pixels, 2], 0.15) / np.float32(0.05)
    out[:, at + 1] = relief.noise / 0.001
    out[:, at + 2] = relief.rough / 0.005
    out[:, at + 3] = normals[pixels, 2]
    return out


def _dot(a: Image32, b: Image32) -> Image32:
    product: Image32 = np.einsum("ij,ij->i", a, b)
    return product


def find_patches(relief: Relief, pairs: Pairs) -> NDArray[np.int32]:
    """Labels (h, w) of patches, 2, 3, ... and 1 for the table about the cluster; 0 elsewhere.

    A patch grows from a place far from borders, over the lowest of them first: the minimum spanning forest of the
    pixels, J. Cousty et al., "Watershed Cuts: Minimum Spanning Forests and the Drop of Water Principle", PAMI 31(8),
    2009.
    """
    mask = relief.mask
    likely = logistic(pairs.logits)
    edge = np.zeros(mask.size, np.float32)
    for ends in (pairs.first, pairs.second):
        np.maximum.at(edge, ends, likely)
    soft = ndimage.uniform_filter(edge.reshape(mask.shape), 3)
    free = mask & (edge.reshape(mask.shape) < _WALL)
    deep = ndimage.distance_transform_edt(free).astype(np.float32) - np.float32(2.0) * soft
    peaks = mask & ~relief.table & (ndimage.maximum_filter(deep, size=_SPACING_PX) == deep)
    markers = ndimage.label(peaks, np.ones((3, 3)))[0] + np.int32(1)
    markers[~peaks] = 0
    markers[relief.table] = 1
    slope = np.maximum(soft.ravel()[pairs.first], soft.ravel()[pairs.second])
    return _grown(mask, markers, pairs, np.asarray(likely + 0.1 * slope, np.float32))


def _grown(mask: BoolArray, markers: NDArray[np.int32], pairs: Pairs, heights: Image32) -> NDArray[np.int32]:
    """Labels (h, w) of the pixels that each marker reaches over lower heights (N,) of pairs than any other."""
    marked = np.flatnonzero(markers)
    root = mask.size
    seeds = markers.ravel()[marked]
    # A node for each marker, all below the root, so that the pixels of a marker stay together.
    nodes = root + np.arange(1, int(seeds.max(initial=0)) + 1)
    i = np.concatenate([pairs.first, marked, nodes])
    j = np.concatenate([pairs.second, root + seeds, np.full(len(nodes), root)])
    weights = np.concatenate([heights + _FLAT, np.full(len(marked), 1e-6), np.full(len(nodes), 1e-7)])
    size = root + len(nodes) + 1
    tree = minimum_spanning_tree(coo_matrix((weights, (i, j)), shape=(size, size))).tocoo()
    kept = (tree.row != root) & (tree.col != root)
    forest = coo_matrix((tree.data[kept], (tree.row[kept], tree.col[kept])), shape=(size, size))
    part = connected_components(forest, directed=False)[1][:root]
    labels = np.zeros(mask.shape, np.int32)
    inside = mask.ravel()
    labels.ravel()[inside] = np.unique(part[inside], return_inverse=True)[1] + 2
    seen = labels[markers == 1]
    labels[labels == (seen[0] if len(seen) else 0)] = 1
    labels[~mask] = 0
    return labels
