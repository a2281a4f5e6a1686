"""Several conversations in one forward pass of a model: what threads ask for at the same time is computed together.

    with PackedModel(model) as shared:
        with shared.writing():  # in each of several threads, for as long as it calls again and again
            ...  # `shared` is called as the model would be, with a cache of its own

Weights are read once for all tokens of a pass instead of once for each conversation. Tokens stand one after the other
without padding, new conversations beside those that write; attention alone is computed for each by itself. A pass
waits for all that write; who does depends on time, and so do the last bits of what comes of it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

ATTENTION = "packed"
"""Name under which transformers knows the attention of this module."""


@dataclass
class _Asked:
    """New tokens of one conversation, the keys and values before them, and where the logits of the last one go."""

    ids: Any
    cache: Any
    logits: Future[Any] = field(default_factory=Future)


class _Parts(list[Any]):
    """Keys or values of each conversation of a pass; `new` is how many tokens each has in it."""

    def __init__(self, parts: Sequence[Any], new: Sequence[int]) -> None:
        super().__init__(parts)
        self.new = new


class _Caches:
    """The caches of the conversations of a pass, as one: takes what a layer computes apart."""

    def __init__(self, asked: Sequence[_Asked]) -> None:
        self._caches, self._new = [one.cache for one in asked], [one.ids.shape[1] for one in asked]

    def update(self, keys: Any, values: Any, layer: int, *_: Any, **__: Any) -> tuple[_Parts, _Parts]:
        """See transformers.Cache; the keys and values of each conversation instead of a tensor."""
        pairs = zip(self._caches, keys.split(self._new, dim=2), values.split(self._new, dim=2), strict=True)
        both = [cache.update(k, v, layer) for cache, k, v in pairs]
        return _Parts([k for k, _ in both], self._new), _Parts([v for _, v in both], self._new)


def packed_attention(module: Any, query: Any, key: _Parts, value: _Parts, _: Any, scaling: float, **__: Any) -> Any:
    """Attention of tokens in a row, each conversation by itself; see transformers.AttentionInterface.

    Args:
        query: (1, heads, tokens of the pass, dim).
        key, value: (1, heads, tokens of the conversation, dim) each; their last ones are the new ones.

    Returns:
        (1, tokens of the pass, heads, dim), and no weights.
    """
    import torch

    seen = []
    for q, k, v in zip(query.split(list(key.new), dim=2), key, value, strict=True):
        new, all_ = q.shape[2], k.shape[2]
        mask = None if new == 1 else torch.ones(new, all_, dtype=torch.bool, device=q.device).tril(all_ - new)
        seen.append(
            torch.nn.functional.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, scale=scaling, enable_gqa=q.shape[1] != k.shape[1]
            )
        )
    return torch.cat(seen, dim=2).transpose(1, 2), None


class PackedModel:
    """A causal language model of transformers that threads share.

    Args:
        model: With attention that transformers exchanges by name; it is set back at the end.
    """

    def __init__(self, model: Any) -> None:
        self._model, self._writing = model, 0
        self._before = model.config._attn_implementation
        self._waiting: list[_Asked] = []
        self._changed, self._computing = threading.Condition(), False

    def __enter__(self) -> PackedModel:
        from transformers import AttentionInterface

        AttentionInterface.register(ATTENTION, packed_attention)
        self._model.set_attn_implementation(ATTENTION)
        return self

    def __exit__(self, *exception: object) -> None:
        self._model.set_attn_implementation(self._before)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """For as long as the block lasts, passes wait for this thread."""
        self._write(1)
        try:
            yield
        finally:
            self._write(-1)

    def _write(self, more: int) -> None:
        with self._changed:
            self._writing += more
            self._changed.notify_all()

    def __call__(self, input_ids: Any, past_key_values: Any, **_: Any) -> Any:
        """The logits (1, 1, vocabulary) of the token after the last of input_ids (1, tokens)."""
        own = _Asked(input_ids, past_key_values)
        with self._changed:
            self._waiting.append(own)
            self._changed.notify_all()
            self._changed.wait_for(lambda: own.logits.done() or self._may_begin())
            asked: list[_Asked] = []
            if not own.logits.done():
                self._computing, asked, self._waiting = True, self._waiting, []
        if asked:
            try:
                self._compute(asked)
            finally:
                with self._changed:
                    self._computing = False
                    self._changed.notify_all()
        return SimpleNamespace(logits=own.logits.result())

    def _may_begin(self) -> bool:
        return not self._computing and len(self._waiting) >= self._writing

    def _compute(self, asked: Sequence[_Asked]) -> None:
        """One pass."""
        import torch

        places = [torch.arange(one.ids.shape[1]) + one.cache.get_seq_length() for one in asked]
        last = torch.tensor([one.ids.shape[1] for one in asked]).cumsum(0) - 1
        try:
            with torch.inference_mode():
                logits = self._model(
                    input_ids=torch.cat([one.ids for one in asked], dim=1),
                    position_ids=torch.cat(places)[None].to(asked[0].ids.device),
                    past_key_values=_Caches(asked),
                    use_cache=True,
                    logits_to_keep=last.to(asked[0].ids.device),
                ).logits
        except Exception as error:
            for one in asked:
                one.logits.set_exception(error)
            return
        for number, one in enumerate(asked):
            one.logits.set_result(logits[:, number : number + 1])
