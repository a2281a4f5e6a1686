"""Waiting for one message, without an executor."""

from __future__ import annotations

from threading import Event
from typing import Any

from rclpy._patience import wait_for
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.type_support import check_is_valid_msg_type


def wait_for_message(
    msg_type: type[Any], node: Node, topic: str, *, qos_profile: QoSProfile | int = 1, time_to_wait: float = -1
) -> tuple[bool, Any]:
    """Wait for the next message of a topic; the node need not be spun.

    Args:
        msg_type: The message class.
        node: Owner of the temporary subscription.
        topic: The name; it may be relative.
        qos_profile: The profile, or the depth of the default one.
        time_to_wait: Seconds; for ever if negative.

    Returns:
        (True, message), or (False, None) after the time or a shutdown.
    """
    check_is_valid_msg_type(msg_type)
    qos = qos_profile if isinstance(qos_profile, QoSProfile) else QoSProfile(depth=qos_profile)
    arrived = Event()
    with node.handle:
        full_name = node._names.resolve_new(topic)
        subscription = node._wire.create_subscription(full_name, msg_type, qos._to_wire(), arrived.set)
    try:
        with node.context._waking(arrived.set):
            if node.context.ok():
                wait_for(arrived, None if time_to_wait < 0 else time_to_wait)
        taken = subscription.take_message() if node.context.ok() else None
    finally:
        subscription.close()
    return (False, None) if taken is None else (True, taken[0])
