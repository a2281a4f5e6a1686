"""The reader `paddleocr_vl`: PaddleOCR-VL 1.5 and later (Baidu 2026) by transformers, e.g. PaddlePaddle/PaddleOCR-
VL-1.5.

It is asked to spot text: each text comes with the four corners of its line, in thousandths of the image. The first
version only reads what it is shown as a whole; `spotting=0` asks for that, and each line then has the box of the
whole image.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from toolhand.tool_nodes.models.batched import RgbArray
from toolhand.tool_nodes.models.spec import NumberOptions, Option
from toolhand.tool_nodes.models.writing import Shown, WritingModel
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import TextSpan

SMALL_PX = 1500
"""Images with both sides below this [px] are enlarged for spotting; pre_process_for_spotting of PaddleX 3.4."""
ENLARGED_BY = 2
"""By this factor, ibid."""
GRID = 1000
"""Steps of a corner along either side of the image, ibid."""
_SURE = 1.0
"""Score of every text: the model gives none."""
_MAX_LINES = 2000
"""Most texts of an answer that are taken; a round figure."""
_CORNERS = re.compile(r"((?:<\|LOC_\d{1,4}\|>){8})")
_STEP = re.compile(r"<\|LOC_(\d{1,4})\|>")
_MARKUP = re.compile(r"<\|(?:TEXT_START|TEXT_END|LOC_BEGIN|LOC_END|LOC_SEP|LOC_\d{1,4})\|>")

Spans = list[TextSpan]


class PaddleOcrVl(WritingModel[Spans]):
    """A TextReader. Its texts have no scores of their own: all are 1."""

    backend = "paddleocr_vl"
    TYPES = ("paddleocr_vl",)
    OPTIONS: ClassVar[NumberOptions] = {"tokens": Option(2048, 1, 16384), "spotting": Option(1, 0, 1)}

    def _prepare(self) -> None:
        self._prepare_tokenizer()
        self._images = self._processor("PaddleOCRVLImageProcessorPil")
        self._model = self._load("PaddleOCRVLForConditionalGeneration")
        number = self._model.config.image_token_id
        self._placeholder = self._tokenizer.convert_ids_to_tokens(number)
        self._image_tokens = frozenset({number})
        self._spots = bool(self.spec.numbers["spotting"])

    def read(self, image: SessionImage) -> Answer[Spans]:
        """See ports.TextReader."""
        return self.one(image)

    def _show(self, rgb: RgbArray) -> Shown:
        if self._spots and max(rgb.shape[:2]) < SMALL_PX:
            size = rgb.shape[1] * ENLARGED_BY, rgb.shape[0] * ENLARGED_BY
            rgb = np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.LANCZOS))
        seen = self._images([rgb], return_tensors="pt")
        _, down, across = (int(side) for side in seen["image_grid_thw"][0])
        tokens, patch = down * across // self._images.merge_size**2, self._images.patch_size
        return Shown(self._placeholder * tokens, dict(seen), across * patch, down * patch)

    def _ask(self, request: tuple[Any, ...]) -> str:
        return "Spotting:" if self._spots else "OCR:"

    def _understand(self, request: tuple[Any, ...], shown: Shown, text: str) -> Spans | ToolError:
        size = request[0].size
        return spotted(text, *size) if self._spots else lines(text, *size)


def spotted(text: str, width: int, height: int) -> Spans:
    """Texts with the upright boxes around their corners, in pixels of an image; a text without corners is left out."""
    parts = _CORNERS.split(text)
    spans: Spans = []
    for words, corners in list(zip(parts[::2], parts[1::2], strict=False))[:_MAX_LINES]:
        steps = np.array([int(step) for step in _STEP.findall(corners)], float).reshape(4, 2)
        places = np.clip(steps / GRID, 0.0, 1.0) * (width, height)
        (left, top), (right, bottom) = places.min(axis=0), places.max(axis=0)
        said = " ".join(_MARKUP.sub(" ", words).split())
        if said and left < right and top < bottom:
            spans.append(TextSpan(said, (float(left), float(top), float(right), float(bottom)), _SURE))
    return spans


def lines(text: str, width: int, height: int) -> Spans:
    """The lines of a text that is somewhere in an image."""
    box = (0.0, 0.0, float(width), float(height))
    said = [" ".join(_MARKUP.sub(" ", line).split()) for line in text.splitlines()]
    return [TextSpan(line, box, _SURE) for line in said[:_MAX_LINES] if line]
