"""Models of the real architectures with a few thousand random weights, made in a folder without any download."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
import transformers

from tests.random_qwen import (
    CONTROL,
    TEMPLATE,
    byte_tokenizer,
    image_processor,
    random_qwen,
    rope,
    spread_weights,
    text_settings,
)
from toolhand.tool_nodes.toolbox.images import SessionImage

SIDE = 64
"""What the tiny segmenters see [px]."""


def make_image(width: int = 80, height: int = 60, seed: int = 0) -> SessionImage:
    rng = np.random.default_rng(seed)
    return SessionImage(rng.integers(0, 255, (height, width, 3), dtype=np.uint8))


def save(model: Any, folder: Path, spread: float = 0.0, **processor: Any) -> Path:
    """The model's weights in a folder; spread anew where the usual 0.02 would let nothing depend on what is seen."""
    if spread:
        spread_weights(model, spread)
    model.save_pretrained(folder)
    if processor:
        (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return folder


def sam2(folder: Path) -> Path:
    torch.manual_seed(0)
    maps = [[SIDE // 4, SIDE // 4], [SIDE // 8, SIDE // 8], [SIDE // 16, SIDE // 16]]
    backbone = transformers.Sam2HieraDetConfig(
        hidden_size=8,
        num_attention_heads=1,
        image_size=[SIDE, SIDE],
        blocks_per_stage=[1, 2, 2, 1],
        embed_dim_per_stage=[8, 16, 32, 64],
        num_attention_heads_per_stage=[1, 1, 2, 2],
        window_size_per_stage=[4, 4, 4, 2],
        global_attention_blocks=[2],
        window_positional_embedding_background_size=[4, 4],
    )
    vision = transformers.Sam2VisionConfig(
        backbone_config=backbone, backbone_channel_list=[64, 32, 16, 8], backbone_feature_sizes=maps, fpn_hidden_size=16
    )
    config = transformers.Sam2Config(
        vision_config=vision,
        prompt_encoder_config={"hidden_size": 16, "image_size": SIDE, "patch_size": 16},
        mask_decoder_config={"hidden_size": 16, "mlp_dim": 16, "num_attention_heads": 2, "iou_head_hidden_dim": 16},
    )
    return save(transformers.Sam2Model(config), folder, 0.2, size={"height": SIDE, "width": SIDE})


def sam2_video(folder: Path) -> Path:
    """As SAM 2 is published: with the memory of its tracker, which a single image needs none of."""
    images = sam2(folder).joinpath("config.json")
    parts = {name: part for name, part in json.loads(images.read_text()).items() if name.endswith("_config")}
    config = transformers.Sam2VideoConfig(
        **parts,
        image_size=SIDE,
        memory_attention_hidden_size=16,
        memory_attention_feed_forward_hidden_size=16,
        memory_attention_num_layers=1,
        memory_attention_num_attention_heads=1,
        memory_attention_rope_feat_sizes=[4, 4],
        memory_encoder_hidden_size=16,
        memory_encoder_output_channels=16,
        mask_downsampler_embed_dim=16,
        memory_fuser_embed_dim=16,
        memory_fuser_intermediate_dim=16,
        memory_fuser_num_layers=1,
    )
    return save(transformers.Sam2VideoModel(config), folder, 0.2, size={"height": SIDE, "width": SIDE})


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
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": side,
        "patch_size": patch,
        "window_size": 4,
        "global_attn_indexes": [1],
        "pretrain_image_size": side,
        "model_type": "sam3_vit_model",
    }
    vision = {
        "backbone_config": backbone,
        "fpn_hidden_size": 16,
        "backbone_feature_sizes": maps,
        "model_type": "sam3_vision_model",
    }
    part = {"hidden_size": 16, "num_attention_heads": 2}
    layers = {**part, "num_layers": 1, "intermediate_size": 16}
    detector = {
        "vision_config": vision,
        "text_config": {
            "vocab_size": len(WORDS),
            "hidden_size": 16,
            "intermediate_size": 16,
            "projection_dim": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "max_position_embeddings": 32,
            "bos_token_id": 2,
            "eos_token_id": 3,
            "model_type": "clip_text_model",
        },
        "geometry_encoder_config": layers,
        "detr_encoder_config": layers,
        "detr_decoder_config": {**layers, "num_queries": 10},
        "mask_decoder_config": part,
    }
    tracker = {
        "vision_config": vision,
        "prompt_encoder_config": {"hidden_size": 16, "image_size": side, "patch_size": patch},
        "mask_decoder_config": {**part, "mlp_dim": 16, "iou_head_hidden_dim": 16},
        "image_size": side,
        "memory_attention_hidden_size": 16,
        "memory_attention_feed_forward_hidden_size": 16,
        "memory_attention_num_layers": 1,
        "memory_attention_num_attention_heads": 1,
        "memory_attention_rope_feat_sizes": maps[-1],
        "memory_encoder_hidden_size": 16,
        "memory_encoder_output_channels": 16,
        "mask_downsampler_embed_dim": 16,
        "memory_fuser_embed_dim": 16,
        "memory_fuser_intermediate_dim": 16,
        "memory_fuser_num_layers": 1,
    }
    model = transformers.Sam3VideoModel(transformers.Sam3VideoConfig(detector_config=detector, tracker_config=tracker))
    word_tokenizer(folder)
    save(model, folder, 0.2, size={"height": side, "width": side})
    # save_pretrained of transformers 5.23 writes the tracker's prefix twice; the published file has it once.
    named = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    safetensors.torch.save_file(named, folder / "model.safetensors", {"format": "pt"})
    return folder


def grounding_dino(folder: Path) -> Path:
    torch.manual_seed(0)
    tokenizer = word_tokenizer(folder)
    swin = transformers.SwinConfig(
        image_size=32,
        patch_size=4,
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 2, 2],
        window_size=4,
        out_indices=[2, 3, 4],
    )
    bert = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
    )
    config = transformers.GroundingDinoConfig(
        backbone_config=swin,
        text_config=bert,
        num_queries=12,
        encoder_layers=1,
        encoder_ffn_dim=16,
        encoder_attention_heads=2,
        decoder_layers=2,
        decoder_ffn_dim=16,
        decoder_attention_heads=2,
        d_model=32,
        max_text_len=16,
        disable_custom_kernels=True,
    )
    model = transformers.GroundingDinoForObjectDetection(config)
    size = {"shortest_edge": 64, "longest_edge": 128}
    return save(model, folder, 0.2, size=size, image_processor_type="GroundingDinoImageProcessor")


def dino(**more: Any) -> dict[str, Any]:
    small = {
        "hidden_size": 8,
        "num_hidden_layers": 4,
        "num_attention_heads": 2,
        "mlp_ratio": 2,
        "patch_size": 4,
        "model_type": "dinov2",
        "reshape_hidden_states": False,
    }
    return small | more


def depth_anything(folder: Path, kind: str = "metric") -> Path:
    torch.manual_seed(0)
    config = transformers.DepthAnythingConfig(
        backbone_config=dino(image_size=32, out_indices=[1, 2, 3, 4], apply_layernorm=True),
        patch_size=4,
        reassemble_hidden_size=8,
        neck_hidden_sizes=[4, 4, 8, 8],
        fusion_hidden_size=8,
        head_hidden_size=4,
        depth_estimation_type=kind,
        max_depth=20,
    )
    return save(
        transformers.DepthAnythingForDepthEstimation(config),
        folder,
        0.2,
        size={"height": 32, "width": 32},
        keep_aspect_ratio=True,
        ensure_multiple_of=4,
        image_processor_type="DPTImageProcessor",
    )


def depth_pro(folder: Path, knows_fov: bool = True) -> Path:
    torch.manual_seed(0)
    part = dino(image_size=16, out_features=["stage4"])
    config = transformers.DepthProConfig(
        patch_size=16,
        fusion_hidden_size=8,
        intermediate_hook_ids=[2, 0],
        intermediate_feature_dims=[8, 8],
        scaled_images_ratios=[0.25, 0.5, 1.0],
        scaled_images_feature_dims=[8, 8, 8],
        merge_padding_value=1,
        use_fov_model=knows_fov,
        num_fov_head_layers=1,
        image_model_config=part,
        patch_model_config=part,
        fov_model_config=part,
    )
    return save(transformers.DepthProForDepthEstimation(config), folder, 0.2, size={"height": SIDE, "width": SIDE})


def own_tokenizer(folder: Path, control: list[str], image: str) -> Any:
    """The tokenizer of a family with its own control tokens and placeholder of an image, saved beside a model."""
    template = TEMPLATE.replace("<|vision_start|><|image_pad|><|vision_end|>", image)
    tokenizer = byte_tokenizer(["point"], control=[*CONTROL[:3], *control], template=template)
    tokenizer.save_pretrained(folder)
    return tokenizer


def qwen(folder: Path, kind: str = "qwen2_5_vl") -> Path:
    tokenizer = byte_tokenizer(["point"])
    tokenizer.save_pretrained(folder)
    image_processor(kind).save_pretrained(folder)
    return save(random_qwen(kind, tokenizer, 0.2), folder)


MOLMO_CONTROL = [
    "<im_patch>",
    "<im_col>",
    "<im_start>",
    "<low_res_im_start>",
    "<frame_start>",
    "<im_end>",
    "<frame_end>",
    "<im_low>",
    "<|image|>",
    "<|video|>",
]


def molmo2(folder: Path) -> Path:
    torch.manual_seed(0)
    tokenizer = own_tokenizer(folder, MOLMO_CONTROL, "<|image|>")
    number = tokenizer.convert_tokens_to_ids
    text = text_settings(
        tokenizer, additional_vocab_size=0, rope_parameters={"rope_type": "default", "rope_theta": 10000.0}
    )
    part = {
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 8,
    }
    config = transformers.Molmo2Config(
        text_config=text,
        vision_config={**part, "num_hidden_layers": 2, "image_size": [56, 56], "patch_size": 7},
        adapter_config={**part, "vision_feature_layer": [1, 0], "text_hidden_size": 32},
        image_start_token_id=number("<im_start>"),
        low_res_image_start_token_id=number("<low_res_im_start>"),
        image_end_token_id=number("<im_end>"),
        image_patch_id=number("<im_patch>"),
        frame_start_token_id=number("<frame_start>"),
        frame_end_token_id=number("<frame_end>"),
    )
    model = transformers.Molmo2ForConditionalGeneration(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    return save(
        model,
        folder,
        0.3,
        size={"height": 56, "width": 56},
        max_crops=4,
        overlap_margins=[2, 2],
        patch_size=7,
        pooling_size=[2, 2],
    )


PADDLE_CONTROL = ["<|IMAGE_START|>", "<|IMAGE_PLACEHOLDER|>", "<|IMAGE_END|>", "<|video_pad|>"]


def paddleocr_vl(folder: Path) -> Path:
    torch.manual_seed(0)
    tokenizer = own_tokenizer(folder, PADDLE_CONTROL, "<|IMAGE_START|><|IMAGE_PLACEHOLDER|><|IMAGE_END|>")
    number = tokenizer.convert_tokens_to_ids
    config = transformers.PaddleOCRVLConfig(
        text_config=text_settings(tokenizer, rope_parameters=rope(1, 1, 2)),
        vision_config={
            "hidden_size": 16,
            "intermediate_size": 24,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 56,
        },
        image_token_id=number("<|IMAGE_PLACEHOLDER|>"),
        video_token_id=number("<|video_pad|>"),
        vision_start_token_id=number("<|IMAGE_START|>"),
        vision_end_token_id=number("<|IMAGE_END|>"),
    )
    model = transformers.PaddleOCRVLForConditionalGeneration(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    return save(
        model,
        folder,
        0.3,
        image_processor_type="PaddleOCRVLImageProcessor",
        size={"shortest_edge": 784, "longest_edge": 12544},
    )
