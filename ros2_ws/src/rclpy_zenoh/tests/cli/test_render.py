"""Messages as YAML: the exact text that ros2 prints."""

from __future__ import annotations

import numpy as np
import pytest

from rclpy_zenoh.cli.render import FULL, Style, select, to_text, to_yaml
from rclpy_zenoh.interfaces import get_class


def test_a_message_is_yaml_in_the_order_of_its_fields() -> None:
    message = get_class("geometry_msgs/msg/PoseStamped")()
    message.header.frame_id = "base_link"
    message.pose.position.x = 1.5
    assert to_yaml(message) == (
        "header:\n  stamp:\n    sec: 0\n    nanosec: 0\n  frame_id: base_link\n"
        "pose:\n  position:\n    x: 1.5\n    y: 0.0\n    z: 0.0\n"
        "  orientation:\n    x: 0.0\n    y: 0.0\n    z: 0.0\n    w: 1.0\n"
    )


def test_texts_that_yaml_could_misread_are_quoted_and_others_stay_as_they_are() -> None:
    cls = get_class("std_msgs/msg/String")
    assert to_yaml(cls(data="")) == "data: ''\n"
    assert to_yaml(cls(data="true")) == "data: 'true'\n"
    assert to_yaml(cls(data="größer 1 µm")) == "data: größer 1 µm\n"
    assert to_yaml(cls(data="x " * 300)) == f"data: '{'x ' * 300}'\n"


def test_long_arrays_and_texts_are_cut_after_128_like_ros2_does() -> None:
    style = Style(truncate=128)
    image = get_class("sensor_msgs/msg/Image")(data=np.zeros(129, np.uint8))
    lines = to_yaml(image, style).splitlines()
    assert lines[lines.index("data:") :] == ["data:", *["- 0"] * 128, "- '...'"]
    exact = get_class("sensor_msgs/msg/Image")(data=np.zeros(128, np.uint8))
    assert "..." not in to_yaml(exact, style)
    assert to_yaml(image).count("- 0\n") == 129
    text = get_class("std_msgs/msg/String")(data="a" * 129)
    assert to_yaml(text, style) == f"data: {'a' * 128}...\n"


@pytest.mark.parametrize(
    ("name", "field", "words"),
    [
        ("sensor_msgs/msg/Image", "data", "<sequence type: uint8, length: 0>"),
        ("sensor_msgs/msg/CameraInfo", "k", "<array type: double[9]>"),
        ("geometry_msgs/msg/Polygon", "points", "<sequence type: geometry_msgs/msg/Point32, length: 0>"),
        ("shape_msgs/msg/SolidPrimitive", "dimensions", "<sequence type: double[3], length: 0>"),
        ("sensor_msgs/msg/JointState", "name", "<sequence type: string, length: 0>"),
    ],
)
def test_arrays_can_be_left_out(name: str, field: str, words: str) -> None:
    assert f"{field}: '{words}'\n" in to_yaml(get_class(name)(), Style(arrays=False))


def test_texts_can_be_left_out_and_everything_can_be_one_line() -> None:
    message = get_class("std_msgs/msg/String")(data="hello")
    assert to_yaml(message, Style(texts=False)) == "data: '<string length: <5>>'\n"
    assert to_yaml(message, Style(flow=True)) == "{data: hello}\n"
    assert to_yaml(get_class("std_msgs/msg/Empty")()) == "{}\n"


def test_bytes_are_printed_as_characters() -> None:
    assert to_yaml(get_class("std_msgs/msg/Byte")(data=b"A")) == "data: A\n"


def test_a_field_of_a_field_is_selected() -> None:
    message = get_class("geometry_msgs/msg/PoseStamped")()
    assert to_text(select(message, ["pose", "orientation", "w"]), FULL) == "1.0\n"
    assert to_text(select(message, ["pose", "position"]), FULL) == "x: 0.0\ny: 0.0\nz: 0.0\n"
    joints = get_class("sensor_msgs/msg/JointState")(position=[1.0, 2.0])
    assert to_text(select(joints, ["position"]), FULL) == "[1.0, 2.0]\n"


def test_a_field_that_is_not_there_is_answered_with_those_that_are() -> None:
    message = get_class("geometry_msgs/msg/PoseStamped")()
    with pytest.raises(LookupError, match=r"no field 'q' in 'pose'; fields there are: position, orientation\."):
        select(message, ["pose", "q"])
    with pytest.raises(LookupError, match=r"fields there are: none\."):
        select(message, ["header", "frame_id", "length"])
