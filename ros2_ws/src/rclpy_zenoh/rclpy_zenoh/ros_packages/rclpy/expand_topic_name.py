"""Makes full names of topics and services."""

from __future__ import annotations

from rclpy_zenoh.wire import expand_name


def expand_topic_name(topic_name: str, node_name: str, node_namespace: str) -> str:
    """The full name that a node means by a topic name, such as "/robot/camera/image" for "~/image".

    Raises:
        ValueError: One of the names is not allowed.
    """
    return expand_name(topic_name, node_name, node_namespace)
