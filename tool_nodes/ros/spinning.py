"""The main function of every node: start, spin, end quietly."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

import rclpy
from rclpy.exceptions import InvalidHandle, ParameterException
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node

from toolhand.tool_nodes.results import ToolError

FAILED, BAD_INPUT = 1, 2
"""Exit status of a node that ended itself, and of one that cannot start with what it was given."""


class Unrecoverable(Exception):
    """Raised in a callback of a node that can only begin anew: its launch file starts it again. One sentence."""


def run_node(make: Callable[[], Node], args: list[str] | None = None) -> None:
    """Run a node until SIGINT, SIGTERM or a shutdown.

    Exits with one sentence and status 2 if it cannot start, with status 1 if a callback raised `Unrecoverable`.

    Args:
        make: Makes the node, after `rclpy.init`.
        args: Command line, by default `sys.argv`.
    """
    try:
        _run(make, args)
    except KeyboardInterrupt:  # one that came after the end of spinning, or a second one
        _shut_down()


def _run(make: Callable[[], Node], args: list[str] | None) -> None:
    try:
        rclpy.init(args=args)
    except Exception as error:  # bad ROS arguments, a bad parameter file, no peer to connect to
        _end(error)
    try:
        _spin(make)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass  # how a node is ended
    except Unrecoverable as error:
        _end(error, FAILED)
    except Exception:
        if rclpy.ok():
            raise
        # Else a signal came while something was being made or sent, which needs the connection that is gone.
    finally:
        _shut_down()


def _shut_down() -> None:
    try:
        rclpy.try_shutdown()
    except Exception:
        if rclpy.ok():
            raise
        # Else rclpy's own handler of the signal has done it at the same moment.


def _spin(make: Callable[[], Node]) -> None:
    try:
        node = make()
    except (ToolError, ParameterException) as error:
        _end(error)
    executor = MultiThreadedExecutor(num_threads=4)
    executor.add_node(node)
    try:
        while rclpy.ok():
            try:
                executor.spin()
                break
            except InvalidHandle as error:
                # rclpy waits for what another thread has destroyed meanwhile; what is left goes on.
                if not rclpy.ok():
                    raise
                node.get_logger().warning(f"Spinning goes on after: {error}.")
    finally:
        executor.shutdown(timeout_sec=1.0)
        node.destroy_node()


def _end(error: Exception, status: int = BAD_INPUT) -> NoReturn:
    print(" ".join(str(error).split()), file=sys.stderr)
    raise SystemExit(status)
