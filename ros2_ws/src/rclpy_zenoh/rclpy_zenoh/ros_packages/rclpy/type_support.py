"""Checks classes of messages and services."""

from __future__ import annotations

from typing import Any

from rclpy_zenoh.interfaces import is_message


def check_for_type_support(msg_or_srv_type: Any) -> None:
    """Refuse what is no class of a message, service or action."""
    if not hasattr(msg_or_srv_type, "_type_name_"):
        raise AttributeError(
            f"{msg_or_srv_type!r} is no class of a ROS 2 message or service; import one, for example from std_msgs.msg."
        )


def check_is_valid_msg_type(msg_type: Any) -> None:
    """Refuse what is no message class."""
    check_for_type_support(msg_type)
    if not is_message(msg_type):
        raise RuntimeError(f"The message type provided is not valid ({msg_type}), this might be a service or action")


def check_is_valid_srv_type(srv_type: Any) -> None:
    """Refuse what is no service class."""
    check_for_type_support(srv_type)
    if not (isinstance(srv_type, type) and hasattr(srv_type, "Request") and hasattr(srv_type, "Response")):
        raise RuntimeError(f"The service type provided is not valid ({srv_type}), this might be a message or action")
