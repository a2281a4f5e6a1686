"""Packets byte for byte as three other serialisers write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rclpy_zenoh.interfaces import InterfaceError, deserialize, is_message, serialize
from rclpy_zenoh.interfaces.catalogue import Catalogue
from rclpy_zenoh.interfaces.message import Message
from rclpy_zenoh.interfaces.registry import Registry

DATA = Path(__file__).parents[1] / "data"
ROWS = json.loads((DATA / "cdr_golden.json").read_text(encoding="utf-8"))
CATALOGUE = Catalogue(Registry("jazzy", (DATA / "cdr_test_msgs",)))


def build(cls: type[Message], fields: dict[str, Any]) -> Message:
    """The message that JSON describes; it has bytes as integers."""
    values: dict[str, Any] = {}
    for spec in cls._specs_:
        value = fields[spec.name]
        many = isinstance(value, list)
        if spec.message is not None:
            value = [build(spec.message, item) for item in value] if many else build(spec.message, value)
        elif spec.kind.base == "byte":
            value = [bytes([item]) for item in value] if many else bytes([value])
        elif spec.kind.base in ("float32", "float64"):
            value = [float(item) for item in value] if many else float(value)
        values[spec.name] = value
    return cls(**values)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['type']}-{len(row['cdr_hex'])}")
def test_a_message_has_the_bytes_that_other_serialisers_give_it(row: dict[str, Any]) -> None:
    message = build(CATALOGUE.get(row["type"]), row["fields"])
    assert serialize(message).hex() == row["cdr_hex"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['type']}-{len(row['cdr_hex'])}")
def test_those_bytes_give_the_message_back(row: dict[str, Any]) -> None:
    cls = CATALOGUE.get(row["type"])
    assert deserialize(bytes.fromhex(row["cdr_hex"]), cls) == build(cls, row["fields"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['type']}-{len(row['cdr_hex'])}")
def test_a_packet_cut_off_anywhere_is_refused(row: dict[str, Any]) -> None:
    packet, cls = bytes.fromhex(row["cdr_hex"]), CATALOGUE.get(row["type"])
    for length in range(len(packet)):
        with pytest.raises(InterfaceError, match=f"^{row['type']}: "):
            deserialize(packet[:length], cls)


def test_all_rows_are_there() -> None:
    assert len(ROWS) == 44
    assert all(is_message(CATALOGUE.get(row["type"])) for row in ROWS)


def test_a_wide_string_is_a_length_and_four_bytes_for_each_utf_16_unit() -> None:
    wide = CATALOGUE.get("example_interfaces/msg/WString")
    packet = bytes(serialize(wide(data="aé😀")))
    assert packet.hex() == "00010000" + "04000000" + "61000000" + "e9000000" + "3dd80000" + "00de0000"
    assert deserialize(packet, wide).data == "aé😀"


def test_numbers_that_were_read_do_not_hold_on_to_their_packet() -> None:
    image = CATALOGUE.get("sensor_msgs/msg/Image")
    packet = bytearray(serialize(image(height=2, width=2, encoding="mono8", step=2, data=[1, 2, 3, 4])))
    received = deserialize(packet, image)
    received.data[0] = 9
    packet += b"longer"  # fails while something looks at the bytes
    assert deserialize(packet, image).data.tolist() == [1, 2, 3, 4]


def test_numbers_that_were_read_can_be_written_to() -> None:
    state = CATALOGUE.get("sensor_msgs/msg/JointState")
    packet = bytearray(serialize(state(position=[1.0, 2.0])))
    received = deserialize(packet, state)
    received.position[0] = 5.0
    assert received.position.tolist() == [5.0, 2.0]
    assert deserialize(packet, state).position.tolist() == [1.0, 2.0]
