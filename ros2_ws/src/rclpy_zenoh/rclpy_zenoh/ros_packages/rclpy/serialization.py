"""Serialized messages."""

from __future__ import annotations

from typing import Any

from rclpy_zenoh.interfaces import deserialize, serialize


def serialize_message(message: Any) -> bytes:
    """The bytes of a message, as they are sent."""
    return bytes(serialize(message))


def deserialize_message(serialized_message: bytes, message_type: type[Any]) -> Any:
    """The message of a class that bytes hold."""
    return deserialize(serialized_message, message_type)
