"""Sequences of numbers are `array.array` and arrays of fixed size numpy arrays, in new and in received messages."""

from __future__ import annotations

import array
import json
import struct

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import CameraInfo, Image, JointState
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import (
    Float32MultiArray,
    Float64MultiArray,
    Int8MultiArray,
    Int16MultiArray,
    Int32MultiArray,
    Int64MultiArray,
    UInt8MultiArray,
    UInt16MultiArray,
    UInt32MultiArray,
    UInt64MultiArray,
)


@pytest.fixture(params=["new", "received"])
def made(request):
    """Gives back a message: the same, or one that was read from its packet."""
    if request.param == "new":
        return lambda message: message
    return lambda message: deserialize_message(serialize_message(message), type(message))


@pytest.mark.parametrize(
    ("kind", "code", "values"),
    [
        (Float32MultiArray, "f", [0.5, -1.5]),
        (Float64MultiArray, "d", [0.1, -0.1]),
        (Int8MultiArray, "b", [-128, 127]),
        (UInt8MultiArray, "B", [0, 255]),
        (Int16MultiArray, "h", [-(2**15), 2**15 - 1]),
        (UInt16MultiArray, "H", [0, 2**16 - 1]),
        (Int32MultiArray, "i", [-(2**31), 2**31 - 1]),
        (UInt32MultiArray, "I", [0, 2**32 - 1]),
        (Int64MultiArray, "q", [-(2**63), 2**63 - 1]),
        (UInt64MultiArray, "Q", [0, 2**64 - 1]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_type_of_number_has_its_type_code(made, kind, code, values):
    data = made(kind(data=values)).data
    assert isinstance(data, array.array)
    assert data.typecode == code
    assert data.tolist() == values
    assert kind().data == array.array(code)


def test_numbers_are_appended(made):
    message = made(JointState(position=[1.0]))
    message.position.append(2.0)
    message.position.extend([3.0, 4.0])
    message.position.insert(0, 0.0)
    assert message.position.pop() == 4.0
    assert deserialize_message(serialize_message(message), JointState).position.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_number_is_looked_up(made):
    message = made(JointState(position=[1.0, 2.0, 1.0]))
    assert message.position.index(2.0) == 1
    assert message.position.count(1.0) == 2
    assert 2.0 in message.position


def test_an_empty_sequence_is_false(made):
    assert not made(JointState()).position
    assert not made(Image()).data
    assert made(JointState(position=[0.0])).position
    assert made(JointState(position=[0.0, 0.0])).position


def test_sequences_are_joined_repeated_and_compared(made):
    position = made(JointState(position=[1.0, 2.0])).position
    assert (position + position).tolist() == [1.0, 2.0, 1.0, 2.0]
    assert (position * 2).tolist() == [1.0, 2.0, 1.0, 2.0]
    assert (position == array.array("d", [1.0, 2.0])) is True
    assert (position != position[:1]) is True


def test_items_are_numbers_of_python(made):
    depth = made(Image(encoding="16UC1", height=1, width=1, step=2, data=struct.pack("<H", 1000))).data
    assert depth[0] + (depth[1] << 8) == 1000
    octets = made(UInt8MultiArray(data=[200, 100])).data
    assert octets[0] + octets[1] == 300
    assert sum(octets) == 300
    assert made(Int32MultiArray(data=[2**31 - 1])).data[0] + 1 == 2**31
    assert type(made(Float32MultiArray(data=[0.5])).data[0]) is float


def test_sequences_become_json(made):
    assert json.dumps(list(made(Int32MultiArray(data=[1, 2])).data)) == "[1, 2]"
    assert json.dumps(list(made(JointState(effort=[0.5])).effort)) == "[0.5]"


def test_slices_are_assigned(made):
    message = made(JointState(position=[1.0, 2.0, 3.0]))
    message.position[1:] = array.array("d", [5.0])
    del message.position[0]
    assert message.position.tolist() == [5.0]


def test_bytes_of_a_sequence(made):
    data = made(UInt8MultiArray(data=b"\x01\x02\x03")).data
    assert bytes(data) == b"\x01\x02\x03"
    assert data.tobytes() == b"\x01\x02\x03"
    assert struct.unpack_from("<H", data, 1) == (0x0302,)
    assert np.frombuffer(data, np.uint8).tolist() == [1, 2, 3]
    assert np.asarray(data).dtype == np.uint8


def test_received_numbers_belong_to_their_message(made):
    packet = serialize_message(UInt8MultiArray(data=[1, 2]))
    one, other = (deserialize_message(packet, UInt8MultiArray) for _ in range(2))
    one.data[0] = 9
    assert (one.data.tolist(), other.data.tolist()) == ([9, 2], [1, 2])


def test_bounded_sequences_are_arrays_too(made):
    message = made(SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.5]))
    message.dimensions.append(0.25)
    assert message.dimensions == array.array("d", [0.5, 0.25])
    with pytest.raises(AssertionError):
        message.dimensions = array.array("d", [1.0] * 4)


def test_arrays_of_fixed_size_are_numpy_arrays(made):
    k = made(CameraInfo(k=[600.0, 0.0, 320.0, 0.0, 600.0, 240.0, 0.0, 0.0, 1.0])).k
    assert isinstance(k, np.ndarray)
    assert (k.dtype, k.shape) == (np.dtype(float), (9,))
    assert k.reshape(3, 3)[1, 2] == 240.0
    assert CameraInfo().k.tolist() == [0.0] * 9


def test_what_is_assigned_is_kept():
    message, position, k = JointState(), array.array("d", [1.0]), np.ones(9)
    message.position = position
    assert message.position is position
    info = CameraInfo()
    info.k = k
    assert info.k is k


def test_keyword_arguments_are_copied():
    position, k = array.array("d", [1.0]), np.ones(9)
    message, info = JointState(position=position), CameraInfo(k=k)
    message.position[0], info.k[0] = 2.0, 2.0
    assert (position[0], k[0]) == (1.0, 1.0)


@pytest.mark.parametrize(
    "given", [[1, 2], (1.0, 2), range(1, 3), np.array([1, 2]), np.array([1.0, 2.0]), array.array("i", [1, 2])], ids=repr
)
def test_keyword_arguments_become_floats(given):
    assert JointState(position=given).position == array.array("d", [1.0, 2.0])


def test_integers_become_the_floats_of_an_array_of_fixed_size():
    assert CameraInfo(k=[1, 0, 0, 0, 1, 0, 0, 0, 1]).k.tolist() == np.eye(3).reshape(9).tolist()
    assert CameraInfo(k=np.eye(3, dtype=int).reshape(9)).k.dtype == float


@pytest.mark.parametrize(
    ("message", "field", "value"),
    [
        (JointState(), "position", array.array("f", [1.0])),
        (JointState(), "position", array.array("i", [1])),
        (JointState(), "position", [1]),
        (JointState(), "position", "12"),
        (JointState(), "position", 1.0),
        (Image(), "data", array.array("b", [1])),
        (Image(), "data", array.array("H", [1])),
        (Image(), "data", [-1]),
        (Image(), "data", [1.0]),
        (Int32MultiArray(), "data", array.array("q", [1])),
        (CameraInfo(), "k", np.zeros(9, np.float32)),
        (CameraInfo(), "k", np.zeros(9, int)),
        (CameraInfo(), "k", np.zeros(8)),
        (CameraInfo(), "k", [0] * 9),
    ],
    ids=repr,
)
def test_other_numbers_are_not_assigned(message, field, value):
    with pytest.raises(AssertionError):
        setattr(message, field, value)


@pytest.mark.parametrize("given", [["a"], [None], [[1.0]], np.zeros((2, 2)), 5], ids=repr)
def test_what_holds_no_numbers_is_no_keyword_argument(given):
    with pytest.raises((AssertionError, TypeError, ValueError)):
        JointState(position=given)
