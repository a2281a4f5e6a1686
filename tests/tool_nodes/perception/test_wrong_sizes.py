"""Backends whose answers do not have the picture's size: one sentence that says so, whichever tool asked."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tool_nodes.perception.drawings.backend import Drawings
from tool_nodes.perception.object_finder import ObjectFinder
from tool_nodes.ports import Answer
from tool_nodes.results import ErrorCode
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.toolbox import Session, Toolbox
from tool_nodes.tools.last.tools import SkillTools
from tool_nodes.tools.spacetools.depth import DepthTools


class DepthOfShape:
    """A DepthEstimator that gives one shape for every picture."""

    backend = "shrunk"

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape

    def estimate(self, image: SessionImage) -> Answer[tuple[NDArray[np.float32], float]]:
        return Answer((np.ones(self._shape, np.float32), 60.0), self.backend)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("depth_estimator.estimate_depth", {"image": 0}),
        ("depth_estimator.estimate_depth_with_pointcloud", {"image": 0}),
        ("EstimateDepth", {"img_path": "image-0"}),
        ("Get3DPoint", {"img_path": "image-0", "text_labels": ["circle"]}),
    ],
)
@pytest.mark.parametrize("shape", [(30, 40), (80, 60), (60, 80, 1), (60 * 80,)])
def test_depth_of_another_size_is_one_sentence(tool: str, arguments: dict[str, object], shape: tuple[int, ...]) -> None:
    rgb = np.full((60, 80, 3), 255, np.uint8)
    v, u = np.indices((60, 80))
    rgb[np.hypot(u - 40, v - 30) < 20] = (220, 30, 30)
    estimator, drawings = DepthOfShape(shape), Drawings()
    finder = ObjectFinder(drawings, drawings, estimator)
    toolbox = Toolbox([DepthTools(estimator), SkillTools(finder)])
    error = toolbox.call(tool, arguments, Session(images=[SessionImage(rgb)])).result.error
    assert error is not None
    assert error.code is ErrorCode.INTERNAL
    told = f"The depth estimator 'shrunk' gave depth of shape {shape} for a picture of 80x60 px."
    assert str(error).startswith(told)
