"""The hidden node through which a command takes part in the graph."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.exceptions import NameValidationException
from rclpy.executors import SingleThreadedExecutor
from rclpy.expand_topic_name import expand_topic_name
from rclpy.signals import SignalHandlerOptions
from rclpy.validate_full_topic_name import validate_full_topic_name

from rclpy_zenoh import overlay
from rclpy_zenoh.cli.errors import EXTRA, CliError, UsageError, packages_missing
from rclpy_zenoh.cli.grammar import Arguments

ROUTER_VARIABLE = "RCLPY_ZENOH_ROUTER"
CLIENT_VARIABLE = "RCLPY_ZENOH_CLIENT"
QUIET_S = 0.15
"""Through a router the graph is known once nothing has been heard of for so long."""

ROUTER_TIMEOUT_S = 2.0
STEP_S = 0.02


class Connection:
    """A node, spun only while a command waits for something.

    Args:
        node: The command's own node.
        executor: Has the node.
        spin_time: Longest time for discovery [s].
        quiet: Discovery ends earlier when the graph has not changed for so long [s].
    """

    def __init__(self, node: Any, executor: Any, spin_time: float, quiet: float) -> None:
        self.node = node
        self._executor = executor
        self._spin_time = spin_time
        self._quiet = quiet

    def spin_until(self, done: Callable[[], bool], timeout: float | None = None) -> bool:
        """Run callbacks until `done`, at most `timeout` seconds.

        Returns:
            True where it is done.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while not done():
            if end is not None and time.monotonic() >= end:
                return False
            self._executor.spin_once(timeout_sec=STEP_S)
        return True

    def spin_for(self, duration: float) -> None:
        """Run callbacks for `duration` seconds."""
        end = time.monotonic() + duration
        while (left := end - time.monotonic()) > 0:
            self._executor.spin_once(timeout_sec=left)

    def wait_for(self, future: Any, alive: Callable[[], bool], gone: str) -> Any:
        """The result of a future.

        Args:
            future: A future of rclpy.
            alive: False once nothing is left that could complete it.
            gone: The sentence for that case.

        Raises:
            CliError: It cannot complete, or it failed.
        """
        while not future.done():
            self._executor.spin_until_future_complete(future, timeout_sec=0.5)
            if not future.done() and not alive():
                raise CliError(gone)
        try:
            return future.result()
        except Exception as error:
            raise CliError(f"The answer cannot be used: {error}") from error

    def discover(self) -> None:
        """Spin until the graph is quiet, at most for the whole spin time."""
        end = time.monotonic() + self._spin_time
        graph, changed = self._graph(), time.monotonic()
        while (now := time.monotonic()) < end:
            self._executor.spin_once(timeout_sec=STEP_S)
            if (latest := self._graph()) != graph:
                graph, changed = latest, now
            elif now - changed >= self._quiet and len(graph[0]) > 1:
                return

    def _graph(self) -> tuple[Any, ...]:
        node = self.node
        return (
            sorted(node.get_node_names_and_namespaces()),
            sorted((name, tuple(types)) for name, types in node.get_topic_names_and_types()),
            sorted((name, tuple(types)) for name, types in node.get_service_names_and_types()),
        )

    def expand(self, name: str) -> str:
        """Fully qualified name of a topic, service or action. Raises UsageError."""
        try:
            full: str = expand_topic_name(name, self.node.get_name(), self.node.get_namespace())
            validate_full_topic_name(full)
        except (ValueError, NameValidationException) as error:
            raise UsageError(f"'{name}' is no valid name: {str(error).splitlines()[0].rstrip(':.')}.") from error
        return full


@contextlib.contextmanager
def connect(arguments: Arguments, *, looks: bool = False) -> Iterator[Connection]:
    """Take part in the graph until the block ends.

    Args:
        arguments: `domain`, `router` and `spin_time` are used.
        looks: Only the graph is looked at, which the router knows too; other sessions need not know of this one.

    Raises:
        CliError: There is no router.
        UsageError: Domain or router are wrong.
    """
    pip_client = overlay.install()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_router_in_environment(arguments.router, pip_client))
        if looks and CLIENT_VARIABLE not in os.environ:
            stack.enter_context(_in_environment(CLIENT_VARIABLE, "1"))
        if pip_client:
            _check_packages()
            _check_router(arguments)
        context = Context()
        rclpy.init(
            args=[],
            context=context,
            domain_id=arguments.domain,
            signal_handler_options=SignalHandlerOptions.NO,  # after Ctrl-C a goal can still be cancelled
        )
        stack.callback(rclpy.try_shutdown, context=context)
        node = rclpy.create_node(
            f"_ros2cli_{os.getpid()}", context=context, enable_rosout=False, start_parameter_services=False
        )
        stack.callback(node.destroy_node)
        executor = SingleThreadedExecutor(context=context)
        stack.callback(executor.shutdown)
        executor.add_node(node)
        spin_time = arguments.spin_time
        connection = Connection(node, executor, spin_time, QUIET_S if pip_client else spin_time)
        connection.discover()
        yield connection


@contextlib.contextmanager
def _router_in_environment(router: str | None, pip_client: bool) -> Iterator[None]:
    """The client reads its router from the environment; what was there comes back afterwards."""
    if router is None:
        yield
        return
    if not pip_client:
        raise UsageError("--router is for machines without ROS 2; set ZENOH_SESSION_CONFIG_URI for rmw_zenoh instead.")
    if not router:
        raise UsageError("--router needs an endpoint such as tcp/127.0.0.1:7447.")
    with _in_environment(ROUTER_VARIABLE, router):
        yield


@contextlib.contextmanager
def _in_environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _check_packages() -> None:
    """Raises CliError for a missing one, rather than that there is no router."""
    for module in EXTRA:
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            raise packages_missing() from error


def _check_router(arguments: Arguments) -> None:
    """Without a router a session opens and then sees no other one, so it is better to say so."""
    from rclpy_zenoh.wire import SessionError, SessionOptions

    try:
        endpoint = SessionOptions.from_environment().router
    except SessionError as error:
        raise UsageError(str(error)) from error
    if endpoint is None or not endpoint.startswith(("tcp/", "tls/")):
        return
    host, _, port = endpoint.partition("/")[2].rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise UsageError(f"'{endpoint}' is no router endpoint; write it as tcp/127.0.0.1:7447.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), ROUTER_TIMEOUT_S).close()
    except OSError:
        raise CliError(
            f"No router answers at {endpoint}; start one with `{arguments.prog} router --port {port}`."
        ) from None
