"""Checks names of parameters."""

from __future__ import annotations

from rclpy.exceptions import InvalidParameterException


def validate_parameter_name(name: str) -> bool:
    """True if the name is not empty; raises InvalidParameterException otherwise."""
    if not name:
        raise InvalidParameterException(name)
    return True
