"""ROS 2 node `pointing`: finds objects by words, as the services detect_points and detect_boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from std_msgs.msg import Header
from toolhand_interfaces.srv import DetectBoxes, DetectPoints
from vision_msgs.msg import Detection2D, ObjectHypothesisWithPose, Point2D

from toolhand.tool_nodes.drawing import draw_boxes
from toolhand.tool_nodes.ports import Detector, Pointer
from toolhand.tool_nodes.ros.backends import load_backends
from toolhand.tool_nodes.ros.frame_memory import FrameMemory
from toolhand.tool_nodes.ros.images import header_for, take_image
from toolhand.tool_nodes.ros.messages import box_to_message, rgb_to_image
from toolhand.tool_nodes.ros.spinning import run_node
from toolhand.tool_nodes.ros.status import answering, checked, success, use_tool, visualization
from toolhand.tool_nodes.toolbox.arguments import TextArgument
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.spacetools.pointing import RoboReferTools
from toolhand.tool_nodes.types import Detection

_NO_POINT = (math.nan, math.nan)


class PointingNode(Node):
    """Serves a Pointer and a Detector. Parameters: `perception`, `pointer`, `detector`, `seed`."""

    def __init__(self) -> None:
        super().__init__("pointing")
        load_backends(self, self._use, "pointer", "detector")
        group = MutuallyExclusiveCallbackGroup()  # the default group stays free for parameters
        self.create_service(DetectPoints, "detect_points", self._on_points, callback_group=group)
        self.create_service(DetectBoxes, "detect_boxes", self._on_boxes, callback_group=group)

    def _use(self, pointer: Pointer, detector: Detector) -> None:
        self._detector = detector
        self._toolbox = Toolbox([RoboReferTools(pointer)])
        self._frames = FrameMemory()

    def _on_points(self, request: Any, response: Any) -> Any:
        with answering(self, response, "detect_points"):
            image = take_image(request, self._frames)
            tool = "roborefer.detect_one" if request.only_one else "roborefer.detect_all"
            session = Session(images=[image])
            result = use_tool(self._toolbox, tool, {"obj_name": request.object_name, "image_index": 0}, session)
            (found,) = result.variables.values()
            response.points = [Point2D(x=float(x), y=float(y)) for x, y in ([found] if request.only_one else found)]
            response.visualization = visualization(result, header_for(image))
            response.status = success(result.text, result.backend)
        return response

    def _on_boxes(self, request: Any, response: Any) -> Any:
        with answering(self, response, "detect_boxes"):
            image = take_image(request, self._frames)
            header = header_for(image)
            text = checked(TextArgument(), request.text, "detect_boxes: text")
            answer = self._detector.detect(image, text)
            found = answer.value
            response.detections.header = header
            response.detections.detections = [_message(detection, header) for detection in found]
            response.points = [Point2D(x=x, y=y) for x, y in (detection.point or _NO_POINT for detection in found)]
            response.visualization = rgb_to_image(draw_boxes(image.rgb, [detection.box for detection in found]), header)
            response.status = success(_described(found, text), answer.backend)
        return response


def _described(found: Sequence[Detection], text: str) -> str:
    """What a language model reads about detections."""
    shown = ", ".join(str(list(detection.box)) for detection in found)
    return f"Detected {len(found)} box(es) of '{text}' as [left, top, right, bottom] in pixels: {shown}"


def _message(detection: Detection, header: Header) -> Detection2D:
    message = Detection2D(header=header, bbox=box_to_message(*detection.box))
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
