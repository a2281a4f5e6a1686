"""Every attempt to move, kept by the motion node for recorders of runs: the service `get_motion_attempts`."""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from std_srvs.srv import Trigger

from toolhand.tool_nodes.motion.guard import LOG

SERVICE = "get_motion_attempts"
KEPT = 500
"""Attempts that are kept, the newest."""


@dataclass(frozen=True)
class Attempts:
    """What was attempted.

    Attributes:
        count: How many there were since the node was started.
        newest: The last of them, oldest first, each as `motion.guard.record` has it.
    """

    count: int
    newest: tuple[dict[str, Any], ...]

    def since(self, count: int) -> list[dict[str, Any]]:
        """Those after the first `count`; all of a node that was started anew meanwhile. Lost ones leave a line."""
        missed = self.count - (count if count <= self.count else 0)
        lost = missed - len(self.newest)
        newest = list(self.newest[-missed:]) if missed else []
        return [{"outcome": "lost", "count": lost}, *newest] if lost > 0 else newest


def read_attempts(message: str) -> Attempts:
    """What the service answers. Raises ValueError for anything else."""
    document = json.loads(message)
    try:
        newest = tuple(dict(attempt) for attempt in document["newest"])
        return Attempts(int(document["count"]), newest)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{SERVICE} answered something else: {error}") from error


class AttemptLog(logging.Handler):
    """Hears the guard of this process, keeps the newest attempts and serves them; refusals go to the node's log too.

    Args:
        node: Gets the service.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(logging.INFO)
        self._count = 0
        self._newest: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._lines = threading.Lock()
        self._logger = node.get_logger()
        LOG.addHandler(self)
        LOG.setLevel(logging.INFO)
        node.create_service(Trigger, SERVICE, self._tell, callback_group=ReentrantCallbackGroup())

    def emit(self, record: logging.LogRecord) -> None:
        """See logging.Handler."""
        line = record.getMessage()
        with self._lines:
            self._count += 1
            self._newest.append(json.loads(line))
        if record.levelno >= logging.WARNING:
            self._logger.warning(line)

    def close(self) -> None:
        """Hear no more."""
        LOG.removeHandler(self)
        super().close()

    def _tell(self, request: Any, response: Any) -> Any:
        with self._lines:
            document = {"count": self._count, "newest": list(self._newest)}
        response.success, response.message = True, json.dumps(document)
        return response
