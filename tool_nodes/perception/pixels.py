"""Perception from pixels: colour and geometry of one RGB-D picture, with no access to the simulator's truth."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tool_nodes.catalogue import CatalogueItem, load_catalogue
from tool_nodes.geometry import pixel
from tool_nodes.perception.clusters import Cluster, find_clusters
from tool_nodes.perception.colours import main_colours
from tool_nodes.perception.recognition import Look, Recogniser, describe_unknown
from tool_nodes.perception.surface import Surface, find_surface
from tool_nodes.perception.word_pointer import point_by_words
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import BoolArray, Frame, ObjectView, Segmentation

_SAMPLE = 240
_CACHED_FRAMES = 4
_NEAR_MISS_PX = 8.0
_HOLE_PX = 40
_HOLE_SPREAD_M = 0.02

T = TypeVar("T")


class FrameCache(Generic[T]):
    """Remembers what was computed from the last few frames, by identity.

    Args:
        compute: Makes the value of a frame.
    """

    def __init__(self, compute: Callable[[Frame], T]) -> None:
        self._compute = compute
        self._known: deque[tuple[Frame, T]] = deque(maxlen=_CACHED_FRAMES)

    def __call__(self, frame: Frame) -> T:
        """The value of a frame, computed once."""
        for known, value in self._known:
            if known is frame:
                return value
        value = self._compute(frame)
        self._known.append((frame, value))
        return value


@dataclass(frozen=True)
class PixelScene:
    """One frame, understood: clusters, what they look like, and what they are taken for, in one order."""

    surface: Surface
    clusters: tuple[Cluster, ...]
    looks: tuple[Look, ...]
    views: tuple[ObjectView, ...]

    @property
    def masks(self) -> tuple[BoolArray, ...]:
        """Visible pixels (H, W) of each view."""
        return tuple(cluster.mask for cluster in self.clusters)


class PixelPerception:
    """Pointer, Segmenter and DepthEstimator from colour and geometry alone.

    Args:
        items: The products that are recognised by name; the shipped catalogue where None. What fits none of them
            is described instead, e.g. "red box-shaped object".
    """

    def __init__(self, items: Sequence[CatalogueItem] | None = None) -> None:
        self._recogniser = Recogniser(list(load_catalogue().values()) if items is None else items)
        self._scene = FrameCache(self._understand)

    def views(self, frame: Frame) -> list[ObjectView]:
        """Every object that stands out of the table."""
        return list(self._scene(frame).views)

    def points(self, frame: Frame, text: str) -> list[tuple[float, float]]:
        """Normalized (x, y) of every match, best first; a phrase for free space gives one free point.

        Raises:
            ToolError: OBJECT_NOT_FOUND, naming what can be seen; PLACE_BLOCKED where no free space is left.
        """
        return point_by_words(frame, text, self._scene(frame))

    def segment(self, frame: Frame, points: Sequence[tuple[float, float]]) -> list[Segmentation]:
        """Masks of the objects under the points, the one under most of them first.

        Raises:
            ToolError: EMPTY_MASK where there is no object.
        """
        return masks_at(frame, points, [cluster.mask for cluster in self._scene(frame).clusters], expected_iou)

    def estimate(self, frame: Frame) -> tuple[NDArray[np.float32], float]:
        """The sensor's depth (H, W) [m] with small holes filled where their border is smooth, and fx [px]."""
        return fill_holes(frame.depth), float(frame.K[0, 0])

    def _understand(self, frame: Frame) -> PixelScene:
        surface = find_surface(frame)
        clusters = find_clusters(frame, surface)
        occupied = np.zeros(frame.depth.shape, dtype=np.int16)
        for number, cluster in enumerate(clusters, start=1):
            occupied[cluster.mask] = number
        looks = [_look(frame, surface, cluster, occupied, k) for k, cluster in enumerate(clusters, start=1)]
        views = [self._name(frame, surface, *pair) for pair in zip(clusters, looks, strict=True)]
        return PixelScene(surface, tuple(clusters), tuple(looks), tuple(views))

    def _name(self, frame: Frame, surface: Surface, cluster: Cluster, look: Look) -> ObjectView:
        item = self._recogniser.best(look)
        size, centre = cluster.extents.size, cluster.extents.centre.copy()
        centre[2] += surface.table_z(centre[0], centre[1])
        point = inner_point(cluster.mask, cluster.window)
        if item is None:
            return describe_unknown(look, main_colours(look.pixels), point, centre, size)
        return ObjectView(
            name=item.name,
            kind=item.kind,
            colour=item.colour,
            synonyms=item.synonyms,
            categories=item.categories,
            attributes=item.attributes,
            point=point,
            position_m=centre,
            size_m=size,
            container=item.container,
        )


def _look(frame: Frame, surface: Surface, cluster: Cluster, occupied: NDArray[np.int16], number: int) -> Look:
    rows, columns = cluster.window
    mask = cluster.mask[cluster.window]
    height, width = frame.depth.shape
    # Pixels on the outline mix the thing's colour with the background's.
    core = ndimage.binary_erosion(mask)
    v, u = np.nonzero(core if core.any() else mask)
    chosen = np.linspace(0, len(v) - 1, min(len(v), _SAMPLE)).astype(int)
    v, u = v[chosen] + rows.start, u[chosen] + columns.start
    levels = (surface.height[v, u] - cluster.support) / cluster.extents.size[2]
    beyond = rows.start <= 1 or columns.start <= 1 or rows.stop >= height - 1 or columns.stop >= width - 1
    return Look(
        extents=cluster.extents,
        hollow=cluster.hollow,
        pixels=frame.rgb[v, u],
        levels=np.nan_to_num(levels, nan=0.5).astype(float),
        cut=beyond or cluster.within is not None or _hidden_behind(surface, cluster, occupied, number, frame),
    )


def _hidden_behind(surface: Surface, cluster: Cluster, occupied: NDArray[np.int16], number: int, frame: Frame) -> bool:
    """True if another thing, nearer to the camera, touches the cluster in the picture."""
    rows = slice(max(cluster.window[0].start - 2, 0), cluster.window[0].stop + 2)
    columns = slice(max(cluster.window[1].start - 2, 0), cluster.window[1].stop + 2)
    mine = occupied[rows, columns] == number
    others = occupied[rows, columns]
    around = ndimage.binary_dilation(mine, iterations=2) & (others > 0) & ~mine
    if np.count_nonzero(around) < 6:
        return False
    depth = frame.depth[rows, columns]
    return bool(np.nanmedian(depth[around]) < np.nanmedian(depth[mine]))


def inner_point(mask: BoolArray, window: tuple[slice, slice] | None = None) -> tuple[float, float]:
    """The normalized point (x, y) of a mask (H, W) that is farthest from its outline."""
    if window is None:
        window = ndimage.find_objects(mask.astype(np.uint8))[0]
    rows, columns = window
    depth = ndimage.distance_transform_edt(np.pad(mask[window], 1))[1:-1, 1:-1]
    v, u = np.unravel_index(int(np.argmax(depth)), depth.shape)
    height, width = mask.shape
    return (float(u) + columns.start + 0.5) / width, (float(v) + rows.start + 0.5) / height


def masks_at(
    frame: Frame,
    points: Sequence[tuple[float, float]],
    masks: Sequence[BoolArray],
    score: Callable[[BoolArray], float],
) -> list[Segmentation]:
    """The masks under normalized points, the one under most of them first; a near miss counts for the nearest mask.

    Args:
        frame: The picture.
        points: At least one (x, y) in [0, 1].
        masks: bool (H, W), one per object.
        score: Expected IoU of a mask.

    Raises:
        ToolError: EMPTY_MASK where there is no object, INVALID_ARGUMENT for no or bad points.
    """
    if not points:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Segmentation needs at least one image point (x, y).")
    votes = np.zeros(len(masks))
    for point in points:
        u, v = pixel(point, frame.size)
        hits = np.array([mask[v, u] for mask in masks], dtype=bool)
        if not hits.any():
            distances = np.array([_distance(mask, u, v) for mask in masks])
            hits = distances <= min(_NEAR_MISS_PX, distances.min(initial=np.inf))
        votes += hits
    found = [int(k) for k in np.argsort(-votes, kind="stable") if votes[k] > 0]
    if not found:
        where = ", ".join(f"({x:.3f}, {y:.3f})" for x, y in points)
        raise ToolError(ErrorCode.EMPTY_MASK, f"There is no object at {where}.", "Point at an object first.")
    return [Segmentation(masks[k], score(masks[k]) * float(votes[k]) / len(points)) for k in found]


def _distance(mask: BoolArray, u: int, v: int) -> float:
    """Distance [px] from a pixel to the nearest pixel of a mask, if that is within the near-miss radius; else inf."""
    reach = int(_NEAR_MISS_PX)
    near = mask[max(v - reach, 0) : v + reach + 1, max(u - reach, 0) : u + reach + 1]
    rows, columns = np.nonzero(near)
    if not len(rows):
        return float("inf")
    return float(np.hypot(rows + max(v - reach, 0) - v, columns + max(u - reach, 0) - u).min())


def expected_iou(mask: BoolArray) -> float:
    """IoU to expect of a mask (H, W) whose outline is right to half a pixel."""
    outline = np.count_nonzero(mask & ~ndimage.binary_erosion(mask))
    return float(np.clip(1.0 - 0.5 * outline / max(np.count_nonzero(mask), 1), 0.0, 1.0))


def fill_holes(depth: NDArray[np.float32]) -> NDArray[np.float32]:
    """Depth (H, W) [m] with holes of up to 40 pixels filled from their border, where that is smooth within 2 cm."""
    missing = ~np.isfinite(depth)
    filled = np.where(missing, np.float32(np.nan), depth)
    if not missing.any() or missing.all():
        return filled
    labels, n = ndimage.label(missing)
    sizes = np.bincount(labels.ravel())
    windows = ndimage.find_objects(labels)
    for label in range(1, n + 1):
        if sizes[label] > _HOLE_PX:
            continue
        rows, columns = windows[label - 1]
        area = slice(max(rows.start - 1, 0), rows.stop + 1), slice(max(columns.start - 1, 0), columns.stop + 1)
        hole = labels[area] == label
        border = depth[area][ndimage.binary_dilation(hole) & ~missing[area]]
        if len(border) and np.ptp(border) < _HOLE_SPREAD_M:
            filled[area][hole] = np.median(border)
    return filled
