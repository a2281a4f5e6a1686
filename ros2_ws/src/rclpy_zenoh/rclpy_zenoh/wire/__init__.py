"""The wire: rmw_zenoh's topics, services and graph, spoken through eclipse-zenoh. It knows nothing of rclpy."""

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
