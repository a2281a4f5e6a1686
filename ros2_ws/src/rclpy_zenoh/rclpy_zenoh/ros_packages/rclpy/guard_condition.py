"""Guard conditions: callbacks that any thread can ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy._entity import Entity, Work
from rclpy._handle import Handle
from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.utilities import get_default_context


class GuardCondition(Entity):
    """A callback that an executor runs once after `trigger`; made by `Node.create_guard_condition`."""

    def __init__(
        self, callback: Callable[[], Any], callback_group: CallbackGroup, context: Context | None = None
    ) -> None:
        super().__init__(callback_group)
        self.callback = callback
        self._triggered = False
        self._handle = Handle("guard condition", context or get_default_context(), lambda: None)

    @property
    def handle(self) -> Handle:
        """What ends its use."""
        return self._handle

    def trigger(self) -> None:
        """Ask for the callback; several requests before it runs are one."""
        with self._handle:
            self._triggered = True
        self._notify()

    def destroy(self) -> None:
        """Destroy it; call `Node.destroy_guard_condition` instead."""
        self._handle.destroy_when_not_in_use()

    def _take(self) -> Work | None:
        if not self._triggered or self._handle.destroyed:
            return None
        self._triggered = False
        return self.callback, ()
