"""Message classes: what rosidl's and the pip client's have in common.

rosidl checks values only where ROS_PYTHON_CHECK_FIELDS is 1, which conftest.py sets before the classes are imported.
"""

from __future__ import annotations

import pytest
from action_msgs.msg import GoalStatus
from example_interfaces.action import Fibonacci
from example_interfaces.srv import AddTwoInts
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Image, JointState, PointField
from std_msgs.msg import ColorRGBA, Float32, Header, Int8, Int32, String, UInt8, UInt8MultiArray


def test_defaults():
    assert Int32().data == 0
    assert String().data == ""
    assert Quaternion().w == 1.0, "a default in the definition"
    pose = PoseStamped()
    assert pose.header.frame_id == ""
    assert pose.pose.position.x == 0.0
    assert list(JointState().position) == []
    assert list(JointState().name) == []


def test_keywords():
    point = Point(x=1.0, z=3.0)
    assert (point.x, point.y, point.z) == (1.0, 0.0, 3.0)
    assert PoseStamped(header=Header(frame_id="map")).header.frame_id == "map"


def test_an_unknown_keyword_is_an_error():
    with pytest.raises(AssertionError):
        Point(w=1.0)


def test_an_unknown_attribute_is_an_error():
    with pytest.raises(AttributeError):
        Point().w = 1.0
    with pytest.raises(AttributeError):
        Point().w  # noqa: B018


def test_positional_arguments_are_not_taken():
    with pytest.raises(TypeError):
        Point(1.0)


@pytest.mark.parametrize(
    ("message", "field", "value"),
    [
        (Int32(), "data", 1.5),
        (Int32(), "data", "1"),
        (Int32(), "data", 2**31),
        (Int8(), "data", -129),
        (UInt8(), "data", -1),
        (UInt8(), "data", 256),
        (Float32(), "data", "1"),
        (Point(), "x", 1),
        (String(), "data", 5),
        (String(), "data", b"bytes"),
        (PoseStamped(), "pose", Point()),
        (PoseStamped(), "header", None),
        (JointState(), "name", "abc"),
        (JointState(), "name", [1, 2]),
        (JointState(), "position", ["a"]),
        (UInt8MultiArray(), "data", [256]),
    ],
    ids=repr,
)
def test_values_are_checked(message, field, value):
    with pytest.raises(AssertionError):
        setattr(message, field, value)


def test_nested_messages_belong_to_their_message():
    first, second = PoseStamped(), PoseStamped()
    first.pose.position.x = 1.0
    first.header.frame_id = "map"
    assert second == PoseStamped()
    assert first != second


def test_equality():
    assert Point(x=1.0) == Point(x=1.0)
    assert Point(x=1.0) != Point(x=2.0)
    assert Int32() != UInt8()
    assert Int32(data=1) != 1
    assert JointState(name=["a"], position=[1.0]) == JointState(name=["a"], position=[1.0])
    assert JointState(position=[1.0]) != JointState(position=[1.0, 2.0])


def test_messages_are_not_hashable():
    with pytest.raises(TypeError):
        hash(Int32())


def test_text_of_a_message():
    assert repr(Point(x=1.0)) == "geometry_msgs.msg.Point(x=1.0, y=0.0, z=0.0)"
    assert repr(Int32(data=5)) == "std_msgs.msg.Int32(data=5)"


def test_lists_of_messages_and_numbers():
    message = UInt8MultiArray(data=[1, 2, 3])
    assert len(message.data) == 3
    assert list(message.data) == [1, 2, 3]
    assert message.data[1] == 2
    assert bytes(message.data) == b"\x01\x02\x03"
    message.data = b"\x04\x05"
    assert list(message.data) == [4, 5]
    message.data = bytearray(2)
    assert list(message.data) == [0, 0]
    assert Image(data=b"\xff" * 6).data[5] == 255


def test_tuples_are_sequences_too():
    assert list(JointState(position=(1.0, 2.0)).position) == [1.0, 2.0]


def test_constants():
    assert PointField.FLOAT32 == 7
    assert GoalStatus.STATUS_SUCCEEDED == 4
    assert PointField().FLOAT32 == 7
    with pytest.raises(AttributeError):
        PointField().FLOAT32 = 8


def test_fields_and_types():
    assert Point.get_fields_and_field_types() == {"x": "double", "y": "double", "z": "double"}
    fields = PoseStamped.get_fields_and_field_types()
    assert fields == {"header": "std_msgs/Header", "pose": "geometry_msgs/Pose"}
    assert JointState.get_fields_and_field_types()["name"] == "sequence<string>"
    assert list(ColorRGBA.get_fields_and_field_types()) == ["r", "g", "b", "a"]


def test_services_and_actions_hold_their_messages():
    assert AddTwoInts.Request(a=1, b=2).b == 2
    assert AddTwoInts.Response().sum == 0
    assert Fibonacci.Goal(order=3).order == 3
    assert list(Fibonacci.Result().sequence) == []
    assert list(Fibonacci.Feedback(sequence=[1]).sequence) == [1]
    assert Fibonacci.Impl.SendGoalService.Request().goal.order == 0
    assert Fibonacci.Impl.FeedbackMessage().feedback == Fibonacci.Feedback()
    assert Fibonacci.Impl.CancelGoalService.Request().goal_info.stamp.sec == 0


@pytest.mark.parametrize("kind", [AddTwoInts, Fibonacci])
def test_services_and_actions_are_not_instantiated(kind):
    with pytest.raises(NotImplementedError):
        kind()


@pytest.mark.parametrize(
    "message",
    [
        Int32(data=-5),
        String(data="grüße 🤖"),
        Pose(position=Point(x=1.0), orientation=Quaternion(w=0.5)),
        JointState(name=["a", "b"], position=[1.0, 2.0]),
        Image(data=b"\x00\xff", encoding="mono8"),
        Fibonacci.Feedback(sequence=[1, 2]),
    ],
    ids=lambda message: type(message).__name__,
)
def test_serialising(message):
    packet = serialize_message(message)
    assert isinstance(packet, bytes)
    assert deserialize_message(packet, type(message)) == message
