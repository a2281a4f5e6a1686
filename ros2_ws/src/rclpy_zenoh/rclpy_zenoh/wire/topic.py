"""Publishers and subscriptions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import zenoh
from zenoh import ext

from rclpy_zenoh.interfaces import InterfaceError, deserialize, is_message, serialize, type_name
from rclpy_zenoh.wire.attachment import SIZE, pack_attachment, unpack_attachment
from rclpy_zenoh.wire.endpoint import Endpoint
from rclpy_zenoh.wire.errors import WireError
from rclpy_zenoh.wire.mailbox import Mailbox, capacity
from rclpy_zenoh.wire.qos import Durability, History, Qos, Reliability

if TYPE_CHECKING:
    from rclpy_zenoh.wire.node import WireNode

HEARTBEAT_S = 0.5
"""How soon a reliable, transient-local publisher announces its last message, so that a loss is noticed."""


class MessageInfo(NamedTuple):
    """Where a message came from; times in nanoseconds since 1970."""

    source_timestamp_ns: int
    received_timestamp_ns: int
    publication_sequence_number: int
    publisher_gid: bytes


def _require_message_class(cls: Any) -> None:
    if not is_message(cls):
        raise WireError(f"A topic carries messages, and {cls!r} is no message class.")


class WirePublisher(Endpoint):
    """Sends the messages of one topic."""

    KIND = "publisher"

    def __init__(self, node: WireNode, topic: str, cls: type[Any], qos: Qos) -> None:
        _require_message_class(cls)
        self.topic, self._cls = topic, cls
        super().__init__(node, topic, cls, qos)

    def _declare(self, session: zenoh.Session, key: str) -> None:
        reliable = self._qos.reliability != Reliability.BEST_EFFORT
        blocking = reliable and self._qos.history == History.KEEP_ALL
        congestion = zenoh.CongestionControl.BLOCK if blocking else zenoh.CongestionControl.DROP
        reliability = zenoh.Reliability.RELIABLE if reliable else zenoh.Reliability.BEST_EFFORT
        self._publisher: zenoh.Publisher | ext.AdvancedPublisher
        if self._qos.durability != Durability.TRANSIENT_LOCAL:
            self._publisher = session.declare_publisher(key, congestion_control=congestion, reliability=reliability)
            return
        self._publisher = ext.declare_advanced_publisher(
            session,
            key,
            congestion_control=congestion,
            reliability=reliability,
            cache=ext.CacheConfig(max_samples=capacity(self._qos)),
            publisher_detection=True,
            sample_miss_detection=(
                ext.MissDetectionConfig(heartbeat=None, sporadic_heartbeat=HEARTBEAT_S) if reliable else None
            ),
        )

    def _undeclare(self) -> None:
        self._publisher.undeclare()

    def publish(self, msg: Any) -> None:
        """Send a message, or the bytes of a serialized one.

        Raises:
            WireError: The publisher is closed, or `msg` is of another class.
            InterfaceError: A field holds what it must not.
        """
        if not isinstance(msg, bytes | bytearray):
            if not isinstance(msg, self._cls):
                wanted = type_name(self._cls)
                raise WireError(f"{self.topic} carries {wanted}, and {type(msg).__name__} is something else.")
            msg = serialize(msg)
        with self._in_use("published"):
            self._publisher.put(msg, attachment=pack_attachment(next(self._numbers), time.time_ns(), self.gid))

    def subscription_count(self) -> int:
        """How many subscriptions of this topic and type there are."""
        return self._session.graph.count_matching("subscription", self._entity)


class WireSubscription(Endpoint):
    """Receives the messages of one topic; each is taken once, in the order of arrival."""

    KIND = "subscription"

    def __init__(self, node: WireNode, topic: str, cls: type[Any], qos: Qos, on_ready: Callable[[], None]) -> None:
        _require_message_class(cls)
        self.topic, self._cls, self._on_ready = topic, cls, on_ready
        super().__init__(node, topic, cls, qos)

    def _declare(self, session: zenoh.Session, key: str) -> None:
        size = capacity(self._qos)
        self._mailbox: Mailbox[tuple[bytes, MessageInfo]] = Mailbox(size, self._on_ready)
        self._subscriber: zenoh.Subscriber[None] | ext.AdvancedSubscriber[None]
        handler = self._handler(self._receive)
        if self._qos.durability != Durability.TRANSIENT_LOCAL:
            self._subscriber = session.declare_subscriber(key, handler)
            return
        reliable = self._qos.reliability != Reliability.BEST_EFFORT
        # No `subscriber_detection`: no publisher reads its token, and zenoh 1.10 keeps 2 kB of it in every session.
        self._subscriber = ext.declare_advanced_subscriber(
            session,
            key,
            handler,
            history=ext.HistoryConfig(detect_late_publishers=True, max_samples=size),
            recovery=ext.RecoveryConfig(periodic_queries=None, heartbeat=True) if reliable else None,
        )

    def _undeclare(self) -> None:
        self._subscriber.undeclare()
        self._mailbox.close()

    def _receive(self, sample: zenoh.Sample) -> None:
        if sample.kind != zenoh.SampleKind.PUT:
            self._drops.report("a message that deletes")
            return
        attachment = sample.attachment
        if attachment is None or len(attachment) != SIZE:
            self._drops.report("a message without an attachment of rmw_zenoh's")
            return
        try:
            number, sent_ns, gid = unpack_attachment(attachment.to_bytes())
        except ValueError as error:
            self._drops.report(f"a message: {error}")
            return
        # The bytes are copied here, so that a queue never holds on to shared memory or to receive buffers.
        self._mailbox.put((sample.payload.to_bytes(), MessageInfo(sent_ns, time.time_ns(), number, gid)))

    def take(self) -> tuple[bytes, MessageInfo] | None:
        """The next message as it came, or None."""
        return self._mailbox.take()

    def take_message(self) -> tuple[Any, MessageInfo] | None:
        """The next message, or None; packets that are no such message are logged and skipped."""
        while (taken := self._mailbox.take()) is not None:
            packet, info = taken
            try:
                return deserialize(packet, self._cls), info
            except InterfaceError as error:
                self._drops.report(f"a message: {error}")
        return None
