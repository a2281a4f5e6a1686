"""Message classes behave like the ones rosidl generates."""

from __future__ import annotations

import array
import copy
from typing import Any

import numpy as np
import pytest

from rclpy_zenoh.interfaces import (
    FieldError,
    InterfaceError,
    dds_name,
    get_class,
    serialize,
    type_hash,
    type_name,
    use_distro,
)
from rclpy_zenoh.interfaces.catalogue import Catalogue
from rclpy_zenoh.interfaces.registry import Registry


def test_a_new_message_has_the_defaults_of_its_definition() -> None:
    pose = get_class("geometry_msgs/msg/PoseStamped")()
    assert pose.pose.orientation.w == 1.0
    assert (pose.header.stamp.sec, pose.header.frame_id, pose.pose.position.x) == (0, "", 0.0)
    assert get_class("sensor_msgs/msg/NavSatStatus")().status == -2
    assert get_class("simulation_interfaces/srv/StepSimulation").Request().steps == 1
    assert get_class("type_description_interfaces/srv/GetTypeDescription").Request().include_type_sources is True
    assert get_class("diagnostic_msgs/msg/DiagnosticStatus")().level == b"\0"
    assert get_class("sensor_msgs/msg/CameraInfo")().k.tolist() == [0.0] * 9


def test_defaults_are_not_shared_between_messages() -> None:
    cls = get_class("sensor_msgs/msg/JointState")
    one, other = cls(), cls()
    one.name.append("joint_1")
    one.header.frame_id = "base"
    assert other.name == []
    assert other.header.frame_id == ""


def test_defaults_and_bounds_of_every_shape_are_kept(tmp_path: Any) -> None:
    (tmp_path / "shapes" / "msg").mkdir(parents=True)
    (tmp_path / "shapes" / "msg" / "Shape.msg").write_text(
        'string<=4 word "ab"\nint16[] numbers [1, -2]\nstring[2] pair ["x,y", \'#z\']  # a comment\n'
        "bool[<=3] flags [true, false]\nfloat32 half 0.5\nbyte[2] raw\nuint8 LAST=255\n"
    )
    cls = Catalogue(Registry("jazzy", (tmp_path / "shapes",))).get("shapes/msg/Shape")
    message = cls()
    assert (message.word, message.numbers.tolist(), message.pair) == ("ab", [1, -2], ["x,y", "#z"])
    assert (message.flags, message.half, message.raw, cls.LAST) == ([True, False], 0.5, [b"\0", b"\0"], 255)
    assert cls.WORD__DEFAULT == "ab"
    for name, value in {"word": "abcde", "pair": ["x"], "flags": [True] * 4, "raw": [b"\0"]}.items():
        with pytest.raises(FieldError, match=f"field '{name}'"):
            setattr(message, name, value)


def test_constants_are_on_the_class_and_on_its_messages() -> None:
    status = get_class("diagnostic_msgs/msg/DiagnosticStatus")
    assert status.ERROR == b"\x02"
    assert status().STALE == b"\x03"
    assert get_class("action_msgs/msg/GoalStatus").STATUS_SUCCEEDED == 4
    assert get_class("workshop_interfaces/msg/JobStatus").NO_TOOL == "NO_TOOL"


def test_the_constants_of_a_service_are_on_the_half_that_defines_them() -> None:
    camera = get_class("workshop_interfaces/srv/TakePicture")
    assert camera.Request.DOOR == "door"
    assert not hasattr(camera.Response, "DOOR")


@pytest.mark.parametrize(
    ("name", "field", "value", "allowed"),
    [
        ("sensor_msgs/msg/Image", "height", -1, "an int from 0 to 4294967295"),
        ("sensor_msgs/msg/Image", "height", 2.0, "an int from 0"),
        ("sensor_msgs/msg/Image", "height", np.int64(2), "an int from 0"),
        ("sensor_msgs/msg/Image", "encoding", b"rgb8", "a str"),
        ("sensor_msgs/msg/Image", "data", [256], "an int from 0 to 255"),
        ("sensor_msgs/msg/Image", "data", "abc", "an array or a list of uint8"),
        ("sensor_msgs/msg/Image", "data", np.zeros((2, 2), np.uint8), r"one-dimensional array .* shape \(2, 2\)"),
        ("sensor_msgs/msg/Image", "data", np.array([300]), "integers from 0 to 255"),
        ("sensor_msgs/msg/Image", "header", None, "a message of type std_msgs/msg/Header"),
        ("geometry_msgs/msg/Point", "x", 1, "a float, such as 1.0"),
        ("std_msgs/msg/Float32", "data", 1e39, "a float between"),
        ("std_msgs/msg/Bool", "data", 1, "a bool"),
        ("std_msgs/msg/Byte", "data", 1, "bytes of length 1"),
        ("std_msgs/msg/String", "data", "a\0b", "without NUL"),
        ("std_msgs/msg/String", "data", "\ud800", "UTF-8 can encode"),
        ("sensor_msgs/msg/JointState", "name", "joint_1", "a list"),
        ("sensor_msgs/msg/JointState", "name", ["a", 1], r"item 1 is not"),
        ("sensor_msgs/msg/JointState", "position", [1], "each must be a float"),
        ("sensor_msgs/msg/JointState", "position", np.array([1]), "an array of float64, not of int64"),
        ("sensor_msgs/msg/CameraInfo", "k", [1.0] * 8, "exactly 9 values"),
        ("tf2_msgs/msg/TFMessage", "transforms", [1], "a message of type geometry_msgs/msg/TransformStamped"),
        ("shape_msgs/msg/SolidPrimitive", "dimensions", [1.0] * 4, "at most 3 values"),
    ],
)
def test_a_value_that_a_field_cannot_hold_is_refused(name: str, field: str, value: Any, allowed: str) -> None:
    message = get_class(name)()
    before = copy.deepcopy(message)
    with pytest.raises(FieldError, match=f"^{name}: field '{field}' must .*{allowed}.*, got {type(value).__name__} "):
        setattr(message, field, value)
    assert message == before


def test_refusals_are_assertion_errors_too_as_in_rosidl() -> None:
    with pytest.raises(AssertionError):
        get_class("std_msgs/msg/String")(data=1)


def test_an_unknown_field_is_refused_with_the_fields_there_are() -> None:
    with pytest.raises(FieldError, match="std_msgs/msg/Header has no field 'seq'; its fields are: stamp, frame_id"):
        get_class("std_msgs/msg/Header")(seq=1)
    with pytest.raises(AttributeError):
        get_class("std_msgs/msg/Header")().seq = 1


@pytest.mark.parametrize(
    "data",
    [
        bytes([1, 2, 3]),
        bytearray([1, 2, 3]),
        memoryview(b"\1\2\3"),
        [1, 2, 3],
        (1, 2, 3),
        range(1, 4),
        array.array("B", [1, 2, 3]),
        array.array("i", [1, 2, 3]),
        np.array([1, 2, 3], np.uint8),
        np.array([1, 2, 3], np.int64),
        np.array([1, 9, 2, 9, 3, 9], np.uint8)[::2],
    ],
    ids=lambda data: type(data).__name__,
)
def test_sequences_of_numbers_take_whatever_holds_such_numbers(data: Any) -> None:
    image = get_class("sensor_msgs/msg/Image")(data=data)
    assert image.data == array.array("B", [1, 2, 3])
    assert serialize(image)[-3:] == b"\1\2\3"


@pytest.mark.parametrize("data", [np.array([1, 9, 2, 9], np.uint8)[::2], np.array([1, 2]), memoryview(b"\1\2"), {1, 2}])
def test_whatever_holds_such_numbers_is_assigned_too(data: Any) -> None:
    image = get_class("sensor_msgs/msg/Image")()
    image.data = data
    assert image.data == array.array("B", [1, 2])


@pytest.mark.parametrize(
    ("name", "field", "value", "allowed"),
    [
        ("sensor_msgs/msg/Image", "data", array.array("i", [1]), "array.array of type code 'B', not 'i'"),
        ("sensor_msgs/msg/JointState", "position", array.array("f", [1.0]), "type code 'd', not 'f'"),
        ("sensor_msgs/msg/JointState", "position", memoryview(b"12"), "each must be a float"),
        ("sensor_msgs/msg/Image", "data", memoryview(bytes(4)).cast("B", (2, 2)), "one-dimensional"),
        ("sensor_msgs/msg/Image", "data", memoryview(array.array("d", [1.0])), "each must be an int"),
        ("sensor_msgs/msg/CameraInfo", "k", np.zeros(9, np.float32), "an array of float64, not of float32"),
        ("sensor_msgs/msg/CameraInfo", "k", np.zeros((3, 3)), "reshape"),
    ],
)
def test_numbers_of_another_type_are_not_assigned(name: str, field: str, value: Any, allowed: str) -> None:
    with pytest.raises(FieldError, match=allowed):
        setattr(get_class(name)(), field, value)


@pytest.mark.parametrize(
    ("name", "field", "value", "allowed"),
    [
        ("sensor_msgs/msg/Image", "data", [1.0], "list of uint8, and one item is of type float"),
        ("sensor_msgs/msg/Image", "data", [256], "an int from 0 to 255"),
        ("sensor_msgs/msg/Image", "data", array.array("d", [1.0]), "integers from 0 to 255, not of float64"),
        ("sensor_msgs/msg/JointState", "position", ["1.0"], "each must be a float"),
        ("sensor_msgs/msg/JointState", "position", [10**400], "list of float64, and one item is of type int"),
        ("std_msgs/msg/Float32MultiArray", "data", [1e39], "a float between"),
        ("std_msgs/msg/Float32MultiArray", "data", [10**39], "a float between"),
        ("sensor_msgs/msg/CameraInfo", "k", [1] * 8, "exactly 9 values"),
        ("sensor_msgs/msg/CameraInfo", "k", [[1.0] * 3] * 3, "one item is of type list"),
    ],
)
def test_a_keyword_argument_that_loses_something_is_refused(name: str, field: str, value: Any, allowed: str) -> None:
    with pytest.raises(FieldError, match=f"field '{field}' must .*{allowed}"):
        get_class(name)(**{field: value})


def test_a_bounded_sequence_that_grew_too_long_is_not_sent() -> None:
    solid = get_class("shape_msgs/msg/SolidPrimitive")(dimensions=[1.0] * 3)
    solid.dimensions.append(1.0)
    with pytest.raises(InterfaceError, match="'dimensions' must have at most 3 values"):
        serialize(solid)


def test_messages_are_equal_where_all_their_fields_are() -> None:
    state, other = get_class("sensor_msgs/msg/JointState"), get_class("std_msgs/msg/String")
    one = state(name=["a"], position=[1.0, 2.0])
    assert one == state(name=["a"], position=[1.0, 2.0])
    assert one != state(name=["a"], position=[1.0, 2.5])
    assert one != state(name=["a"], position=[1.0])
    assert one != other()
    assert copy.deepcopy(one) == one
    with pytest.raises(TypeError):
        hash(one)


def test_repr_reads_like_rosidl_and_stays_short() -> None:
    assert repr(get_class("std_msgs/msg/ColorRGBA")(r=0.5)) == "std_msgs.msg.ColorRGBA(r=0.5, g=0.0, b=0.0, a=0.0)"
    assert repr(get_class("std_msgs/msg/UInt8MultiArray")(data=[1, 2])).endswith("data_offset=0), data=[1, 2])")
    assert "... 100000 values]" in repr(get_class("sensor_msgs/msg/CompressedImage")(data=bytes(100_000)))


def test_field_types_are_written_in_idl() -> None:
    types = get_class("sensor_msgs/msg/CameraInfo").get_fields_and_field_types()
    assert types["header"] == "std_msgs/Header"
    assert (types["d"], types["k"], types["roi"]) == ("sequence<double>", "double[9]", "sensor_msgs/RegionOfInterest")
    solid = get_class("shape_msgs/msg/SolidPrimitive").get_fields_and_field_types()
    assert solid["dimensions"] == "sequence<double, 3>"
    assert get_class("std_msgs/msg/Byte").get_fields_and_field_types() == {"data": "octet"}


def test_a_service_holds_its_messages_and_is_never_instantiated() -> None:
    service = get_class("std_srvs/srv/SetBool")
    assert service.Request is get_class("std_srvs/srv/SetBool_Request")
    assert service.Event().response == []
    with pytest.raises(NotImplementedError):
        service()


def test_an_action_holds_its_messages_its_services_and_its_topics() -> None:
    action = get_class("example_interfaces/action/Fibonacci")
    send = action.Impl.SendGoalService
    assert send.Request(goal=action.Goal(order=3)).goal.order == 3
    assert action.Impl.GetResultService.Response().result == action.Result()
    assert action.Impl.FeedbackMessage().goal_id.uuid.tolist() == [0] * 16
    assert type_name(action.Impl.CancelGoalService) == "action_msgs/srv/CancelGoal"
    assert type_name(action.Impl.GoalStatusMessage) == "action_msgs/msg/GoalStatusArray"
    with pytest.raises(NotImplementedError):
        action()


def test_names_follow_rmw() -> None:
    assert dds_name(get_class("std_msgs/msg/String")) == "std_msgs::msg::dds_::String_"
    assert dds_name(get_class("std_srvs/srv/Trigger")) == "std_srvs::srv::dds_::Trigger_"
    action = get_class("example_interfaces/action/Fibonacci")
    assert dds_name(action.Impl.SendGoalService) == "example_interfaces::action::dds_::Fibonacci_SendGoal_"
    assert type_name(action.Goal) == "example_interfaces/action/Fibonacci_Goal"


@pytest.mark.parametrize("what", [int, "std_msgs/msg/String", None])
def test_what_is_no_interface_has_no_name_and_no_hash(what: Any) -> None:
    with pytest.raises(InterfaceError, match="is no message, service or action class"):
        type_name(what)
    with pytest.raises(InterfaceError, match="is no message, service or action class"):
        type_hash(what)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("String", "write package/msg/Name"),
        ("std_msgs/String", "write package/msg/Name"),
        ("../msg/String", "write package/msg/Name"),
        ("std_msgs/msg/Strin", "std_msgs has msg/Bool"),
        ("no_msgs/msg/String", "Packages: .*std_msgs"),
        ("std_srvs/srv/Trigger_Reply", "std_srvs/srv/Trigger has std_srvs/srv/Trigger_Event"),
    ],
)
def test_an_unknown_interface_is_refused_with_what_there_is(name: str, reason: str) -> None:
    with pytest.raises(InterfaceError, match=reason):
        get_class(name)


def test_a_class_is_made_once_for_each_distribution() -> None:
    jazzy = get_class("control_msgs/action/FollowJointTrajectory")
    assert get_class("control_msgs/action/FollowJointTrajectory") is jazzy
    use_distro("lyrical")
    lyrical = get_class("control_msgs/action/FollowJointTrajectory")
    assert not hasattr(jazzy.Feedback(), "index")
    assert lyrical.Feedback().index == 0
    use_distro("jazzy")
    assert get_class("control_msgs/action/FollowJointTrajectory") is jazzy


def test_an_unknown_distribution_is_refused_and_changes_nothing() -> None:
    with pytest.raises(InterfaceError, match="'humble'; allowed are jazzy, kilted, lyrical"):
        use_distro("humble")
    assert get_class("geometry_msgs/msg/Pose2D")().theta == 0.0
