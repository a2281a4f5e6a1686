"""The depth estimator `depth_anything`: Depth Anything V2, metric (Yang et al. 2024, arXiv 2406.09414) by transformers.

For example depth-anything/Depth-Anything-V2-Metric-Indoor-Small-hf. Only its metric variants are depth [m]; the
others know near from far alone and are refused. It estimates no focal length: that of a camera image is known, and
any other image is taken to show 60 degrees across, unless `fov` says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from toolhand.tool_nodes.models.batched import TorchModel, numpy_of
from toolhand.tool_nodes.models.depth_pro import Depth, focal_of, known_focal
from toolhand.tool_nodes.models.spec import NumberOptions, Option
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.toolbox.images import SessionImage

ASSUMED_FOV_DEG = 60.0
"""Horizontal field of view that an image of no camera is taken to have [degrees]: a phone's is 60 to
75."""


class DepthAnything(TorchModel[Depth]):
    """A DepthEstimator."""

    backend = "depth_anything"
    TYPES = ("depth_anything",)
    OPTIONS: ClassVar[NumberOptions] = {"fov": Option(ASSUMED_FOV_DEG, 5.0, 170.0)}

    def _prepare(self) -> None:
        if self.config.get("depth_estimation_type") != "metric":
            raise invalid(
                f"{self.folder} holds a depth_anything that is not metric: its depth is in no unit.",
                "Name a variant whose name has Metric in it.",
            )
        self._model = self._load("DepthAnythingForDepthEstimation")
        self._images = self._processor("DPTImageProcessorPil")

    def estimate(self, image: SessionImage) -> Answer[Depth]:
        """See ports.DepthEstimator."""
        return self.one(image)

    def _answer(self, requests: Sequence[tuple[Any, ...]]) -> list[Depth | ToolError]:
        images: list[SessionImage] = [request[0] for request in requests]
        seen = [self._images([image.rgb], return_tensors="pt")["pixel_values"] for image in images]
        answers: dict[int, Depth | ToolError] = {}
        shapes: dict[tuple[int, ...], list[int]] = {}  # images of one shape are computed together
        for number, pixels in enumerate(seen):
            shapes.setdefault(tuple(pixels.shape), []).append(number)
        for numbers in shapes.values():
            pixels = self._torch.cat([seen[number] for number in numbers]).to(self.device, self._model.dtype)
            for number, depth in zip(numbers, self._model(pixel_values=pixels).predicted_depth.float(), strict=True):
                answers[number] = self._in_image(images[number], depth)
        return [answers[number] for number in range(len(images))]

    def _in_image(self, image: SessionImage, depth: Any) -> Depth:
        """A map (h, w) [m] in the pixels of its image. Bilinear: between two depths there is none beyond them."""
        width, height = image.size
        grown = self._torch.nn.functional.interpolate(
            depth[None, None], (height, width), mode="bilinear", align_corners=False
        )[0, 0]
        return numpy_of(grown.clamp(min=0.0)), known_focal(image) or focal_of(self.spec.numbers["fov"], width)
