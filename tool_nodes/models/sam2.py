"""The segmenter `sam2`: SAM 2 and 2.1 (Ravi et al. 2024, arXiv 2408.00714) by transformers, e.g.
facebook/sam2.1-hiera-large."""

from __future__ import annotations

from toolhand.tool_nodes.models.images import IMAGENET_MEAN, IMAGENET_STD, Preparation
from toolhand.tool_nodes.models.sam import PromptableModel

SEES = Preparation(1024, 1024, IMAGENET_MEAN, IMAGENET_STD)
"""As Sam2ImageProcessor of transformers 5.23."""


class Sam2(PromptableModel):
    """A Segmenter by points, boxes and everything; words are found by the detector beside it."""

    backend = "sam2"
    TYPES = ("sam2", "sam2_video")

    def _prepare(self) -> None:
        # A video model's folder has more than its image part needs.
        self._model = self._load("Sam2Model")
        self._preparation = Preparation.of(self.folder, SEES)
