"""The perception ports over what is served. Each answer names the backend that gave it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.serve.calling import connect
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import BoolArray, Detection, FloatArray, GraspSet, Prompt, Segmentation, TextSpan

SERVED = PortNames(
    pointer="served", detector="served", segmenter="served", depth="served", reader="served", grasps="served"
)
"""Everything from the service that runs."""


class _Served:
    """A port that asks the service.

    Args:
        model: The entry that is asked, where it is not the one with the port's name.
        seed: Goes with each request, for a backend that has something random.

    Raises:
        ToolError: UNAVAILABLE where nothing is served, or not this; INVALID_ARGUMENT where the entry is another port's.
    """

    port = ""

    def __init__(self, model: str = "", seed: int = 0) -> None:
        self.name = model or self.port
        self._seed = seed
        connection = connect()
        entry = connection.entry(self.name)
        if entry.port != self.port:
            raise invalid(f"{self.name!r} is served as a {entry.port}, no {self.port}.")
        description = connection.describe(self.name)
        self.backend: str = description["backend"]
        self.takes: frozenset[type[Prompt]] = description["takes"]
        self.reads_truth: bool = description["reads_truth"]

    def _call(self, *arguments: Any) -> Any:
        return connect().call(self.name, *arguments, seed=self._seed)


class ServedPointer(_Served):
    """The Pointer port."""

    port = "pointer"

    def point(self, image: SessionImage, text: str) -> Answer[list[tuple[float, float]]]:
        """See ports.Pointer."""
        answer: Answer[list[tuple[float, float]]] = self._call(image, text)
        return answer


class ServedDetector(_Served):
    """The Detector port."""

    port = "detector"

    def detect(self, image: SessionImage, text: str) -> Answer[list[Detection]]:
        """See ports.Detector."""
        answer: Answer[list[Detection]] = self._call(image, text)
        return answer


class ServedSegmenter(_Served):
    """The Segmenter port."""

    port = "segmenter"

    def segment(self, image: SessionImage, prompt: Prompt) -> Answer[list[Segmentation]]:
        """See ports.Segmenter."""
        answer = self._call(image, prompt)
        return Answer(
            [Segmentation(segmentation.mask.copy(), segmentation.score) for segmentation in answer.value],
            answer.backend,
        )


class ServedDepth(_Served):
    """The DepthEstimator port."""

    port = "depth"

    def estimate(self, image: SessionImage) -> Answer[tuple[NDArray[np.float32], float]]:
        """See ports.DepthEstimator."""
        answer = self._call(image)
        depth, focal = answer.value
        return Answer((depth.copy(), focal), answer.backend)  # what comes cannot be written


class ServedReader(_Served):
    """The TextReader port."""

    port = "reader"

    def read(self, image: SessionImage) -> Answer[list[TextSpan]]:
        """See ports.TextReader."""
        answer: Answer[list[TextSpan]] = self._call(image)
        return answer


class ServedGrasps(_Served):
    """The GraspGenerator port."""

    port = "grasps"

    def generate(self, cloud: NDArray[np.float32], mask: BoolArray, T_base_camera: FloatArray) -> GraspSet:
        """See ports.GraspGenerator."""
        made: GraspSet = self._call(cloud, mask, T_base_camera)
        return GraspSet(made.T_camera_gripper.copy(), made.widths_m.copy(), made.scores.copy(), made.sampled)
