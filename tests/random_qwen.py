"""Models of Qwen's families with random weights, and tokenizers of bytes; nothing is downloaded."""

from collections.abc import Mapping, Sequence
from typing import Any

_IMAGE = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *_IMAGE]
"""Qwen's control tokens."""
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}{% elif m.content %}"
    "{% for part in m.content %}{% if part.type == 'image' or part.type == 'image_url' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""A chat template in the form of Qwen's, without tools."""
TOOL_TEMPLATE = TEMPLATE.replace(
    "<|im_end|>",
    "{% if loop.first and tools %}\n<tools>{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}</tools>{% endif %}"
    "{% for call in m.tool_calls or [] %}\n<tool_call>\n{{ call.function | tojson }}\n</tool_call>{% endfor %}"
    "<|im_end|>",
)
"""The same with calls, and with tools in the first message."""


def byte_tokenizer(
    words: Sequence[str] = ("think tool_call answer name arguments",),
    size: int = 300,
    control: Sequence[str] = CONTROL,
    template: str = TEMPLATE,
) -> Any:
    """A tokenizer of bytes and control tokens, which learns up to `size` tokens from some words."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokens = Tokenizer(models.BPE())
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(control), initial_alphabet=alphabet, show_progress=False
    )
    tokens.train_from_iterator(words, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokens, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=template
    )


def image_ids(tokenizer: Any) -> dict[str, int]:
    """Numbers of the tokens that stand for images and around them, as Qwen's configurations name them."""
    names = ("vision_start", "vision_end", "image", "video")
    return {
        f"{name}_token_id": tokenizer.convert_tokens_to_ids(token) for name, token in zip(names, _IMAGE, strict=True)
    }


def text_settings(tokenizer: Any, **more: Any) -> dict[str, Any]:
    """A language model's settings: two layers of width 32, and what is named."""
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 4096,
        "head_dim": 8,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
    } | more


def rope(*sections: int) -> dict[str, Any]:
    """Rotary positions, whose pairs are shared out to time, height and width."""
    return {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": list(sections)}


def random_qwen(
    kind: str,
    tokenizer: Any,
    spread: float = 0.0,
    text: Mapping[str, Any] = {},
    vision: Mapping[str, Any] = {},
    **more: Any,
) -> Any:
    """A vision-language model, always of the same weights.

    Args:
        kind: qwen2_5_vl or qwen3_vl.
        tokenizer: Of `byte_tokenizer`.
        spread: Standard deviation of the weights; 0 leaves the usual 0.02, with which nothing depends on what was read.
        text: Settings of the language model that are others than 60,000 weights in all need.
        vision: The same of the vision tower.
        more: Other settings.
    """
    import torch
    import transformers

    torch.set_num_threads(1)  # more only wait for each other on tensors this small
    torch.manual_seed(0)
    sees = {"depth": 1, "hidden_size": 16, "intermediate_size": 24, "num_heads": 2, "out_hidden_size": 32}
    settings: dict[str, Any] = {
        "text_config": text_settings(tokenizer, rope_parameters=rope(1, 1, 2)) | text,
        **image_ids(tokenizer),
        **more,
    }
    if kind == "qwen2_5_vl":
        settings["vision_config"] = sees | {"fullatt_block_indexes": [0]} | vision
        config: Any = transformers.Qwen2_5_VLConfig(**settings)
        model: Any = transformers.Qwen2_5_VLForConditionalGeneration(config)
    else:
        settings["vision_config"] = sees | {"deepstack_visual_indexes": [0], "num_position_embeddings": 64} | vision
        config = transformers.Qwen3VLConfig(**settings)
        model = transformers.Qwen3VLForConditionalGeneration(config)
    if spread:
        spread_weights(model, spread)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


def spread_weights(model: Any, spread: float) -> None:
    """Draw all matrices anew, of this standard deviation."""
    import torch

    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.normal_(0.0, spread)


def image_processor(kind: str, most_pixels: int = 12544) -> Any:
    """What cuts images for a model of `random_qwen`: of at most so many pixels."""
    import transformers

    patch = 14 if kind == "qwen2_5_vl" else 16
    return transformers.Qwen2VLImageProcessorPil(
        min_pixels=4 * patch**2, max_pixels=most_pixels, patch_size=patch, merge_size=2, temporal_patch_size=2
    )
