"""A vision-language model of random weights; its tokenizer learns its words here. Nothing is downloaded."""

from __future__ import annotations

import os

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from training.adapters.episodes import Episodes

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"]
CONTROL += ["<|video_pad|>"]
PLAIN = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
"""Tokens, but no special ones: what skips special tokens would else find no calls."""
TEMPLATE = (Path(trl.__file__).parent / "chat_templates" / "qwen3_vl.jinja").read_text("utf-8")

ROW = {"task": json.dumps({"kind": "pick_and_place", "seed": 3, "split": "train"}), "seed": 3}
COUNT = {"task": json.dumps({"kind": "count", "seed": 5, "split": "train"}), "seed": 5}
SETTINGS = {"protocol": "native", "reward": "stages", "image_size": (160, 120), "timestep": 0.004}


@pytest.fixture(scope="session")
def episodes() -> Any:
    made = Episodes(SETTINGS)
    yield made
    made.close()


@pytest.fixture(scope="session")
def schemas(episodes: Episodes) -> list[dict[str, Any]]:
    with episodes.open(ROW) as session:
        return session.tools()


@pytest.fixture(scope="session")
def tokenizer(schemas: list[dict[str, Any]]) -> Any:
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1500, special_tokens=CONTROL, initial_alphabet=alphabet, show_progress=False
    )
    words.train_from_iterator([json.dumps(schemas), TEMPLATE] * 3, trainer)
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE
    )
    made.add_tokens(PLAIN)
    return made


@pytest.fixture(scope="session")
def processor(tokenizer: Any) -> Any:
    """Pictures of at most 49 tokens; no videos, whose processor needs torchvision."""
    pictures = transformers.Qwen2VLImageProcessorPil(
        min_pixels=1024, max_pixels=12544, patch_size=16, merge_size=2, temporal_patch_size=2
    )
    made = transformers.Qwen3VLProcessor.__new__(transformers.Qwen3VLProcessor)
    made.image_processor, made.tokenizer, made.video_processor = pictures, tokenizer, None
    made.chat_template = TEMPLATE
    for name, token in zip(("vision_start", "vision_end", "image", "video"), CONTROL[3:], strict=True):
        setattr(made, f"{name}_token", token)
        setattr(made, f"{name}_token_id", tokenizer.convert_tokens_to_ids(token))
    return made


@pytest.fixture
def model(tokenizer: Any) -> Any:
    """Qwen3-VL with about a million random weights."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    text: dict[str, Any] = {
        "vocab_size": len(tokenizer), "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": 16384,
        "bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "tie_word_embeddings": True,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 6, 6]},
    }  # fmt: skip
    vision = {
        "depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 2, "out_hidden_size": 128,
        "deepstack_visual_indexes": [0], "num_position_embeddings": 64,
    }  # fmt: skip
    names = ("vision_start", "vision_end", "image", "video")
    ids = {f"{n}_token_id": tokenizer.convert_tokens_to_ids(t) for n, t in zip(names, CONTROL[3:], strict=True)}
    config = transformers.Qwen3VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=True, **ids)
    made = transformers.Qwen3VLForConditionalGeneration(config)
    made.generation_config.eos_token_id = tokenizer.eos_token_id
    made.generation_config.pad_token_id = tokenizer.pad_token_id
    return made
