"""What publishers, subscriptions, services and clients have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import zenoh
from zenoh import handlers

from rclpy_zenoh.interfaces import dds_name, type_hash
from rclpy_zenoh.wire.errors import WireError, reason_of
from rclpy_zenoh.wire.gate import Gate
from rclpy_zenoh.wire.keys import Entity
from rclpy_zenoh.wire.log import DropLog, logger, shielded
from rclpy_zenoh.wire.qos import Qos, resolve_qos

if TYPE_CHECKING:
    from rclpy_zenoh.wire.node import WireNode


class Endpoint:
    """One end of a topic or service; a subclass declares it to zenoh in `_declare` and takes that back in `_undeclare`.

    It is in the graph from the end of its construction to `close`.
    """

    KIND = ""

    def __init__(self, node: WireNode, name: str, cls: type[Any], qos: Qos) -> None:
        self._node, self._session = node, node.session
        self._qos = resolve_qos(qos)
        self._gate = Gate()
        self._drops = DropLog(f"{self.KIND.capitalize()} {name}")
        types = (dds_name(cls), type_hash(cls))
        entity_id = self._session.ids.take()
        self._entity = Entity(
            domain=self._session.options.domain,
            zid=self._session.zid,
            node_id=node.node_id,
            entity_id=entity_id,
            kind=self.KIND,
            enclave=self._session.options.enclave,
            namespace=node.namespace,
            node_name=node.name,
            name=name,
            dds_type=types[0],
            type_hash=types[1],
            qos=self._qos,
        )
        self._numbers = self._session.numbers_of(self._entity.gid)  # next() of a count is atomic
        try:
            self._declare(self._session.zenoh, self._entity.key)
            self._token = self._session.zenoh.liveliness().declare_token(self._entity.token)
        except zenoh.ZError as error:
            self._session.ids.give_back(entity_id)
            raise WireError(f"The {self.KIND} {name} cannot be declared: {error}.") from None
        self._session.graph.add(self._entity)

    @property
    def gid(self) -> bytes:
        """The 16 bytes that name this endpoint in attachments and in the graph."""
        return self._entity.gid

    @property
    def type_name(self) -> str:
        """The name of its type, such as "std_msgs/msg/String"."""
        return self._entity.type_name

    @property
    def type_hash(self) -> str:
        """The hash of its type."""
        return self._entity.type_hash

    @property
    def closed(self) -> bool:
        """True from the beginning of `close`."""
        return self._gate.closed

    def close(self) -> None:
        """Take it out of the graph and stop its callbacks; a second call does nothing."""
        if not self._gate.close():
            return
        self._session.graph.remove(self._entity.token)
        for undeclare in (self._token.undeclare, self._undeclare):
            try:
                undeclare()
            except (zenoh.ZError, RuntimeError) as error:
                logger.warning("The %s %s did not close well: %s.", self.KIND, self._entity.name, error)
        self._session.ids.give_back(self._entity.entity_id)
        self._node.forget(self)

    def _handler(self, callback: Callable[..., None], drop: Callable[[], None] | None = None) -> Any:
        """`callback` for zenoh, called in zenoh's own threads and never raising into them."""
        final = shielded(self._drops, drop) if drop else None
        return handlers.Callback(shielded(self._drops, callback), final, indirect=False)

    @contextmanager
    def _in_use(self, purpose: str) -> Iterator[None]:
        """Keeps the endpoint from being closed. Raises WireError when it is already, or where zenoh fails."""
        with self._gate.passing() as is_open:
            if not is_open:
                raise WireError(f"The {self.KIND} {self._entity.name} is closed.")
            try:
                yield
            except BaseException as error:
                reason = reason_of(error)
                if reason is None:
                    raise
                raise WireError(f"{self._entity.name} cannot be {purpose}: {reason}.") from None

    def _declare(self, session: zenoh.Session, key: str) -> None:
        raise NotImplementedError

    def _undeclare(self) -> None:
        raise NotImplementedError
