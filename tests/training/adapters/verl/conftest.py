"""A vision-language model of random weights, and a model server that says what a test tells it to; verl is real."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import MethodType
from typing import Any

import pytest
import torch
import transformers
import verl.trainer
from hydra import compose, initialize_config_dir
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from verl.workers.rollout.replica import TokenOutput

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"]
CONTROL += ["<|video_pad|>"]
TEMPLATE = (
    "{% if tools %}<|im_start|>system\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for part in m.content %}{% if part.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """Bytes, the control tokens of Qwen, and tags of a protocol that are tokens but not special ones."""
    bytes_level = Tokenizer(models.BPE())
    bytes_level.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_level.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=CONTROL, initial_alphabet=alphabet, show_progress=False
    )
    bytes_level.train_from_iterator(["think tool_call answer name arguments robot capture image"], trainer)
    bytes_level.add_tokens(["<tool_call>", "</tool_call>"])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=bytes_level, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE
    )


@pytest.fixture(scope="session")
def vlm(tokenizer: Any) -> Any:
    """Qwen2.5-VL with about 60,000 random weights."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    text: dict[str, Any] = {
        "vocab_size": len(tokenizer), "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 65536, "head_dim": 8,
        "bos_token_id": None, "eos_token_id": tokenizer.eos_token_id,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]},
    }  # fmt: skip
    vision = {"depth": 1, "hidden_size": 16, "intermediate_size": 24, "num_heads": 2, "out_hidden_size": 32}
    names = ("vision_start", "vision_end", "image", "video")
    ids = {f"{n}_token_id": tokenizer.convert_tokens_to_ids(t) for n, t in zip(names, CONTROL[3:], strict=True)}
    config = transformers.Qwen2_5_VLConfig(
        text_config=text, vision_config=vision | {"fullatt_block_indexes": [0]}, **ids
    )
    return transformers.Qwen2_5_VLForConditionalGeneration(config).eval()


@pytest.fixture(scope="session")
def processor(tokenizer: Any, vlm: Any) -> Any:
    """Pictures of at most 64 tokens; positions are counted by the model's own rule, as verl binds it."""
    pictures = transformers.Qwen2VLImageProcessorPil(min_pixels=784, max_pixels=50176, patch_size=14, merge_size=2)
    found = transformers.Qwen2_5_VLProcessor.__new__(transformers.Qwen2_5_VLProcessor)
    found.image_processor, found.tokenizer, found.video_processor = pictures, tokenizer, None
    found.chat_template = TEMPLATE
    found.image_token, found.video_token = "<|image_pad|>", "<|video_pad|>"
    found.image_token_id = tokenizer.convert_tokens_to_ids("<|image_pad|>")
    found.video_token_id = tokenizer.convert_tokens_to_ids("<|video_pad|>")
    found.config = vlm.config
    rule = transformers.models.qwen2_5_vl.modeling_qwen2_5_vl.Qwen2_5_VLModel
    for name in ("get_rope_index", "get_vision_position_ids"):
        setattr(found, name, MethodType(getattr(rule, name), found))
    return found


def composed(*overrides: str) -> Any:
    """verl's own configuration with these overrides, as `python -m verl.trainer.main_ppo` makes it."""
    folder = Path(verl.trainer.__file__).parent / "config"
    with initialize_config_dir(str(folder), version_base=None):
        return compose("ppo_trainer", overrides=list(overrides))


class ScriptedServer:
    """Says the next turn of a script, token by token, with log-probabilities; keeps what it was asked."""

    def __init__(self, tokenizer: Any, turns: Sequence[str], end: str = "<|im_end|>", fault: Exception | None = None):
        self._tokenizer, self._turns, self._end, self._fault = tokenizer, list(turns), end, fault
        self.requests: list[dict[str, Any]] = []

    async def generate(self, request_id: str, **request: Any) -> TokenOutput:
        self.requests.append({"request_id": request_id, **request, "prompt_ids": list(request["prompt_ids"])})
        if self._fault is not None:
            raise self._fault
        ids = self._tokenizer.encode(self._turns.pop(0) + self._end, add_special_tokens=False)
        ids = ids[: request["sampling_params"].get("max_tokens")]
        steps = {"global_steps": 3, "min_global_steps": 3, "max_global_steps": 3}
        return TokenOutput(token_ids=ids, log_probs=[-0.01 * (k + 1) for k in range(len(ids))], extra_fields=steps)


@pytest.fixture
def scripted(tokenizer: Any) -> Any:
    """Makes a ScriptedServer of turns."""
    return partial(ScriptedServer, tokenizer)


@pytest.fixture
def compose_config() -> Any:
    """Makes verl's configuration with overrides."""
    return composed


@pytest.fixture
def config() -> Any:
    return composed(
        "data.max_prompt_length=40000",
        "data.max_response_length=6000",
        "actor_rollout_ref.model.path=tiny",
        "actor_rollout_ref.rollout.name=vllm",
        "actor_rollout_ref.rollout.n=4",
        "actor_rollout_ref.rollout.multi_turn.max_tool_response_length=100000",
    )
