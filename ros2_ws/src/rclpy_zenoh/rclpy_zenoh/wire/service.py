"""The server's end of a service."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import zenoh

from rclpy_zenoh.interfaces import InterfaceError, deserialize, serialize
from rclpy_zenoh.wire.attachment import SIZE, Attachment, pack_attachment, unpack_attachment
from rclpy_zenoh.wire.endpoint import Endpoint
from rclpy_zenoh.wire.errors import WireError, reason_of
from rclpy_zenoh.wire.mailbox import Mailbox, capacity
from rclpy_zenoh.wire.qos import Qos

if TYPE_CHECKING:
    from rclpy_zenoh.wire.node import WireNode

MAX_UNANSWERED = 10_000
"""Requests that may have been taken and not answered; then the oldest is given up and its client gets no reply."""


def require_service_class(cls: Any) -> None:
    """Raises WireError unless `cls` is a service class."""
    if not (isinstance(cls, type) and hasattr(cls, "Request") and hasattr(cls, "Response")):
        raise WireError(f"A service needs a service class, and {cls!r} is none.")


class RequestHeader(NamedTuple):
    """Who asked; times in nanoseconds since 1970. `ticket` is the server's own number of the request."""

    client_gid: bytes
    sequence_number: int
    source_timestamp_ns: int
    received_timestamp_ns: int
    ticket: int


class _Request(NamedTuple):
    query: zenoh.Query
    packet: bytes
    attachment: Attachment
    received_ns: int


class WireService(Endpoint):
    """Takes requests and answers them, in any order and from any thread."""

    KIND = "service"

    def __init__(self, node: WireNode, name: str, cls: type[Any], qos: Qos, on_ready: Callable[[], None]) -> None:
        require_service_class(cls)
        self.service, self._cls, self._on_ready = name, cls, on_ready
        self._lock = threading.Lock()
        self._unanswered: dict[int, zenoh.Query] = {}
        self._next_ticket = 0
        super().__init__(node, name, cls, qos)

    def _declare(self, session: zenoh.Session, key: str) -> None:
        self._mailbox: Mailbox[_Request] = Mailbox(capacity(self._qos), self._on_ready)
        self._queryable = session.declare_queryable(key, self._handler(self._receive), complete=True)

    def _undeclare(self) -> None:
        self._queryable.undeclare()
        waiting = [request.query for request in self._mailbox.close()]
        with self._lock:
            waiting += self._unanswered.values()
            self._unanswered.clear()
        for query in waiting:
            query.drop()

    def _receive(self, query: zenoh.Query) -> None:
        payload, attachment = query.payload, query.attachment
        if payload is None or attachment is None or len(attachment) != SIZE:
            self._drops.report("a request without a payload and an attachment of rmw_zenoh's")
            query.drop()
            return
        try:
            header = unpack_attachment(attachment.to_bytes())
        except ValueError as error:
            self._drops.report(f"a request: {error}")
            query.drop()
            return
        pushed_out = self._mailbox.put(_Request(query, payload.to_bytes(), header, time.time_ns()))
        if pushed_out is not None:
            if not self.closed:
                self._drops.report("the oldest request, because the queue is full")
            pushed_out.query.drop()

    def take_request(self) -> tuple[Any, RequestHeader] | None:
        """The next request, or None; one that does not decode is logged and skipped, and its client gets no reply."""
        while (taken := self._mailbox.take()) is not None:
            try:
                request = deserialize(taken.packet, self._cls.Request)
            except InterfaceError as error:
                self._drops.report(f"a request: {error}")
                taken.query.drop()
                continue
            number, sent_ns, gid = taken.attachment
            return request, RequestHeader(gid, number, sent_ns, taken.received_ns, self._keep(taken.query))
        return None

    def _keep(self, query: zenoh.Query) -> int:
        with self._lock:
            ticket = self._next_ticket
            self._next_ticket += 1
            self._unanswered[ticket] = query
            full = len(self._unanswered) > MAX_UNANSWERED
            oldest = self._unanswered.pop(next(iter(self._unanswered))) if full else None
        if oldest is not None:
            self._drops.report(f"the oldest of {MAX_UNANSWERED} requests that were never answered")
            oldest.drop()
        return ticket

    def send_response(self, header: RequestHeader, response: Any) -> None:
        """Answer a request; a second answer, or one to a client that is gone, is ignored.

        Raises:
            WireError: `response` is of another class.
            InterfaceError: A field holds what it must not. The client gets no reply then, as in the other case.
        """
        with self._lock:
            query = self._unanswered.pop(header.ticket, None)
        if query is None:
            return
        try:
            if not isinstance(response, self._cls.Response):
                raise WireError(f"{self.service} answers with its Response class, not with {type(response).__name__}.")
            attachment = pack_attachment(header.sequence_number, time.time_ns(), header.client_gid)
            packet = serialize(response)
            with self._gate.passing() as is_open:
                if is_open:
                    query.reply(self._entity.key, packet, attachment=attachment)
        except BaseException as error:
            reason = reason_of(error)
            if reason is None:
                raise
            if not isinstance(error, zenoh.ZError):  # else the client or the session is gone
                self._drops.report(f"a reply: {reason}")
        finally:
            query.drop()
