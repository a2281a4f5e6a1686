"""The segmenter `sam3`: SAM 3 (Carion et al. 2025, arXiv 2511.16719) by transformers, e.g. facebook/sam3.

Its detector finds everything that words name; its tracker outlines what is under points or in a box. Both look through
one vision transformer, which is kept once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from toolhand.tool_nodes.models.batched import numpy_of
from toolhand.tool_nodes.models.images import HALF, Preparation, distinct
from toolhand.tool_nodes.models.sam import Masks, PromptableModel
from toolhand.tool_nodes.models.spec import NumberOptions, Option
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoxPrompt, Everything, PointPrompt, Prompt, Segmentation, TextPrompt

SEES = Preparation(1008, 1008, HALF, HALF)
"""As Sam3ImageProcessor of transformers 5.23."""
_WORDS = 32
"""Tokens of a phrase, filled up or cut; Sam3Processor of transformers 5.23."""
_IN_MASK = 0.5
"""Probability from which a pixel belongs to an object [-]; post_process_instance_segmentation, ibid."""


class Sam3(PromptableModel):
    """A Segmenter by words, points, boxes and everything."""

    backend = "sam3"
    takes: frozenset[type[Prompt]] = frozenset({PointPrompt, BoxPrompt, TextPrompt, Everything})
    TYPES = ("sam3_video",)
    OPTIONS: ClassVar[NumberOptions] = {**PromptableModel.OPTIONS, "threshold": Option(0.3, 0.0, 1.0)}
    """threshold: least probability that an object is what words name; 0.3 in post_process_instance_segmentation."""

    def _prepare(self) -> None:
        self._detector = self._load("Sam3Model")
        self._model = self._load("Sam3TrackerModel")
        self._model.vision_encoder.backbone = self._detector.vision_encoder.backbone  # the same weights, kept once
        self._tokenizer = self._processor("AutoTokenizer")
        self._preparation = Preparation.of(self.folder, SEES)

    def _answer_group(self, group: str, requests: Sequence[tuple[Any, ...]]) -> list[Masks | ToolError]:
        return self._named(requests) if group == "words" else super()._answer_group(group, requests)

    def _named(self, requests: Sequence[tuple[Any, ...]]) -> list[Masks | ToolError]:
        """What words name, each in its image."""
        kept, which = distinct([image.rgb for image, _ in requests])
        pixels = self._preparation(self._torch, kept, self.device, self._detector.dtype)[which]
        words = self._tokenizer(
            [prompt.text for _, prompt in requests],
            padding="max_length",
            max_length=_WORDS,
            truncation=True,
            return_tensors="pt",
        ).to(self.device)
        output = self._detector(
            pixel_values=pixels, input_ids=words["input_ids"], attention_mask=words["attention_mask"]
        )
        sure = output.pred_logits.float().sigmoid() * output.presence_logits.float().sigmoid()
        answers: list[Masks | ToolError] = []
        for (image, prompt), logits, scores in zip(requests, output.pred_masks, sure, strict=True):
            likely = scores > self.spec.numbers["threshold"]
            masks = self._enlarged(logits[likely].float().sigmoid(), image.rgb) > _IN_MASK
            found = [
                Segmentation(mask, float(score))
                for mask, score in zip(masks, numpy_of(scores[likely]), strict=True)
                if mask.any()
            ]
            found.sort(key=lambda one: -one.score)
            best = float(np.max(numpy_of(scores), initial=0.0))
            answers.append(
                found
                or ToolError(
                    ErrorCode.OBJECT_NOT_FOUND,
                    f"{prompt.text[:60]!r} is not in this picture: the best match has a probability of {best:.2f}.",
                )
            )
        return answers
