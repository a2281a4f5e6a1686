"""The main function of every node: start, spin, end quietly."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node

from tool_nodes.results import ToolError

BAD_INPUT = 2
"""Exit status of a node that cannot start with what it was given."""


def run_node(make: Callable[[], Node], args: list[str] | None = None, *, threads: int = 4) -> None:
    """Run a node until SIGINT, SIGTERM or a shutdown; exits with status 2 and one sentence if it cannot start.

    Args:
        make: Makes the node, after `rclpy.init`.
        args: Command line, by default `sys.argv`.
        threads: Size of the executor's pool.
    """
    try:
        rclpy.init(args=args)
    except Exception as error:  # bad ROS arguments, a bad parameter file, nobody to connect to
        _end(error)
    try:
        _spin(make, threads)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass  # how a node is ended
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


def _spin(make: Callable[[], Node], threads: int) -> None:
    try:
        node = make()
    except (ToolError, ParameterException) as error:
        _end(error)
    executor = MultiThreadedExecutor(num_threads=threads)
    executor.add_node(node)
    try:
        executor.spin()
    finally:
        executor.shutdown(timeout_sec=1.0)
        node.destroy_node()


def _end(error: Exception) -> NoReturn:
    print(" ".join(str(error).split()), file=sys.stderr)
    raise SystemExit(BAD_INPUT)
