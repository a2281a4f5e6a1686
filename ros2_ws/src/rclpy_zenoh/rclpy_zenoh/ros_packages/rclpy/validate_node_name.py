"""Checks names of nodes."""

from __future__ import annotations

from rclpy._validation import translated
from rclpy_zenoh.wire import check_node_name


def validate_node_name(node_name: str) -> bool:
    """True if a node may have this name; raises InvalidNodeNameException otherwise."""
    with translated():
        check_node_name(node_name)
    return True
