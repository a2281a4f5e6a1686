"""Finding objects in any image of a conversation: camera images, crops and drawings of them, foreign images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toolhand.tool_nodes.geometry import pixel
from toolhand.tool_nodes.perception.instances import Instance
from toolhand.tool_nodes.perception.prompts import depth_by, detected_by, prompt_for, segment_by
from toolhand.tool_nodes.ports import Answer, DepthEstimator, Detector, Segmenter
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Detection, Everything, PointPrompt, Prompt, TextPrompt


class ObjectFinder:
    """Looks at images through the perception ports, and gives objects with mask, box and point.

    Args:
        detector: Frames objects by words.
        segmenter: Outlines objects by points, boxes and words.
        depth: Depth of images.
    """

    def __init__(self, detector: Detector, segmenter: Segmenter, depth: DepthEstimator) -> None:
        self.backend = segmenter.backend
        self._detector = detector
        self._segmenter = segmenter
        self._depth = depth

    def detect(self, image: SessionImage, text: str) -> Answer[list[Detection]]:
        """Box and, where it is known, a point of everything that a text names, best first.

        Raises:
            ToolError: OBJECT_NOT_FOUND.
        """
        return detected_by(self._detector, image, text)

    def find(self, image: SessionImage, text: str) -> Answer[list[Instance]]:
        """Everything in the image that a text names, best first. Raises ToolError OBJECT_NOT_FOUND."""
        return self._instances(image, TextPrompt(text), text)

    def everything(self, image: SessionImage) -> Answer[list[Instance]]:
        """Every object in the image, best first."""
        return self._instances(image, Everything())

    def at(self, image: SessionImage, points: ArrayLike) -> Answer[Instance]:
        """The object under normalized points (N, 2) of the image. Raises ToolError EMPTY_MASK."""
        chosen = [(float(x), float(y)) for x, y in np.asarray(points, float).reshape(-1, 2)]
        return self._one(image, PointPrompt(chosen))

    def outline(self, image: SessionImage, one: Detection) -> Answer[Instance]:
        """The object that was detected, with its mask.

        What a point does not outline, such as the table, is asked for by its words where the segmenter takes words.

        Raises:
            ToolError: EMPTY_MASK.
        """
        try:
            found = self._one(image, prompt_for(one, self._segmenter))
            if one.point is None or _holds(found.value, one.point):
                return found
        except ToolError as error:
            named = self._named(image, one) if error.code is ErrorCode.EMPTY_MASK else None
            if named is None:
                raise
            return named
        return self._named(image, one) or found

    def _named(self, image: SessionImage, one: Detection) -> Answer[Instance] | None:
        """What the words of a detection outline, if that holds its point."""
        if one.point is None or not one.label or TextPrompt not in self._segmenter.takes:
            return None
        try:
            answer = self.find(image, one.label)
        except ToolError as error:
            if error.code is not ErrorCode.OBJECT_NOT_FOUND:
                raise
            return None
        found = next((item for item in answer.value if _holds(item, one.point)), None)
        return None if found is None else Answer(found, answer.backend)

    def depth_of(self, image: SessionImage) -> Answer[tuple[NDArray[np.float32], float]]:
        """Depth (H, W) of the image's pixels [m], NaN where unknown, and the focal length [px].

        Raises:
            ToolError: IMAGE_UNUSABLE for an image that lacks what the backend needs; INTERNAL for depth of another
                size.
        """
        return depth_by(self._depth, image)

    def _one(self, image: SessionImage, prompt: Prompt) -> Answer[Instance]:
        found = self._instances(image, prompt, most=1)
        return Answer(found.value[0], found.backend)

    def _instances(
        self, image: SessionImage, prompt: Prompt, label: str = "", most: int | None = None
    ) -> Answer[list[Instance]]:
        found = segment_by(self._segmenter, image, prompt)
        return Answer(
            [Instance.of_mask(segmentation.mask, segmentation.score, label) for segmentation in found.value[:most]],
            found.backend,
        )


def _holds(item: Instance, point: tuple[float, float]) -> bool:
    u, v = pixel(point, (item.mask.shape[1], item.mask.shape[0]))
    return bool(item.mask[v, u])


def joined(backends: Sequence[str]) -> str:
    """Who has answered, each named once, e.g. "sam2, depth_pro"."""
    return ", ".join(dict.fromkeys(name for name in backends if name))
