"""What the perception ports share: prompts, who has raised an error, and backends that stand in for each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.perception.box_overlap import box_iou
from toolhand.tool_nodes.perception.instances import box_of
from toolhand.tool_nodes.ports import Answer, DepthEstimator, Detector, Pointer, Segmenter
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import (
    BoolArray,
    BoxPrompt,
    Detection,
    Everything,
    PointPrompt,
    Prompt,
    Segmentation,
    TextPrompt,
)

ALL_PROMPTS: frozenset[type[Prompt]] = frozenset({PointPrompt, BoxPrompt, TextPrompt, Everything})


@contextmanager
def signed(backend: str) -> Iterator[None]:
    """A ToolError that comes out of the block names the backend, if it names none yet."""
    try:
        yield
    except ToolError as error:
        error.backend = error.backend or backend
        raise


def sees_photographs(backend: object) -> bool:
    """False where a backend says that it can look at no image but the robot's own and drawings."""
    return bool(getattr(backend, "sees_photographs", True))


def best_in_box(found: Sequence[Segmentation], box: tuple[float, float, float, float]) -> Segmentation:
    """Of masks (H, W), none empty, the one whose own box overlaps a box [px] best. Raises ToolError EMPTY_MASK."""
    overlaps = [box_iou(box_of(segmentation.mask), box) for segmentation in found]
    if not overlaps or max(overlaps) <= 0.0:
        raise ToolError(
            ErrorCode.EMPTY_MASK, f"There is no object in the box {[round(side) for side in box]}.", "Frame an object."
        )
    return found[int(np.argmax(overlaps))]


class WordsToBoxes:
    """A Segmenter that takes words too: a Detector finds what they name, and the segmenter outlines it.

    Args:
        segmenter: Takes points or boxes, no words.
        detector: Finds by words.
    """

    def __init__(self, segmenter: Segmenter, detector: Detector) -> None:
        self._segmenter = segmenter
        self._detector = detector
        self.backend = segmenter.backend
        self.takes = segmenter.takes | {TextPrompt}
        self.sees_photographs = sees_photographs(segmenter)

    def segment(self, image: SessionImage, prompt: Prompt) -> Answer[list[Segmentation]]:
        """See ports.Segmenter."""
        if not isinstance(prompt, TextPrompt):
            return segment_by(self._segmenter, image, prompt)
        found, backend = [], self.backend
        for detection in detected_by(self._detector, image, prompt.text).value:
            try:
                answer = segment_by(self._segmenter, image, prompt_for(detection, self._segmenter))
            except ToolError as error:
                if error.code is not ErrorCode.EMPTY_MASK:
                    raise
                continue
            found.append(answer.value[0])
            backend = answer.backend
        if not found:
            raise ToolError(
                ErrorCode.OBJECT_NOT_FOUND, f"{prompt.text[:60]!r} is nothing that has an outline.", backend=backend
            )
        return Answer(found, backend)


MOST_POINTS = 1000
"""Most points or boxes that one answer may have [-]: an image shows some dozens of objects."""


def points_by(pointer: Pointer, image: SessionImage, text: str) -> Answer[list[tuple[float, float]]]:
    """The pointer's points, normalized.

    Raises:
        ToolError: INTERNAL for none, too many, and what is no point of the image; what the pointer raises.
    """
    answer = pointer.point(image, text)
    try:
        points = np.asarray(answer.value, float)
        sound = points.ndim == 2 and points.shape[1] == 2 and 0 < len(points) <= MOST_POINTS
        sound = sound and bool(((points >= 0.0) & (points <= 1.0)).all())
    except (TypeError, ValueError, OverflowError):
        sound = False
    if not sound:
        raise _unsound(f"The pointer {answer.backend!r} gave what are no points of the picture.", answer)
    return answer


def detected_by(detector: Detector, image: SessionImage, text: str) -> Answer[list[Detection]]:
    """The detector's objects. Raises ToolError INTERNAL for too many, or boxes of no numbers; what the detector
    does."""
    answer = detector.detect(image, text)
    try:
        boxes = np.asarray([detection.box for detection in answer.value], float)
        points = np.asarray([detection.point for detection in answer.value if detection.point is not None], float)
        sound = len(answer.value) <= MOST_POINTS and bool(np.isfinite(boxes).all() and np.isfinite(points).all())
    except (TypeError, ValueError, OverflowError):
        sound = False
    if not sound:
        raise _unsound(f"The detector {answer.backend!r} gave what are no boxes in the picture.", answer)
    return answer


def segment_by(segmenter: Segmenter, image: SessionImage, prompt: Prompt) -> Answer[list[Segmentation]]:
    """The segmenter's masks that are not empty; of points and boxes at least one.

    Raises:
        ToolError: EMPTY_MASK; INVALID_ARGUMENT where it does not take such prompts; what the segmenter raises.
    """
    if type(prompt) not in segmenter.takes:
        asked = {PointPrompt: "points", BoxPrompt: "boxes", TextPrompt: "words", Everything: "everything at once"}
        known = ", ".join(words for kind, words in asked.items() if kind in segmenter.takes)
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT,
            f"The segmenter {segmenter.backend!r} does not outline by {asked[type(prompt)]}; it takes {known}.",
            backend=segmenter.backend,
        )
    answer = segmenter.segment(image, prompt)
    height, width = image.rgb.shape[:2]
    wrong = next(
        (segmentation.mask.shape for segmentation in answer.value if segmentation.mask.shape != (height, width)), None
    )
    if wrong is not None:
        raise _unsound(
            f"The segmenter {answer.backend!r} gave a mask of shape {wrong} for a picture of {width}x{height} px.",
            answer,
        )
    found = [segmentation for segmentation in answer.value if segmentation.mask.any()]
    if not found and isinstance(prompt, PointPrompt | BoxPrompt):
        raise ToolError(
            ErrorCode.EMPTY_MASK, "There is no object there.", "Point at an object first.", backend=answer.backend
        )
    return Answer(found, answer.backend)


class Outlines:
    """Masks of one image.

    Args:
        segmenter: Outlines what is asked for.
        image: The image.

    Attributes:
        backend: Backend that gave the latest of them; empty before any.
    """

    def __init__(self, segmenter: Segmenter, image: SessionImage) -> None:
        self._segmenter, self._image, self.backend = segmenter, image, ""

    def at(self, point: tuple[float, float]) -> BoolArray:
        """The mask (H, W) at a normalized point. Raises ToolError as `segment_by`."""
        return self._of(PointPrompt([point]))[0]

    def everything(self) -> list[BoolArray]:
        """A mask (H, W) of each object that is seen; none from a segmenter that does not take such prompts."""
        return self._of(Everything()) if Everything in self._segmenter.takes else []

    def _of(self, prompt: Prompt) -> list[BoolArray]:
        answer = segment_by(self._segmenter, self._image, prompt)
        self.backend = answer.backend
        return [each.mask for each in answer.value]


def _unsound(sentence: str, answer: Answer[Any]) -> ToolError:
    return ToolError(ErrorCode.INTERNAL, sentence, backend=answer.backend)


def depth_by(estimator: DepthEstimator, image: SessionImage) -> Answer[tuple[NDArray[np.float32], float]]:
    """The estimator's depth (H, W) of the image [m], NaN where unknown, and focal length [px].

    Raises:
        ToolError: INTERNAL for depth of another size; what the estimator raises.
    """
    answer = estimator.estimate(image)
    shape, (height, width) = np.shape(answer.value[0]), image.rgb.shape[:2]
    if shape != (height, width):
        raise _unsound(
            f"The depth estimator {answer.backend!r} gave depth of shape {shape} for a picture of {width}x{height} px.",
            answer,
        )
    if np.isinf(answer.value[0]).any() or not 0.0 < float(answer.value[1]) < 1e9:
        raise _unsound(f"The depth estimator {answer.backend!r} gave distances that are no numbers.", answer)
    return answer


def prompt_for(segmentation: Detection, segmenter: Segmenter) -> Prompt:
    """What outlines a detected object: the point that is on it for sure, or else its box."""
    if segmentation.point is not None and PointPrompt in segmenter.takes:
        return PointPrompt([segmentation.point])
    return BoxPrompt(segmentation.box)


S = TypeVar("S", bound=Pointer | Detector | Segmenter | DepthEstimator)


class _ByImage(Generic[S]):
    """One backend for camera images with depth, another for all others."""

    def __init__(self, with_depth: S, without: S) -> None:
        self._with_depth = with_depth
        self._without = without
        self.backend = with_depth.backend
        self.reads_truth: bool = getattr(with_depth, "reads_truth", False)
        self.sees_photographs = sees_photographs(without)

    def _for(self, image: SessionImage) -> S:
        known = image.frame is not None and np.isfinite(image.frame.depth).any()
        return self._with_depth if known else self._without


class PointerByImage(_ByImage[Pointer]):
    """A Pointer for camera images with depth, and another one for all others."""

    def point(self, image: SessionImage, text: str) -> Answer[list[tuple[float, float]]]:
        """See ports.Pointer."""
        return self._for(image).point(image, text)


class DetectorByImage(_ByImage[Detector]):
    """A Detector for camera images with depth, and another one for all others."""

    def detect(self, image: SessionImage, text: str) -> Answer[list[Detection]]:
        """See ports.Detector."""
        return self._for(image).detect(image, text)


class SegmenterByImage(_ByImage[Segmenter]):
    """A Segmenter for camera images with depth, and another one for all others."""

    def __init__(self, with_depth: Segmenter, without: Segmenter) -> None:
        super().__init__(with_depth, without)
        self.takes = with_depth.takes & without.takes

    def segment(self, image: SessionImage, prompt: Prompt) -> Answer[list[Segmentation]]:
        """See ports.Segmenter."""
        return self._for(image).segment(image, prompt)


class DepthByImage(_ByImage[DepthEstimator]):
    """The depth of camera images that have it, and an estimate of another backend for all others."""

    def estimate(self, image: SessionImage) -> Answer[tuple[NDArray[np.float32], float]]:
        """See ports.DepthEstimator."""
        return self._for(image).estimate(image)


BY_IMAGE = {
    "pointer": PointerByImage,
    "detector": DetectorByImage,
    "segmenter": SegmenterByImage,
    "depth": DepthByImage,
    "second_pointer": PointerByImage,
}
"""What two backends become that share the images of a port, with depth and without: "NAME+OTHER"."""
