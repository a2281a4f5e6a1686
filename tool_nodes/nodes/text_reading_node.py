"""ROS 2 node `text_reading`: reads the text of an image, as the service read_text."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from toolhand_interfaces.srv import ReadText

from toolhand.tool_nodes.drawing import draw_boxes
from toolhand.tool_nodes.ports import TextReader
from toolhand.tool_nodes.ros.backends import load_backends
from toolhand.tool_nodes.ros.messages import box_to_message, image_to_rgb, rgb_to_image
from toolhand.tool_nodes.ros.spinning import run_node
from toolhand.tool_nodes.ros.status import answering, success
from toolhand.tool_nodes.toolbox.images import SessionImage


class TextReadingNode(Node):
    """Serves a TextReader. Parameters: `perception`, `reader`, `seed`."""

    def __init__(self) -> None:
        super().__init__("text_reading")
        load_backends(self, self._use, "reader")
        self.create_service(ReadText, "read_text", self._on_read)

    def _use(self, reader: TextReader) -> None:
        self._reader = reader

    def _on_read(self, request: Any, response: Any) -> Any:
        with answering(self, response, "read_text"):
            rgb = image_to_rgb(request.image)
            answer = self._reader.read(SessionImage(rgb))
            spans = answer.value
            response.texts = [span.text for span in spans]
            response.boxes = [box_to_message(*span.box) for span in spans]
            response.scores = [float(span.score) for span in spans]
            response.kinds = [span.kind for span in spans]
            response.status = success("" if request.data_only else f"Read {len(spans)} text(s).", answer.backend)
            if not request.data_only:
                boxes = [tuple(round(value) for value in span.box) for span in spans]
                drawn = draw_boxes(rgb, boxes)  # type: ignore[arg-type]
                response.visualization = rgb_to_image(drawn, request.image.header)
        return response


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(TextReadingNode, args)


if __name__ == "__main__":
    main()
