"""Log messages on the topic /rosout."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from rclpy.constants import S_TO_NS

if TYPE_CHECKING:
    from rclpy._console import Caller
    from rclpy.context import Context
    from rclpy.impl.logging_severity import LoggingSeverity
    from rclpy_zenoh.wire import Qos, WireNode, WirePublisher

_publishers: dict[str, tuple[Context, WireNode, WirePublisher]] = {}
"""Logger name -> the context and node it belongs to, and the publisher."""


def add(logger_name: str, context: Context, node: WireNode, qos: Qos) -> None:
    """Send what the logger of a node and its children log, unless another node of the process has that logger."""
    from rcl_interfaces.msg import Log

    if logger_name not in _publishers or not _publishers[logger_name][0].ok():
        _publishers[logger_name] = (context, node, node.create_publisher("/rosout", Log, qos))


def remove(logger_name: str, node: WireNode) -> None:
    """Send nothing more of this node."""
    if logger_name in _publishers and _publishers[logger_name][1] is node:
        del _publishers[logger_name]


def publish(name: str, severity: LoggingSeverity, message: str, caller: Caller, stamp_ns: int) -> None:
    """Send a message, if the logger or one of its parents belongs to a node."""
    if not _publishers:
        return
    from rclpy_zenoh.wire import WireError

    parent, found = name, _publishers.get(name)
    while found is None and parent:
        parent = parent.rpartition(".")[0]
        found = _publishers.get(parent)
    if found is None:
        return
    context, _, publisher = found
    if not context.ok():
        return
    with contextlib.suppress(WireError):  # another thread has destroyed the node meanwhile
        publisher.publish(_message(name, severity, message, caller, stamp_ns))


def _message(name: str, severity: LoggingSeverity, message: str, caller: Caller, stamp_ns: int) -> Any:
    from builtin_interfaces.msg import Time
    from rcl_interfaces.msg import Log

    return Log(
        stamp=Time(sec=stamp_ns // S_TO_NS, nanosec=stamp_ns % S_TO_NS),
        level=int(severity),
        name=name,
        msg=message.replace("\0", "").encode(errors="replace").decode(),
        file=caller.file,
        function=caller.function,
        line=caller.line,
    )
