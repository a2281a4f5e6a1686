"""YAML to messages: what is understood, what is refused and how that is said."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rclpy_zenoh.cli.errors import UsageError
from rclpy_zenoh.cli.render import to_yaml
from rclpy_zenoh.cli.values import fill, parse_yaml
from rclpy_zenoh.interfaces import get_class, registry

MESSAGES = [name for name in registry().names() if name.split("/")[1] == "msg"]


def filled(name: str, text: str) -> Any:
    message = get_class(name)()
    fill(message, parse_yaml(text, "message"), name=name)
    return message


def complaint(name: str, text: str) -> str:
    with pytest.raises(UsageError) as error:
        filled(name, text)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_every_message_that_is_printed_can_be_read_again() -> None:
    for name in MESSAGES:
        cls = get_class(name)
        assert filled(name, to_yaml(cls())) == cls(), name


def test_nested_fields_lists_of_messages_and_arrays_are_filled() -> None:
    message = filled(
        "geometry_msgs/msg/PolygonStamped",
        "{header: {frame_id: map}, polygon: {points: [{x: 1, y: 2.5}, {z: -3}]}}",
    )
    assert message.header.frame_id == "map"
    assert [(p.x, p.y, p.z) for p in message.polygon.points] == [(1.0, 2.5, 0.0), (0.0, 0.0, -3.0)]
    assert filled("sensor_msgs/msg/JointState", "position: [1, 2.5]").position.tolist() == [1.0, 2.5]
    assert filled("sensor_msgs/msg/Imu", f"orientation_covariance: {[0.5] * 9}").orientation_covariance[8] == 0.5


def test_an_empty_text_sets_nothing() -> None:
    assert (
        filled("std_msgs/msg/String", "") == filled("std_msgs/msg/String", "{}") == get_class("std_msgs/msg/String")()
    )


@pytest.mark.parametrize(("text", "value"), [("5", "5"), ("1.5", "1.5"), ("yes", "True"), ("2024-01-01", "2024-01-01")])
def test_a_text_field_takes_any_scalar_as_ros2_does(text: str, value: str) -> None:
    assert filled("std_msgs/msg/String", f"data: {text}").data == value


@pytest.mark.parametrize(("text", "value"), [("3", 3.0), ("1e-3", 0.001), (".inf", math.inf), ("-0.5", -0.5)])
def test_a_number_field_takes_whole_numbers_and_exponents_without_a_dot(text: str, value: float) -> None:
    assert filled("std_msgs/msg/Float64", f"data: {text}").data == value


@given(st.binary(max_size=32).filter(lambda data: b"\x85" not in data))  # which PyYAML takes for a line end
def test_bytes_come_back_from_what_echo_prints(data: bytes) -> None:
    message = get_class("rcl_interfaces/msg/ParameterValue")(byte_array_value=[bytes([b]) for b in data])
    assert filled("rcl_interfaces/msg/ParameterValue", to_yaml(message)) == message


def test_binary_yaml_fills_a_picture() -> None:
    text = yaml.safe_dump({"data": b"\x00\xff"})
    assert filled("sensor_msgs/msg/Image", text).data.tolist() == [0, 255]


def test_an_unknown_field_is_named_with_the_ones_that_there_are() -> None:
    assert complaint("geometry_msgs/msg/PoseStamped", "pose: {position: {w: 1}}") == (
        "geometry_msgs/msg/Point has no field 'w' (in 'pose.position'); its fields are: x, y, z; "
        "see `interface show geometry_msgs/msg/PoseStamped`."
    )
    assert "its fields are: none;" in complaint("std_msgs/msg/Empty", "data: 1")


@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("std_msgs/msg/Int32", "data: 1.5", ("'data' (int32)", "must be a whole number", "float 1.5")),
        ("std_msgs/msg/Int32", "data: true", ("must be a whole number",)),
        ("std_msgs/msg/UInt8", "data: 256", ("'data' (uint8)", "0 to 255")),
        ("std_msgs/msg/Bool", "data: 'false'", ("must be true or false", "str 'false'")),
        ("std_msgs/msg/Float32", "data: far", ("must be a number",)),
        ("std_msgs/msg/Float32", "data: 1e39", ("'data' (float)",)),
        ("std_msgs/msg/Float64", "data: 1" + "0" * 400, ("fits 64 bits",)),
        ("std_msgs/msg/String", "data:", ("must be a text", "NoneType")),
        ("std_msgs/msg/Byte", "data: 300", ("0 to 255",)),
        ("geometry_msgs/msg/Polygon", "points: 3", ("'points'", "must be a list", "int 3")),
        ("geometry_msgs/msg/Polygon", "points: [{x: 1}, {x: a}]", ("'points[1].x'", "must be a number")),
        ("geometry_msgs/msg/Pose", "position: [1, 2, 3]", ("'position' must be a mapping", "list [1, 2, 3]")),
        ("sensor_msgs/msg/CameraInfo", "k: [1, 2]", ("'k' (double[9])", "exactly 9")),
        ("std_msgs/msg/String", "hello", ("The text must be a mapping", "std_msgs/msg/String", "str 'hello'")),
    ],
)
def test_a_wrong_value_is_answered_with_the_field_and_what_it_takes(
    name: str, text: str, parts: tuple[str, ...]
) -> None:
    sentence = complaint(name, text)
    assert sentence.endswith(f"see `interface show {name}`.")
    for part in parts:
        assert part in sentence


@pytest.mark.parametrize("text", ["{a: 1", "a: b: c", "\t- x", "[" * 600, "data: !!python/object:os.system x"])
def test_what_is_no_yaml_is_said_in_one_sentence(text: str) -> None:
    assert complaint("std_msgs/msg/String", text).startswith("The message is not YAML: ")


def test_auto_and_now_become_the_time_of_sending_where_that_is_wanted() -> None:
    message = get_class("tf2_msgs/msg/TFMessage")()
    values = {"transforms": [{"header": "auto"}, {"header": {"stamp": "now", "frame_id": "map"}}]}
    stampers = fill(message, values, name="tf2_msgs/msg/TFMessage", stamps=True)
    for put in stampers:
        put(get_class("builtin_interfaces/msg/Time")(sec=7))
    assert [t.header.stamp.sec for t in message.transforms] == [7, 7]
    assert message.transforms[1].header.frame_id == "map"
    assert "'stamp' must be a mapping" in complaint("std_msgs/msg/Header", "stamp: now")
