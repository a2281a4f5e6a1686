"""Checks names of topics and services as programs write them."""

from __future__ import annotations

from rclpy._validation import translated
from rclpy_zenoh.wire import check_topic_name

TOPIC_SEPARATOR_STRING = "/"


def validate_topic_name(name: str, *, is_service: bool = False) -> bool:
    """True if the name, full or not, is allowed; raises Invalid(Topic|Service)NameException otherwise."""
    with translated():
        check_topic_name(name, is_service=is_service)
    return True
