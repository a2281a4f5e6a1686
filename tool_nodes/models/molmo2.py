"""The pointer `molmo2`: Molmo 2 (Allen Institute for AI 2025) by transformers, e.g. allenai/Molmo2-8B.

An image is shown whole in a square, and once more as overlapping squares of a larger one; patches of both are
pooled. This follows Molmo2ImageProcessor and Molmo2Processor of transformers 5.23, which need torchvision.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.models.batched import RgbArray
from toolhand.tool_nodes.models.images import HALF, Preparation, processor_config
from toolhand.tool_nodes.models.points import ModelPoints, molmo_points, no_points
from toolhand.tool_nodes.models.spec import NumberOptions
from toolhand.tool_nodes.models.writing import TOKENS, Shown, WritingModel
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.toolbox.images import SessionImage

SEES = Preparation(378, 378, HALF, HALF, smooth=False)
"""One square; as Molmo2ImageProcessor of transformers 5.23, like the four below."""
MAX_CROPS = 8
"""Most squares of the larger image."""
MARGIN = 4
"""Patches on either side of a square that its neighbour shows too [patches]."""
PATCH_PX = 14
"""Side of a patch [px]."""
POOLED = 2
"""Patches along either side that are pooled into one token."""
_NONE = -1
"""Stands for a patch that is not there."""

Indices = NDArray[np.int64]


class Molmo2(WritingModel[ModelPoints]):
    """A Pointer."""

    backend = "molmo2"
    TYPES = ("molmo2",)
    OPTIONS: ClassVar[NumberOptions] = {"tokens": TOKENS}
    _placeholder = "<|image|>"

    def _prepare(self) -> None:
        self._prepare_tokenizer()
        config = processor_config(self.folder)
        self._square = Preparation.of(self.folder, SEES)
        self._max_crops = int(config.get("max_crops", MAX_CROPS))
        margins = config.get("overlap_margins", [MARGIN, MARGIN])
        self._patch = int(config.get("patch_size", PATCH_PX))
        if margins[0] != margins[1] or config.get("pooling_size", [POOLED, POOLED]) != [POOLED, POOLED]:
            raise invalid(f"{self.folder} asks for margins or pooling that are not known.")
        self._margin = int(margins[0])
        self._model = self._load("Molmo2ForConditionalGeneration")
        tokens = ("<im_patch>", "<im_col>", "<im_start>", "<low_res_im_start>", "<im_end>")
        self._image_tokens = frozenset(self._tokenizer.convert_tokens_to_ids(list(tokens)))

    def point(self, image: SessionImage, text: str) -> Answer[ModelPoints]:
        """See ports.Pointer."""
        return self.one(image, text)

    def _show(self, rgb: RgbArray) -> Shown:
        torch, side = self._torch, self._square.height
        tiles_down, tiles_across, height, width = canvas(
            rgb.shape[0], rgb.shape[1], side, self._patch, self._margin, self._max_crops
        )
        larger = Preparation(height, width, self._square.mean, self._square.std, smooth=False)
        step = side - 2 * self._margin * self._patch
        whole = larger(torch, [rgb], "cpu", torch.float32)[0]
        squares = whole.unfold(1, side, step).unfold(2, side, step).permute(1, 2, 0, 3, 4).flatten(0, 1)
        crops = torch.cat([self._square(torch, [rgb], "cpu", torch.float32), squares])
        in_square = side // self._patch
        low = pooling(np.arange(in_square**2).reshape(in_square, in_square))
        high = pooling(patch_grid(tiles_down, tiles_across, in_square, self._margin))
        shifted = np.where(high >= 0, high + in_square**2, _NONE)
        grids = torch.tensor([[*low.shape[:2], *high.shape[:2]]])
        return Shown(
            written_grid("<low_res_im_start>", *low.shape[:2]) + written_grid("<im_start>", *high.shape[:2]),
            {
                "pixel_values": patches(crops, self._patch),
                "image_token_pooling": torch.from_numpy(np.concatenate([flat(low), flat(shifted)])),
                "image_grids": grids,
                "image_num_crops": torch.tensor([len(crops)]),
            },
            *rgb.shape[1::-1],
        )

    def _join(self, inputs: Any) -> dict[str, Any]:
        joined = super()._join(inputs)
        # Pooling names patches by their number among those of all images.
        before, pooled = 0, []
        for tensors in inputs:
            places = tensors["image_token_pooling"]
            pooled.append(self._torch.where(places >= 0, places + before, places))
            before += tensors["pixel_values"].shape[0] * tensors["pixel_values"].shape[1]
        return joined | {"image_token_pooling": self._torch.cat(pooled)}

    def _prompt(self, question: str, shown: Shown) -> str:
        prompt = super()._prompt(question, shown)
        begin = self._tokenizer.bos_token or self._tokenizer.eos_token
        return prompt if prompt.startswith(begin) else begin + prompt

    def _ask(self, request: tuple[Any, ...]) -> str:
        return f"Point to {request[1]}."

    def _understand(self, request: tuple[Any, ...], shown: Shown, text: str) -> ModelPoints | ToolError:
        return molmo_points(text) or no_points(request[1], text)


def canvas(height: int, width: int, side: int, patch: int, margin: int, most: int) -> tuple[int, int, int, int]:
    """(squares down, squares across, height, width [px]) of the larger image that squares of a side are cut from."""
    step, around = side - 2 * margin * patch, 2 * margin * patch
    tilings = [(a, b) for a, b in itertools.product(range(1, most + 1), repeat=2) if a * b <= most]
    tilings.sort(key=lambda tiling: (tiling[0] * tiling[1], tiling[0]))
    inside = np.float32(height - around), np.float32(width - around)
    scales = [min(np.float32(a * step) / inside[0], np.float32(b * step) / inside[1]) for a, b in tilings]
    enough = [float(scale) if scale >= 1 else float("inf") for scale in scales]
    chosen = int(np.argmax(scales)) if all(scale < 1 for scale in scales) else int(np.argmin(enough))
    down, across = tilings[chosen]
    return down, across, down * step + around, across * step + around


def patch_grid(down: int, across: int, in_square: int, margin: int) -> Indices:
    """The number of each patch of the larger image, of the square that shows it away from an inner edge."""
    grid = np.arange(down * across * in_square**2).reshape(down, across, in_square, in_square)
    if margin:
        grid[1:, :, :margin] = _NONE
        grid[:-1, :, -margin:] = _NONE
        grid[:, 1:, :, :margin] = _NONE
        grid[:, :-1, :, -margin:] = _NONE
    rows = grid.transpose(0, 2, 1, 3).reshape(-1)
    step = in_square - 2 * margin
    return rows[rows >= 0].reshape(down * step + 2 * margin, across * step + 2 * margin)


def pooling(grid: Indices) -> Indices:
    """Patches (h, w) in squares of 2x2: (h / 2, w / 2, 2, 2), padded with -1 all around where they are odd."""
    rows, columns = (math.ceil(side / POOLED) * POOLED - side for side in grid.shape)
    around = ((rows // 2, (rows + 1) // 2), (columns // 2, (columns + 1) // 2))
    padded = np.pad(grid, around, constant_values=_NONE)
    down, across = padded.shape[0] // POOLED, padded.shape[1] // POOLED
    return padded.reshape(down, POOLED, across, POOLED).transpose(0, 2, 1, 3)


def flat(pooled: Indices) -> Indices:
    """One row of patches for each token."""
    return pooled.reshape(-1, POOLED * POOLED)


def patches(crops: Any, patch: int) -> Any:
    """Squares (N, 3, S, S) as rows of patches (N, (S / patch)^2, patch * patch * 3)."""
    number, _, side, _ = crops.shape
    count = side // patch
    cut = crops.permute(0, 2, 3, 1).reshape(number, count, patch, count, patch, 3)
    return cut.transpose(2, 3).reshape(number, count * count, patch * patch * 3)


def written_grid(start: str, rows: int, columns: int) -> str:
    """What stands for an image's tokens in the prompt."""
    return f"{start}{('<im_patch>' * columns + '<im_col>') * rows}<im_end>"
