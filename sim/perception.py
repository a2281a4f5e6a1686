"""Perception from simulator truth, with a noise and failure model: what a good network would answer.

It reads the object ids stored with a frame, what they are called (the frame's own labels, or else the scene's), and the
catalogue, nothing else of the simulator: where an object is and how large it looks come from the frame's own depth. A
labelled image may show anything: what has no known place on the table gets one from where it is in the image.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.sim.objects.sets import find_asset
from toolhand.sim.scene.scenes import Scene
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.catalogue import Description, load_catalogue
from toolhand.tool_nodes.language.sides import table_points
from toolhand.tool_nodes.language.words import DETERMINERS, singular, tokenize, words_only
from toolhand.tool_nodes.perception.certainty import Candidate, ReadScene, ReadView, candidates_by_words
from toolhand.tool_nodes.perception.colours import main_colours
from toolhand.tool_nodes.perception.extents import Extents, distance_to_outline, measure
from toolhand.tool_nodes.perception.frame_perception import FramePerception
from toolhand.tool_nodes.perception.frames import FrameCache, fill_holes
from toolhand.tool_nodes.perception.masks import expected_iou, inner_point, masks_at, window_of
from toolhand.tool_nodes.perception.surface import Surface, find_surface, solid_pixels
from toolhand.tool_nodes.perception.word_pointer import point_by_words
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import BoolArray, Frame, ObjectView, Segmentation

MIN_VISIBLE_PX = 80
"""Objects with fewer visible pixels than this are not seen; at 640x480, less in smaller images."""

_LEAST_POINTS = 3
"""Points with which an object has an extent [-]: three span a plane."""
_CONFUSIONS = 1
"""Random numbers of this purpose say what is confused: without them all others stay the same."""


@dataclass(frozen=True)
class PerceptionNoise:
    """How far perception is from the truth.

    Attributes:
        miss_rate: Probability in [0, 1] that a visible object is not found in an image.
        point_jitter_px: Standard deviation of a point about the middle of its object, per axis; it stays on the
            object [px].
        mask_noise_px: Mean shift of a mask's outline, inwards or outwards, in [0, 1] [px].
        depth_noise: k of the depth noise, sigma = k * z^2 [1/m].
        confusion_rate: Probability in [0, 1] that a visible product is not sure to be itself and not a look-alike, a
            product of its kind or colour that is drawn. It is taken for one of the two with a probability p, even in
            0.5..1 and given as the score, and p is how often that is right.
    """

    miss_rate: float = 0.0
    point_jitter_px: float = 1.5
    mask_noise_px: float = 0.5
    depth_noise: float = 0.001
    confusion_rate: float = 0.0

    def __post_init__(self) -> None:
        limits = {"miss_rate": 1.0, "mask_noise_px": 1.0, "confusion_rate": 1.0}
        for entry in fields(self):
            value, high = getattr(self, entry.name), limits.get(entry.name, np.inf)
            if not 0.0 <= value <= high:
                allowed = f"between 0 and {high:g}" if np.isfinite(high) else "0 or more"
                raise invalid(f"{entry.name} must be {allowed}, got {value}.")


@dataclass(frozen=True)
class Truth:
    """What the simulator's perception knows.

    Attributes:
        objects: Names of the objects that the ids of a frame mean, or the words for them, in their order.
        noise: How far it is from the truth.
    """

    objects: Sequence[str | Description] = ()
    noise: PerceptionNoise = field(default_factory=PerceptionNoise)


@dataclass(frozen=True)
class _Found:
    """One object: what it may be, with probabilities and first what it is taken for, its mask (H, W) as perceived, a
    point on it, and its box where depth tells it."""

    items: tuple[tuple[Description, float], ...]
    mask: BoolArray
    point: tuple[float, float]
    extents: Extents | None


class SimPerception(FramePerception):
    """The perception ports from the truth, blurred.

    The same seed and the same image give the same answers, in any order of calls.

    Args:
        scene: Which object each id means where a frame has no labels: a scene, or the names of its objects, or the
            words for them, in the order of the ids.
        noise: How far to be from the truth; mild where None.
        seed: Seeds every random choice.
    """

    backend = "sim"
    reads_truth = True

    def __init__(
        self,
        scene: Scene | Sequence[str | Description] = (),
        noise: PerceptionNoise | None = None,
        seed: int = 0,
    ) -> None:
        objects = [placed.item for placed in scene.objects] if isinstance(scene, Scene) else scene
        self._items = [find_asset(item) if isinstance(item, str) else item for item in objects]
        self._noise = noise or PerceptionNoise()
        self._seed = seed
        self._scene = FrameCache(self._look)

    def views(self, frame: Frame) -> list[ObjectView]:
        """Every object that is found in the image."""
        return list(self._scene(frame).views)

    def points(self, frame: Frame, text: str) -> list[tuple[float, float]]:
        """Normalized (x, y) of every match, best first; a phrase for free space gives one free point.

        The whole name of a labelled object means that object, whatever else the words could mean.

        Raises:
            ToolError: OBJECT_NOT_FOUND, naming what can be seen; NOT_RECOGNISED for words of no product and no label;
                PLACE_BLOCKED or OUT_OF_WORKSPACE without room; IMAGE_UNUSABLE for a frame without ids.
        """
        scene = self._scene(frame)
        called = self._called(frame, text)
        return [view.point for view in called] or point_by_words(frame, text, scene)

    def candidates(self, frame: Frame, text: str) -> list[Candidate]:
        """`points`, each with the probability that it is on what the text means, then what may be meant.

        Raises:
            ToolError: As `points`; OBJECT_NOT_FOUND only where nothing may be meant either.
        """
        called = [Candidate(view.point, 1.0) for view in self._called(frame, text)]
        return called or candidates_by_words(frame, text, self._scene(frame))

    def _called(self, frame: Frame, text: str) -> list[ObjectView]:
        """The objects of a labelled frame whose whole name the text is."""
        views = self._scene(frame).views if frame.labels else ()
        return [view for view in views if _words(view.name) == _words(text)]

    def masks_at(self, frame: Frame, points: Sequence[tuple[float, float]]) -> list[Segmentation]:
        """Masks of the objects under the points, the one under most of them first.

        Raises:
            ToolError: EMPTY_MASK where there is no object; IMAGE_UNUSABLE for a frame without ids.
        """
        scene = self._scene(frame)
        return masks_at(frame, points, scene.masks, [self._iou(mask) for mask in scene.masks])

    def masks(self, frame: Frame) -> list[Segmentation]:
        """Masks of all objects that are found, best first. Raises ToolError IMAGE_UNUSABLE without ids."""
        found = [Segmentation(mask, self._iou(mask)) for mask in self._scene(frame).masks]
        return sorted(found, key=lambda item: -item.score)

    def depth(self, frame: Frame) -> tuple[NDArray[np.float32], float]:
        """The frame's depth (H, W) with noise and small holes filled [m], and fx [px]."""
        noise = self._rng(frame, -1).standard_normal(frame.depth.shape, dtype=np.float32)
        depth = fill_holes(frame.depth)
        return depth + np.float32(self._noise.depth_noise) * depth**2 * noise, float(frame.K[0, 0])

    def _iou(self, mask: BoolArray) -> float:
        """Predicted IoU: what the noise of outlines takes from a mask of this shape; the truth is not asked."""
        return expected_iou(mask, self._noise.mask_noise_px)

    def _rng(self, frame: Frame, index: int, *purpose: int) -> np.random.Generator:
        """Random numbers for one object of one image, whatever else is asked before."""
        stamp = max(round(frame.stamp * 1e6), 0)
        return np.random.default_rng((self._seed, stamp, len(frame.camera), index + 1, *purpose))

    def _confused(self, item: Description, rng: np.random.Generator) -> tuple[tuple[Description, float], ...]:
        """What a product may be, first what it is taken for: itself for sure, or itself or a look-alike."""
        others = [other for other in load_catalogue().values() if other.name != item.name]
        alike = [other for other in others if item.kind == other.kind] or [o for o in others if item.colour == o.colour]
        if not alike or rng.random() >= self._noise.confusion_rate:
            return ((item, 1.0),)
        other, sure = alike[int(rng.integers(len(alike)))], float(rng.uniform(0.5, 1.0))
        taken, not_taken = (item, other) if rng.random() < sure else (other, item)
        return (taken, sure), (not_taken, 1.0 - sure)

    def _look(self, frame: Frame) -> ReadScene:
        if frame.ids is None:
            raise ToolError(
                ErrorCode.IMAGE_UNUSABLE,
                "The simulator's perception needs a picture from the simulated camera, and this one has no object ids.",
                "Use the perception backend 'pixels' for other pictures.",
            )
        named = self._labelled(frame)
        # A labelled image may have no depth at all, as drawings have none.
        surface = find_surface(frame) if frame.labels is None or np.isfinite(frame.depth).any() else None
        least = MIN_VISIBLE_PX * (frame.K[0, 0] / workspace.SCENE_CAMERA_FOCAL_PX) ** 2
        counts = np.bincount(frame.ids.ravel() + 1, minlength=len(named) + 1)[1:]
        found: list[_Found] = []
        for index, item in enumerate(named):
            rng = self._rng(frame, index)
            missed = rng.random() < self._noise.miss_rate
            if counts[index] < least or missed:
                continue
            true = frame.ids == index
            mask = self._blur(true, frame.ids < 0, rng)
            points = np.zeros((0, 3)) if surface is None else surface.points[_shown(surface, mask)]
            measured = len(points) >= _LEAST_POINTS
            if not measured and frame.labels is None:
                continue
            if isinstance(item, Description):
                known = self._confused(item, self._rng(frame, index, _CONFUSIONS))
            else:
                known = ((_describe(item, frame.rgb[mask]), 1.0),)
            point = self._point(mask, rng)
            extents = measure(points, 0.0, frame.T_base_camera[:3, 3]) if measured else None
            found.append(_Found(known, mask, point, extents))
        return ReadScene(tuple(_readings(found, surface)), tuple(item.mask for item in found))

    def _labelled(self, frame: Frame) -> Sequence[Description | str]:
        """What the ids of the frame mean: objects of the scene, or of a labelled frame names of others."""
        if frame.labels is None:
            return self._items
        catalogue = load_catalogue()
        return [catalogue.get(label, label) for label in frame.labels]

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


def _shown(surface: Surface, mask: BoolArray) -> BoolArray:
    """Pixels (H, W) of the object that a mask (H, W) is of, of which its extent and its foot are measured."""
    solid = solid_pixels(surface, mask)
    if np.count_nonzero(solid) < _LEAST_POINTS:
        # A ruler or a card stands out of the table by less than noise does: its mask says what it is.
        with np.errstate(invalid="ignore"):
            solid = mask & surface.inside & (surface.height > 0.0)
    return solid


def _readings(found: Sequence[_Found], surface: Surface | None) -> Iterator[tuple[ReadView, ...]]:
    measured = [item.extents for item in found if item.extents is not None]
    k = 0
    for obj in found:
        if surface is None or obj.extents is None:
            yield tuple(ReadView(_flat_view(item, obj.point, obj.mask), sure) for item, sure in obj.items)
            continue
        support = _support(k, _lowest(surface, obj.mask), measured)
        yield tuple(ReadView(_view(item, obj.point, obj.extents, surface, support), sure) for item, sure in obj.items)
        k += 1


def _lowest(surface: Surface, mask: BoolArray) -> float:
    """Height over the table of the lowest part that is seen [m]."""
    return float(np.quantile(surface.height[_shown(surface, mask)], 0.01))


def _support(k: int, lowest: float, extents: Sequence[Extents]) -> float:
    """Height of what object k stands on: the table, or the top of another object under its middle [m]."""
    tops = [0.0]
    for j, other in enumerate(extents):
        if j == k or len(other.outline) < 3:
            continue
        under = float(distance_to_outline(extents[k].centre[None, :2], other.outline)[0]) < 0.0
        if under and other.size[2] < lowest + 0.02:
            tops.append(float(other.size[2]))
    return max(tops)


def _view(
    item: Description,
    point: tuple[float, float],
    extents: Extents,
    surface: Surface,
    support: float,
) -> ObjectView:
    size, centre = extents.size.copy(), extents.centre.copy()
    top = size[2]
    size[2] = max(top - support, 1e-3)
    centre[2] = surface.table_z(centre[0], centre[1]) + top - size[2] / 2.0
    return item.seen(point, centre, size)


def _flat_view(item: Description, point: tuple[float, float], mask: BoolArray) -> ObjectView:
    """A view of something without depth: as if it stood on the table where the scene camera would see it there."""
    rows, columns = window_of(mask)
    right, towards = table_points([point])[0]
    # At one metre, in front of a camera like the scene camera.
    metres = workspace.IMAGE_SIZE[0] / mask.shape[1] / workspace.SCENE_CAMERA_FOCAL_PX
    width, height = metres * (columns.stop - columns.start), metres * (rows.stop - rows.start)
    return item.seen(point, np.array([towards, right, height / 2.0]), np.array([width, width, height]))


def _describe(label: str, pixels: NDArray[np.uint8]) -> Description:
    """What can be said of an object that is in no catalogue: its name, the head noun, and the colour that it shows."""
    words: list[str] = [*words_only(tokenize(label))]
    head = words[words.index("of", 1) - 1 :] if "of" in words[1:-1] else words[-1:]
    colours = main_colours(pixels)
    return Description(
        name=label, kind=singular(head[0]) if head else label, colour=colours[0][0] if colours else "grey"
    )


def _words(text: str) -> list[str]:
    """The words of a name, without an article before them."""
    words: list[str] = [*words_only(tokenize(text))] or text.split()
    return words[1:] if len(words) > 1 and words[0] in DETERMINERS else words
