"""The entries of the learned pointer in the registry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tool_nodes.perception.learned.backend import LearnedPerception
from tool_nodes.perception.learned.weights import read_weights
from tool_nodes.port_names import PortNames
from tool_nodes.ports import Answer
from tool_nodes.registry import Shared
from tool_nodes.results import ToolError
from tool_nodes.toolbox.images import SessionImage

LEARNED = PortNames(
    pointer="learned",
    detector="pixels+drawings",
    segmenter="pixels+drawings",
    depth="pixels",
    reader="rapidocr",
    grasps="analytic",
)
"""A network points, trained on this simulator's pictures; everything else as `pixels`."""


class LearnedPointing:
    """The Pointer port, which is also given batches.

    Args:
        perception: shared with the ports that outline and frame.
    """

    sees_photographs = False

    def __init__(self, perception: LearnedPerception) -> None:
        self.backend = perception.backend
        self.point = perception.point

    def batch(
        self, requests: Sequence[tuple[SessionImage, str]]
    ) -> list[Answer[list[tuple[float, float]]] | ToolError]:
        """The answers of `point`, in order.

        Requests about one frame are done one after the other, so that each frame is looked at once. The network itself
        is given one picture at a time: its products fill a processor as it is, and sums in another order would end in
        other points.

        Args:
            requests: Arguments of `point`.
        """
        frames = [None if image.frame is None else image.frame.key for image, _ in requests]
        answers: dict[int, Answer[list[tuple[float, float]]] | ToolError] = {}
        for k in sorted(range(len(requests)), key=lambda k: frames.index(frames[k])):
            try:
                answers[k] = self.point(*requests[k])
            except ToolError as error:
                answers[k] = error
        return [answers[k] for k in range(len(requests))]


def pointer(shared: Shared, model: str = "") -> LearnedPointing:
    """The learned pointer over camera frames. Arguments and errors as those of `learned`."""
    return LearnedPointing(learned(shared, model))


def learned(shared: Shared, model: str = "") -> LearnedPerception:
    """What the learned pointer finds, for ports that outline or frame it.

    Args:
        shared: Objects that several ports of a setting share.
        model: A file of `toolhand train pointer`; the shipped weights where empty.

    Raises:
        ToolError: UNAVAILABLE without the shipped weights; INVALID_ARGUMENT for another file that is none.
    """
    return shared.once(
        (LearnedPerception, model), lambda: LearnedPerception(read_weights(Path(model)) if model else None)
    )
