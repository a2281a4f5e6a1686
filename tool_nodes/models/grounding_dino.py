"""The detector `grounding_dino`: Grounding DINO (Liu et al. 2023, arXiv 2303.05499) by transformers.

For example IDEA-Research/grounding-dino-base. It compares places with the words of a caption; the words of a request
are one caption of one name, so that every box above the threshold is of that name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from toolhand.tool_nodes.models.batched import TorchModel, numpy_of
from toolhand.tool_nodes.models.spec import NumberOptions, Option
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Detection, FloatArray

BOX_THRESHOLD = 0.25
"""Least probability of a box [-]; post_process_grounded_object_detection of transformers 5.23, and PERIA's appendix
C.1."""
_SHOWN = 60
"""Characters of a request that a message repeats."""

Found = list[Detection]


class GroundingDino(TorchModel[Found]):
    """A Detector. Its boxes say nothing about a point on the object."""

    backend = "grounding_dino"
    TYPES = ("grounding-dino",)
    OPTIONS: ClassVar[NumberOptions] = {"threshold": Option(BOX_THRESHOLD, 0.0, 1.0)}

    def _prepare(self) -> None:
        self._model = self._load("GroundingDinoForObjectDetection")
        self._images = self._processor("GroundingDinoImageProcessorPil")
        self._tokenizer = self._processor("AutoTokenizer")

    def detect(self, image: SessionImage, text: str) -> Answer[Found]:
        """See ports.Detector."""
        return self.one(image, text)

    def _answer(self, requests: Sequence[tuple[Any, ...]]) -> list[Found | ToolError]:
        # Images of one size are computed together: padding would change what is found at the edges of the smaller.
        answers: dict[int, Found | ToolError] = {}
        sizes: dict[tuple[int, int], list[int]] = {}
        for number, (image, text) in enumerate(requests):
            if not caption(text):
                answers[number] = ToolError(ErrorCode.NOT_UNDERSTOOD, "There are no words to look for.")
            else:
                sizes.setdefault(image.size, []).append(number)
        for numbers in sizes.values():
            answers |= zip(numbers, self._found([requests[number] for number in numbers]), strict=True)
        return [answers[number] for number in range(len(requests))]

    def _found(self, requests: Sequence[tuple[Any, ...]]) -> list[Found | ToolError]:
        seen = self._images([image.rgb for image, _ in requests], return_tensors="pt")
        longest = self.config.get("max_text_len", 256)
        words = self._tokenizer(
            [caption(text) for _, text in requests],
            padding=True,
            truncation=True,
            max_length=longest,
            return_token_type_ids=True,
            return_tensors="pt",
        )
        output = self._model(
            pixel_values=seen["pixel_values"].to(self.device, self._model.dtype),
            pixel_mask=seen["pixel_mask"].to(self.device),
            **{name: tensor.to(self.device) for name, tensor in words.items()},
        )
        sure = numpy_of(output.logits.float().sigmoid()).max(axis=-1)
        boxes = numpy_of(output.pred_boxes)
        return [
            detections(image, text, scores, centred, self.spec.numbers["threshold"])
            for (image, text), scores, centred in zip(requests, sure, boxes, strict=True)
        ]


def caption(text: str) -> str:
    """Words as the model was trained to read them: in small letters, with a full stop; empty where there are none."""
    words = " ".join(text.lower().replace(".", " ").split())
    return words and f"{words}."


def detections(
    image: SessionImage, text: str, scores: FloatArray, boxes: FloatArray, threshold: float
) -> Found | ToolError:
    """What the model found, in pixels of an image, best first.

    Args:
        image: The image.
        text: The text prompt.
        scores: (Q,) probabilities.
        boxes: (Q, 4) middle, width and height, in shares of the image.
        threshold: Least probability.
    """
    width, height = image.size
    found = []
    for score, (x, y, across, down) in zip(scores, boxes, strict=True):
        left, right = np.clip(np.round((x - across / 2, x + across / 2) * np.array(width)), 0, width)
        top, bottom = np.clip(np.round((y - down / 2, y + down / 2) * np.array(height)), 0, height)
        if score > threshold and left < right and top < bottom:
            found.append(Detection((int(left), int(top), int(right), int(bottom)), text, float(score)))
    found.sort(key=lambda one: -one.score)
    if found:
        return found
    best = float(np.max(scores, initial=0.0))
    return ToolError(
        ErrorCode.OBJECT_NOT_FOUND,
        f"{text[:_SHOWN]!r} is not in this picture: the best box has a probability of {best:.2f}.",
    )
