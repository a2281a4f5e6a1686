"""Checks namespaces."""

from __future__ import annotations

from rclpy._validation import translated
from rclpy_zenoh.wire import check_namespace


def validate_namespace(namespace: str) -> bool:
    """True if a node may have this full namespace; raises InvalidNamespaceException otherwise."""
    with translated():
        check_namespace(namespace)
    return True
