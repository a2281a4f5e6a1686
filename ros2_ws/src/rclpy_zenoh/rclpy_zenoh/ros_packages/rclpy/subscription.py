"""Subscriptions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import Any, TypedDict

from rclpy._entity import Entity, Work
from rclpy._handle import Handle
from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.qos import QoSProfile
from rclpy_zenoh.wire import WireNode


class MessageInfo(TypedDict):
    """What is known of a message besides itself; times in nanoseconds since 1970."""

    source_timestamp: int
    received_timestamp: int
    publication_sequence_number: int | None
    reception_sequence_number: int | None


class Subscription(Entity):
    """Receives the messages of a topic; made by `Node.create_subscription`."""

    class CallbackType(Enum):
        """What a callback takes."""

        MessageOnly = 0
        WithMessageInfo = 1

    def __init__(
        self,
        node: WireNode,
        full_name: str,
        msg_type: type[Any],
        topic: str,
        callback: Callable[..., Any],
        callback_group: CallbackGroup,
        qos_profile: QoSProfile,
        raw: bool,
        context: Context,
    ) -> None:
        super().__init__(callback_group)
        self.callback = callback
        self.msg_type = msg_type
        self.topic = topic
        self.qos_profile = qos_profile
        self.raw = raw
        self._graph = node.session.graph
        self._wire = node.create_subscription(full_name, msg_type, qos_profile._to_wire(), self._notify)
        self._handle = Handle(f"subscription of '{full_name}'", context, self._wire.close)

    @property
    def callback(self) -> Callable[..., Any]:
        """What is called with each message, or with the message and its `MessageInfo`."""
        return self._callback

    @callback.setter
    def callback(self, value: Callable[..., Any]) -> None:
        self._callback_type = _callback_type(value)
        self._callback = value

    def get_publisher_count(self) -> int:
        """How many publishers the topic has."""
        with self._handle:
            return self._graph.count("publisher", self._wire.topic)

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
        """Destroy it; call `Node.destroy_subscription` instead."""
        self._handle.destroy_when_not_in_use()

    def _take(self) -> Work | None:
        if self._handle.destroyed:
            return None
        taken: Any = self._wire.take() if self.raw else self._wire.take_message()
        if taken is None:
            return None
        message, info = taken
        if self._callback_type is Subscription.CallbackType.MessageOnly:
            return self._callback, (message,)
        return self._callback, (
            message,
            MessageInfo(
                source_timestamp=info.source_timestamp_ns,
                received_timestamp=info.received_timestamp_ns,
                publication_sequence_number=info.publication_sequence_number,
                reception_sequence_number=None,
            ),
        )

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.destroy()


def _callback_type(callback: Callable[..., Any]) -> Subscription.CallbackType:
    signature = inspect.signature(callback)
    for count, kind in ((1, Subscription.CallbackType.MessageOnly), (2, Subscription.CallbackType.WithMessageInfo)):
        try:
            signature.bind(*[object()] * count)
        except TypeError:
            continue
        return kind
    raise RuntimeError("A subscription's callback takes one argument, the message, or two, the message and its info.")
