"""The perception ports over the services of the perception nodes. Each answer names the backend that gave it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from std_msgs.msg import Header
from toolhand_interfaces.srv import DetectBoxes, DetectPoints, EstimateDepth, ReadText, Segment
from vision_msgs.msg import Point2D

from toolhand.tool_nodes.perception.prompts import ALL_PROMPTS
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.ros.calling import Deadlines, Service
from toolhand.tool_nodes.ros.images import put_image
from toolhand.tool_nodes.ros.messages import box_to_message, image_to_depth, image_to_mask, message_to_box, rgb_to_image
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import (
    BoxPrompt,
    Detection,
    Everything,
    PointPrompt,
    Prompt,
    Segmentation,
    TextPrompt,
    TextSpan,
)


class _Remote:
    backend = ""  # only the answers know


class RemotePointer(_Remote):
    """The Pointer port over the service detect_points.

    Args:
        node: Gets the client.
        deadlines: How long to wait.
    """

    def __init__(self, node: Node, deadlines: Deadlines) -> None:
        self._detect_points = Service(node, DetectPoints, "detect_points", deadlines)

    def point(self, image: SessionImage, text: str) -> Answer[list[tuple[float, float]]]:
        """See ports.Pointer; the points are rounded to three decimals."""
        request = DetectPoints.Request(object_name=text)
        put_image(request, image)
        response = self._detect_points(request)
        return Answer([(point.x, point.y) for point in response.points], response.status.backend)


class RemoteDetector(_Remote):
    """The Detector port over the service detect_boxes; arguments as of `RemotePointer`."""

    def __init__(self, node: Node, deadlines: Deadlines) -> None:
        self._detect_boxes = Service(node, DetectBoxes, "detect_boxes", deadlines)

    def detect(self, image: SessionImage, text: str) -> Answer[list[Detection]]:
        """See ports.Detector."""
        request = DetectBoxes.Request(text=text)
        put_image(request, image)
        response = self._detect_boxes(request)
        pairs = zip(response.detections.detections, response.points, strict=True)
        return Answer([_detection(found, point) for found, point in pairs], response.status.backend)


class RemoteSegmenter(_Remote):
    """The Segmenter port over the service segment; arguments as of `RemotePointer`."""

    takes = ALL_PROMPTS

    def __init__(self, node: Node, deadlines: Deadlines) -> None:
        self._segment = Service(node, Segment, "segment", deadlines)

    def segment(self, image: SessionImage, prompt: Prompt) -> Answer[list[Segmentation]]:
        """See ports.Segmenter."""
        request = _request(prompt)
        put_image(request, image)
        answer: Answer[list[Segmentation]] = self._segment(request, _segmentations)
        return answer


class RemoteDepthEstimator(_Remote):
    """The DepthEstimator port over the service estimate_depth; arguments as of `RemotePointer`."""

    def __init__(self, node: Node, deadlines: Deadlines) -> None:
        self._estimate_depth = Service(node, EstimateDepth, "estimate_depth", deadlines)

    def estimate(self, image: SessionImage) -> Answer[tuple[NDArray[np.float32], float]]:
        """See ports.DepthEstimator."""
        request = EstimateDepth.Request(data_only=True)
        put_image(request, image)
        answer: Answer[tuple[NDArray[np.float32], float]] = self._estimate_depth(request, _depth)
        return answer


class RemoteTextReader(_Remote):
    """The TextReader port over the service read_text; arguments as of `RemotePointer`."""

    def __init__(self, node: Node, deadlines: Deadlines) -> None:
        self._read_text = Service(node, ReadText, "read_text", deadlines)

    def read(self, image: SessionImage) -> Answer[list[TextSpan]]:
        """See ports.TextReader."""
        answer: Answer[list[TextSpan]] = self._read_text(
            ReadText.Request(image=rgb_to_image(image.rgb, Header()), data_only=True), _texts
        )
        return answer


def _request(prompt: Prompt) -> Any:
    match prompt:
        case PointPrompt(points):
            return Segment.Request(points=[Point2D(x=float(x), y=float(y)) for x, y in points])
        case BoxPrompt(box):
            return Segment.Request(boxes=[box_to_message(*box)])
        case TextPrompt(text):
            return Segment.Request(text=text)
        case Everything():
            return Segment.Request(everything=True)


def _detection(found: Any, point: Any) -> Detection:
    left, top, right, bottom = (round(side) for side in message_to_box(found.bbox))
    hypothesis = found.results[0].hypothesis
    known = None if math.isnan(point.x) else (point.x, point.y)
    return Detection((left, top, right, bottom), hypothesis.class_id, hypothesis.score, known)


def _segmentations(response: Any) -> Answer[list[Segmentation]]:
    pairs = zip(response.masks, response.scores, strict=True)
    return Answer([Segmentation(image_to_mask(mask), float(score)) for mask, score in pairs], response.status.backend)


def _depth(response: Any) -> Answer[tuple[NDArray[np.float32], float]]:
    return Answer((image_to_depth(response.depth), response.focal_length), response.status.backend)


def _texts(response: Any) -> Answer[list[TextSpan]]:
    spans = [
        TextSpan(text, message_to_box(box), float(score), kind)
        for text, box, score, kind in zip(response.texts, response.boxes, response.scores, response.kinds, strict=True)
    ]
    return Answer(spans, response.status.backend)
