"""Images as models take them, where transformers' own processors would need torchvision.

What is done to an image (size, mean, deviation) is read from the model's own preprocessor_config.json; the defaults
are those of transformers 5.23, by class. Nothing is cropped or padded here, so that a normalized point means the same
place before and after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.models.loading import read_json
from toolhand.tool_nodes.results import invalid

IMAGENET_MEAN = (0.485, 0.456, 0.406)
"""Mean of ImageNet's images, RGB in [0, 1] [-]; IMAGENET_DEFAULT_MEAN of transformers."""
IMAGENET_STD = (0.229, 0.224, 0.225)
"""Their standard deviation [-]; IMAGENET_DEFAULT_STD of transformers."""
HALF = (0.5, 0.5, 0.5)
"""Mean and deviation that take [0, 1] to [-1, 1] [-]; IMAGENET_STANDARD_MEAN and _STD of transformers."""


@dataclass(frozen=True)
class Preparation:
    """What a model wants done to an image.

    Attributes:
        height, width: Size that it sees [px].
        mean, std: Mean and standard deviation of RGB in [0, 1].
        smooth: A larger image is smoothed before it is made smaller (antialiasing).
        resize_first: On whole colours 0..255, before they are normalized; else after.
    """

    height: int
    width: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    smooth: bool = True
    resize_first: bool = True

    @classmethod
    def of(cls, folder: Path, default: Preparation) -> Preparation:
        """As a model's folder says, or else the default. Raises ToolError INVALID_ARGUMENT for what makes no sense."""
        config = processor_config(folder)
        size = config.get("size", {})
        try:
            return replace(
                default,
                height=int(size.get("height", default.height)),
                width=int(size.get("width", default.width)),
                mean=_colour(config.get("image_mean", default.mean)),
                std=_colour(config.get("image_std", default.std)),
            )
        except (TypeError, ValueError, AttributeError) as error:
            raise invalid(f"preprocessor_config.json in {folder} is damaged: {error}.") from None

    def __call__(self, torch: Any, images: Sequence[NDArray[np.uint8]], device: str, dtype: Any) -> Any:
        """Images uint8 (H, W, 3) as one tensor (N, 3, height, width)."""
        return torch.cat([self._prepared(torch, rgb) for rgb in images]).to(device, dtype)

    def _prepared(self, torch: Any, rgb: NDArray[np.uint8]) -> Any:
        tensor = torch.from_numpy(np.array(rgb)).permute(2, 0, 1)[None].float()
        if self.resize_first:
            return self._normalized(torch, self._resized(torch, tensor).round().clamp(0.0, 255.0))
        return self._resized(torch, self._normalized(torch, tensor))

    def _resized(self, torch: Any, tensor: Any) -> Any:
        if tensor.shape[-2:] == (self.height, self.width):
            return tensor
        return torch.nn.functional.interpolate(
            tensor, (self.height, self.width), mode="bilinear", align_corners=False, antialias=self.smooth
        )

    def _normalized(self, torch: Any, tensor: Any) -> Any:
        mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (self.mean, self.std))
        return (tensor / 255.0 - mean) / std


def _colour(values: Sequence[float]) -> tuple[float, float, float]:
    red, green, blue = values
    return float(red), float(green), float(blue)


def processor_config(folder: Path) -> dict[str, Any]:
    """What a folder says of its image processor, in either file that transformers writes; empty where it says
    nothing."""
    alone = read_json(folder / "preprocessor_config.json")
    if alone is not None:
        return alone
    inner = (read_json(folder / "processor_config.json") or {}).get("image_processor")
    return inner if isinstance(inner, dict) else {}


def distinct(images: Sequence[NDArray[np.uint8]]) -> tuple[list[NDArray[np.uint8]], list[int]]:
    """(each image once, which of them each request means): several requests often mean one image."""
    kept: list[NDArray[np.uint8]] = []
    places: dict[int, int] = {}
    for rgb in images:
        if id(rgb) not in places:
            places[id(rgb)] = len(kept)
            kept.append(rgb)
    return kept, [places[id(rgb)] for rgb in images]
