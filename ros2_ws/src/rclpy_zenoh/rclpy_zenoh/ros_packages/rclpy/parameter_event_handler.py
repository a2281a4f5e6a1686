"""Callbacks for changes of single parameters of any node."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.msg import ParameterEvent

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile, qos_profile_parameter_events
from rclpy.qos_overriding_options import QoSOverridingOptions


@dataclass(eq=False, frozen=True)
class ParameterCallbackHandle:
    """What `add_parameter_callback` returns; it names a callback that can be removed."""

    parameter_name: str
    node_name: str
    callback: Callable[[ParameterMsg], None]


@dataclass(eq=False, frozen=True)
class ParameterEventCallbackHandle:
    """What `add_parameter_event_callback` returns; it names a callback that can be removed."""

    callback: Callable[[ParameterEvent], None]


class ParameterEventHandler:
    """Watches /parameter_events and calls back; callbacks added last are called first.

    Args:
        node: The node that subscribes.
        qos_profile: Quality of service of the subscription.
        callback_group: Callback group of the subscription.
        event_callbacks: Event callbacks, see `Node.create_subscription`.
        qos_overriding_options: Overridable policies, see `Node.create_subscription`.
    """

    def __init__(
        self,
        node: Node,
        qos_profile: QoSProfile = qos_profile_parameter_events,
        callback_group: CallbackGroup | None = None,
        event_callbacks: SubscriptionEventCallbacks | None = None,
        qos_overriding_options: QoSOverridingOptions | None = None,
    ) -> None:
        self.node = node
        self.qos_profile = qos_profile
        self._lock = threading.Lock()
        self._handles: list[ParameterCallbackHandle | ParameterEventCallbackHandle] = []
        self.parameter_event_subscription = node.create_subscription(
            ParameterEvent,
            "/parameter_events",
            self._on_event,
            qos_profile,
            callback_group=callback_group,
            event_callbacks=event_callbacks,
            qos_overriding_options=qos_overriding_options,
        )

    def destroy(self) -> None:
        """End the subscription."""
        self.node.destroy_subscription(self.parameter_event_subscription)

    @staticmethod
    def get_parameter_from_event(event: ParameterEvent, parameter_name: str, node_name: str) -> ParameterMsg | None:
        """The new value of a parameter of the node, or None where the event is about others."""
        if event.node != node_name:
            return None
        found = ParameterEventHandler.get_parameters_from_event(event)
        return next((parameter for parameter in found if parameter.name == parameter_name), None)

    @staticmethod
    def get_parameters_from_event(event: ParameterEvent) -> Iterator[ParameterMsg]:
        """All new and changed parameters of an event."""
        yield from chain(event.new_parameters, event.changed_parameters)

    def add_parameter_callback(
        self, parameter_name: str, node_name: str, callback: Callable[[ParameterMsg], None]
    ) -> ParameterCallbackHandle:
        """Call `callback` with each new value of a parameter; a relative node name is in the node's namespace."""
        handle = ParameterCallbackHandle(parameter_name, self._resolve(node_name), callback)
        with self._lock:
            self._handles.insert(0, handle)
        return handle

    def add_parameter_event_callback(self, callback: Callable[[ParameterEvent], None]) -> ParameterEventCallbackHandle:
        """Call `callback` with each event of any node, after the callbacks for single parameters."""
        handle = ParameterEventCallbackHandle(callback)
        with self._lock:
            self._handles.insert(0, handle)
        return handle

    def remove_parameter_callback(self, handle: ParameterCallbackHandle) -> None:
        """Undo `add_parameter_callback`; RuntimeError where it was undone before."""
        self._remove(handle)

    def remove_parameter_event_callback(self, handle: ParameterEventCallbackHandle) -> None:
        """Undo `add_parameter_event_callback`; RuntimeError where it was undone before."""
        self._remove(handle)

    def _remove(self, handle: ParameterCallbackHandle | ParameterEventCallbackHandle) -> None:
        with self._lock:
            if handle not in self._handles:
                raise RuntimeError("Callback doesn't exist")
            self._handles.remove(handle)

    def _on_event(self, event: ParameterEvent) -> None:
        with self._lock:
            handles = list(self._handles)
        for handle in handles:
            if isinstance(handle, ParameterCallbackHandle):
                parameter = self.get_parameter_from_event(event, handle.parameter_name, handle.node_name)
                if parameter is not None:
                    handle.callback(parameter)
        for handle in handles:
            if isinstance(handle, ParameterEventCallbackHandle):
                handle.callback(event)

    def _resolve(self, node_name: str) -> str:
        if not node_name:
            return self.node.get_fully_qualified_name()
        return node_name if node_name.startswith("/") else f"{self.node.get_namespace().rstrip('/')}/{node_name}"
