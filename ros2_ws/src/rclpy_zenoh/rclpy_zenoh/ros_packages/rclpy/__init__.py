"""rclpy's API (that of Jazzy) on rmw_zenoh's wire, for machines without ROS 2.

What rclpy would wait for without end is refused with a RuntimeError that says what to do:

* `Client.call` or `Rate.sleep` in a callback when no thread, or no callback group, is free to end it;
* `await` of a response in a callback of the client's own MutuallyExclusiveCallbackGroup;
* spinning an executor, or a node of it, that is spinning already.

What differs besides:

* A request that no server answers is reported by one warning; as in rclpy, its future never completes.
* Middleware events never come, `Publisher.wait_for_all_acked` is True at once, deadlines and lifespans have no effect.
* There are no lifecycle nodes, waitables, service introspection and log files.
* After a fork, the child cannot use what its parent has opened.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from rclpy import _import_hook as _import_hook  # before all that imports interfaces
from rclpy.context import Context
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions, install_signal_handlers, uninstall_signal_handlers
from rclpy.task import Future
from rclpy.utilities import get_default_context, get_rmw_implementation_identifier, ok
from rclpy.utilities import shutdown as _shutdown
from rclpy.utilities import try_shutdown as try_shutdown

if TYPE_CHECKING:
    from rclpy.executors import Executor
    from rclpy.node import Node

__all__ = [
    "InitContextManager",
    "create_node",
    "get_default_context",
    "get_global_executor",
    "get_rmw_implementation_identifier",
    "init",
    "ok",
    "shutdown",
    "spin",
    "spin_once",
    "spin_until_future_complete",
    "try_shutdown",
    "uninstall_signal_handlers",
]


class InitContextManager:
    """What `init` returns: `with rclpy.init():` shuts the context down at its end. Jazzy's returns nothing."""

    def __init__(self, context: Context, handles_signals: bool) -> None:
        self.context = context
        self._handles_signals = handles_signals

    def __enter__(self) -> InitContextManager:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try_shutdown(context=None if self.context is get_default_context() else self.context)
        if self._handles_signals:
            uninstall_signal_handlers()


def init(
    *,
    args: list[str] | None = None,
    context: Context | None = None,
    domain_id: int | None = None,
    signal_handler_options: SignalHandlerOptions | None = None,
) -> InitContextManager:
    """Initialize a context.

    Args:
        args: Command line arguments, by default `sys.argv`.
        context: The context, by default the default one.
        domain_id: ROS domain, by default that of the environment.
        signal_handler_options: Signals to handle; by default all for the default context, none for others.
    """
    chosen = get_default_context() if context is None else context
    if signal_handler_options is None:
        is_default = chosen is get_default_context()
        signal_handler_options = SignalHandlerOptions.ALL if is_default else SignalHandlerOptions.NO
    chosen.init(args, domain_id=domain_id)
    install_signal_handlers(signal_handler_options)
    return InitContextManager(chosen, signal_handler_options != SignalHandlerOptions.NO)


_global_executor: Executor | None = None


def get_global_executor() -> Executor:
    """The executor that the spin functions use; there is a new one after the default context's shutdown."""
    global _global_executor
    if _global_executor is not None:
        return _global_executor
    from rclpy.executors import SingleThreadedExecutor

    executor = _global_executor = SingleThreadedExecutor()

    def reset() -> None:
        global _global_executor
        executor.shutdown(timeout_sec=0)
        _global_executor = None

    executor.context.on_shutdown(reset)
    return executor


def shutdown(*, context: Context | None = None, uninstall_handlers: bool | None = None) -> None:
    """Shut down a context.

    Args:
        context: The context, by default the default one.
        uninstall_handlers: Put the signal handlers back; by default with the default context.

    Raises:
        RuntimeError: The context was not initialized, or has been shut down before.
    """
    if uninstall_handlers is None:
        uninstall_handlers = context is None or context is get_default_context()
    _shutdown(context=context)
    if uninstall_handlers:
        uninstall_signal_handlers()


def create_node(
    node_name: str,
    *,
    context: Context | None = None,
    cli_args: list[str] | None = None,
    namespace: str | None = None,
    use_global_arguments: bool = True,
    enable_rosout: bool = True,
    start_parameter_services: bool = True,
    parameter_overrides: list[Parameter] | None = None,
    allow_undeclared_parameters: bool = False,
    automatically_declare_parameters_from_overrides: bool = False,
    enable_logger_service: bool = False,
) -> Node:
    """Make a node; the arguments are those of `rclpy.node.Node`."""
    from rclpy.node import Node

    return Node(
        node_name,
        context=context,
        cli_args=cli_args,
        namespace=namespace,
        use_global_arguments=use_global_arguments,
        enable_rosout=enable_rosout,
        start_parameter_services=start_parameter_services,
        parameter_overrides=parameter_overrides,
        allow_undeclared_parameters=allow_undeclared_parameters,
        automatically_declare_parameters_from_overrides=automatically_declare_parameters_from_overrides,
        enable_logger_service=enable_logger_service,
    )


def spin_once(node: Node, *, executor: Executor | None = None, timeout_sec: float | None = None) -> None:
    """Run one callback of the node, if one is due within the timeout.

    Args:
        node: The node; it is added to the executor meanwhile.
        executor: By default the global one.
        timeout_sec: Seconds to wait; for ever if None or negative, not at all if 0.
    """
    executor = get_global_executor() if executor is None else executor
    executor._require_free(node)
    try:
        executor.add_node(node)
        executor.spin_once(timeout_sec=timeout_sec)
    finally:
        executor.remove_node(node)


def spin(node: Node, executor: Executor | None = None) -> None:
    """Run the callbacks of the node until the context of the executor is shut down.

    Raises:
        ExternalShutdownException: It was shut down by a signal, or by another thread.
    """
    executor = get_global_executor() if executor is None else executor
    executor._require_free(node)
    try:
        executor.add_node(node)
        executor.spin()
    finally:
        executor.remove_node(node)


def spin_until_future_complete(
    node: Node, future: Future, executor: Executor | None = None, timeout_sec: float | None = None
) -> None:
    """Run the callbacks of the node until the future is done, the time is over, or the context is shut down.

    Args:
        node: The node; it is added to the executor meanwhile.
        future: The future to wait for.
        executor: By default the global one.
        timeout_sec: Seconds to wait; for ever if None or negative.
    """
    executor = get_global_executor() if executor is None else executor
    executor._require_free(node)
    added = executor.add_node(node)
    try:
        executor.spin_until_future_complete(future, timeout_sec)
    finally:
        if added:
            executor.remove_node(node)
