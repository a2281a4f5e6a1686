"""The messages, without a process."""

import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from toolhand.tool_nodes.sandbox import wire

MAX = 1 << 16


def read(data: bytes) -> Any:
    stream = io.BytesIO(data)

    def receive(count: int) -> bytearray:
        assert count <= MAX or count <= wire.MAX_TEXT_BYTES
        got = stream.read(count)
        if len(got) < count:
            raise wire.Unreadable("it ended")
        return bytearray(got)

    return wire.read(receive, MAX)


def frame(document: Any, data: bytes = b"") -> bytes:
    head = json.dumps(document).encode()
    return len(head).to_bytes(4, "little") + head + data


@given(
    array=npst.arrays(npst.scalar_dtypes().filter(lambda t: t.kind in "biuf" and t.itemsize <= 8), npst.array_shapes())
)
@settings(max_examples=50)
def test_an_array_is_read_as_it_was_packed(array: Any) -> None:
    back = read(b"".join(wire.pack({"a": array}, MAX)))["a"]
    np.testing.assert_array_equal(back, array)
    assert back.shape == array.shape


@given(data=st.binary(max_size=200))
@settings(max_examples=200)
def test_garbage_is_unreadable(data: bytes) -> None:
    with pytest.raises(wire.Unreadable):
        read(len(data).to_bytes(4, "little") + data)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["list", "tuple", "dict", "array", "complex", "x"]), inner, max_size=2)
    ),
    max_leaves=20,
)


@given(tree=_json, arrays=_json, data=st.binary(max_size=64))
@settings(max_examples=100)
def test_any_json_is_read_as_plain_values_or_not_at_all(tree: Any, arrays: Any, data: bytes) -> None:
    try:
        value = read(frame([tree, arrays], data))
    except wire.Unreadable:
        return
    wire.pack(value, MAX)


@pytest.mark.parametrize(
    "arrays",
    [
        [["float64", [1 << 40]]],
        [["float64", [1 << 10, 1 << 10]]],
        [["uint8", [MAX]], ["uint8", [1]]],
        [["uint8", [True]]],
        [["uint8", [1.5]]],
        [["uint8", [-1]]],
        [["uint8", [1] * 33]],
        [["uint8", "1"]],
        [["O", [1]]],
        [["U4", [1]]],
        [["float64"]],
        [["uint8", [0]]] * 1001,
        {"uint8": 1},
    ],
)
def test_arrays_that_are_none_or_too_large_are_refused_before_they_are_read(arrays: Any) -> None:
    def receive(count: int) -> bytearray:
        data = pieces.pop(0)
        assert len(data) == count, "something was read after the head"
        return bytearray(data)

    whole = frame([1, arrays])
    pieces = [whole[:4], whole[4:]]
    with pytest.raises(wire.Unreadable):
        wire.read(receive, MAX)


def test_a_long_text_is_refused_before_it_is_read() -> None:
    with pytest.raises(wire.Unreadable):
        read((1 << 31).to_bytes(4, "little"))


def test_a_boolean_is_only_ever_true_or_false() -> None:
    back = read(frame([{"array": None}, [["bool", [3]]]], b"\x00\x01\xfe"))
    assert back.view(np.uint8).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "value",
    [object(), {1}, b"bytes", np.array(["a"]), np.array([None]), np.longdouble(1), pytest.param(10**5000, id="digits")],
)
def test_other_kinds_are_not_packed(value: Any) -> None:
    with pytest.raises(wire.CannotSend, match="it "):
        wire.pack([value], MAX)


def test_numbers_whose_hashes_collide_do_not_become_keys() -> None:
    pairs = [[n * ((1 << 61) - 1), 0] for n in range(20_000)]
    with pytest.raises(wire.Unreadable):
        read(frame([{"dict": pairs}, []]))
    with pytest.raises(wire.CannotSend, match="more than 1000 keys that are no texts"):
        wire.pack(dict.fromkeys(range(1001)), MAX)


def test_many_texts_may_be_keys() -> None:
    value = {str(n): n for n in range(5000)}
    assert read(b"".join(wire.pack(value, MAX))) == value


def test_an_array_is_named_only_once() -> None:
    with pytest.raises(wire.Unreadable):
        read(frame([{"list": [{"array": None}] * 2}, [["uint8", [1]]]], b"x"))
