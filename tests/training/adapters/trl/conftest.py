"""A vision-language model of random weights; its tokenizer learns its words here. Nothing is downloaded."""

import os

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import json
from pathlib import Path
from typing import Any

import pytest
import transformers
import trl

from tests.random_qwen import byte_tokenizer, image_ids, image_processor, random_qwen, rope
from toolhand.training.adapters.episodes import Episodes
from toolhand.training.tasks.kinds import task_document

PLAIN = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
"""Tokens, but no special ones: what skips special tokens would else find no calls."""
TEMPLATE = (Path(trl.__file__).parent / "chat_templates" / "qwen3_vl.jinja").read_text("utf-8")

ROW = {"task": json.dumps(task_document("pick_and_place", 3)), "seed": 3}
COUNT = {"task": json.dumps(task_document("count", 5)), "seed": 5}
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
    made = byte_tokenizer([json.dumps(schemas), TEMPLATE] * 3, 1500, template=TEMPLATE)
    made.add_tokens(PLAIN)
    return made


@pytest.fixture(scope="session")
def processor(tokenizer: Any) -> Any:
    """Images of at most 49 tokens; no videos, whose processor needs torchvision."""
    made = transformers.Qwen3VLProcessor.__new__(transformers.Qwen3VLProcessor)
    made.image_processor, made.tokenizer, made.video_processor = image_processor("qwen3_vl"), tokenizer, None
    made.chat_template = TEMPLATE
    for name, number in image_ids(tokenizer).items():
        setattr(made, name, number)
        setattr(made, name.removesuffix("_id"), tokenizer.convert_ids_to_tokens(number))
    return made


@pytest.fixture
def model(tokenizer: Any) -> Any:
    """Qwen3-VL with about a million random weights."""
    text = {
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 3,
        "head_dim": 32,
        "max_position_embeddings": 16384,
        "tie_word_embeddings": True,
        "rope_parameters": rope(4, 6, 6),
    }
    vision = {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "out_hidden_size": 128}
    return random_qwen("qwen3_vl", tokenizer, 0.0, text, vision, tie_word_embeddings=True)
