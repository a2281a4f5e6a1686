"""The wire: rmw_zenoh's topics, services and graph, spoken through eclipse-zenoh. It knows nothing of rclpy.

Its names are loaded when they are first used: who needs but little of it, such as the router, starts sooner.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rclpy_zenoh.wire.attachment import Attachment, pack_attachment, unpack_attachment
    from rclpy_zenoh.wire.client import WireClient
    from rclpy_zenoh.wire.errors import InvalidNameError, QoSError, SessionError, WireError
    from rclpy_zenoh.wire.graph import GraphCache
    from rclpy_zenoh.wire.keys import EndpointInfo, Entity, data_key, parse_token
    from rclpy_zenoh.wire.log import in_callback, interrupt_later
    from rclpy_zenoh.wire.names import check_full_name, check_namespace, check_node_name, check_topic_name, expand_name
    from rclpy_zenoh.wire.node import WireNode
    from rclpy_zenoh.wire.options import SessionOptions
    from rclpy_zenoh.wire.qos import (
        Durability,
        History,
        Liveliness,
        Qos,
        Reliability,
        decode_qos,
        encode_qos,
        resolve_qos,
    )
    from rclpy_zenoh.wire.router_process import RouterProcess, start_router
    from rclpy_zenoh.wire.service import RequestHeader, WireService
    from rclpy_zenoh.wire.session import WireSession, open_session
    from rclpy_zenoh.wire.topic import MessageInfo, WirePublisher, WireSubscription

__all__ = [
    "Attachment",
    "Durability",
    "EndpointInfo",
    "Entity",
    "GraphCache",
    "History",
    "InvalidNameError",
    "Liveliness",
    "MessageInfo",
    "QoSError",
    "Qos",
    "Reliability",
    "RequestHeader",
    "RouterProcess",
    "SessionError",
    "SessionOptions",
    "WireClient",
    "WireError",
    "WireNode",
    "WirePublisher",
    "WireService",
    "WireSession",
    "WireSubscription",
    "check_full_name",
    "check_namespace",
    "check_node_name",
    "check_topic_name",
    "data_key",
    "decode_qos",
    "encode_qos",
    "expand_name",
    "in_callback",
    "interrupt_later",
    "open_session",
    "pack_attachment",
    "parse_token",
    "resolve_qos",
    "start_router",
    "unpack_attachment",
]

_NAMES = {
    "attachment": "Attachment pack_attachment unpack_attachment",
    "client": "WireClient",
    "errors": "InvalidNameError QoSError SessionError WireError",
    "graph": "GraphCache",
    "keys": "EndpointInfo Entity data_key parse_token",
    "log": "in_callback interrupt_later",
    "names": "check_full_name check_namespace check_node_name check_topic_name expand_name",
    "node": "WireNode",
    "options": "SessionOptions",
    "qos": "Durability History Liveliness Qos Reliability decode_qos encode_qos resolve_qos",
    "router_process": "RouterProcess start_router",
    "service": "RequestHeader WireService",
    "session": "WireSession open_session",
    "topic": "MessageInfo WirePublisher WireSubscription",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
