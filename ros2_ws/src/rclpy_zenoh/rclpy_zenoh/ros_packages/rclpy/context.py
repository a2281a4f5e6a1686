"""Contexts: from init to shutdown."""

from __future__ import annotations

import _thread
import atexit
import contextlib
import ctypes
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import ismethod
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rclpy._arguments import Arguments
from rclpy._rclpy_pybind11 import RCLError
from rclpy.exceptions import NotInitializedException
from rclpy.logging import get_logger

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy_zenoh.wire import SessionOptions, WireNode, WireSession

_contexts: weakref.WeakSet[Context] = weakref.WeakSet()


class Context:
    """What nodes, executors and a domain have in common; it is initialized once and shut down once.

    The session on the wire is opened with the first node.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._callbacks: list[Any] = []
        self._wakers: list[Any] = []
        self._valid = False
        self._forked = False
        self._options: SessionOptions | None = None
        self._opened: WireSession | None = None
        self._abandoned: deque[Callable[[], None]] = deque()
        self._arguments = Arguments()

    @property
    def handle(self) -> contextlib.AbstractContextManager[None]:
        """What `with context.handle:` needs; it does nothing."""
        return contextlib.nullcontext()

    def init(
        self, args: list[str] | None = None, *, initialize_logging: bool = True, domain_id: int | None = None
    ) -> None:
        """Initialize it.

        Args:
            args: Command line arguments, by default `sys.argv`.
            initialize_logging: False to leave log levels as they are.
            domain_id: ROS domain, 0 to 232; by default ROS_DOMAIN_ID, or 0.

        Raises:
            RuntimeError: It has been initialized before, the domain or an argument is not allowed.
        """
        from rclpy_zenoh.wire import SessionError, SessionOptions

        with self._lock:
            if domain_id is not None and not 0 <= domain_id <= 232:
                raise RuntimeError(f"Domain id ({domain_id}) should not be lower than zero or greater than 232.")
            if self._options is not None:
                raise RuntimeError("Context.init() must only be called once")
            arguments = Arguments.parse(list(sys.argv if args is None else args))
            arguments.check_files()
            try:
                options = SessionOptions.from_environment()
            except SessionError as error:
                raise RCLError(str(error)) from error
            if arguments.enclave is not None:
                options = replace(options, enclave=arguments.enclave)
            self._options = options if domain_id is None else replace(options, domain=domain_id)
            self._arguments = arguments
            self._valid = True
            if initialize_logging:
                arguments.apply_log_levels()
            _contexts.add(self)

    @property
    def _session(self) -> WireSession:
        """The session on the wire, opened when it is first needed."""
        from rclpy_zenoh.wire import SessionError, open_session

        self._require_unforked()
        with self._lock:
            if not self._valid or self._options is None:
                raise NotInitializedException("the context is not initialized, or has been shut down")
            if self._opened is None:
                try:
                    self._opened = open_session(self._options)
                except SessionError as error:
                    raise RCLError(str(error)) from error
            return self._opened

    def _create_wire_node(self, name: str, namespace: str) -> WireNode:
        """A node on the wire; those whose owner was dropped without `destroy_node` are closed first."""
        session = self._session
        while self._abandoned:
            self._abandoned.popleft()()
        return session.create_node(name, namespace)

    def _when_dropped(self, owner: Node, close: Callable[[], None]) -> None:
        """Have `close` called some time after the owner is gone, and not by the garbage collector: that may run at any
        moment, and must not take the locks of the wire.
        """
        weakref.finalize(owner, self._abandoned.append, close).atexit = False

    def ok(self) -> bool:
        """True between init and shutdown."""
        return self._valid

    def get_domain_id(self) -> int:
        """The ROS domain."""
        if self._options is None:
            raise RuntimeError("Context must be initialized before it can have a domain id")
        return self._options.domain

    def shutdown(self) -> None:
        """Shut it down: executors stop, and its nodes leave the graph.

        Raises:
            RuntimeError: It was not initialized, or has been shut down before (also by a signal).
        """
        if self._options is None:
            raise RuntimeError("Context must be initialized before it can be shutdown")
        already = not self._valid
        self._end()
        if already:
            raise RCLError("failed to shutdown: shutdown was already called on the given context")

    def try_shutdown(self) -> None:
        """Shut it down, if it is not."""
        if self._options is not None:
            self._end()

    def destroy(self) -> None:
        """Shut it down, if it is not."""
        self.try_shutdown()

    def on_shutdown(self, callback: Callable[[], None]) -> None:
        """Have a callback called at the shutdown; at once if it is over. A method does not keep its object alive."""
        if not callable(callback):
            raise TypeError(f"callback should be a callable, got {type(callback)}")
        with self._lock:
            if self._options is None or self._valid:
                self._callbacks.append(weakref.WeakMethod(callback) if ismethod(callback) else lambda: callback)
                return
        callback()

    def _wake_at_shutdown(self, wake: Callable[[], None]) -> None:
        """Have a method called as soon as the context is shut down, even from a signal handler."""
        with self._lock:
            self._wakers = [waker for waker in self._wakers if waker() is not None]
            self._wakers.append(weakref.WeakMethod(wake))

    @contextlib.contextmanager
    def _waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """While in it, `wake` is called as soon as the context is shut down."""

        def waker() -> Callable[[], None]:
            return wake

        with self._lock:
            self._wakers.append(waker)
        try:
            yield
        finally:
            with self._lock:
                self._wakers.remove(waker)

    def _interrupt(self) -> None:
        """Invalidate it and wake all that wait, as a signal does; the session is closed later."""
        self._valid = False
        for waker in list(self._wakers):
            wake = waker()
            if wake is not None:
                wake()

    def _end(self) -> None:
        with self._lock:
            if self._options is None or self._forked:
                self._valid = False
                return
            self._valid = False
            callbacks, self._callbacks = self._callbacks, []
            session, self._opened = self._opened, None
            _contexts.discard(self)
        self._interrupt()
        for weak in callbacks:
            callback = weak()
            if callback is not None:
                callback()
        if session is not None:
            session.close()

    def _require_unforked(self) -> None:
        if self._forked:
            raise RCLError(
                "This process was forked from one that had initialized rclpy; start it with multiprocessing's 'spawn' "
                "method, or call rclpy.init() only after the fork."
            )

    def __enter__(self) -> Context:
        if self._options is None:
            self.init()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.try_shutdown()


def interrupt_all() -> None:
    """Invalidate all contexts, and wake all that wait, as SIGINT and SIGTERM do; for signal handlers."""
    contexts = list(_contexts)
    for context in contexts:
        context._valid = False

    def wake() -> None:
        for context in contexts:
            context._interrupt()

    # In another thread, as the interrupted one may hold a lock that this takes, and without the locks of `threading`.
    _thread.start_new_thread(wake, ())


def _end_all() -> None:
    for context in list(_contexts):
        try:
            context.try_shutdown()
        except Exception as error:  # a user's callback must not keep the other sessions open
            get_logger("rclpy.context").error(f"Error at the exit of the interpreter: {error!r}")


def _forget_parents_sessions() -> None:
    for context in list(_contexts):
        if context._opened is not None:
            context._lock = threading.RLock()
            context._forked = True
            context._valid = False
            # Its threads are not in this process, so that nothing can close it: it must outlive the interpreter.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(context._opened))
            context._opened = None
            _contexts.discard(context)


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parents_sessions)
