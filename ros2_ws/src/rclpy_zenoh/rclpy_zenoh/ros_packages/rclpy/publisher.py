"""Publishers."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rclpy._handle import Handle
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.qos import QoSProfile
from rclpy_zenoh.wire import WirePublisher


class Publisher:
    """Sends messages on a topic; made by `Node.create_publisher`."""

    def __init__(
        self, wire: WirePublisher, msg_type: type[Any], topic: str, qos_profile: QoSProfile, context: Context
    ) -> None:
        self._wire = wire
        self._handle = Handle(f"publisher of '{wire.topic}'", context, wire.close)
        self.msg_type = msg_type
        self.topic = topic
        self.qos_profile = qos_profile

    def publish(self, msg: Any) -> None:
        """Send a message.

        Args:
            msg: A message of the publisher's class, or one in serialized form as bytes.

        Raises:
            TypeError: It is of another class.
            InvalidHandle: The publisher has been destroyed.
            RuntimeError: The context has been shut down.
        """
        self._handle.require_context()
        if not isinstance(msg, (self.msg_type, bytes)):
            raise TypeError(f"Expected {self.msg_type}, got {type(msg)}")
        self._wire.publish(msg)

    def get_subscription_count(self) -> int:
        """How many subscriptions it has."""
        with self._handle:
            return self._wire.subscription_count()

    @property
    def topic_name(self) -> str:
        """The full name of the topic."""
        with self._handle:
            return self._wire.topic

    @property
    def handle(self) -> Handle:
        """What ends its use."""
        return self._handle

    def destroy(self) -> None:
        """Destroy it; call `Node.destroy_publisher` instead."""
        self._handle.destroy_when_not_in_use()

    def assert_liveliness(self) -> None:
        """Nothing to do: the wire has no manual liveliness."""
        self._handle.require_context()

    def wait_for_all_acked(self, timeout: Duration = Duration(seconds=-1)) -> bool:  # noqa: B008  # immutable
        """True at once, as the wire has no acknowledgements."""
        self._handle.require_context()
        return True

    def __enter__(self) -> Publisher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.destroy()
