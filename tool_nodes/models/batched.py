"""What adapters have in common: requests in batches, one at a time in the process, each answered or refused on its
own."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.models.loading import (
    check_weights,
    device_of,
    folder_of,
    load_model,
    load_processor,
    needed,
    read_config,
)
from toolhand.tool_nodes.models.spec import ModelSpec, NumberOptions, parse_model
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ToolError

RgbArray = NDArray[np.uint8]
"""uint8 RGB (H, W, 3)."""

T = TypeVar("T")

_loaded: WeakValueDictionary[tuple[Any, ...], Any] = WeakValueDictionary()
"""Models that an adapter holds, by what and where they are: stations that are made anew read no weights again."""


class BatchingBackend(ABC, Generic[T]):
    """Answers requests of a port in batches; `batch` is the one way in.

    Attributes:
        backend: Signs the answers.
        batch_size: Most requests that are computed at once.
    """

    backend: str
    batch_size: int

    def batch(self, requests: Sequence[tuple[Any, ...]]) -> list[Answer[T] | ToolError]:
        """See ports.Batched."""
        answers: list[Answer[T] | ToolError] = []
        for start in range(0, len(requests), self.batch_size):
            for found in self._answer(requests[start : start + self.batch_size]):
                if isinstance(found, ToolError):
                    found.backend = found.backend or self.backend
                    answers.append(found)
                else:
                    answers.append(Answer(found, self.backend))
        return answers

    def one(self, *request: Any) -> Answer[T]:
        """The answer to one request. Raises the ToolError that `batch` gives for it."""
        answer = self.batch([request])[0]
        if isinstance(answer, ToolError):
            raise answer
        return answer

    @abstractmethod
    def _answer(self, requests: Sequence[tuple[Any, ...]]) -> list[T | ToolError]:
        """The value for each of at most `batch_size` requests, or why there is none."""


class TorchModel(BatchingBackend[T]):
    """A model of transformers in this process.

    Args:
        model: Text that the user types after the backend's name, see `toolhand.tool_nodes.models.spec`.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown option and for weights that cannot be used, UNAVAILABLE for what is
        not
            there: a package, the device, memory, the hub.
    """

    backend: str
    TYPES: ClassVar[tuple[str, ...]]
    """Values of `model_type` in config.json that it can be given."""
    OPTIONS: ClassVar[NumberOptions] = {}
    """Numbers of its own that it can be given."""

    def __init__(self, model: str) -> None:
        self.spec: ModelSpec = parse_model(self.backend, model, self.OPTIONS)
        self.batch_size = self.spec.batch
        self._torch = needed("torch")
        self._transformers = needed("transformers")
        self.device = device_of(self._torch, self.spec.device)
        self.folder = folder_of(self.backend, self.spec.weights)
        self.config = read_config(self.backend, self.folder, self.TYPES)
        check_weights(self.folder)
        self._lock = threading.Lock()
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Load what is needed."""

    def batch(self, requests: Sequence[tuple[Any, ...]]) -> list[Answer[T] | ToolError]:
        """See ports.Batched. One thread computes at a time: two would need twice the memory."""
        with self._lock, self._torch.inference_mode():
            return super().batch(requests)

    def _load(self, class_name: str) -> Any:
        """A model of a class of transformers. Raises ToolError."""
        key = (class_name, self.folder.resolve(), self.spec.dtype, self.device)
        model = _loaded.get(key)
        if model is None:
            factory = getattr(self._transformers, class_name)
            model = load_model(self.backend, factory, self.folder, self.spec, self.device)
            _loaded[key] = model
        return model

    def _processor(self, class_name: str) -> Any:
        """A tokenizer or image processor of a class of transformers. Raises ToolError."""
        return load_processor(self.backend, getattr(self._transformers, class_name), self.folder)


def numpy_of(tensor: Any) -> NDArray[Any]:
    """A tensor on any device as an array of float32 or of what it is, if it holds no floats."""
    tensor = tensor.detach()
    array: NDArray[Any] = (tensor.float() if tensor.is_floating_point() else tensor).cpu().numpy()
    return array
