"""The backend `drawings`: drawn images seen by their colours alone, wherever they come from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.perception.drawings.finder import FlatPerception
from toolhand.tool_nodes.perception.drawings.photographs import is_photograph
from toolhand.tool_nodes.perception.instances import Instance
from toolhand.tool_nodes.perception.prompts import ALL_PROMPTS, best_in_box, signed
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import BoxPrompt, Detection, Everything, PointPrompt, Prompt, Segmentation, TextPrompt


class Drawings:
    """Detector and Segmenter of plain shapes; it looks at the pixels that are shown and at nothing else.

    A photograph is NOT_RECOGNISED: its patches of colour would look like shapes.

    Args:
        finder: Finds the shapes.
    """

    takes = ALL_PROMPTS
    sees_photographs = False

    def __init__(self, finder: FlatPerception | None = None) -> None:
        self._finder = finder or FlatPerception()
        self.backend = self._finder.backend
        self._known: tuple[NDArray[np.uint8], bool] | None = None

    def detect(self, image: SessionImage, text: str) -> Answer[list[Detection]]:
        """See ports.Detector."""
        with signed(self.backend):
            self._require_drawing(image.rgb)
            found = self._finder.find(image.rgb, text)
            return Answer(
                [Instance.of_mask(one.mask, certainty, text).detection for one, certainty in found], self.backend
            )

    def segment(self, image: SessionImage, prompt: Prompt) -> Answer[list[Segmentation]]:
        """See ports.Segmenter."""
        with signed(self.backend):
            self._require_drawing(image.rgb)
            return Answer(self._segment(image, prompt), self.backend)

    def _require_drawing(self, rgb: NDArray[np.uint8]) -> None:
        if self._known is None or self._known[0] is not rgb:
            self._known = rgb, is_photograph(rgb)
        if self._known[1]:
            raise ToolError(
                ErrorCode.NOT_RECOGNISED,
                "This picture looks like a photograph, and I see colours and plain shapes in drawings, diagrams and "
                "maps only.",
                "A detector or segmenter that knows photographs can be chosen: see `toolhand doctor`.",
            )

    def _segment(self, image: SessionImage, prompt: Prompt) -> list[Segmentation]:
        match prompt:
            case PointPrompt(points):
                return [self._finder.at(image.rgb, points)]
            case BoxPrompt(box):
                return [best_in_box(self._finder.everything(image.rgb), box)]
            case TextPrompt(text):
                found = self._finder.find(image.rgb, text)
                return [Segmentation(one.mask, one.score * certainty) for one, certainty in found]
            case Everything():
                return self._finder.everything(image.rgb)
