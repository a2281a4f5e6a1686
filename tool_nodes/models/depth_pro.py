"""The depth estimator `depth_pro`: Depth Pro (Bochkovskii et al. 2024, arXiv 2410.02073) by transformers, e.g.
apple/DepthPro-hf.

It gives a canonical inverse depth C, with which the depth is f / (w C) for a focal length f and a width w [px]
(section 3.1, equation 1). Of a camera image the focal length is known and is used; of any other the model estimates
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.models.batched import TorchModel, numpy_of
from toolhand.tool_nodes.models.images import HALF, Preparation, distinct
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.toolbox.images import SessionImage

SEES = Preparation(1536, 1536, HALF, HALF, smooth=False, resize_first=False)
"""As DepthProImageProcessor of transformers 5.23."""
_LEAST, _MOST = 1e-4, 1e4
"""Bounds of the inverse depth [1/m], so that the depth lies within 0.1 mm and 10 km; post_process_depth_estimation,
ibid."""

Depth = tuple[NDArray[np.float32], float]
"""Depth (H, W) [m] and focal length [px]."""


class DepthPro(TorchModel[Depth]):
    """A DepthEstimator."""

    backend = "depth_pro"
    TYPES = ("depth_pro",)

    def _prepare(self) -> None:
        if not self.config.get("use_fov_model"):
            raise invalid(
                f"{self.folder} holds a depth_pro without a model of the field of view: its depth is in no unit."
            )
        self._model = self._load("DepthProForDepthEstimation")
        self._preparation = Preparation.of(self.folder, SEES)

    def estimate(self, image: SessionImage) -> Answer[Depth]:
        """See ports.DepthEstimator."""
        return self.one(image)

    def _answer(self, requests: Sequence[tuple[Any, ...]]) -> list[Depth | ToolError]:
        images = [request[0] for request in requests]
        kept, which = distinct([image.rgb for image in images])
        output = self._model(pixel_values=self._preparation(self._torch, kept, self.device, self._model.dtype))
        canonical, angles = output.predicted_depth.float(), numpy_of(output.field_of_view).reshape(-1)
        answers: list[Depth | ToolError] = []
        for image, number in zip(images, which, strict=True):
            width, height = image.size
            focal = known_focal(image) or focal_of(float(angles[number]), width)
            inverse = self._torch.nn.functional.interpolate(
                canonical[number][None, None] * (width / focal), (height, width), mode="bilinear"
            )[0, 0]
            answers.append((numpy_of(1.0 / inverse.clamp(_LEAST, _MOST)), focal))
        return answers


def known_focal(image: SessionImage) -> float:
    """Focal length of a camera image, a crop's or an enlarged one's too [px]; 0 where no camera took it."""
    view = image.view
    return 0.0 if view is None else float(view.K[0, 0])


def focal_of(angle_deg: float, width: int) -> float:
    """Focal length [px] of an image that is so wide [px] and shows so much [degrees across]."""
    return float(0.5 * width / np.tan(0.5 * np.radians(np.clip(angle_deg, 1.0, 179.0))))
