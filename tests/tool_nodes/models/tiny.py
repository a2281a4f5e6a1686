"""Models of the real architectures with a few thousand random weights, made in a folder without any download."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
import transformers

from tool_nodes.toolbox.images import SessionImage

SIDE = 64
"""What the tiny segmenters see [px]."""


def picture(width: int = 80, height: int = 60, seed: int = 0) -> SessionImage:
    rng = np.random.default_rng(seed)
    return SessionImage(rng.integers(0, 255, (height, width, 3), dtype=np.uint8))


def save(model: Any, folder: Path, spread: float = 0.0, **processor: Any) -> Path:
    """The model's weights in a folder; spread anew where the usual 0.02 would let nothing depend on what is seen."""
    with torch.no_grad():
        for weight in model.parameters():
            if spread and weight.ndim > 1:
                weight.normal_(0.0, spread)
    model.save_pretrained(folder)
    if processor:
        (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return folder


def sam2(folder: Path) -> Path:
    torch.manual_seed(0)
    maps = [[SIDE // 4, SIDE // 4], [SIDE // 8, SIDE // 8], [SIDE // 16, SIDE // 16]]
    backbone = transformers.Sam2HieraDetConfig(
        hidden_size=8, num_attention_heads=1, image_size=[SIDE, SIDE], blocks_per_stage=[1, 2, 2, 1],
        embed_dim_per_stage=[8, 16, 32, 64], num_attention_heads_per_stage=[1, 1, 2, 2],
        window_size_per_stage=[4, 4, 4, 2], global_attention_blocks=[2],
        window_positional_embedding_background_size=[4, 4],
    )  # fmt: skip
    vision = transformers.Sam2VisionConfig(
        backbone_config=backbone, backbone_channel_list=[64, 32, 16, 8], backbone_feature_sizes=maps, fpn_hidden_size=16
    )
    config = transformers.Sam2Config(
        vision_config=vision,
        prompt_encoder_config={"hidden_size": 16, "image_size": SIDE, "patch_size": 16},
        mask_decoder_config={"hidden_size": 16, "mlp_dim": 16, "num_attention_heads": 2, "iou_head_hidden_dim": 16},
    )
    return save(transformers.Sam2Model(config), folder, 0.2, size={"height": SIDE, "width": SIDE})


WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", ".", "?", "can", "mug", "red", "the", "cat", "remote", "a")
"""Vocabulary of the tiny word tokenizers."""


def word_tokenizer(folder: Path, **special: str) -> Any:
    """A tokenizer of whole words, saved beside a model."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    numbers = {word: number for number, word in enumerate(WORDS)}
    words = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", numbers["[CLS]"]), ("[SEP]", numbers["[SEP]"])]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", **special
    )
    tokenizer.save_pretrained(folder)
    return tokenizer


def sam3(folder: Path) -> Path:
    torch.manual_seed(0)
    side, patch = SIDE, 8
    maps = [[4 * side // patch] * 2, [2 * side // patch] * 2, [side // patch] * 2]
    backbone = {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "image_size": side, "patch_size": patch, "window_size": 4, "global_attn_indexes": [1],
        "pretrain_image_size": side, "model_type": "sam3_vit_model",
    }  # fmt: skip
    vision = {
        "backbone_config": backbone, "fpn_hidden_size": 16, "backbone_feature_sizes": maps,
        "model_type": "sam3_vision_model",
    }  # fmt: skip
    part = {"hidden_size": 16, "num_attention_heads": 2}
    layers = {**part, "num_layers": 1, "intermediate_size": 16}
    detector = {
        "vision_config": vision,
        "text_config": {
            "vocab_size": len(WORDS), "hidden_size": 16, "intermediate_size": 16, "projection_dim": 16,
            "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 32, "bos_token_id": 2, "eos_token_id": 3,
            "model_type": "clip_text_model",
        },
        "geometry_encoder_config": layers, "detr_encoder_config": layers,
        "detr_decoder_config": {**layers, "num_queries": 10}, "mask_decoder_config": part,
    }  # fmt: skip
    tracker = {
        "vision_config": vision,
        "prompt_encoder_config": {"hidden_size": 16, "image_size": side, "patch_size": patch},
        "mask_decoder_config": {**part, "mlp_dim": 16, "iou_head_hidden_dim": 16},
        "image_size": side, "memory_attention_hidden_size": 16, "memory_attention_feed_forward_hidden_size": 16,
        "memory_attention_num_layers": 1, "memory_attention_num_attention_heads": 1,
        "memory_attention_rope_feat_sizes": maps[-1], "memory_encoder_hidden_size": 16,
        "memory_encoder_output_channels": 16, "mask_downsampler_embed_dim": 16, "memory_fuser_embed_dim": 16,
        "memory_fuser_intermediate_dim": 16, "memory_fuser_num_layers": 1,
    }  # fmt: skip
    model = transformers.Sam3VideoModel(transformers.Sam3VideoConfig(detector_config=detector, tracker_config=tracker))
    word_tokenizer(folder)
    save(model, folder, 0.2, size={"height": side, "width": side})
    # save_pretrained of transformers 5.23 writes the tracker's prefix twice; the published file has it once.
    named = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    safetensors.torch.save_file(named, folder / "model.safetensors", {"format": "pt"})
    return folder
