"""A vision-language model of random weights, and a model server that says what a test tells it to; verl is real."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import MethodType
from typing import Any

import pytest
import transformers
import verl.trainer
from hydra import compose, initialize_config_dir
from verl.workers.rollout.replica import TokenOutput

from tests.random_qwen import TOOL_TEMPLATE, byte_tokenizer, image_processor, random_qwen


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """Bytes, the control tokens of Qwen, and tags of a protocol that are tokens but not special ones."""
    made = byte_tokenizer(["think tool_call answer name arguments robot capture image"], 320, template=TOOL_TEMPLATE)
    made.add_tokens(["<tool_call>", "</tool_call>"])
    return made


@pytest.fixture(scope="session")
def vlm(tokenizer: Any) -> Any:
    """Qwen2.5-VL with about 60,000 random weights."""
    return random_qwen("qwen2_5_vl", tokenizer, text={"max_position_embeddings": 65536}).eval()


@pytest.fixture(scope="session")
def processor(tokenizer: Any, vlm: Any) -> Any:
    """Images of at most 64 tokens; positions are counted by the model's own rule, as verl binds it."""
    found = transformers.Qwen2_5_VLProcessor.__new__(transformers.Qwen2_5_VLProcessor)
    found.image_processor, found.tokenizer, found.video_processor = (
        image_processor("qwen2_5_vl", 50176),
        tokenizer,
        None,
    )
    found.chat_template = TOOL_TEMPLATE
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
