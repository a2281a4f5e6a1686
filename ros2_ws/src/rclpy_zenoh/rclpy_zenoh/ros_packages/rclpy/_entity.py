"""What an executor can wait for: the common part of subscriptions, services, clients, timers and guard conditions."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rclpy.callback_groups import CallbackGroup
    from rclpy.executors import Executor
    from rclpy.node import Node

Work = tuple[Callable[..., Any], tuple[Any, ...]]
"""A callback, plain or a coroutine function, and its arguments."""


class Waiting(Enum):
    """Where an entity stands with its executor; changed under the executor's lock."""

    IDLE = 0
    QUEUED = 1
    """In the executor's queue, because there may be something to do."""
    PARKED = 2
    """Refused by its callback group, until a callback of the group ends."""


class Entity:
    """Something whose callbacks an executor runs."""

    callback_group: CallbackGroup

    def __init__(self, callback_group: CallbackGroup) -> None:
        self.callback_group = callback_group
        self._owner: weakref.ReferenceType[Node] | None = None
        self._waiting = Waiting.IDLE

    def _executor_of_owner(self) -> Executor | None:
        node = self._owner() if self._owner is not None else None
        return node.executor if node is not None else None

    def _notify(self) -> None:
        """Notify the executor that there may be something to do; may be called from any thread."""
        executor = self._executor_of_owner()
        if executor is not None:
            executor._entity_ready(self)

    def _unpark(self) -> None:
        """Try again, after the callback group refused."""
        self._waiting = Waiting.IDLE
        self._notify()

    def _take(self) -> Work | None:
        """Take one item out of the queue; None if there is none or the entity has been destroyed."""
        raise NotImplementedError

    def _rearm(self, executor: Executor, taken: bool) -> None:
        """After `_take`: see to it that the next item is noticed."""
        if taken:
            executor._entity_ready(self)
