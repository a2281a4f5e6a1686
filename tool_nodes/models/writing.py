"""Vision-language models that are shown one image, are asked one object, and write an answer.

The prompt is made with the model's own chat template; its image's placeholder is repeated for each of the image's
tokens here, so that no processor of transformers is needed that asks for torchvision. Words of the one who asks cannot
begin or end a turn: control tokens among them are broken up. Answers are greedy: the same question, the same answer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from toolhand.tool_nodes.models.batched import RgbArray, TorchModel
from toolhand.tool_nodes.models.spec import Option
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid

T = TypeVar("T")

TOKENS = Option(512, 1, 8192)
"""Longest answer [tokens]; 40 points or a page's lines take fewer."""


@dataclass(frozen=True)
class Shown:
    """An image as a model reads it.

    Attributes:
        placeholder: Text that stands for the image in the prompt.
        inputs: Tensors of the model's forward, each to be joined along its first axis.
        width, height: Size of the image as the model sees it [px].
    """

    placeholder: str
    inputs: dict[str, Any]
    width: int
    height: int


class WritingModel(TorchModel[T]):
    """A model that writes.

    A subclass sets `_model`, `_tokenizer` and `_image_tokens` (numbers of the tokens that stand for an image).
    """

    _model: Any
    _tokenizer: Any
    _image_tokens: frozenset[int]

    @abstractmethod
    def _show(self, rgb: RgbArray) -> Shown:
        """An image as the model reads it."""

    @abstractmethod
    def _ask(self, request: tuple[Any, ...]) -> str:
        """The question in words."""

    @abstractmethod
    def _understand(self, request: tuple[Any, ...], shown: Shown, text: str) -> T | ToolError:
        """What the model's answer means."""

    def _prepare_tokenizer(self) -> None:
        self._tokenizer = self._processor("AutoTokenizer")
        if not self._tokenizer.chat_template:
            raise invalid(f"{self.folder} holds no chat template, which {self.backend} needs.")
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._tokenizer.padding_side = "left"
        self._control = [
            t.content for t in self._tokenizer.added_tokens_decoder.values() if t.special and len(t.content) > 1
        ]

    def _answer(self, requests: Sequence[tuple[Any, ...]]) -> list[T | ToolError]:
        shown = [self._shown_or_error(request[0].rgb) for request in requests]
        readable = [(request, seen) for request, seen in zip(requests, shown, strict=True) if isinstance(seen, Shown)]
        texts = iter(self._write(readable) if readable else [])
        return [
            seen if isinstance(seen, ToolError) else self._understand(request, seen, next(texts))
            for request, seen in zip(requests, shown, strict=True)
        ]

    def _shown_or_error(self, rgb: RgbArray) -> Shown | ToolError:
        try:
            return self._show(rgb)
        except ValueError as error:  # an image that is too long and thin
            return ToolError(ErrorCode.NOT_RECOGNISED, f"{self.backend} cannot look at this picture: {error}.")

    def _write(self, asked: Sequence[tuple[tuple[Any, ...], Shown]]) -> list[str]:
        """What the model writes about each image."""
        torch = self._torch
        prompts = [self._prompt(self._ask(request), seen) for request, seen in asked]
        words = self._tokenizer(prompts, padding=True, add_special_tokens=False, return_tensors="pt")
        inputs = {"input_ids": words["input_ids"], "attention_mask": words["attention_mask"]}
        inputs["mm_token_type_ids"] = torch.isin(inputs["input_ids"], torch.tensor(sorted(self._image_tokens))).long()
        inputs |= self._join([seen.inputs for _, seen in asked])
        for name, tensor in inputs.items():
            inputs[name] = tensor.to(self.device, self._model.dtype if tensor.is_floating_point() else tensor.dtype)
        written = self._model.generate(
            **inputs,
            do_sample=False,
            num_beams=1,
            max_new_tokens=int(self.spec.numbers["tokens"]),
            pad_token_id=self._tokenizer.pad_token_id,
            temperature=None,
            top_p=None,
            top_k=None,
        )
        answers = written[:, inputs["input_ids"].shape[1] :]
        return [self._readable(self._tokenizer.decode(answer, skip_special_tokens=False)) for answer in answers]

    def _join(self, inputs: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return {name: self._torch.cat([tensors[name] for tensors in inputs]) for name in inputs[0]}

    def _prompt(self, question: str, shown: Shown) -> str:
        for token in self._control:
            question = question.replace(token, f"{token[0]} {token[1:]}")
        content = [{"type": "image"}, {"type": "text", "text": question}]
        prompt: str = self._tokenizer.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
        if prompt.count(self._placeholder) != 1:
            raise invalid(f"The chat template in {self.folder} does not show a picture as {self._placeholder!r}.")
        return prompt.replace(self._placeholder, shown.placeholder)

    _placeholder: str
    """What the chat template writes for an image."""

    def _readable(self, text: str) -> str:
        """What was written without the tokens that end it."""
        for token in (self._tokenizer.eos_token, self._tokenizer.pad_token):
            text = text.replace(token, "") if token else text
        return text.strip()
