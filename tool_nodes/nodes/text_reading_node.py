"""ROS 2 node `text_reading`: reads the text of a picture, as the service read_text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rclpy.node import Node
from toolhand_interfaces.srv import ReadText
from vision_msgs.msg import BoundingBox2D

from tool_nodes.perception.text import PixelTextReader
from tool_nodes.ports import TextReader
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.ros import parameters
from tool_nodes.ros.messages import image_to_rgb, rgb_to_image
from tool_nodes.ros.spinning import run_node
from tool_nodes.ros.status import answering, success
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.tools.drawing import draw_boxes
from tool_nodes.types import TextSpan


class _TruthElsewhere:
    """Stands for the backend `sim`: the truth about a picture's texts stays in the simulator's process."""

    backend = "sim"

    def read(self, picture: SessionImage) -> list[TextSpan]:
        raise ToolError(
            ErrorCode.UNAVAILABLE,
            "The simulator does not publish which texts its pictures show.",
            "Start the node text_reading with perception:=pixels.",
        )


READERS: Mapping[str, Callable[[], TextReader]] = {"sim": _TruthElsewhere, "pixels": PixelTextReader}
"""What the parameter `perception` may name."""


class TextReadingNode(Node):
    """Serves a TextReader; it has no memory. Parameter: `perception`."""

    def __init__(self) -> None:
        super().__init__("text_reading")
        name = parameters.choice(self, "perception", "sim", list(READERS), "What reads the pictures")
        self._reader = READERS[name]()
        self.create_service(ReadText, "read_text", self._on_read)

    def _on_read(self, request: Any, response: Any) -> Any:
        with answering(self, response, "read_text"):
            rgb = image_to_rgb(request.image)
            spans = self._reader.read(SessionImage(rgb))
            response.texts = [span.text for span in spans]
            response.boxes = [_box(span) for span in spans]
            response.scores = [float(span.score) for span in spans]
            boxes = [tuple(round(value) for value in span.box) for span in spans]
            response.visualization = rgb_to_image(draw_boxes(rgb, boxes), request.image.header)  # type: ignore[arg-type]
            response.status = success(f"Read {len(spans)} text(s).", self._reader.backend)
        return response


def _box(span: TextSpan) -> BoundingBox2D:
    left, top, right, bottom = span.box
    message = BoundingBox2D(size_x=float(right - left), size_y=float(bottom - top))
    message.center.position.x = (left + right - 1) / 2.0
    message.center.position.y = (top + bottom - 1) / 2.0
    return message


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(TextReadingNode, args)


if __name__ == "__main__":
    main()
