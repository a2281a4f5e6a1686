"""This process's place in a ROS 2 graph: one node that is spun in the background, and calls that end in time."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.calling import Deadlines, call
from toolhand.tool_nodes.ros.client import environment

_POLL_S = 0.02
"""Time between two looks at a future [s]."""
_DISCOVERY_S = 5.0
"""How long the graph is looked at before a service counts as absent [s]; DDS takes several on a busy machine."""


class RosLink:
    """A node of this process. A context manager; use it only while entered.

    Args:
        environment: Variables that lead to the graph, beside those of this process.
        deadlines: How long to wait for others.
        name: Name of the node; the process's where it is empty, so that a second link needs one.
    """

    def __init__(self, environment: Mapping[str, str], deadlines: Deadlines | None = None, name: str = "") -> None:
        self.deadlines = deadlines or Deadlines()
        self._environment, self._name = environment, name or f"toolhand_{os.getpid()}"
        self._clients: dict[str, Any] = {}

    def __enter__(self) -> RosLink:
        self._context = rclpy.Context()
        with environment(self._environment):
            # Ctrl-C is for the command, which cancels its goal; it must not tear the context down before.
            rclpy.init(args=[], context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node(
            self._name,
            context=self._context,
            use_global_arguments=False,
            start_parameter_services=False,
            enable_rosout=False,
        )
        self._executor = MultiThreadedExecutor(num_threads=2, context=self._context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()
        return self

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown(timeout_sec=1.0)
        self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)
        self._thread.join()

    def offers(self, service: str) -> bool:
        """True if a service of this full name is found before discovery counts as over."""
        end = time.monotonic() + _DISCOVERY_S
        while time.monotonic() < end:
            if service in (name for name, _ in self.node.get_service_names_and_types()):
                return True
            time.sleep(_POLL_S)
        return False

    def served(self, kind: Any, names: Iterable[str]) -> list[str]:
        """Those services of a type that have a server before discovery counts as over; a client alone is none."""
        clients = {name: self._client(kind, name) for name in names}
        end = time.monotonic() + _DISCOVERY_S
        while True:
            ready = [name for name, client in clients.items() if client.service_is_ready()]
            if len(ready) == len(clients) or time.monotonic() >= end:
                return ready
            time.sleep(_POLL_S)

    def call(self, kind: Any, name: str, request: Any, response_s: float | None = None) -> Any:
        """Call a service; arguments as of `trigger`. Raises ToolError as toolhand.tool_nodes.ros.calling.call."""
        longest_s = self.deadlines.response_s if response_s is None else response_s
        return call(self._client(kind, name), request, longest_s, self.deadlines.availability_s)

    def _client(self, kind: Any, name: str) -> Any:
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name, callback_group=ReentrantCallbackGroup())
        return self._clients[name]

    def trigger(self, name: str, response_s: float | None = None) -> str:
        """Call a std_srvs/Trigger; its message. Raises ToolError, INTERNAL where it does not succeed.

        Args:
            name: Name of the service.
            response_s: Longest wait for the answer [s]; that of the deadlines where None.
        """
        answer = self.call(Trigger, name, Trigger.Request(), response_s)
        if not answer.success:
            raise ToolError(ErrorCode.INTERNAL, f"{name} failed: {answer.message}")
        return str(answer.message)


def trigger_once(name: str, domain: int | None, answer_s: float) -> tuple[bool, str] | None:
    """(success, message) of a std_srvs/Trigger, by a process that does nothing else; None where nobody serves it.

    Args:
        name: Full name of the service.
        domain: ROS domain; None for that of the environment.
        answer_s: Longest wait for the answer [s].

    Raises:
        ToolError: UNAVAILABLE or TIMEOUT where the server has not answered.
    """
    with RosLink({} if domain is None else {"ROS_DOMAIN_ID": str(domain)}) as link:
        if not link.served(Trigger, [name]):
            return None
        answer = link.call(Trigger, name, Trigger.Request(), answer_s)
    return bool(answer.success), str(answer.message)
