"""An image that is black but for one bright spot, and what a model would see of it.

A model that points at the brightest place needs no training. Put behind an adapter in the place of the real network, it
says whether the way of an image to the network and the way of an answer back meet at the same pixel.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Frame

WIDTH, HEIGHT = 96, 72
"""Of the frame [px]."""
SPOT = (54, 26, 68, 36)
"""Left, top, right, bottom of the bright spot [px of the frame]."""
MIDDLE = (61.0, 31.0)
"""Its middle [px of the frame]."""


def frame() -> Frame:
    rgb = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    left, top, right, bottom = SPOT
    rgb[top:bottom, left:right] = 255
    K = np.array([[100.0, 0.0, WIDTH / 2], [0.0, 100.0, HEIGHT / 2], [0.0, 0.0, 1.0]])
    return Frame(rgb, np.ones((HEIGHT, WIDTH), np.float32), K, np.eye(4), 0.0)


def make_images() -> dict[str, SessionImage]:
    """The frame as conversations show it: whole, in part, with another size and shape."""
    taken = frame()
    whole = SessionImage(taken.rgb, taken)
    part = whole.cropped(40, 12, 90, 60)
    return {
        "whole": whole,
        "part": part,
        "enlarged part": part.resized(123, 77),
        "narrow part": whole.cropped(48, 2, 74, 70),
        "stretched": whole.resized(60, 140),
    }


def offset_px(image: SessionImage, point: tuple[float, float]) -> float:
    """How far a normalized point of an image is from the spot's middle [px of the frame]."""
    x, y = image.to_frame([point])[0] * (WIDTH, HEIGHT)
    return float(np.hypot(x - MIDDLE[0], y - MIDDLE[1]))


def brightest(image: Any) -> tuple[float, float]:
    """Normalized middle of what is bright in an array or tensor (H, W), black and white whatever its range is."""
    seen: NDArray[np.float64] = np.asarray(image, float)
    weight = np.clip((seen - seen.min()) / np.ptp(seen) - 0.3, 0.0, None)
    rows, columns = (np.arange(side) + 0.5 for side in seen.shape)
    total = weight.sum()
    return float((weight.sum(0) @ columns) / total / seen.shape[1]), float(
        (weight.sum(1) @ rows) / total / seen.shape[0]
    )


def blob(x: float, y: float, side: int) -> Any:
    """Logits (side, side) that are above 0 near a normalized place."""
    middles = (torch.arange(side) + 0.5) / side
    return 400.0 - 1e5 * ((middles[None] - x) ** 2 + (middles[:, None] - y) ** 2)
