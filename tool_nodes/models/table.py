"""Which real models there are, for documents and `toolhand doctor`: their licences and memory.

Nothing heavy is imported here. Licences are those of the weights as their publishers state them; read them
there before use.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RealModel:
    """One adapter.

    Attributes:
        name: Name that users type.
        port: Which port it stands behind, a key of `toolhand.tool_nodes.registry.GROUPS`.
        title: Short description, with an example of weights.
        licence: Licence of the weights.
        memory: Memory of the weights alone, computed from their number.
        writes_points: True if its points are words that it writes, which may be the same whatever it is asked.
    """

    name: str
    port: str
    title: str
    licence: str
    memory: str
    writes_points: bool = False


MODELS: tuple[RealModel, ...] = (
    RealModel("molmo2", "pointer", "Molmo 2, e.g. `allenai/Molmo2-8B`", "Apache-2.0", "17 GB (8B, bfloat16)", True),
    RealModel(
        "qwen_vl",
        "pointer",
        "Qwen2-VL, Qwen2.5-VL, Qwen3-VL, e.g. `Qwen/Qwen3-VL-8B-Instruct`",
        "Apache-2.0; Qwen2.5-VL-3B for research only",
        "18 GB (8B, bfloat16)",
        True,
    ),
    RealModel(
        "roborefer",
        "pointer",
        "RoboRefer behind a server, `roborefer:MODEL@URL`",
        "as its card says; its base NVILA is not for commercial use",
        "on the server",
        True,
    ),
    RealModel(
        "pointing",
        "pointer",
        "any model that writes points, behind an OpenAI-compatible server",
        "the model's",
        "on the server",
        True,
    ),
    RealModel(
        "grounding_dino",
        "detector",
        "Grounding DINO, e.g. `IDEA-Research/grounding-dino-base`",
        "Apache-2.0",
        "0.9 GB (base, float32)",
    ),
    RealModel(
        "sam2",
        "segmenter",
        "SAM 2 and 2.1, e.g. `facebook/sam2.1-hiera-large`",
        "Apache-2.0",
        "0.9 GB (large, float32)",
    ),
    RealModel("sam3", "segmenter", "SAM 3, e.g. `facebook/sam3`", "SAM License (Meta)", "3.4 GB (float32)"),
    RealModel(
        "depth_pro",
        "depth",
        "Depth Pro, e.g. `apple/DepthPro-hf`",
        "Apple's, for research only",
        "3.8 GB (float32)",
    ),
    RealModel(
        "depth_anything",
        "depth",
        "Depth Anything V2, metric, e.g. `depth-anything/Depth-Anything-V2-Metric-Indoor-Small-hf`",
        "Apache-2.0 (Small); Base and Large CC-BY-NC-4.0",
        "0.1 GB (Small, float32)",
    ),
    RealModel(
        "paddleocr_vl",
        "reader",
        "PaddleOCR-VL 1.5, e.g. `PaddlePaddle/PaddleOCR-VL-1.5`",
        "Apache-2.0",
        "1.9 GB (bfloat16)",
    ),
    RealModel(
        "graspgen",
        "grasps",
        "GraspGen's own server, `graspgen:HOST:PORT`",
        "NVIDIA's, research and evaluation only: not for commercial use",
        "on the server",
    ),
)
"""In the order of the ports."""

WRITES_POINTS = frozenset(model.name for model in MODELS if model.writes_points)
"""Backends whose points are written by a language model."""


def of_port(port: str) -> tuple[str, ...]:
    """Names of the real models behind a port, e.g. ("sam2", "sam3") of "segmenter"."""
    return tuple(model.name for model in MODELS if model.port == port)
