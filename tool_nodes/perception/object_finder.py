"""Finding things in any picture of a conversation: in camera pictures, in crops and drawings of them, in foreign ones.

What stands behind the ports is asked about the whole camera frame, and the answer is cut to what the picture shows:
a crop of an object alone has no table in it that the object could stand out of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tool_nodes.perception.drawings.finder import FlatPerception
from tool_nodes.perception.masks import inner_point, window_of
from tool_nodes.ports import DepthEstimator, Pointer, Segmenter
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.types import BoolArray, Frame, Segmentation

_SHOWN_SHARE = 0.4
"""So much of a thing must be inside a crop for the crop to show it."""


@dataclass(frozen=True, eq=False)
class Instance:
    """One thing in a picture.

    Attributes:
        mask: bool (H, W) of the picture.
        point: Normalized (x, y) on it.
        box: (left, top, right, bottom) [px], right and bottom exclusive.
        score: Predicted IoU of the mask, in [0, 1].
        label: What was looked for; empty where nothing was.
    """

    mask: BoolArray
    point: tuple[float, float]
    box: tuple[int, int, int, int]
    score: float
    label: str = ""

    @classmethod
    def of_mask(cls, mask: BoolArray, score: float, label: str = "") -> Instance:
        """The instance of a mask (H, W) that is not empty."""
        rows, columns = window_of(mask)
        box = (columns.start, rows.start, columns.stop, rows.stop)
        return cls(mask, inner_point(mask), box, score, label)


class Sight:
    """Looks at pictures through the perception ports.

    Args:
        pointer: Finds by words in camera frames.
        segmenter: Outlines in camera frames.
        depth: Depth of camera frames.
        flat: For pictures that show no camera frame with depth.
    """

    def __init__(
        self, pointer: Pointer, segmenter: Segmenter, depth: DepthEstimator, flat: FlatPerception | None = None
    ) -> None:
        self._pointer = pointer
        self._segmenter = segmenter
        self._depth = depth
        self._flat = flat or FlatPerception()

    def find(self, image: SessionImage, text: str) -> list[Instance]:
        """Everything in the picture that a text names, best first. Raises ToolError OBJECT_NOT_FOUND."""
        if _is_flat(image):
            return [Instance.of_mask(found.mask, found.score, text) for found in self._flat.find(image.rgb, text)]
        frame = image.require_frame()
        found = _distinct(self._outlined(frame, self._pointer.points(frame, text)))
        if not found:
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"{text[:60]!r} is a place, or nothing that has an outline.")
        shown = self._shown(image, found, text)
        if not shown:
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"This part of the picture does not show {text[:60]!r}.")
        return shown

    def _outlined(self, frame: Frame, points: Sequence[tuple[float, float]]) -> Iterator[Segmentation]:
        """The thing under each point that has one; free space is pointed at too."""
        for point in points:
            try:
                yield self._segmenter.segment(frame, [point])[0]
            except ToolError as error:
                if error.code is not ErrorCode.EMPTY_MASK:
                    raise

    def everything(self, image: SessionImage) -> list[Instance]:
        """Every thing in the picture, best first."""
        if _is_flat(image):
            return [Instance.of_mask(found.mask, found.score) for found in self._flat.everything(image.rgb)]
        return self._shown(image, self._segmenter.segment_all(image.require_frame()), "")

    def at(self, image: SessionImage, points: ArrayLike) -> Instance:
        """The thing under normalized points (N, 2) of the picture. Raises ToolError EMPTY_MASK."""
        chosen = [(float(x), float(y)) for x, y in np.asarray(points, float).reshape(-1, 2)]
        if _is_flat(image):
            found = self._flat.at(image.rgb, chosen)
            return Instance.of_mask(found.mask, found.score)
        segmentation = segment_picture(self._segmenter, image, chosen)[0]
        return Instance.of_mask(segmentation.mask, segmentation.score)

    def depth_of(self, image: SessionImage) -> tuple[NDArray[np.float32], float]:
        """Depth (H, W) of the picture's pixels [m], NaN where unknown, and the focal length [px].

        Raises:
            ToolError: UNAVAILABLE for a picture without a camera frame.
        """
        return estimate_picture(self._depth, image)

    def backend(self, image: SessionImage) -> str:
        """Name of the backend that answers about the picture."""
        return self._flat.backend if _is_flat(image) else self._segmenter.backend

    def _shown(self, image: SessionImage, found: Sequence[Segmentation], label: str) -> list[Instance]:
        shown = []
        for one in found:
            mask = np.ascontiguousarray(image.cut(one.mask))
            if np.count_nonzero(mask) >= _SHOWN_SHARE * np.count_nonzero(one.mask) and mask.any():
                shown.append(Instance.of_mask(mask, one.score, label))
        return shown


def segment_picture(
    segmenter: Segmenter, image: SessionImage, points: Sequence[tuple[float, float]]
) -> list[Segmentation]:
    """Masks (H, W) of the picture under its normalized points, best first. Raises ToolError EMPTY_MASK, UNAVAILABLE."""
    frame = image.require_frame()
    prompts = [(float(x), float(y)) for x, y in image.to_frame(points)]
    found = [
        Segmentation(np.ascontiguousarray(image.cut(one.mask)), one.score) for one in segmenter.segment(frame, prompts)
    ]
    found = [one for one in found if one.mask.any()]
    if not found:
        where = ", ".join(f"({x:.3f}, {y:.3f})" for x, y in points)
        raise ToolError(ErrorCode.EMPTY_MASK, f"There is no object at {where}.", "Point at an object first.")
    return found


def estimate_picture(estimator: DepthEstimator, image: SessionImage) -> tuple[NDArray[np.float32], float]:
    """Depth (H, W) [m] of what the picture shows, and the focal length [px]. Raises ToolError UNAVAILABLE."""
    depth, focal = estimator.estimate(image.require_frame())
    return np.ascontiguousarray(image.cut(depth)), focal


def _is_flat(image: SessionImage) -> bool:
    return image.frame is None or not np.isfinite(image.frame.depth).any()


def _distinct(found: Iterable[Segmentation]) -> list[Segmentation]:
    """Without the masks that came before: two points may lie on one thing."""
    kept: list[Segmentation] = []
    for one in found:
        if not any(np.array_equal(one.mask, other.mask) for other in kept):
            kept.append(one)
    return kept
