"""What SAM 2 and the tracker of SAM 3 share: masks of the object under points or in a box, and of everything.

Both see the image stretched to a square, and answer with masks of a quarter of its side, which are stretched back.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.models.batched import RgbArray, TorchModel, numpy_of
from toolhand.tool_nodes.models.images import Preparation, distinct
from toolhand.tool_nodes.models.spec import NumberOptions, Option
from toolhand.tool_nodes.perception.box_overlap import not_suppressed
from toolhand.tool_nodes.perception.instances import box_of
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import BoolArray, BoxPrompt, Everything, PointPrompt, Prompt, Segmentation

_PAD = -10
"""Label of a point that is none, for prompts of unequal length; transformers 5.23, Sam2PromptEncoder."""
_MIDDLE = 0.5
"""What the prompt encoder adds to a coordinate to come from a pixel's index to its middle [px]; ours are there
already."""
MIN_IOU = 0.8
"""Least predicted IoU of a mask of everything [-]; pred_iou_thresh of sam2's SAM2AutomaticMaskGenerator 1.1."""
MIN_STABILITY = 0.95
"""Least IoU of such a mask with itself at a lower and a higher threshold [-]; stability_score_thresh, ibid."""
STABILITY_OFFSET = 1.0
"""By so much the two thresholds differ from 0 [logit]; stability_score_offset, ibid."""
MAX_OVERLAP = 0.7
"""IoU of boxes from which two such masks are of one object [-]; box_nms_thresh, ibid."""
_AT_ONCE = 64
"""Points of the grid that are decoded together; points_per_batch, ibid."""

Masks = list[Segmentation]


class PromptableModel(TorchModel[Masks]):
    """A Segmenter that takes points, boxes, and a grid of points for everything.

    A subclass sets `_model` (of transformers, with `get_image_embeddings`), and `_preparation`.
    """

    takes: frozenset[type[Prompt]] = frozenset({PointPrompt, BoxPrompt, Everything})
    OPTIONS: ClassVar[NumberOptions] = {"grid": Option(32, 1, 64)}
    """Points along a side with which everything is looked for; points_per_side of sam2's generator."""

    _model: Any
    _preparation: Preparation

    @abstractmethod
    def _prepare(self) -> None:
        """Load the model."""

    def segment(self, image: SessionImage, prompt: Prompt) -> Answer[Masks]:
        """See ports.Segmenter."""
        return self.one(image, prompt)

    def _answer(self, requests: Sequence[tuple[Any, ...]]) -> list[Masks | ToolError]:
        answers: dict[int, Masks | ToolError] = {}
        groups: dict[str, list[int]] = {}
        for number, (_, prompt) in enumerate(requests):
            groups.setdefault(self._group(prompt), []).append(number)
        for group, numbers in groups.items():
            chosen = [requests[number] for number in numbers]
            answers |= zip(numbers, self._answer_group(group, chosen), strict=True)
        return [answers[number] for number in range(len(requests))]

    def _group(self, prompt: Prompt) -> str:
        """Prompts of one group are computed together."""
        match prompt:
            case PointPrompt(points):
                return "point" if len(points) == 1 else "points"
            case BoxPrompt():
                return "box"
            case Everything():
                return "everything"
        return "words"

    def _answer_group(self, group: str, requests: Sequence[tuple[Any, ...]]) -> list[Masks | ToolError]:
        if group == "everything":
            return [self._everything(image.rgb) for image, _ in requests]
        images = [image.rgb for image, _ in requests]
        prompts = self._boxes(requests) if group == "box" else self._points([prompt.points for _, prompt in requests])
        kept, which = distinct(images)
        maps = [level[which] for level in self._embedded(kept)]
        # One point may mean an object or a part of it: then the model proposes three masks, else one.
        output = self._model(image_embeddings=maps, multimask_output=group == "point", **prompts)
        answers: list[Masks | ToolError] = []
        for rgb, logits, scores in zip(images, output.pred_masks[:, 0], numpy_of(output.iou_scores)[:, 0], strict=True):
            masks = self._enlarged(logits, rgb) > 0.0
            found = [Segmentation(mask, _share(score)) for mask, score in zip(masks, scores, strict=True) if mask.any()]
            found.sort(key=lambda one: -one.score)
            answers.append(
                found or ToolError(ErrorCode.EMPTY_MASK, "There is no object there.", "Point at an object first.")
            )
        return answers

    def _embedded(self, images: Sequence[RgbArray]) -> list[Any]:
        """Feature maps of images, each level (N, C, h, w)."""
        pixels = self._preparation(self._torch, images, self.device, self._model.dtype)
        maps: list[Any] = self._model.get_image_embeddings(pixels)
        return maps

    def _points(self, prompts: Sequence[Sequence[tuple[float, float]]]) -> dict[str, Any]:
        """Normalized points as (N, 1, P, 2) [px of the square] and labels (N, 1, P)."""
        longest = max(len(points) for points in prompts)
        places = np.zeros((len(prompts), 1, longest, 2), np.float32)
        labels = np.full((len(prompts), 1, longest), _PAD, np.int32)
        for row, points in enumerate(prompts):
            places[row, 0, : len(points)] = self._square(points)
            labels[row, 0, : len(points)] = 1
        return {"input_points": self._given(places), "input_labels": self._torch.from_numpy(labels).to(self.device)}

    def _boxes(self, requests: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
        """Boxes [px of each image] as (N, 1, 4) [px of the square]."""
        corners = [np.reshape(prompt.box, (2, 2)) / image.size for image, prompt in requests]
        return {"input_boxes": self._given(np.stack([self._square(pair).reshape(1, 4) for pair in corners]))}

    def _square(self, normalized: Any) -> NDArray[np.float32]:
        size = (self._preparation.width, self._preparation.height)
        return np.asarray(np.asarray(normalized, float) * size - _MIDDLE, np.float32)

    def _given(self, array: NDArray[np.float32]) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(array)).to(self.device, self._model.dtype)

    def _enlarged(self, logits: Any, rgb: RgbArray) -> NDArray[np.float32]:
        """Masks (M, h, w) in the size of an image: float32 (M, H, W)."""
        size = rgb.shape[:2]
        if not len(logits):
            return np.zeros((0, *size), np.float32)
        grown = self._torch.nn.functional.interpolate(logits[None].float(), size, mode="bilinear", align_corners=False)
        return numpy_of(grown[0])

    def _everything(self, rgb: RgbArray) -> Masks:
        maps = self._embedded([rgb])
        side = int(self.spec.numbers["grid"])
        middles = (np.arange(side) + 0.5) / side
        grid = np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 1, 2)
        masks: list[BoolArray] = []
        scores: list[float] = []
        for start in range(0, len(grid), _AT_ONCE):
            places = self._given(self._square(grid[start : start + _AT_ONCE])[None])
            output = self._model(image_embeddings=maps, multimask_output=True, input_points=places)
            logits, sure = output.pred_masks[0].flatten(0, 1), output.iou_scores[0].flatten().float()
            kept = (sure >= MIN_IOU) & (_stability(logits) >= MIN_STABILITY)
            for mask, score in zip(self._enlarged(logits[kept], rgb) > 0.0, numpy_of(sure[kept]), strict=True):
                if mask.any():
                    masks.append(mask)
                    scores.append(_share(score))
        chosen = not_suppressed([box_of(mask) for mask in masks], scores, MAX_OVERLAP)
        return sorted((Segmentation(masks[k], scores[k]) for k in chosen), key=lambda one: -one.score)


def _stability(logits: Any) -> Any:
    """IoU of each mask (M, h, w) at a high threshold with itself at a low one, (M,)."""
    inside = (logits > STABILITY_OFFSET).flatten(1).sum(1)
    around = (logits > -STABILITY_OFFSET).flatten(1).sum(1)
    return inside / around.clamp(min=1)


def _share(score: Any) -> float:
    return float(np.clip(score, 0.0, 1.0))
