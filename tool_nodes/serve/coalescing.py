"""Calls of many threads, sent together: one message over the cluster costs far more than a small call itself.

A call goes at once while fewer than `abreast` messages are on their way, never waiting for others; those that come
meanwhile wait in line, and go together when one of these is back. Threads do it themselves: the first of those that go
together waits for the message, wakes the others, and leaves the waiting to one of them where its own time is over.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolhand.tool_nodes.serve.requests import PortRequest


class Carrier(Protocol):
    """How a message gets to a backend."""

    def send(self, requests: Sequence[PortRequest]) -> Any:
        """Send a message; what is then waited for."""

    def receive(self, sent: Any, until: float) -> Sequence[Any]:
        """The replies, in order. Raises TimeoutError after `until` [s since 1970], may then be asked again."""

    def cancel(self, sent: Any) -> None:
        """No call waits for it any more."""


class QueueFull(Exception):
    """As many calls as may wait do."""


class Closed(Exception):
    """There is no replica to ask any more."""


LOOK_S = 1.0
"""How often a caller that waits for a message checks that there is a replica to answer [s]."""


@dataclass(eq=False)
class _Call:
    request: PortRequest
    alone: bool = False
    turn: threading.Event = field(default_factory=threading.Event)
    """Set when it has ended, and when it is to wait for its parcel."""
    parcel: _Parcel | None = None
    ended: bool = False
    reply: Any = None
    error: Exception | None = None


@dataclass(eq=False)
class _Parcel:
    calls: Sequence[_Call]
    sent: Any = None


class Coalescer:
    """The calls of this process to one backend.

    Args:
        way: How they get there.
        abreast: Most messages that are on their way at once.
        size: Most calls in a message.
        queue: Most calls that wait in line.
    """

    def __init__(self, way: Carrier, abreast: int, size: int, queue: int) -> None:
        self._way = way
        self._abreast = abreast
        self._size = size
        self._queue = queue
        self._line: deque[_Call] = deque()
        self._away = 0
        self._closed = False
        self._lock = threading.Lock()

    def close(self) -> None:
        """End all calls, those that wait for a message within `LOOK_S`."""
        with self._lock:
            self._closed = True
            for call in self._line:
                call.error = Closed()
            self._end(self._line)
            self._line.clear()

    def ask(self, request: PortRequest) -> Any:
        """The reply to a request. What fails together is asked again one by one: only one of it may be the cause.

        Raises:
            QueueFull: Nothing was sent.
            Closed: See `close`.
            TimeoutError: There is none by `request.until`.
            Exception: What the way raises for this request alone.
        """
        call = _Call(request)
        with self._lock:
            if self._closed:
                raise Closed
            if len(self._line) >= self._queue and self._away >= self._abreast:
                raise QueueFull
            self._line.append(call)
            self._set_off()
        try:
            while not call.ended:
                if not call.turn.wait(min(LOOK_S, max(0.0, request.until - time.time()))):
                    self._raise_over(request)
                    continue
                if not call.ended:
                    self._carry(call)
        finally:
            if not call.ended:
                self._leave(call)
        if call.error is not None:
            raise call.error
        return call.reply

    def _set_off(self) -> None:
        """Make parcels of what waits, each given to its first call's thread; under the lock."""
        while self._line and self._away < self._abreast:
            calls = [self._line.popleft()]
            while self._line and len(calls) < self._size and not (calls[0].alone or self._line[0].alone):
                calls.append(self._line.popleft())
            parcel = _Parcel(calls)
            for call in calls:
                call.parcel = parcel
            self._away += 1
            calls[0].turn.set()

    def _carry(self, call: _Call) -> None:
        """Send a call's parcel if it is not yet, and wait for it. Raises TimeoutError at the end of the call's time."""
        parcel = call.parcel
        assert parcel is not None
        replies: Sequence[Any] = ()
        problem = None
        try:
            if parcel.sent is None:
                parcel.sent = self._way.send([each.request for each in parcel.calls])
            replies = self._received(parcel, call.request)
        except (TimeoutError, Closed):
            raise
        except Exception as error:
            problem = error
        with self._lock:
            self._away -= 1
            waiting = [each for each in parcel.calls if each.parcel is parcel]
            if problem is None:
                for each, reply in zip(parcel.calls, replies, strict=True):
                    each.reply = reply
                self._end(waiting)
            elif len(parcel.calls) == 1:
                call.error = problem
                self._end(waiting)
            else:
                for each in waiting:
                    each.alone, each.parcel = True, None
                    each.turn.clear()
                self._line.extendleft(reversed(waiting))
            self._set_off()

    def _received(self, parcel: _Parcel, request: PortRequest) -> Sequence[Any]:
        while True:
            try:
                return self._way.receive(parcel.sent, min(request.until, time.time() + LOOK_S))
            except TimeoutError:
                self._raise_over(request)

    def _raise_over(self, request: PortRequest) -> None:
        if self._closed:
            raise Closed
        if time.time() >= request.until:
            raise TimeoutError

    @staticmethod
    def _end(calls: Sequence[_Call]) -> None:
        for each in calls:
            each.ended = True
            each.turn.set()

    def _leave(self, call: _Call) -> None:
        """A call that waits no longer leaves its parcel to the next one of it."""
        with self._lock:
            parcel, call.parcel = call.parcel, None
            if parcel is None:
                self._line.remove(call)
                return
            others = [each for each in parcel.calls if each.parcel is parcel]
            if others:
                if call.turn.is_set():
                    others[0].turn.set()
                return
            self._away -= 1
            self._set_off()
        if parcel.sent is not None:
            self._way.cancel(parcel.sent)
