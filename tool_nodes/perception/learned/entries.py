"""The entries of the learned pointer in the registry."""

from __future__ import annotations

from pathlib import Path

from tool_nodes.perception.learned.backend import LearnedPerception
from tool_nodes.perception.learned.weights import read_weights
from tool_nodes.perception.over_frames import OverFrames
from tool_nodes.port_names import PortNames
from tool_nodes.registry import Shared

LEARNED = PortNames(
    pointer="learned", detector="pixels+drawings", segmenter="pixels+drawings", depth="pixels", reader="rapidocr",
    grasps="analytic",
)  # fmt: skip
"""A network points, trained on this simulator's pictures; everything else as `pixels`."""


def learned(shared: Shared, model: str = "") -> OverFrames:
    """The learned pointer over camera frames.

    Args:
        shared: What several ports of a setting have in common.
        model: A file of `toolhand train pointer`; the shipped weights where empty.

    Raises:
        ToolError: UNAVAILABLE without the shipped weights; INVALID_ARGUMENT for another file that is none.
    """
    return shared.once(
        (learned, model), lambda: OverFrames(LearnedPerception(read_weights(Path(model)) if model else None))
    )
