"""Keeps closing and using apart: what is closed is not in use any more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_CLOSE_TIMEOUT_S = 5.0


class Gate:
    """Counts the threads inside. Closing it waits until there are none.

    zenoh's objects must not be undeclared while another thread is inside one of their methods.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: list[int] = []
        self._closed = False

    @property
    def closed(self) -> bool:
        """True from the beginning of `close`."""
        return self._closed

    @contextmanager
    def passing(self) -> Iterator[bool]:
        """A context in which the gate cannot finish closing; its value is False if it was closed before."""
        me = threading.get_ident()
        with self._changed:
            is_open = not self._closed
            if is_open:
                self._inside.append(me)
        try:
            yield is_open
        finally:
            if is_open:
                with self._changed:
                    self._inside.remove(me)
                    self._changed.notify_all()

    def close(self) -> bool:
        """Let no thread in any more, and wait for those inside. Returns False if it was closed already.

        It does not wait for its own thread, nor longer than 5 s.
        """
        me = threading.get_ident()
        with self._changed:
            if self._closed:
                return False
            self._closed = True
            self._changed.wait_for(lambda: all(ident == me for ident in self._inside), _CLOSE_TIMEOUT_S)
        return True
