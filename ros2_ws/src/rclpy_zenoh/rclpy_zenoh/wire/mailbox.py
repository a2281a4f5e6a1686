"""The queue between zenoh's threads, which only put, and the executor's, which take."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from rclpy_zenoh.wire.gate import Gate
from rclpy_zenoh.wire.qos import History, Qos

T = TypeVar("T")

KEEP_ALL_LIMIT = 10_000
"""Items that a queue with history KEEP_ALL holds at most; then the oldest goes, as with KEEP_LAST."""


def capacity(qos: Qos) -> int:
    """How many items a queue with this (resolved) profile holds."""
    return KEEP_ALL_LIMIT if qos.history == History.KEEP_ALL else min(qos.depth, KEEP_ALL_LIMIT)


class Mailbox(Generic[T]):
    """A bounded queue that notifies when something was put into it.

    Args:
        size: Items that it holds; a further one pushes out the oldest.
        on_ready: Called after each put, without any lock, by the thread that puts.
    """

    def __init__(self, size: int, on_ready: Callable[[], None]) -> None:
        self._size, self._on_ready = size, on_ready
        self._items: deque[T] = deque()
        self._lock = threading.Lock()
        self._gate = Gate()

    def put(self, item: T) -> T | None:
        """Add an item. Returns what has no place any more: the oldest, or `item` itself when the box is closed."""
        with self._gate.passing() as is_open:
            if not is_open:
                return item
            with self._lock:
                pushed_out = self._items.popleft() if len(self._items) >= self._size else None
                self._items.append(item)
            self._on_ready()
            return pushed_out

    def take(self) -> T | None:
        """The oldest item, or None."""
        with self._lock:
            return self._items.popleft() if self._items else None

    def discard(self, unwanted: Callable[[T], bool]) -> None:
        """Remove the items for which `unwanted` is true."""
        with self._lock:
            self._items = deque(item for item in self._items if not unwanted(item))

    def close(self) -> list[T]:
        """Refuse further items and return those left; afterwards `on_ready` is not called and not running."""
        self._gate.close()
        with self._lock:
            left = list(self._items)
            self._items.clear()
        return left
