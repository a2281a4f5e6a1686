"""The pointer `qwen_vl`: Qwen2-VL, Qwen2.5-VL and Qwen3-VL by transformers, e.g. Qwen/Qwen3-VL-8B-Instruct.

Up to 2.5 a model writes pixels of the image as it saw it, which is resized to whole patches; from 3 on 0..1000. The
forms are those of Qwen's own cookbooks on spatial understanding.
"""

from __future__ import annotations

from typing import Any, ClassVar

from toolhand.tool_nodes.models.batched import RgbArray
from toolhand.tool_nodes.models.points import THOUSAND, ModelPoints, json_points, no_points, tuple_points
from toolhand.tool_nodes.models.spec import NumberOptions
from toolhand.tool_nodes.models.writing import TOKENS, Shown, WritingModel
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage

_CLASSES = {
    "qwen2_vl": "Qwen2VLForConditionalGeneration",
    "qwen2_5_vl": "Qwen2_5_VLForConditionalGeneration",
    "qwen3_vl": "Qwen3VLForConditionalGeneration",
    "qwen3_vl_moe": "Qwen3VLMoeForConditionalGeneration",
}
_IN_PIXELS = ("qwen2_vl", "qwen2_5_vl")


class QwenVl(WritingModel[ModelPoints]):
    """A Pointer."""

    backend = "qwen_vl"
    TYPES = tuple(_CLASSES)
    OPTIONS: ClassVar[NumberOptions] = {"tokens": TOKENS}
    _placeholder = "<|image_pad|>"

    def _prepare(self) -> None:
        self._prepare_tokenizer()
        self._images = self._processor("Qwen2VLImageProcessorPil")
        self._model = self._load(_CLASSES[self.config["model_type"]])
        self._image_tokens = frozenset({self._model.config.image_token_id})

    def point(self, image: SessionImage, text: str) -> Answer[ModelPoints]:
        """See ports.Pointer."""
        return self.one(image, text)

    def _show(self, rgb: RgbArray) -> Shown:
        seen = self._images([rgb], return_tensors="pt")
        _, down, across = (int(side) for side in seen["image_grid_thw"][0])
        tokens = down * across // self._images.merge_size**2
        patch = self._images.patch_size
        return Shown(self._placeholder * tokens, dict(seen), across * patch, down * patch)

    def _ask(self, request: tuple[Any, ...]) -> str:
        return (
            f"Point to every instance of: {request[1]}. Output the points as a JSON list of objects with the keys "
            '"point_2d" ([x, y]) and "label"; output an empty list if there is none.'
        )

    def _understand(self, request: tuple[Any, ...], shown: Shown, text: str) -> ModelPoints | ToolError:
        in_pixels = self.config["model_type"] in _IN_PIXELS
        width, height = (shown.width, shown.height) if in_pixels else (THOUSAND, THOUSAND)
        return json_points(text, width, height) or tuple_points(text, width, height) or no_points(request[1], text)
