"""Callback groups say which callbacks of a node may run at the same time."""

from __future__ import annotations

import weakref
from collections import deque
from threading import Lock
from typing import Any

from rclpy._entity import Entity


class CallbackGroup:
    """Base of the callback groups; use one of the two below, or write `can_execute` and the methods after it."""

    def __init__(self) -> None:
        super().__init__()
        self.entities: set[weakref.ReferenceType[Any]] = set()
        # Entities with something to do that the group refused; they try again when a callback has ended.
        self._parked: deque[Entity] = deque()

    def add_entity(self, entity: Any) -> None:
        """Make a subscription, timer, client, service or guard condition a member."""
        self.entities.add(weakref.ref(entity, self.entities.discard))

    def has_entity(self, entity: Any) -> bool:
        """True if it is a member."""
        return weakref.ref(entity) in self.entities

    def can_execute(self, entity: Any) -> bool:
        """True if a callback of the member could begin now."""
        raise NotImplementedError

    def beginning_execution(self, entity: Any) -> bool:
        """Ask to begin a callback of the member; True obliges the caller to call `ending_execution`."""
        raise NotImplementedError

    def ending_execution(self, entity: Any) -> None:
        """Note that the callback of the member has ended."""
        raise NotImplementedError

    def _park(self, entity: Entity) -> None:
        """Keep a refused entity until a callback of the group has ended."""
        self._parked.append(entity)
        if self.can_execute(entity):  # the callback that was in the way ended meanwhile
            self._unpark()

    def _end(self, entity: Entity) -> None:
        """End a callback, and let those that were refused try again."""
        self.ending_execution(entity)
        self._unpark()

    def _unpark(self) -> None:
        while self._parked:
            try:
                entity = self._parked.popleft()
            except IndexError:  # another thread was faster
                return
            entity._unpark()


class ReentrantCallbackGroup(CallbackGroup):
    """Any number of its callbacks may run at the same time."""

    def can_execute(self, entity: Any) -> bool:
        """Always True."""
        return True

    def beginning_execution(self, entity: Any) -> bool:
        """Always True."""
        return True

    def ending_execution(self, entity: Any) -> None:
        """Nothing to do."""


class MutuallyExclusiveCallbackGroup(CallbackGroup):
    """One of its callbacks at a time; a coroutine that waits counts as running."""

    def __init__(self) -> None:
        super().__init__()
        self._active_entity: Any = None
        self._lock = Lock()

    def can_execute(self, entity: Any) -> bool:
        """True while no callback of the group runs."""
        return self._active_entity is None

    def beginning_execution(self, entity: Any) -> bool:
        """True, and the group is taken, if no callback of the group runs."""
        with self._lock:
            if self._active_entity is None:
                self._active_entity = entity
                return True
        return False

    def ending_execution(self, entity: Any) -> None:
        """Give the group free."""
        with self._lock:
            assert self._active_entity is entity, "ending_execution of a callback that did not begin"
            self._active_entity = None
