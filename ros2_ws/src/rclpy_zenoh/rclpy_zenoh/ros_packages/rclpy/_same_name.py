"""The warning that several nodes of the graph have one name."""

from __future__ import annotations

import os
from collections.abc import Callable

from rclpy import _console
from rclpy.impl.logging_severity import LoggingSeverity
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy_zenoh.wire import WireNode


def warn_of_same_name(node: WireNode, logger: RcutilsLogger) -> Callable[[], None]:
    """Warn once when there is another node of this name, now or later; call what is returned to end that."""
    graph = node.session.graph
    warned = False

    def check() -> None:
        nonlocal warned
        if warned or sum((name, space) == (node.name, node.namespace) for name, space, _ in graph.get_nodes()) < 2:
            return
        warned = True
        if logger.is_enabled_for(LoggingSeverity.WARN):
            caller = _console.Caller("warn_of_same_name", os.path.basename(__file__), 0)
            text = f"There are several nodes named '{node.fq_name}' in the graph; give each its own name."
            # Not on /rosout: this may run in a thread of the wire's, which must not publish.
            _console.write(logger.name, LoggingSeverity.WARN, text, caller, rosout=False)

    remove = graph.add_listener(check)
    check()
    return remove
