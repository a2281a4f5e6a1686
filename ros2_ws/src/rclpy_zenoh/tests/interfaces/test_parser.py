"""Definitions are read as rosidl reads them, and mistakes in them are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from rclpy_zenoh.interfaces import InterfaceError
from rclpy_zenoh.interfaces.catalogue import Catalogue
from rclpy_zenoh.interfaces.definitions import FieldType, Shape
from rclpy_zenoh.interfaces.parser import parse_interface, parse_type
from rclpy_zenoh.interfaces.registry import Registry


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int8", FieldType("int8")),
        ("string<=8", FieldType("string", string_capacity=8)),
        ("wstring[]", FieldType("wstring", Shape.SEQUENCE)),
        ("string<=8[<=3]", FieldType("string", Shape.BOUNDED, 3, 8)),
        ("float64[9]", FieldType("float64", Shape.ARRAY, 9)),
        ("Thing[2]", FieldType("pkg/msg/Thing", Shape.ARRAY, 2)),
        ("geometry_msgs/Pose", FieldType("geometry_msgs/msg/Pose")),
        ("geometry_msgs/msg/Pose[]", FieldType("geometry_msgs/msg/Pose", Shape.SEQUENCE)),
    ],
)
def test_types_are_read_with_their_bounds(text: str, expected: FieldType) -> None:
    assert parse_type(text, "pkg") == expected


def test_comments_may_hold_quotes_and_values_may_hold_hashes() -> None:
    message = parse_interface("pkg/msg/A", "string s \"a # b\"  # it's \"fine\nstring T='x=1'#c\n# int8 no\n")[
        "pkg/msg/A"
    ]
    assert [(field.name, field.default) for field in message.fields] == [("s", "a # b")]
    assert [(constant.name, constant.value) for constant in message.constants] == [("T", "x=1")]


def test_constants_take_every_notation_of_numbers() -> None:
    text = "int32 A = -5\nuint8 B=0x1F\nfloat32 C=1e3\nbool D=True\nbyte E=7\nchar F=65\nstring G=plain words\n"
    constants = parse_interface("pkg/msg/A", text)["pkg/msg/A"].constants
    assert [constant.value for constant in constants] == [-5, 31, 1000.0, True, b"\x07", 65, "plain words"]


def test_an_action_is_made_of_seven_messages_and_two_services() -> None:
    names = set(parse_interface("pkg/action/Go", "int8 a\n---\nint8 b\n---\nint8 c\n"))
    parts = ["_Goal", "_Result", "_Feedback", "_FeedbackMessage", "_SendGoal", "_GetResult"]
    halves = [f"{service}_{half}" for service in parts[-2:] for half in ("Request", "Response", "Event")]
    assert names == {f"pkg/action/Go{part}" for part in ["", *parts, *halves]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("int8", "expected 'type name'"),
        ("int9 a", "'int9' is neither a primitive type .* nor a message name"),
        ("int8 A", "must be lower case"),
        ("int8 a__b", "single underscores"),
        ("int8 a_", "single underscores"),
        ("int8 a=1", "must be upper case"),
        ("int8[] A=1", "be no array"),
        ("int8 A=300", "a int8 is an integer from -128 to 127"),
        ("uint8 a -1", "from 0 to 255"),
        ("int8 a 1.5", "from -128 to 127"),
        ("float32 a one", "'one' is no float32"),
        ("bool a maybe", "true, false, 1 or 0"),
        ('string a "open', "quote is not closed"),
        ('string<=2 a "abc"', "longer than 2"),
        ("int8[0] a", "at least 1"),
        ("string<=0 a", "at least 1"),
        ("int8<=5 a", "only string and wstring can be bounded"),
        ("int8[2] a [1]", "has 1 values, the field holds 2"),
        ("int8[] a 1", r"as \[a, b, ...\]"),
        ("Thing a 1", "cannot have a default"),
        ("int8 a\nint8 a", "'a' is defined twice"),
        ("int8 a\n---\nint8 b", "has 0 line"),
        ("int8 a " + "(" * 500, "is no int8"),
    ],
)
def test_a_mistake_in_a_definition_is_named(text: str, reason: str) -> None:
    with pytest.raises(InterfaceError, match=reason):
        parse_interface("pkg/msg/A", text)


def test_a_message_that_contains_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loops" / "msg").mkdir(parents=True)
    (tmp_path / "loops" / "msg" / "Egg.msg").write_text("Hen hen\n")
    (tmp_path / "loops" / "msg" / "Hen.msg").write_text("Egg[] eggs\n")
    with pytest.raises(InterfaceError, match="contains itself: loops/msg/Egg -> loops/msg/Hen -> loops/msg/Egg"):
        Catalogue(Registry("jazzy", (tmp_path / "loops",))).get("loops/msg/Egg")
