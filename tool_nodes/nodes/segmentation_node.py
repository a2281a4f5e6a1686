"""ROS 2 node `segmentation`: outlines what is pointed at, framed or named, as the service segment."""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from toolhand_interfaces.srv import Segment

from toolhand.tool_nodes.drawing import draw_mask
from toolhand.tool_nodes.perception.prompts import segment_by
from toolhand.tool_nodes.ports import Answer, Segmenter
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.ros.backends import load_backends
from toolhand.tool_nodes.ros.frame_memory import FrameMemory
from toolhand.tool_nodes.ros.images import header_for, take_image
from toolhand.tool_nodes.ros.messages import mask_to_image, message_to_box, rgb_to_image
from toolhand.tool_nodes.ros.spinning import run_node
from toolhand.tool_nodes.ros.status import answering, checked, success, use_tool, visualization
from toolhand.tool_nodes.toolbox.arguments import TextArgument
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.spacetools.segmentation import Sam2Tools
from toolhand.tool_nodes.types import BoxPrompt, Everything, Prompt, Segmentation, TextPrompt


class SegmentationNode(Node):
    """Serves a Segmenter. Parameters: `perception`, `segmenter`, `detector`, `seed`.

    The detector is for words that the segmenter does not take itself.
    """

    def __init__(self) -> None:
        super().__init__("segmentation")
        load_backends(self, self._use, "segmenter", others=("detector",))
        group = MutuallyExclusiveCallbackGroup()  # the default group stays free for parameters
        self.create_service(Segment, "segment", self._on_segment, callback_group=group)

    def _use(self, segmenter: Segmenter) -> None:
        self._segmenter = segmenter
        self._frames = FrameMemory()

    def _on_segment(self, request: Any, response: Any) -> Any:
        with answering(self, response, "segment"):
            image = take_image(request, self._frames)
            header = header_for(image)
            if _asked(request) == ["points"]:
                segmenter = _Remembering(self._segmenter)
                arguments = {"points": [[point.x, point.y] for point in request.points], "image_index": 0}
                toolbox, session = Toolbox([Sam2Tools(segmenter)]), Session(images=[image])
                result = use_tool(toolbox, "sam2.segment_from_points", arguments, session)
                found = segmenter.found
                response.visualization = visualization(result, header)
                response.status = success(result.text, result.backend)
            else:
                found = []
                for prompt in _prompts(request, image):
                    answer = segment_by(self._segmenter, image, prompt)
                    found += answer.value[: 1 if isinstance(prompt, BoxPrompt) else None]
                shown = (
                    np.any([segmentation.mask for segmentation in found], axis=0)
                    if found
                    else np.zeros(image.rgb.shape[:2], bool)
                )
                response.visualization = rgb_to_image(draw_mask(image.rgb, shown), header)
                response.status = success(f"Segmented {len(found)} object(s).", answer.backend)
            response.masks = [mask_to_image(segmentation.mask, header) for segmentation in found]
            response.scores = [float(segmentation.score) for segmentation in found]
        return response


def _asked(request: Any) -> list[str]:
    """What the request holds. Raises ToolError INVALID_ARGUMENT unless that is one object."""
    asked = [name for name in ("points", "boxes", "text", "everything") if getattr(request, name)]
    if len(asked) != 1:
        what = "all are empty" if not asked else f"got {' and '.join(asked)}"
        raise invalid(f"segment: give points, boxes, a text or everything; {what}.")
    return asked


def _prompts(request: Any, image: SessionImage) -> list[Prompt]:
    if request.everything:
        return [Everything()]
    if request.text:
        return [TextPrompt(checked(TextArgument(), request.text, "segment: text"))]
    return [_box(message, image.size) for message in request.boxes]


def _box(message: Any, size: tuple[int, int]) -> BoxPrompt:
    """The part of a box that lies in an image of size (width, height). Raises ToolError INVALID_ARGUMENT for none."""
    box = np.array(message_to_box(message))
    if not np.isfinite(box).all():
        raise invalid("segment: a box must hold finite numbers.")
    left, top, right, bottom = (float(side) for side in np.clip(box, 0.0, [*size, *size]))
    if not (left < right and top < bottom):
        raise invalid("segment: a box is empty, or lies outside the picture.")
    return BoxPrompt((left, top, right, bottom))


class _Remembering:
    """A Segmenter that keeps its last answer, of which the tool shows only the best mask."""

    def __init__(self, segmenter: Segmenter) -> None:
        self._segmenter = segmenter
        self.backend = segmenter.backend
        self.takes = segmenter.takes
        self.found: list[Segmentation] = []

    def segment(self, image: SessionImage, prompt: Prompt) -> Answer[list[Segmentation]]:
        """See ports.Segmenter."""
        answer = segment_by(self._segmenter, image, prompt)
        self.found = answer.value
        return answer


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(SegmentationNode, args)


if __name__ == "__main__":
    main()
