"""ROS 2 node `segmentation`: outlines what is pointed at, as the service segment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from toolhand_interfaces.srv import Segment

from tool_nodes.ports import Pointer, Segmenter
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.ros.backends import Perception, load_perception
from tool_nodes.ros.frame_memory import FrameMemory
from tool_nodes.ros.messages import header_of, mask_to_image, rgb_to_image
from tool_nodes.ros.spinning import run_node
from tool_nodes.ros.status import answering, checked, success, use_tool, visualization
from tool_nodes.toolbox.arguments import TextArgument
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.toolbox import Session, Toolbox
from tool_nodes.tools.drawing import draw_mask
from tool_nodes.tools.spacetools.segmentation import Sam2Tools
from tool_nodes.types import Frame, Segmentation


class SegmentationNode(Node):
    """Serves a Segmenter; of a box its middle is the prompt, of a text what it points at first.

    Parameters: `perception`, `seed`.
    """

    def __init__(self) -> None:
        super().__init__("segmentation")
        load_perception(self, self._use)
        group = MutuallyExclusiveCallbackGroup()  # the default group stays free for parameters
        self.create_service(Segment, "segment", self._on_segment, callback_group=group)

    def _use(self, perception: Perception) -> None:
        self._perception = perception
        self._frames = FrameMemory()

    def _on_segment(self, request: Any, response: Any) -> Any:
        with answering(self, response, "segment"):
            frame = self._frames.take(request)
            header = header_of(frame)
            if request.everything:
                found = self._perception.segment_all(frame)
                everything = np.any([one.mask for one in found], axis=0) if found else np.zeros(frame.depth.shape, bool)
                response.visualization = rgb_to_image(draw_mask(frame.rgb, everything), header)
                response.status = success(f"Segmented {len(found)} object(s).", self._perception.backend)
            else:
                session = Session(images=[SessionImage(frame.rgb, frame)])
                arguments = {"points": _prompts(request, frame, self._perception), "image_index": 0}
                segmenter = _Remembering(self._perception)
                result = use_tool(Toolbox([Sam2Tools(segmenter)]), "sam2.segment_from_points", arguments, session)
                found = segmenter.found
                response.visualization = visualization(result, header)
                response.status = success(result.text, result.backend)
            response.masks = [mask_to_image(one.mask, header) for one in found]
            response.scores = [float(one.score) for one in found]
        return response


def _prompts(request: Any, frame: Frame, pointer: Pointer) -> list[list[float]]:
    """Normalized [x, y] of everything that the request points at."""
    width, height = frame.size
    prompts = [[point.x, point.y] for point in request.points]
    for box in request.boxes:
        centre = box.center.position
        prompts.append([(centre.x + 0.5) / width, (centre.y + 0.5) / height])
    if not prompts and request.text:
        prompts.append(list(pointer.points(frame, checked(TextArgument(), request.text, "segment: text"))[0]))
    if not prompts:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "segment: give points, boxes or a text; all are empty.")
    return prompts


class _Remembering:
    """A Segmenter that keeps its last answer, of which the tool shows only the best mask."""

    def __init__(self, segmenter: Segmenter) -> None:
        self._segmenter = segmenter
        self.backend = segmenter.backend
        self.found: list[Segmentation] = []

    def segment(self, frame: Frame, points: Sequence[tuple[float, float]]) -> list[Segmentation]:
        """See ports.Segmenter."""
        self.found = self._segmenter.segment(frame, points)
        return self.found

    def segment_all(self, frame: Frame) -> list[Segmentation]:
        """See ports.Segmenter."""
        return self._segmenter.segment_all(frame)


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(SegmentationNode, args)


if __name__ == "__main__":
    main()
