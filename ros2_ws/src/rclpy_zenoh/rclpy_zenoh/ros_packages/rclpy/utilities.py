"""The default context and other helpers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from threading import Lock

from rclpy._arguments import Arguments
from rclpy.constants import S_TO_NS
from rclpy.context import Context

_lock = Lock()
_default_context: Context | None = None


def get_default_context(*, shutting_down: bool = False) -> Context:
    """The context that is used where none is given; a new one is made after the shutdown of the last.

    Args:
        shutting_down: Have the next call make a new one.
    """
    global _default_context
    with _lock:
        context = _default_context or Context()
        _default_context = None if shutting_down else context
        return context


def remove_ros_args(args: Sequence[str] | None = None) -> list[str]:
    """The command line arguments (`sys.argv`, if none are given) that are not ROS's."""
    return Arguments.parse(list(sys.argv if args is None else args)).remaining


def ok(*, context: Context | None = None) -> bool:
    """True if the context (by default the default one) is initialized and not shut down."""
    return (context or get_default_context()).ok()


def shutdown(*, context: Context | None = None) -> None:
    """Shut down a context, by default the default one; an error if it has been shut down."""
    (context or get_default_context(shutting_down=True)).shutdown()


def try_shutdown(*, context: Context | None = None) -> None:
    """Shut down a context, by default the default one, if it is not shut down."""
    (context or get_default_context(shutting_down=True)).try_shutdown()


def get_rmw_implementation_identifier() -> str:
    """The name of the middleware whose wire is spoken."""
    return "rmw_zenoh_cpp"


def get_available_rmw_implementations() -> set[str]:
    """The names of the middlewares that can be used."""
    return {get_rmw_implementation_identifier()}


def timeout_sec_to_nsec(timeout_sec: float | None) -> int:
    """A timeout in nanoseconds; -1, for ever, if it is None or negative."""
    return -1 if timeout_sec is None or timeout_sec < 0 else int(float(timeout_sec) * S_TO_NS)
