"""Middleware events. rmw_zenoh's wire carries none, so that no callback given here is ever called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy._rclpy_pybind11 import UnsupportedEventTypeError as UnsupportedEventTypeError

_Callback = Callable[[Any], Any] | None


class SubscriptionEventCallbacks:
    """Callbacks for a subscription's events; accepted so that nodes run, and never called."""

    def __init__(
        self,
        *,
        deadline: _Callback = None,
        incompatible_qos: _Callback = None,
        liveliness: _Callback = None,
        message_lost: _Callback = None,
        incompatible_type: _Callback = None,
        matched: _Callback = None,
        use_default_callbacks: bool = True,
    ) -> None:
        self.deadline = deadline
        self.incompatible_qos = incompatible_qos
        self.liveliness = liveliness
        self.message_lost = message_lost
        self.incompatible_type = incompatible_type
        self.matched = matched
        self.use_default_callbacks = use_default_callbacks


class PublisherEventCallbacks:
    """Callbacks for a publisher's events; accepted so that nodes run, and never called."""

    def __init__(
        self,
        *,
        deadline: _Callback = None,
        liveliness: _Callback = None,
        incompatible_qos: _Callback = None,
        incompatible_type: _Callback = None,
        matched: _Callback = None,
        use_default_callbacks: bool = True,
    ) -> None:
        self.deadline = deadline
        self.liveliness = liveliness
        self.incompatible_qos = incompatible_qos
        self.incompatible_type = incompatible_type
        self.matched = matched
        self.use_default_callbacks = use_default_callbacks
