"""The graph cache: every node and endpoint that liveliness tokens have announced."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Container, Iterable

from rclpy_zenoh.wire.keys import EndpointInfo, Entity, parse_token
from rclpy_zenoh.wire.log import DropLog, shielded

MAX_ENTITIES = 20_000
"""Tokens that the cache holds at most; more are dropped, so that a flood of them cannot fill the memory."""

NamesAndTypes = list[tuple[str, list[str]]]


class GraphCache:
    """Who is there. All methods may be called from any thread.

    Args:
        zid: Id of the own session, whose entities come through `add` and never from the network.
    """

    def __init__(self, zid: str) -> None:
        self._zid = zid
        self._lock = threading.Lock()
        self._entities: dict[str, Entity] = {}
        self._by_name: defaultdict[tuple[str, str], dict[str, Entity]] = defaultdict(dict)
        self._listeners: dict[int, Callable[[], None]] = {}
        self._next_listener = 0
        self._gone_while_loading: set[str] | None = None
        self._drops = DropLog("Liveliness tokens")

    # What changes it

    def add(self, entity: Entity) -> None:
        """An own entity is there."""
        self._insert(entity.token, entity)

    def remove(self, token: str) -> None:
        """The entity of a token is gone."""
        with self._lock:
            if self._gone_while_loading is not None and len(self._gone_while_loading) < MAX_ENTITIES:
                self._gone_while_loading.add(token)
            entity = self._entities.pop(token, None)
            if entity is None:
                return
            place = (entity.kind, entity.name)
            same = self._by_name[place]
            same.pop(token, None)
            if not same:
                del self._by_name[place]
        self._tell()

    def on_token(self, token: str, *, alive: bool) -> None:
        """A token came or went on the network; a bad one is logged and dropped."""
        entity = self._parse(token)
        if entity is None:
            return
        if not alive:
            self.remove(token)
            return
        with self._lock:
            if self._gone_while_loading is not None:
                self._gone_while_loading.discard(token)
        self._insert(token, entity)

    def load(self, tokens: Iterable[str]) -> None:
        """Add the tokens of a snapshot, except those that go away while it is read."""
        gone: set[str] = set()
        with self._lock:
            self._gone_while_loading = gone
        try:
            for token in tokens:
                entity = self._parse(token)
                if entity is not None:
                    self._insert(token, entity, unless_in=gone)
        finally:
            with self._lock:
                self._gone_while_loading = None

    def _parse(self, token: str) -> Entity | None:
        try:
            entity = parse_token(token)
        except ValueError as error:
            self._drops.report(f"{token[:120]!r}, because {error}")
            return None
        return None if entity.zid == self._zid else entity

    def _insert(self, token: str, entity: Entity, unless_in: Container[str] = ()) -> None:
        with self._lock:
            if token in self._entities or token in unless_in:
                return
            full = len(self._entities) >= MAX_ENTITIES and entity.zid != self._zid
            if not full:
                self._entities[token] = entity
                self._by_name[(entity.kind, entity.name)][token] = entity
        if full:
            self._drops.report(f"{token[:120]!r}, because the graph has {MAX_ENTITIES} entities")
        else:
            self._tell()

    # Listeners to changes

    def add_listener(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have `listener` called after each change, by the thread that changed it; call what is returned to end that.

        The listener may only set flags and notify.
        """
        with self._lock:
            number = self._next_listener
            self._next_listener += 1
            self._listeners[number] = listener

        def remove() -> None:
            with self._lock:
                self._listeners.pop(number, None)

        return remove

    def _tell(self) -> None:
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            shielded(self._drops, listener)()

    # What it knows

    def get_nodes(self) -> list[tuple[str, str, str]]:
        """Name, namespace and enclave of each node; two nodes of one name are both there."""
        return sorted((node.node_name, node.namespace, node.enclave) for node in self._all("node"))

    def get_topic_names_and_types(self) -> NamesAndTypes:
        """Topics that have a publisher or a subscription."""
        return _names_and_types(self._all("publisher", "subscription"))

    def get_service_names_and_types(self) -> NamesAndTypes:
        """Services that have a server or a client."""
        return _names_and_types(self._all("service", "client"))

    def get_publishers_by_node(self, name: str, namespace: str) -> NamesAndTypes:
        """Topics that the node publishes."""
        return self._by_node("publisher", name, namespace)

    def get_subscriptions_by_node(self, name: str, namespace: str) -> NamesAndTypes:
        """Topics that the node subscribes to."""
        return self._by_node("subscription", name, namespace)

    def get_services_by_node(self, name: str, namespace: str) -> NamesAndTypes:
        """Services that the node serves."""
        return self._by_node("service", name, namespace)

    def get_clients_by_node(self, name: str, namespace: str) -> NamesAndTypes:
        """Services that the node calls."""
        return self._by_node("client", name, namespace)

    def count(self, kind: str, fq_name: str) -> int:
        """How many "publisher", "subscription", "service" or "client" endpoints a name has, of whatever type."""
        with self._lock:
            return len(self._by_name.get((kind, fq_name), ()))

    def count_matching(self, kind: str, entity: Entity) -> int:
        """How many endpoints of a kind have an entity's name, type and hash, so that data can flow between them."""
        with self._lock:
            found = self._by_name.get((kind, entity.name), {}).values()
            return sum(other.dds_type == entity.dds_type and other.type_hash == entity.type_hash for other in found)

    def endpoints(self, kind: str, fq_name: str) -> list[EndpointInfo]:
        """The endpoints of a name, ordered by node."""
        with self._lock:
            found = list(self._by_name.get((kind, fq_name), {}).values())
        return [
            EndpointInfo(
                entity.node_name, entity.namespace, entity.type_name, entity.type_hash, kind, entity.gid, entity.qos
            )
            for entity in sorted(found, key=lambda entity: (entity.namespace, entity.node_name, entity.token))
            if entity.qos is not None
        ]

    def _all(self, *kinds: str) -> list[Entity]:
        with self._lock:
            return [entity for entity in self._entities.values() if entity.kind in kinds]

    def _by_node(self, kind: str, name: str, namespace: str) -> NamesAndTypes:
        return _names_and_types(
            entity for entity in self._all(kind) if entity.node_name == name and entity.namespace == namespace
        )


def _names_and_types(entities: Iterable[Entity]) -> NamesAndTypes:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for entity in entities:
        found[entity.name].add(entity.type_name)
    return [(name, sorted(found[name])) for name in sorted(found)]
