"""A client for the parameters of another node."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)

from rclpy.callback_groups import CallbackGroup
from rclpy.client import Client
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_dict_from_yaml_file
from rclpy.qos import QoSProfile, qos_profile_parameter_events, qos_profile_services_default
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.subscription import Subscription
from rclpy.task import Future

DoneCallback = Callable[[Future], None]
_POLL_SEC = 0.02


class AsyncParameterClient:
    """Reads and sets the parameters of a node through its services.

    Each request returns a `Future` of the service's response, such as rcl_interfaces/srv/SetParameters_Response; a
    `callback` is called with the future when it is done.

    Args:
        node: The node that asks.
        remote_node_name: Name of the node that is asked; a relative one is in the namespace of `node`.
        qos_profile: Quality of service of the clients.
        callback_group: Callback group of the clients.
    """

    def __init__(
        self,
        node: Node,
        remote_node_name: str,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: CallbackGroup | None = None,
    ) -> None:
        self.remote_node_name = remote_node_name
        self.node = node

        def client(service_type: Any, name: str) -> Client:
            return node.create_client(
                service_type, f"{remote_node_name}/{name}", qos_profile=qos_profile, callback_group=callback_group
            )

        self._get_parameter_client = client(GetParameters, "get_parameters")
        self._list_parameter_client = client(ListParameters, "list_parameters")
        self._set_parameter_client = client(SetParameters, "set_parameters")
        self._get_parameter_types_client = client(GetParameterTypes, "get_parameter_types")
        self._describe_parameters_client = client(DescribeParameters, "describe_parameters")
        self._set_parameters_atomically_client = client(SetParametersAtomically, "set_parameters_atomically")

    def services_are_ready(self) -> bool:
        """True where all services of the other node are there."""
        return all(
            client.service_is_ready()
            for client in (
                self._list_parameter_client,
                self._set_parameter_client,
                self._get_parameter_client,
                self._get_parameter_types_client,
                self._describe_parameters_client,
                self._set_parameters_atomically_client,
            )
        )

    def wait_for_services(self, timeout_sec: float | None = None) -> bool:
        """Wait until all services are there, for ever by default; returns whether they are."""
        deadline = None if timeout_sec is None else time.monotonic() + timeout_sec
        while not (ready := self.services_are_ready()) and self.node.context.ok():
            if deadline is not None and time.monotonic() >= deadline:
                break
            time.sleep(_POLL_SEC)
        return ready

    def list_parameters(
        self, prefixes: list[str] | None = None, depth: int | None = None, callback: DoneCallback | None = None
    ) -> Future:
        """Ask for names below the prefixes (everywhere by default), to a depth (unlimited by default)."""
        request = ListParameters.Request(prefixes=prefixes or [], depth=depth or 0)
        return _call(self._list_parameter_client, request, callback)

    def get_parameters(self, names: list[str], callback: DoneCallback | None = None) -> Future:
        """Ask for values."""
        return _call(self._get_parameter_client, GetParameters.Request(names=names), callback)

    def set_parameters(
        self, parameters: Sequence[Parameter | ParameterMsg], callback: DoneCallback | None = None
    ) -> Future:
        """Set parameters one after the other."""
        request = SetParameters.Request(parameters=_messages(parameters))
        return _call(self._set_parameter_client, request, callback)

    def describe_parameters(self, names: list[str], callback: DoneCallback | None = None) -> Future:
        """Ask for descriptors."""
        return _call(self._describe_parameters_client, DescribeParameters.Request(names=names), callback)

    def get_parameter_types(self, names: list[str], callback: DoneCallback | None = None) -> Future:
        """Ask for types, as numbers of `Parameter.Type`."""
        return _call(self._get_parameter_types_client, GetParameterTypes.Request(names=names), callback)

    def set_parameters_atomically(
        self, parameters: Sequence[Parameter | ParameterMsg], callback: DoneCallback | None = None
    ) -> Future:
        """Set all parameters or none."""
        request = SetParametersAtomically.Request(parameters=_messages(parameters))
        return _call(self._set_parameters_atomically_client, request, callback)

    def delete_parameters(self, names: list[str], callback: DoneCallback | None = None) -> Future:
        """Undeclare dynamically typed parameters."""
        return self.set_parameters([Parameter(name) for name in names], callback)

    def load_parameter_file(
        self, parameter_file: str, use_wildcard: bool = False, callback: DoneCallback | None = None
    ) -> Future:
        """Set the parameters of a file; see `rclpy.parameter.parameter_dict_from_yaml_file`."""
        parameters = parameter_dict_from_yaml_file(parameter_file, use_wildcard)
        return self.set_parameters(list(parameters.values()), callback)

    def load_parameter_file_atomically(
        self, parameter_file: str, use_wildcard: bool = False, callback: DoneCallback | None = None
    ) -> Future:
        """Set all parameters of a file or none."""
        parameters = parameter_dict_from_yaml_file(parameter_file, use_wildcard)
        return self.set_parameters_atomically(list(parameters.values()), callback)

    def on_parameter_event(
        self,
        callback: Callable[[ParameterEvent], None],
        qos_profile: QoSProfile = qos_profile_parameter_events,
        *,
        callback_group: CallbackGroup | None = None,
        event_callbacks: SubscriptionEventCallbacks | None = None,
        qos_overriding_options: QoSOverridingOptions | None = None,
        raw: bool = False,
    ) -> Subscription:
        """Subscribe to the parameter events of all nodes."""
        return self.node.create_subscription(
            ParameterEvent,
            "/parameter_events",
            callback,
            qos_profile,
            callback_group=callback_group,
            event_callbacks=event_callbacks,
            qos_overriding_options=qos_overriding_options,
            raw=raw,
        )


def _call(client: Client, request: Any, callback: DoneCallback | None) -> Future:
    future = client.call_async(request)
    if callback is not None:
        future.add_done_callback(callback)
    return future


def _messages(parameters: Sequence[Parameter | ParameterMsg]) -> list[ParameterMsg]:
    return [p.to_parameter_msg() if isinstance(p, Parameter) else p for p in parameters]
