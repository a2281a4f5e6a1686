"""Finding things in any picture of a conversation: camera pictures, crops and drawings of them, foreign pictures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tool_nodes.perception.instances import Instance
from tool_nodes.perception.prompts import prompt_for, segment_by
from tool_nodes.ports import Answer, DepthEstimator, Detector, Segmenter
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.types import Detection, Everything, PointPrompt, Prompt, TextPrompt


class ObjectFinder:
    """Looks at pictures through the perception ports, and gives things with mask, box and point.

    Args:
        detector: Frames things by words.
        segmenter: Outlines things by points, boxes and words.
        depth: Depth of pictures.
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
        return self._detector.detect(image, text)

    def find(self, image: SessionImage, text: str) -> Answer[list[Instance]]:
        """Everything in the picture that a text names, best first. Raises ToolError OBJECT_NOT_FOUND."""
        return self._instances(image, TextPrompt(text), text)

    def everything(self, image: SessionImage) -> Answer[list[Instance]]:
        """Every thing in the picture, best first."""
        return self._instances(image, Everything())

    def at(self, image: SessionImage, points: ArrayLike) -> Answer[Instance]:
        """The thing under normalized points (N, 2) of the picture. Raises ToolError EMPTY_MASK."""
        chosen = [(float(x), float(y)) for x, y in np.asarray(points, float).reshape(-1, 2)]
        return self._one(image, PointPrompt(chosen))

    def outline(self, image: SessionImage, one: Detection) -> Answer[Instance]:
        """The thing that was detected, with its mask. Raises ToolError EMPTY_MASK."""
        return self._one(image, prompt_for(one, self._segmenter))

    def depth_of(self, image: SessionImage) -> Answer[tuple[NDArray[np.float32], float]]:
        """Depth (H, W) of the picture's pixels [m], NaN where unknown, and the focal length [px].

        Raises:
            ToolError: UNAVAILABLE for a picture that the backend cannot use.
        """
        return self._depth.estimate(image)

    def _one(self, image: SessionImage, prompt: Prompt) -> Answer[Instance]:
        found = self._instances(image, prompt, most=1)
        return Answer(found.value[0], found.backend)

    def _instances(
        self, image: SessionImage, prompt: Prompt, label: str = "", most: int | None = None
    ) -> Answer[list[Instance]]:
        found = segment_by(self._segmenter, image, prompt)
        return Answer([Instance.of_mask(one.mask, one.score, label) for one in found.value[:most]], found.backend)


def joined(backends: Sequence[str]) -> str:
    """Who has answered, each named once, e.g. "sam2, depth_pro"."""
    return ", ".join(dict.fromkeys(name for name in backends if name))
