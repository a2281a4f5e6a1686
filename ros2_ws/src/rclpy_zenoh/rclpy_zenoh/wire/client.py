"""The client's end of a service."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import zenoh

from rclpy_zenoh.interfaces import InterfaceError, deserialize, serialize
from rclpy_zenoh.wire.attachment import SIZE, pack_attachment, unpack_attachment
from rclpy_zenoh.wire.config import QUERY_TIMEOUT_S
from rclpy_zenoh.wire.endpoint import Endpoint
from rclpy_zenoh.wire.errors import WireError
from rclpy_zenoh.wire.mailbox import KEEP_ALL_LIMIT, Mailbox
from rclpy_zenoh.wire.qos import Qos
from rclpy_zenoh.wire.service import require_service_class

if TYPE_CHECKING:
    from rclpy_zenoh.wire.node import WireNode

FOREVER_S = 1e9
"""Thirty years: the result of an action may take as long as the action."""

_MAX_ERROR_LENGTH = 200


class WireClient(Endpoint):
    """Sends requests and receives one answer to each: a response, or an error when none can come any more."""

    KIND = "client"

    def __init__(self, node: WireNode, name: str, cls: type[Any], qos: Qos, on_ready: Callable[[], None]) -> None:
        require_service_class(cls)
        self.service, self._cls, self._on_ready = name, cls, on_ready
        self._lock = threading.Lock()
        self._waiting: dict[int, str] = {}
        super().__init__(node, name, cls, qos)

    def _declare(self, session: zenoh.Session, key: str) -> None:
        # One answer to each request fits in, however many requests are under way: none may be lost for another.
        self._mailbox: Mailbox[tuple[int, bytes | WireError]] = Mailbox(KEEP_ALL_LIMIT, self._on_ready)
        self._querier = session.declare_querier(
            key,
            target=zenoh.QueryTarget.ALL_COMPLETE,
            consolidation=zenoh.ConsolidationMode.NONE,
            timeout=FOREVER_S if self.service.endswith("/_action/get_result") else QUERY_TIMEOUT_S,
        )

    def _undeclare(self) -> None:
        with self._lock:
            self._waiting.clear()
        self._mailbox.close()
        self._querier.undeclare()

    def send_request(self, request: Any) -> int:
        """Send a request without waiting. Returns its number, which its answer will carry.

        The answer may be in the queue, and `on_ready` called, before this returns.

        Raises:
            WireError: The client is closed, `request` is of another class, or zenoh cannot send it.
            InterfaceError: A field holds what it must not.
        """
        if not isinstance(request, self._cls.Request):
            raise WireError(f"{self.service} is called with its Request class, not with {type(request).__name__}.")
        packet = serialize(request)
        with self._in_use("called"):
            number = next(self._numbers)
            with self._lock:
                self._waiting[number] = "no server, or it stopped without answering"
            try:
                self._querier.get(
                    self._handler(partial(self._receive, number), partial(self._finish, number)),
                    payload=packet,
                    attachment=pack_attachment(number, time.time_ns(), self.gid),
                )
            except BaseException:
                self.forget(number)
                raise
        return number

    def _receive(self, number: int, reply: zenoh.Reply) -> None:
        sample = reply.ok
        if sample is None:
            self._note(number, _printable(reply.err) or "the server refused")
            return
        attachment = sample.attachment
        if attachment is None or len(attachment) != SIZE:
            self._drop_reply(number, "a reply without an attachment of rmw_zenoh's")
            return
        try:
            header = unpack_attachment(attachment.to_bytes())
        except ValueError as error:
            self._drop_reply(number, f"a reply: {error}")
            return
        if header.gid != self.gid or header.sequence_number != number:
            self._drop_reply(number, "a reply to another request")
            return
        self._deliver(number, sample.payload.to_bytes)

    def _finish(self, number: int) -> None:
        """No further reply to this request will come."""
        with self._lock:
            reason = self._waiting.get(number, "")
        self._deliver(number, lambda: WireError(f"{self.service}: no reply: {reason}."))

    def _deliver(self, number: int, answer: Callable[[], bytes | WireError]) -> None:
        with self._lock:
            if self._waiting.pop(number, None) is None:
                return  # forgotten, or answered by another server
        self._mailbox.put((number, answer()))

    def _drop_reply(self, number: int, reason: str) -> None:
        self._drops.report(reason)
        self._note(number, "the server's reply was not valid")

    def _note(self, number: int, reason: str) -> None:
        with self._lock:
            if number in self._waiting:
                self._waiting[number] = reason

    def take_response(self) -> tuple[int, Any] | None:
        """The next answer as number and response, or number and WireError; None when there is no further answer."""
        taken = self._mailbox.take()
        if taken is None:
            return None
        number, answer = taken
        if isinstance(answer, WireError):
            return number, answer
        try:
            return number, deserialize(answer, self._cls.Response)
        except InterfaceError as error:
            self._drops.report(f"a reply: {error}")
            return number, WireError(f"{self.service}: no reply: the server's reply was not valid.")

    def forget(self, sequence_number: int) -> None:
        """Drop a request: its answer will not be delivered, even if it is in the queue already."""
        with self._lock:
            self._waiting.pop(sequence_number, None)
        self._mailbox.discard(lambda item: item[0] == sequence_number)

    def service_is_ready(self) -> bool:
        """True if a server of this name and type is in the graph and can be reached."""
        with self._gate.passing() as is_open:
            if not is_open or not self._session.graph.count_matching("service", self._entity):
                return False
            # A process that was killed can stay in the graph for a while; the querier knows sooner.
            status: Any = self._querier.matching_status  # zenoh's stub says bool
            return bool(status.matching)


def _printable(error: zenoh.ReplyError | None) -> str:
    text = error.payload.to_bytes()[:_MAX_ERROR_LENGTH].decode(errors="replace") if error else ""
    return "".join(char if char.isprintable() else "?" for char in text)
