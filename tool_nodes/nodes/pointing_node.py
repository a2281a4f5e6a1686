"""ROS 2 node `pointing`: finds things by words, as the services detect_points and detect_boxes."""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from std_msgs.msg import Header
from toolhand_interfaces.srv import DetectBoxes, DetectPoints
from vision_msgs.msg import Detection2D, ObjectHypothesisWithPose, Point2D

from tool_nodes.perception.detection import Detection, describe_detections, detect_boxes
from tool_nodes.ros.backends import Perception, load_perception
from tool_nodes.ros.frame_memory import FrameMemory
from tool_nodes.ros.messages import header_of, rgb_to_image
from tool_nodes.ros.spinning import run_node
from tool_nodes.ros.status import answering, checked, success, use_tool, visualization
from tool_nodes.toolbox.arguments import TextArgument
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.toolbox import Session, Toolbox
from tool_nodes.tools.drawing import draw_boxes
from tool_nodes.tools.spacetools.pointing import RoboReferTools


class PointingNode(Node):
    """Serves a Pointer. Parameters: `perception`, `seed`."""

    def __init__(self) -> None:
        super().__init__("pointing")
        load_perception(self, self._use)
        group = MutuallyExclusiveCallbackGroup()  # the default group stays free for parameters
        self.create_service(DetectPoints, "detect_points", self._on_points, callback_group=group)
        self.create_service(DetectBoxes, "detect_boxes", self._on_boxes, callback_group=group)

    def _use(self, perception: Perception) -> None:
        self._perception = perception
        self._toolbox = Toolbox([RoboReferTools(perception)])
        self._frames = FrameMemory()

    def _on_points(self, request: Any, response: Any) -> Any:
        with answering(self, response, "detect_points"):
            frame = self._frames.take(request)
            tool = "roborefer.detect_one" if request.only_one else "roborefer.detect_all"
            session = Session(images=[SessionImage(frame.rgb, frame)])
            result = use_tool(self._toolbox, tool, {"obj_name": request.object_name, "image_index": 0}, session)
            (found,) = result.variables.values()
            response.points = [Point2D(x=float(x), y=float(y)) for x, y in ([found] if request.only_one else found)]
            response.visualization = visualization(result, header_of(frame))
            response.status = success(result.text, result.backend)
        return response

    def _on_boxes(self, request: Any, response: Any) -> Any:
        with answering(self, response, "detect_boxes"):
            frame = self._frames.take(request)
            header = header_of(frame)
            text = checked(TextArgument(), request.text, "detect_boxes: text")
            found = detect_boxes(self._perception, self._perception, frame, text)
            response.detections.header = header
            response.detections.detections = [_message(one, header) for one in found]
            response.visualization = rgb_to_image(draw_boxes(frame.rgb, [one.box for one in found]), header)
            response.status = success(describe_detections(found, text), self._perception.backend)
        return response


def _message(detection: Detection, header: Header) -> Detection2D:
    left, top, right, bottom = detection.box
    message = Detection2D(header=header)
    message.bbox.center.position.x = (left + right - 1) / 2.0
    message.bbox.center.position.y = (top + bottom - 1) / 2.0
    message.bbox.size_x = float(right - left)
    message.bbox.size_y = float(bottom - top)
    hypothesis = ObjectHypothesisWithPose()
    hypothesis.hypothesis.class_id = detection.label
    hypothesis.hypothesis.score = float(detection.score)
    message.results = [hypothesis]
    return message


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(PointingNode, args)


if __name__ == "__main__":
    main()
