"""SpaceTools' suite: every tool of the paper over the ports that stand behind them."""

from __future__ import annotations

from toolhand.tool_nodes.ports import CodeRunner, DepthEstimator, Pointer, Segmenter
from toolhand.tool_nodes.sandbox.executor import CodeTools
from toolhand.tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools
from toolhand.tool_nodes.tools.spacetools.depth import DepthTools
from toolhand.tool_nodes.tools.spacetools.grasping import GraspAlternatives
from toolhand.tool_nodes.tools.spacetools.pointing import RoboReferTools, VlmTools
from toolhand.tool_nodes.tools.spacetools.robot import CameraTools
from toolhand.tool_nodes.tools.spacetools.segmentation import Sam2Tools
from toolhand.tool_nodes.tools.spacetools.vision_ops import VisionOps


def spacetools(
    pointer: Pointer,
    second_pointer: Pointer | None,
    segmenter: Segmenter,
    depth: DepthEstimator,
    grasps: GraspAlternatives | None,
    boxes: BoundingBoxTools | None,
    robot: CameraTools | None,
    code: CodeRunner | None,
) -> list[object]:
    """The providers of the suite; the arguments are those of `toolhand.tool_nodes.tools.suites.Backends`."""
    seeing = [RoboReferTools(pointer), VlmTools(second_pointer or pointer), Sam2Tools(segmenter), DepthTools(depth)]
    others = (grasps, boxes, VisionOps(), robot, None if code is None else CodeTools(code))
    return [*seeing, *(provider for provider in others if provider is not None)]
