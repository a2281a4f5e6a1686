"""Perception from simulator truth, with a noise and failure model: what a good network would answer.

It reads the object ids stored with a frame and the catalogue, nothing else of the simulator: where a thing is and
how large it looks come from the frame's own depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from sim.scenes import Scene
from tool_nodes import workspace
from tool_nodes.catalogue import CatalogueItem, load_catalogue
from tool_nodes.perception.extents import Extents, distance_to_outline, measure
from tool_nodes.perception.frames import FrameCache, fill_holes
from tool_nodes.perception.masks import inner_point, masks_at, window_of
from tool_nodes.perception.surface import Surface, find_surface, solid_pixels
from tool_nodes.perception.word_pointer import point_by_words
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import BoolArray, Frame, ObjectView, Segmentation

MIN_VISIBLE_PX = 80
"""Objects with fewer visible pixels than this are not seen; at 640x480, less in smaller pictures."""


@dataclass(frozen=True)
class PerceptionNoise:
    """How far perception is from the truth.

    Attributes:
        miss_rate: Probability in [0, 1] that a visible object is not found in a picture.
        point_jitter_px: Standard deviation of a point about the middle of its object, per axis; it stays on the
            object [px].
        mask_noise_px: Mean shift of a mask's outline, inwards or outwards, in [0, 1] [px].
        depth_noise: k of the depth noise, sigma = k * z^2 [1/m].
    """

    miss_rate: float = 0.0
    point_jitter_px: float = 1.5
    mask_noise_px: float = 0.5
    depth_noise: float = 0.001

    def __post_init__(self) -> None:
        limits = {"miss_rate": 1.0, "mask_noise_px": 1.0}
        for entry in fields(self):
            value, high = getattr(self, entry.name), limits.get(entry.name, np.inf)
            if not 0.0 <= value <= high:
                allowed = f"between 0 and {high:g}" if np.isfinite(high) else "0 or more"
                raise ToolError(ErrorCode.INVALID_ARGUMENT, f"{entry.name} must be {allowed}, got {value}.")


@dataclass(frozen=True)
class _SimScene:
    """What is seen in one frame: views, their masks as perceived and those masks' IoU with the truth."""

    views: tuple[ObjectView, ...]
    masks: tuple[BoolArray, ...]
    ious: tuple[float, ...]


class SimPerception:
    """Pointer, Segmenter and DepthEstimator that know the truth and blur it.

    The same seed and the same picture give the same answers, in any order of calls.

    Args:
        scene: Which object each id means: a scene, or the names of its catalogue items in the order of the ids.
        noise: How far to be from the truth; mild where None.
        seed: Seeds every random choice.
    """

    def __init__(self, scene: Scene | Sequence[str], noise: PerceptionNoise | None = None, seed: int = 0) -> None:
        catalogue = load_catalogue()
        names = [placed.item for placed in scene.objects] if isinstance(scene, Scene) else scene
        self._items = [catalogue[name] for name in names]
        self._noise = noise or PerceptionNoise()
        self._seed = seed
        self._scene = FrameCache(self._look)

    def views(self, frame: Frame) -> list[ObjectView]:
        """Every object that is found in the picture."""
        return list(self._scene(frame).views)

    def points(self, frame: Frame, text: str) -> list[tuple[float, float]]:
        """Normalized (x, y) of every match, best first; a phrase for free space gives one free point.

        Raises:
            ToolError: OBJECT_NOT_FOUND, naming what can be seen; PLACE_BLOCKED where no free space is left;
                UNAVAILABLE for a frame without ids.
        """
        return point_by_words(frame, text, self._scene(frame))

    def segment(self, frame: Frame, points: Sequence[tuple[float, float]]) -> list[Segmentation]:
        """Masks of the objects under the points, the one under most of them first.

        Raises:
            ToolError: EMPTY_MASK where there is no object; UNAVAILABLE for a frame without ids.
        """
        scene = self._scene(frame)
        iou_of = {id(mask): iou for mask, iou in zip(scene.masks, scene.ious, strict=True)}
        return masks_at(frame, points, scene.masks, lambda mask: iou_of[id(mask)])

    def estimate(self, frame: Frame) -> tuple[NDArray[np.float32], float]:
        """The frame's depth (H, W) with noise and small holes filled [m], and fx [px]."""
        noise = self._rng(frame, -1).standard_normal(frame.depth.shape, dtype=np.float32)
        depth = fill_holes(frame.depth)
        return depth + np.float32(self._noise.depth_noise) * depth**2 * noise, float(frame.K[0, 0])

    def _rng(self, frame: Frame, index: int) -> np.random.Generator:
        """Random numbers for one object of one picture, whatever else is asked before."""
        return np.random.default_rng((self._seed, max(round(frame.stamp * 1e6), 0), len(frame.camera), index + 1))

    def _look(self, frame: Frame) -> _SimScene:
        if frame.ids is None:
            raise ToolError(
                ErrorCode.UNAVAILABLE,
                "The simulator's perception needs a picture from the simulated camera, and this one has no object ids.",
                "Use the perception backend 'pixels' for other pictures.",
            )
        surface = find_surface(frame)
        least = MIN_VISIBLE_PX * (frame.K[0, 0] / workspace.SCENE_CAMERA_FOCAL_PX) ** 2
        counts = np.bincount(frame.ids.ravel() + 1, minlength=len(self._items) + 1)[1:]
        found: list[tuple[CatalogueItem, tuple[float, float], Extents]] = []
        masks, ious = [], []
        for index, item in enumerate(self._items):
            rng = self._rng(frame, index)
            missed = rng.random() < self._noise.miss_rate
            if counts[index] < least or missed:
                continue
            true = frame.ids == index
            mask = self._blur(true, frame.ids < 0, rng)
            points = surface.points[solid_pixels(surface, mask)]
            if len(points) < 3:
                continue
            found.append((item, self._point(mask, rng), measure(points, 0.0, frame.T_base_camera[:3, 3])))
            masks.append(mask)
            ious.append(float(np.count_nonzero(mask & true) / np.count_nonzero(mask | true)))
        lowest = [_lowest(surface, mask) for mask in masks]
        views = [
            _view(*found[k], surface, _support(k, lowest[k], [extents for _, _, extents in found]))
            for k in range(len(found))
        ]
        return _SimScene(tuple(views), tuple(masks), tuple(ious))

    def _blur(self, mask: BoolArray, free: BoolArray, rng: np.random.Generator) -> BoolArray:
        """The mask with its outline moved by at most one pixel, never onto another object."""
        window = window_of(mask, margin=2)
        true = mask[window]
        outer = ndimage.binary_dilation(true) & ~true & free[window]
        inner = true & ~ndimage.binary_erosion(true)
        share = self._noise.mask_noise_px
        outwards = rng.random() < 0.5
        # Neighbouring pixels err together, as the outline of a network's mask does.
        waves = ndimage.gaussian_filter(rng.standard_normal(true.shape), 2.0)
        errs = waves <= np.quantile(waves, share) if share > 0.0 else np.zeros_like(true)
        blurred = np.zeros_like(mask)
        blurred[window] = true | (outer & errs) if outwards else true & ~(inner & errs)
        return blurred if blurred.any() else mask

    def _point(self, mask: BoolArray, rng: np.random.Generator) -> tuple[float, float]:
        """A normalized point (x, y) near the middle of a mask, on it for sure."""
        height, width = mask.shape
        x, y = inner_point(mask)
        step = rng.normal(0.0, self._noise.point_jitter_px, 2)
        for _ in range(8):
            u, v = int(x * width + step[0]), int(y * height + step[1])
            if 0 <= u < width and 0 <= v < height and mask[v, u]:
                return (u + 0.5) / width, (v + 0.5) / height
            step = step / 2.0
        return x, y


def _lowest(surface: Surface, mask: BoolArray) -> float:
    """Height over the table of the lowest part that is seen [m]."""
    return float(np.quantile(surface.height[solid_pixels(surface, mask)], 0.01))


def _support(k: int, lowest: float, extents: Sequence[Extents]) -> float:
    """Height of what thing k stands on: the table, or the top of another thing under its middle [m]."""
    tops = [0.0]
    for j, other in enumerate(extents):
        if j == k or len(other.outline) < 3:
            continue
        under = float(distance_to_outline(extents[k].centre[None, :2], other.outline)[0]) < 0.0
        if under and other.size[2] < lowest + 0.02:
            tops.append(float(other.size[2]))
    return max(tops)


def _view(
    item: CatalogueItem, point: tuple[float, float], extents: Extents, surface: Surface, support: float
) -> ObjectView:
    size, centre = extents.size.copy(), extents.centre.copy()
    top = size[2]
    size[2] = max(top - support, 1e-3)
    centre[2] = surface.table_z(centre[0], centre[1]) + top - size[2] / 2.0
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
