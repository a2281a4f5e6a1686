"""A model in this process: anything that transformers loads and that has a chat template.

The attention keys and values of a conversation are kept from turn to turn: what the new prompt begins with unchanged,
images included, is not computed again.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.agent_node.policies.adapters import with_adapter
from toolhand.agent_node.policies.chat import ChatTurn, Completion, text_of, text_turns
from toolhand.agent_node.policies.options import PolicyOptions, UsageMeter
from toolhand.agent_node.policies.transport import raise_if_stopped
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol
from toolhand.tool_nodes.extras import package
from toolhand.tool_nodes.http_request import plain_line
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid, unavailable

Image = NDArray[np.uint8]

_EXTRA, _WHAT = "transformers", "A model in this process"

_LONGEST_PERIOD, _REPEATED_TOKENS = 16, 128
"""A turn whose last 128 tokens are one piece of at most 16 tokens again and again goes nowhere [-]; round figures."""


@dataclass
class _Prompt:
    """Tokens of a conversation and the images at its placeholders; `inputs` where a processor made both."""

    ids: list[int]
    images: list[Image]
    keys: list[bytes]
    inputs: dict[str, Any] | None = None


class TransformersChat:
    """A language model or vision-language model, run by transformers.

    Weights are read from safetensors only and no code that comes with a model is run. Models of Qwen's families 2-VL,
    2.5-VL and 3-VL keep their keys and values across images; other vision models compute a conversation with
    images anew each turn, through their own processor. A model without eyes reads the marker `<image K>` alone.

    Args:
        name: Folder, or a name of the Hugging Face hub.
        protocol: How the turn is written; not `native`.
        options: Seed, sampling, longest turn, deadline of a turn (checked after each token), budgets, device.

    Raises:
        ToolError: UNAVAILABLE where the extra or the model is missing; INVALID_ARGUMENT for the protocol `native`.
    """

    def __init__(self, name: str, protocol: Protocol, options: PolicyOptions) -> None:
        if protocol.native:
            raise invalid(
                f"A model in this process writes its calls as text: the protocol {protocol.name} is for servers."
            )
        self.name = f"transformers:{name}"
        self._protocol = protocol
        self._options = options
        self._account = UsageMeter(options)
        self._torch = package("torch", _EXTRA, _WHAT)
        self._load(name, package("transformers", _EXTRA, _WHAT))
        self._cache: Any = None
        self._held: list[int] = []
        self._held_keys: list[bytes] = []
        self._grids: dict[bytes, Any] = {}

    def _load(self, name: str, library: Any) -> None:
        library.utils.logging.disable_progress_bar()  # a command says itself what it does
        try:
            config = library.AutoConfig.from_pretrained(name)
            sees = hasattr(config, "vision_config")
            factory = library.AutoModelForImageTextToText if sees else library.AutoModelForCausalLM
            cuda = self._torch.cuda.is_available() if self._options.device == "auto" else False
            self._device = ("cuda" if cuda else "cpu") if self._options.device == "auto" else self._options.device
            self._model = model = self._weights(name, factory)
            self._tokenizer = library.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
            self._rope: Any = getattr(getattr(model, "model", None), "get_rope_index", None)
            self._image_processor: Any = library.AutoImageProcessor.from_pretrained(name) if self._rope else None
            self._processor = library.AutoProcessor.from_pretrained(name) if sees and not self._rope else None
        except ToolError:
            raise
        except Exception as error:  # of the many kinds that readers of half a file raise
            raise unavailable(f"The model {name!r} cannot be loaded: {plain_line(str(error))}") from error
        if not getattr(self._processor or self._tokenizer, "chat_template", None):
            raise unavailable(f"The model {name!r} has no chat template.")
        self._new_cache = lambda: library.DynamicCache(config=model.config.get_text_config())
        self._image_token = getattr(config, "image_token_id", None)
        self._sees = self.sees_images = sees
        self._longest = getattr(config.get_text_config(), "max_position_embeddings", None)
        given = model.generation_config.eos_token_id
        self._ends = {self._tokenizer.eos_token_id, *(given if isinstance(given, list) else [given])} - {None}
        ours = {f"<{slash}{tag}>" for tag in (self._protocol.call, self._protocol.answer) for slash in ("", "/")}
        added = (token.content for token in self._tokenizer.added_tokens_decoder.values() if token.special)
        self._control = [token for token in added if len(token) > 1 and token not in ours]
        self._keep_last = (
            {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(model.forward).parameters else {}
        )

    def _weights(self, name: str, factory: Any) -> Any:
        """The model, ready to be asked."""
        adapter = self._options.adapter
        return _last_weights(name, factory, self._device, adapter, (_state_of(name), _state_of(adapter)))

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The next assistant turn.

        Raises:
            ToolError: TURN_BUDGET where tokens or the model's context are spent; TIMEOUT or STOPPED while writing;
                UNAVAILABLE where the template refuses the conversation or the memory does not suffice.
        """
        began, allowed = time.monotonic(), self._account.allowance()
        completion, first_s, reused = Completion(), None, 0
        try:
            with self._torch.inference_mode():
                prompt = self._prompt(text_turns(conversation))
                room = allowed if self._longest is None else min(allowed, self._longest - len(prompt.ids))
                if room <= 0:
                    raise ToolError(
                        ErrorCode.TURN_BUDGET,
                        f"The conversation has {len(prompt.ids)} tokens, the model takes {self._longest}.",
                    )
                turn = sum(message.role == "assistant" for message in conversation)
                reused = self._crop(prompt)
                for piece in self._write(prompt, reused, room, turn, completion, began):
                    first_s = time.monotonic() - began if first_s is None else first_s
                    completion.words += piece
                    self._options.on_piece(piece)
                    if any(stop in completion.words for stop in self._protocol.stop):
                        break
        except ToolError:
            raise
        except Exception as error:
            self._clear_cache()  # half a step may be in it
            raise unavailable(f"The model failed: {plain_line(f'{type(error).__name__}: {error}')}.") from error
        completion.prompt_tokens = len(prompt.ids)
        cost = self._account.spend(completion.prompt_tokens, completion.completion_tokens)
        return Reply(
            text_of(completion, self._protocol),
            completion.prompt_tokens,
            completion.completion_tokens,
            cost,
            time.monotonic() - began,
            first_s,
            {"reused_tokens": reused, "ending": "length" if completion.cut else "stop"},
            tuple(completion.token_ids),
            tuple(completion.logprobs),
        )

    def _prompt(self, turns: Sequence[ChatTurn]) -> _Prompt:
        shown = [part for turn in turns for part in turn.parts if not isinstance(part, str)] if self._sees else []
        keys = [hashlib.sha256(f"{image.shape}".encode() + image.tobytes()).digest() for image in shown]
        text = self._templated(turns)
        if self._processor is not None:
            images = {"images": [shown]} if shown else {}
            inputs = dict(self._processor(text=[text], return_tensors="pt", **images))
            return _Prompt(inputs["input_ids"][0].tolist(), shown, keys, inputs if shown else None)
        ids = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        if not shown:
            return _Prompt(ids, [], [])
        places = iter(zip(keys, shown, strict=True))
        expanded: list[int] = []
        for token in ids:
            expanded += [token] * (self._size(*next(places)) if token == self._image_token else 1)
        return _Prompt(expanded, shown, keys)

    def _templated(self, turns: Sequence[ChatTurn]) -> str:
        """The conversation as the model's own template writes it; one without a system role reads it from the user."""
        messages = [{"role": turn.role, "content": self._content(turn)} for turn in turns]
        template = self._processor or self._tokenizer
        try:
            text = template.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        except Exception:
            if len(turns) < 2 or turns[0].role != "system":
                raise
            merged = ChatTurn("user", (*turns[0].parts, "\n", *turns[1].parts))
            messages = [{"role": turn.role, "content": self._content(turn)} for turn in (merged, *turns[2:])]
            text = template.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return str(text)

    def _content(self, turn: ChatTurn) -> str | list[dict[str, str]]:
        parts = [
            part if not isinstance(part, str) or turn.role == "system" else self._harmless(part) for part in turn.parts
        ]
        if not self._sees:
            return "".join(part for part in parts if isinstance(part, str))
        return [{"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in parts]

    def _harmless(self, text: str) -> str:
        """The text without the tokenizer's control tokens: only the template may begin or end a turn."""
        for token in self._control:
            text = text.replace(token, f"{token[0]} {token[1:]}")
        return text

    def _see(self, image: Image) -> tuple[Any, Any]:
        seen = self._image_processor(images=[image], return_tensors="pt")
        return seen["pixel_values"], seen["image_grid_thw"]

    def _size(self, key: bytes, image: Image) -> int:
        """Tokens of an image."""
        if key not in self._grids:
            self._grids[key] = self._see(image)[1]
        return int(self._grids[key].prod()) // self._image_processor.merge_size**2

    def _clear_cache(self) -> None:
        self._cache, self._held, self._held_keys = None, [], []

    def _crop(self, prompt: _Prompt) -> int:
        """Cut the kept keys and values where the prompt begins to differ; how many tokens are left."""
        pairs = zip(prompt.ids[:-1], self._held, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        for number, (start, _) in enumerate(self._runs(prompt.ids)):
            known = number < len(self._held_keys) and prompt.keys[number : number + 1] == [self._held_keys[number]]
            if start < same and not known:
                same = start
        layers = [] if self._cache is None else self._cache.layers
        if prompt.inputs is not None or not same:
            same = 0
        elif same < len(self._held):
            # Only a layer that keeps every token can be cut; a sliding window has lost what it would need.
            if all(type(layer).__name__ == "DynamicLayer" for layer in layers):
                for layer in layers:
                    layer.keys, layer.values = layer.keys[..., :same, :], layer.values[..., :same, :]
            else:
                same = 0
        if not same:
            self._clear_cache()
            self._cache = self._new_cache()
        self._held, self._held_keys = prompt.ids[:same], prompt.keys
        return same

    def _runs(self, ids: Sequence[int]) -> list[tuple[int, int]]:
        """First and last + 1 of each image's tokens; the vision-end token stands between two images."""
        if self._image_token is None:
            return []
        runs, at = [], 0
        for is_image, group in groupby(ids, lambda token: token == self._image_token):
            size = sum(1 for _ in group)
            runs += [(at, at + size)] if is_image else []
            at += size
        return runs

    def _inputs(self, prompt: _Prompt, reused: int) -> tuple[dict[str, Any], int | None]:
        """What the model reads first, and where its next position is, for models that count images' own way."""
        torch = self._torch
        if prompt.inputs is not None:
            return {name: value.to(self._device) for name, value in prompt.inputs.items()}, None
        ids = torch.tensor([prompt.ids], device=self._device)
        inputs: dict[str, Any] = {"input_ids": ids[:, reused:]}
        if not prompt.images or self._rope is None:
            return inputs, None
        grids = torch.cat([self._grids[key] for key in prompt.keys]).to(self._device)
        kinds = (ids == self._image_token).int()
        positions, offset = self._rope(ids, mm_token_type_ids=kinds, image_grid_thw=grids)
        inputs |= {"position_ids": positions[..., reused:], "mm_token_type_ids": kinds[:, reused:]}
        starts = [start for start, _ in self._runs(prompt.ids)]
        new = [self._see(image) for start, image in zip(starts, prompt.images, strict=True) if start >= reused]
        if new:
            inputs["pixel_values"] = torch.cat([pixels for pixels, _ in new]).to(self._device, self._model.dtype)
            inputs["image_grid_thw"] = torch.cat([grid for _, grid in new]).to(self._device)
        return inputs, len(prompt.ids) + int(offset.flatten()[0])

    def _write(
        self, prompt: _Prompt, reused: int, room: int, turn: int, completion: Completion, began: float
    ) -> Iterator[str]:
        """The words, piece by piece; says in `completion` what tokens they took and why they ended."""
        torch, options = self._torch, self._options
        # From the turn's number and not from what was drawn before, so that one conversation has one continuation.
        generator = torch.Generator().manual_seed(options.seed * 1_000_003 + turn)
        inputs, position = self._inputs(prompt, reused)
        written: list[int] = []
        pending = ""  # words that wait for the rest of their last character
        shown, settled = 0, 0  # tokens [shown:settled] are the context that the next ones are decoded with
        forwarded = prompt.ids[reused:]
        while True:
            output = self._model(**inputs, past_key_values=self._cache, use_cache=True, **self._keep_last)
            self._held = self._held + forwarded
            logits = output.logits[0, -1].float().cpu()
            token = self._choose(logits, generator)
            raise_if_stopped(options)
            if time.monotonic() - began > options.deadline_s:
                raise ToolError(
                    ErrorCode.TIMEOUT, f"The model did not finish its turn within {options.deadline_s:g} s."
                )
            completion.completion_tokens += 1
            completion.token_ids.append(token)
            completion.logprobs.append(float(torch.log_softmax(logits, dim=-1)[token]))
            if token in self._ends:
                completion.stopped_at = ""
                break
            written.append(token)
            _raise_if_repeating(written)
            before, now = self._decode(written[shown:settled]), self._decode(written[shown:])
            pending = now[len(before) :]
            # Half a character decodes to U+FFFD: it waits for its other bytes.
            if pending and not pending.endswith("\ufffd"):
                shown, settled = settled, len(written)
                yield pending
                pending = ""
            if len(written) >= room:
                completion.cut = True
                break
            forwarded = [token]
            inputs = {"input_ids": torch.tensor([[token]], device=self._device)}
            if position is not None:
                inputs["position_ids"] = torch.full((3, 1, 1), position + len(written) - 1, device=self._device)
        if pending:
            yield pending

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def _choose(self, logits: Any, generator: Any) -> int:
        if bool(self._torch.isnan(logits).any()):
            self._clear_cache()
            raise unavailable("The model computes numbers that are not finite.")
        if not self._options.temperature:
            return int(logits.argmax())
        likely = self._torch.softmax(logits / self._options.temperature, dim=-1)
        return int(self._torch.multinomial(likely, 1, generator=generator))


@functools.lru_cache(maxsize=1)
def _last_weights(name: str, factory: Any, device: str, adapter: str, state: object) -> Any:
    """The model, from its files where it is another one than the last: a policy is made for each command and rollout.

    Args:
        name: Folder or name of the base.
        factory: Class that loads it.
        adapter: Folder of an adapter; empty for none.
        state: State of the files; those that have changed are read again.
    """
    dtype = package("torch", _EXTRA, _WHAT).float32 if device == "cpu" else "auto"
    model = factory.from_pretrained(name, dtype=dtype, use_safetensors=True, trust_remote_code=False)
    if adapter:
        model = with_adapter(model, name, Path(adapter))
    return model.to(device).eval()


def _state_of(folder: str) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes [bytes] and times of change [ns] of a folder's files; empty for anything else."""
    if not folder or not Path(folder).is_dir():
        return ()
    found = [(path.name, path.stat()) for path in sorted(Path(folder).iterdir()) if path.is_file()]
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in found)


def _raise_if_repeating(written: Sequence[int]) -> None:
    """Raises ToolError TURN_BUDGET where the model says the same again and again."""
    if len(written) % _REPEATED_TOKENS:
        return
    last = written[-_REPEATED_TOKENS:]
    for period in range(1, _LONGEST_PERIOD + 1):
        if last[period:] == last[:-period]:
            raise ToolError(
                ErrorCode.TURN_BUDGET,
                f"The model repeats itself: its last {_REPEATED_TOKENS} tokens are the same {period} again and again.",
            )
