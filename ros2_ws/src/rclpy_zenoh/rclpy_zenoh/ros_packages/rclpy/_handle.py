"""Handles: what distinguishes a destroyed entity from a living one."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from rclpy._rclpy_pybind11 import InvalidHandle, RCLError

if TYPE_CHECKING:
    from rclpy.context import Context


class Handle:
    """The right to use a node or one of its entities, which ends with `destroy_when_not_in_use`.

    Args:
        what: Description of the owner for messages, e.g. "publisher of '/chatter'".
        context: Its context.
        close: Called once, when it is destroyed.
    """

    __slots__ = ("_close", "_context", "_what")

    def __init__(self, what: str, context: Context, close: Callable[[], None]) -> None:
        self._what = what
        self._context = context
        self._close: Callable[[], None] | None = close

    @property
    def destroyed(self) -> bool:
        """True once it has been destroyed."""
        return self._close is None

    def __enter__(self) -> None:
        if self._close is None:
            raise InvalidHandle(f"The {self._what} has been destroyed and cannot be used any more.")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def require_context(self) -> None:
        """Refuse the use of something destroyed, or whose context has been shut down.

        Raises:
            InvalidHandle: It has been destroyed.
            RCLError: Its context has been shut down, or belongs to the parent of this forked process.
        """
        if self._close is None:
            self.__enter__()
        if not self._context._valid:
            self._context._require_unforked()
            raise RCLError(f"The context of the {self._what} has been shut down.")

    def destroy_when_not_in_use(self) -> None:
        """End its use.

        Raises:
            InvalidHandle: It has been destroyed before.
        """
        self.__enter__()
        close, self._close = self._close, None
        if close is not None:
            close()
