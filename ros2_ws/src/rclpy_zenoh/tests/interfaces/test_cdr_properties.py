"""Whatever a message holds comes back; whatever a packet holds ends in a message or in one kind of error."""

from __future__ import annotations

import struct
import tracemalloc
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rclpy_zenoh.interfaces import InterfaceError, deserialize, get_class, registry, serialize
from rclpy_zenoh.interfaces.definitions import FLOATS, INTEGER_RANGES, FieldType, Shape
from rclpy_zenoh.interfaces.message import Message
from rclpy_zenoh.interfaces.registry import STANDARD

FUZZ_CASES = 50_000
CHUNKS = 20

USED = [
    "builtin_interfaces/msg/Time",
    "std_msgs/msg/Header",
    "std_msgs/msg/String",
    "std_msgs/msg/Empty",
    "std_msgs/msg/Float64MultiArray",
    "geometry_msgs/msg/PoseStamped",
    "geometry_msgs/msg/TransformStamped",
    "geometry_msgs/msg/PoseWithCovariance",
    "sensor_msgs/msg/Image",
    "sensor_msgs/msg/CameraInfo",
    "sensor_msgs/msg/PointCloud2",
    "sensor_msgs/msg/JointState",
    "sensor_msgs/msg/CompressedImage",
    "sensor_msgs/msg/RegionOfInterest",
    "tf2_msgs/msg/TFMessage",
    "rosgraph_msgs/msg/Clock",
    "rcl_interfaces/msg/ParameterEvent",
    "rcl_interfaces/msg/ParameterDescriptor",
    "rcl_interfaces/msg/Log",
    "rcl_interfaces/srv/SetParameters_Request",
    "rcl_interfaces/srv/ListParameters_Response",
    "action_msgs/msg/GoalStatusArray",
    "action_msgs/srv/CancelGoal_Response",
    "diagnostic_msgs/msg/DiagnosticArray",
    "trajectory_msgs/msg/JointTrajectory",
    "vision_msgs/msg/Detection2DArray",
    "example_interfaces/msg/WString",
    "control_msgs/action/FollowJointTrajectory_SendGoal_Request",
    "control_msgs/action/GripperCommand_FeedbackMessage",
    "simulation_interfaces/srv/SpawnEntity_Request",
    "simulation_interfaces/srv/GetEntitiesStates_Response",
    "std_srvs/srv/SetBool_Event",
    "example_interfaces/action/Fibonacci_GetResult_Response",
]


def parts(name: str) -> list[str]:
    """The messages of an interface."""
    tails = {
        "msg": [""],
        "srv": ["_Request", "_Response", "_Event"],
        "action": [
            *("_Goal", "_Result", "_Feedback", "_FeedbackMessage"),
            *(f"_{s}_{p}" for s in ("SendGoal", "GetResult") for p in ("Request", "Response", "Event")),
        ],
    }
    return [name + tail for tail in tails[name.split("/")[1]]]


OURS = [part for name in registry().names() if STANDARD not in registry().path(name).parents for part in parts(name)]
ALL = [part for name in registry().names() for part in parts(name)]


def one(kind: FieldType, message: type[Message] | None) -> st.SearchStrategy[Any]:
    if message is not None:
        return messages(message)
    if kind.base in INTEGER_RANGES:
        return st.integers(*INTEGER_RANGES[kind.base])
    if kind.base in FLOATS:
        return st.floats(allow_nan=False, width=32 if kind.base == "float32" else 64)
    if kind.base == "bool":
        return st.booleans()
    if kind.base == "byte":
        return st.binary(min_size=1, max_size=1)
    return st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@cache
def messages(cls: type[Message]) -> st.SearchStrategy[Any]:
    fields = {}
    for spec in cls._specs_:
        value = one(spec.kind, spec.message)
        if spec.kind.shape is not Shape.ONE:
            least = spec.kind.capacity if spec.kind.shape is Shape.ARRAY else 0
            value = st.lists(value, min_size=least, max_size=min(spec.kind.capacity or 3, 36))
        fields[spec.name] = value
    return st.builds(cls, **fields)


@pytest.mark.parametrize("name", [*OURS, *USED])
@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_a_message_survives_the_wire(name: str, data: st.DataObject) -> None:
    cls = get_class(name)
    message = data.draw(messages(cls))
    packet = serialize(message)
    received = deserialize(bytes(packet), cls)
    assert received == message
    assert serialize(received) == packet


def test_not_a_number_survives_the_wire() -> None:
    cls = get_class("geometry_msgs/msg/Point")
    assert np.isnan(deserialize(serialize(cls(x=float("nan"))), cls).x)


def sample(cls: type[Message], rng: np.random.Generator) -> Message:
    """A message with something in every field."""
    values: dict[str, Any] = {}
    for spec in cls._specs_:
        count = int(rng.integers(1, 4)) if spec.kind.shape is Shape.SEQUENCE else max(spec.kind.capacity, 1)
        items = [sample_one(spec.kind, spec.message, rng) for _ in range(min(count, 40))]
        values[spec.name] = items[0] if spec.kind.shape is Shape.ONE else items
    return cls(**values)


def sample_one(kind: FieldType, message: type[Message] | None, rng: np.random.Generator) -> Any:
    if message is not None:
        return sample(message, rng)
    if kind.base in INTEGER_RANGES:
        return int(rng.integers(0, 100))
    if kind.base in FLOATS:
        return float(rng.integers(-99, 99))
    return {"bool": True, "byte": b"\x07"}.get(kind.base, "word")


def mutate(packet: bytes, rng: np.random.Generator) -> bytes:
    """One of: cut off, bytes changed, a huge length, bytes taken out, bytes put in, anything at all."""
    out = bytearray(packet)
    at = int(rng.integers(len(out)))
    match int(rng.integers(6)):
        case 0:
            del out[at:]
        case 1:
            for index in rng.integers(len(out), size=3):
                out[index] = int(rng.integers(256))
        case 2:
            at = max(4, at // 4 * 4)
            length = (0xFFFFFFFF, 0x7FFFFFFF, 0x10000, len(out))[int(rng.integers(4))]
            out[at : at + 4] = struct.pack("<I", length)
        case 3:
            del out[at : at + int(rng.integers(1, 9))]
        case 4:
            out[at:at] = rng.bytes(int(rng.integers(1, 9)))
        case _:
            out[4:] = rng.bytes(int(rng.integers(0, 64)))
    return bytes(out)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_changed_packet_gives_a_message_or_the_one_error(chunk: int) -> None:
    rng = np.random.default_rng(chunk)
    names = ALL[chunk::CHUNKS]
    refused = 0
    for name in names:
        cls = get_class(name)
        packet = bytes(serialize(sample(cls, rng)))
        for _ in range(-(-FUZZ_CASES // len(ALL))):
            try:
                received = deserialize(mutate(packet, rng), cls)
            except InterfaceError:
                refused += 1
            else:
                assert isinstance(received, cls)
                assert serialize(received)[:4] == packet[:4]
    assert refused > len(names)


@pytest.mark.parametrize("name", ["sensor_msgs/msg/Image", "std_msgs/msg/String", "tf2_msgs/msg/TFMessage", *USED[-3:]])
def test_a_huge_length_is_refused_before_anything_is_allocated(name: str) -> None:
    cls = get_class(name)
    packet = bytearray(serialize(cls()))
    tracemalloc.start()
    try:
        for at in range(4, len(packet) - 3, 4):
            hostile = bytes(packet[:at]) + b"\xff\xff\xff\x7f" + bytes(packet[at + 4 :])
            with suppress(InterfaceError):  # where the field is a number, it is only a large one
                deserialize(hostile, cls)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        ("", "starts with nothing"),
        ("0001", "starts with 0001"),
        ("00000000" + "0000000100", "starts with 00000000"),
        ("00010000" + "05000000" + "61626364", "longer than the packet"),
        ("00010000" + "04000000" + "61626364", "only NUL"),
        ("00010000" + "04000000" + "61006200", "only NUL"),
        ("00010000" + "03000000" + "fffe00", "no UTF-8"),
        ("00010000" + "0300", "ends after 2 bytes"),
    ],
)
def test_a_bad_string_packet_is_refused_with_its_reason(packet: str, reason: str) -> None:
    with pytest.raises(InterfaceError, match=reason):
        deserialize(bytes.fromhex(packet), get_class("std_msgs/msg/String"))


def test_bytes_after_the_message_are_ignored() -> None:
    cls = get_class("std_msgs/msg/UInt8")
    assert deserialize(bytes.fromhex("0001000007000000"), cls).data == 7


def test_only_messages_travel() -> None:
    service = get_class("std_srvs/srv/Trigger")
    with pytest.raises(InterfaceError, match="no message class"):
        deserialize(b"\0\1\0\0\0", service)
    with pytest.raises(InterfaceError, match="A packet is bytes, a bytearray or a memoryview, not str"):
        deserialize("text", service.Request)  # type: ignore[arg-type]
    with pytest.raises(InterfaceError, match="Only messages can be serialized, not dict"):
        serialize({})  # type: ignore[arg-type]


def test_a_list_spoilt_in_place_is_named_when_it_is_sent() -> None:
    state = get_class("sensor_msgs/msg/JointState")(name=["a"])
    state.name.append(3)
    with pytest.raises(InterfaceError, match=r"sensor_msgs/msg/JointState: field 'name' must be a str"):
        serialize(state)
