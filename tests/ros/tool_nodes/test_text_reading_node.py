"""The node text_reading, as a program and a service."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from std_msgs.msg import Header
from toolhand_interfaces.srv import ReadText

from sim.drawings.builder import PictureBuilder
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.ros.calling import Deadlines, Service
from tool_nodes.ros.messages import image_to_rgb, rgb_to_image

DEADLINES = Deadlines(availability_s=60.0, response_s=60.0)


@pytest.fixture(scope="module")
def read(start: Any, make_node: Any) -> Any:
    """Asks the service of a node that was started with a perception."""
    caller = make_node("reader")
    services = {}
    for name in ("sim", "pixels"):
        arguments = ("-p", f"perception:={name}", "-r", f"__ns:=/{name}")
        start("tool_nodes.nodes.text_reading_node", "--ros-args", *arguments)
        services[name] = Service(caller, ReadText, f"/{name}/read_text", DEADLINES)
    return lambda name, rgb: services[name](ReadText.Request(image=rgb_to_image(rgb, Header(frame_id="camera"))))


def test_texts_come_with_boxes_scores_and_a_picture(read: Any) -> None:
    picture = PictureBuilder(400, 140)
    left, top, right, bottom = picture.text("Harbour 27", (40, 60), 30)
    picture.text("North Gate", (60, 120), 24)
    rgb = picture.frame().rgb
    answer = read("pixels", rgb)
    assert list(answer.texts) == ["Harbour 27", "North Gate"]
    box = answer.boxes[0]
    assert box.center.position.x == pytest.approx((left + right - 1) / 2, abs=6.0)
    assert box.center.position.y == pytest.approx((top + bottom - 1) / 2, abs=6.0)
    assert (box.size_x, box.size_y) == pytest.approx((right - left, bottom - top), abs=16.0)
    assert all(0.7 < score <= 1.0 for score in answer.scores)
    assert answer.status.backend == "rapidocr"
    assert list(answer.kinds) == ["text", "text"]
    shown = image_to_rgb(answer.visualization)
    assert shown.shape == rgb.shape
    assert not np.array_equal(shown, rgb)
    assert answer.visualization.header.frame_id == "camera"


def test_a_picture_without_text_is_answered_with_nothing(read: Any) -> None:
    answer = read("pixels", np.full((60, 80, 3), 90, np.uint8))
    assert (list(answer.texts), list(answer.boxes), list(answer.scores)) == ([], [], [])
    assert answer.status.success


def test_the_simulators_truth_about_texts_is_not_available_over_ros(read: Any) -> None:
    with pytest.raises(ToolError, match="rapidocr") as caught:
        read("sim", np.zeros((60, 80, 3), np.uint8))
    assert caught.value.code is ErrorCode.PICTURE_UNUSABLE


def test_another_perception_ends_with_one_sentence(start: Any) -> None:
    status, _, err = start("tool_nodes.nodes.text_reading_node", "--ros-args", "-p", "perception:=guess").wait()
    assert status == 2
    assert "pixels or served or sim" in err
    assert err.count("\n") == 1
