"""Checks full names of topics and services."""

from __future__ import annotations

from rclpy._validation import translated
from rclpy_zenoh.wire import check_full_name


def validate_full_topic_name(name: str, *, is_service: bool = False) -> bool:
    """True if the full name is allowed; raises Invalid(Topic|Service)NameException otherwise."""
    with translated():
        check_full_name(name, is_service=is_service)
    return True
