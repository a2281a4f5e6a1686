"""A session: one process's place in the graph of one domain."""

from __future__ import annotations

import atexit
import heapq
import itertools
import os
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import replace

import zenoh
from zenoh import handlers

from rclpy_zenoh.wire import shared_memory
from rclpy_zenoh.wire.config import session_config
from rclpy_zenoh.wire.errors import SessionError
from rclpy_zenoh.wire.graph import GraphCache
from rclpy_zenoh.wire.keys import graph_key
from rclpy_zenoh.wire.log import DropLog, logger, shielded
from rclpy_zenoh.wire.node import WireNode
from rclpy_zenoh.wire.options import SessionOptions

_ROUTER_TIMEOUT_S = 0.5
_SNAPSHOT_TIMEOUT_S = 1.0
_POLL_S = 0.002

_MIN_AGE_S = 0.05
"""A younger session waits with closing: zenoh leaks the sockets of a handshake that is cut short (its issue 2734)."""

_open_sessions: weakref.WeakSet[WireSession] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_sessions.clear)  # a forked child has none of zenoh's threads


class EntityIds:
    """Numbers of nodes and endpoints. The smallest free one is used again, because zenoh never frees a key it has
    seen: with ever new numbers, making and closing endpoints would fill the memory.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[int] = []
        self._fresh = itertools.count()

    def take(self) -> int:
        """A number that is not in use."""
        with self._lock:
            return heapq.heappop(self._free) if self._free else next(self._fresh)

    def give_back(self, number: int) -> None:
        """`number` may be taken again."""
        with self._lock:
            heapq.heappush(self._free, number)


class WireSession:
    """A connection to the graph. It is made by `open_session`; it can be used from any thread.

    Attributes:
        options: Options that it was opened with; without shared memory where there is none to be had.
        zid: Its id in the network, hexadecimal.
        graph: Known nodes and endpoints; its own at once, others once discovered.
        zenoh: The session of zenoh's below it, for this package only.
        ids: Numbers of its nodes and endpoints, for this package only.
    """

    def __init__(self, options: SessionOptions) -> None:
        if options.shared_memory and not shared_memory.usable():
            options = replace(options, shared_memory=False)
        self.options = options
        self._opened_at = time.monotonic()
        try:
            self.zenoh = zenoh.open(session_config(options))
        except zenoh.ZError as error:
            why = f"no router answers at {options.router}" if options.client else error
            raise SessionError(f"The session cannot be opened: {why}.") from None
        self.zid = str(self.zenoh.zid())
        self.graph = GraphCache(self.zid)
        self.ids = EntityIds()
        self._lock = threading.Lock()
        self._numbers: dict[bytes, itertools.count[int]] = {}
        self._nodes: set[WireNode] = set()
        self._closed = False
        _open_sessions.add(self)
        self._watch_graph()

    def _watch_graph(self) -> None:
        def on_change(sample: zenoh.Sample) -> None:
            if not self._closed:
                self.graph.on_token(str(sample.key_expr), alive=sample.kind == zenoh.SampleKind.PUT)

        callback = handlers.Callback(shielded(DropLog("Graph"), on_change), indirect=False)
        liveliness, key = self.zenoh.liveliness(), graph_key(self.options.domain)
        self._tokens = liveliness.declare_subscriber(key, callback, history=True)
        router = self.options.router
        if router is not None and not self.wait_for_router(_ROUTER_TIMEOUT_S):
            logger.warning("No router at %s; start one with python -m rclpy_zenoh.router. Waiting for it.", router)
        self.graph.load(_tokens(liveliness.get(key, timeout=_SNAPSHOT_TIMEOUT_S)))

    @property
    def is_open(self) -> bool:
        """False from the beginning of `close`."""
        return not self._closed

    def create_node(self, name: str, namespace: str = "/") -> WireNode:
        """A node of this session; several may have one name.

        Raises:
            InvalidNameError: The name or the namespace is not allowed.
            SessionError: The session is closed.
        """
        if self._closed:
            raise SessionError("The session is closed.")
        node = WireNode(self, name, namespace)
        with self._lock:
            self._nodes.add(node)
        return node

    def forget(self, node: WireNode) -> None:
        """A node has closed itself."""
        with self._lock:
            self._nodes.discard(node)

    def numbers_of(self, gid: bytes) -> Iterator[int]:
        """The sequence numbers of a sender, from 1. One that takes a former one's gid goes on with its numbers."""
        with self._lock:
            return self._numbers.setdefault(gid, itertools.count(1))

    def has_router(self) -> bool:
        """True while a router is connected."""
        return not self._closed and bool(self.zenoh.info.routers_zid())

    def wait_for_router(self, timeout_s: float) -> bool:
        """Wait until a router is connected. Returns whether one is."""
        deadline = time.monotonic() + timeout_s
        while not self.has_router():
            if self._closed or time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def close(self) -> None:
        """Close the nodes, then the connection; no callback comes after it, and a second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            nodes = list(self._nodes)
        for node in nodes:
            node.close()
        time.sleep(max(0.0, self._opened_at + _MIN_AGE_S - time.monotonic()))
        try:
            self._tokens.undeclare()
            self.zenoh.close()
        except zenoh.ZError as error:
            logger.warning("The session did not close well: %s.", error)
        _open_sessions.discard(self)


def _tokens(replies: handlers.Handler[zenoh.Reply]) -> Iterator[str]:
    for reply in replies:
        if reply.ok is not None:
            yield str(reply.ok.key_expr)


def open_session(options: SessionOptions | None = None) -> WireSession:
    """Open a session; without options, as the environment says.

    It returns before other sessions are heard of, and when there is no router, which is then waited for in the
    background with one warning. A client of the router is opened only where that answers.

    Raises:
        SessionError: The configuration is wrong, zenoh cannot open it, or there is no router for a client.
    """
    return WireSession(SessionOptions.from_environment() if options is None else options)


@atexit.register
def _close_all() -> None:
    """Threads of zenoh must not call into an interpreter that is shutting down."""
    for session in list(_open_sessions):
        session.close()
