"""The entries of this room in the registry: the simulator's truth, with noise, as backends of the perception ports."""

from __future__ import annotations

from typing import Any

from toolhand.sim.perception import SimPerception, Truth
from toolhand.tool_nodes.perception.frame_perception import FramePerception
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.registry import Shared

SIM = PortNames(
    pointer="sim", detector="sim+drawings", segmenter="sim+drawings", depth="sim", reader="sim", grasps="analytic"
)
"""What a good network would answer, from what the simulator stores with its images."""


def perception(seed: int, truth: Truth | None, node: Any, shared: Shared) -> FramePerception:
    """The truth about camera frames: ids come with the frame, or for a node from the simulator's topics."""

    def make() -> FramePerception:
        if node is not None:
            from toolhand.sim.ros.perception import RosSimPerception, topics_of

            return RosSimPerception(topics_of(node), seed)
        given = truth or Truth()
        return SimPerception(given.objects, given.noise, seed)

    return shared.once(perception, make)
