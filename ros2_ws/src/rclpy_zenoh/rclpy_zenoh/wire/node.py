"""A node of a session, and its endpoints."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import zenoh

from rclpy_zenoh.wire.client import WireClient
from rclpy_zenoh.wire.endpoint import Endpoint
from rclpy_zenoh.wire.errors import SessionError, WireError
from rclpy_zenoh.wire.keys import Entity
from rclpy_zenoh.wire.log import logger
from rclpy_zenoh.wire.names import check_full_name, check_namespace, check_node_name
from rclpy_zenoh.wire.qos import Qos
from rclpy_zenoh.wire.service import WireService
from rclpy_zenoh.wire.topic import WirePublisher, WireSubscription

if TYPE_CHECKING:
    from rclpy_zenoh.wire.session import WireSession

E = TypeVar("E", bound=Endpoint)


class WireNode:
    """A node in the graph. It is made by `WireSession.create_node`.

    The `create_` methods take full names, such as "/robot/camera/image", and raise InvalidNameError for others,
    QoSError for a wrong profile, and WireError when the class does not fit or the node is closed. Each `on_ready` is
    called once for every item that is put in the endpoint's queue, from a thread of zenoh's or from the thread that
    publishes or sends a request; it may only set flags and notify.
    """

    def __init__(self, session: WireSession, name: str, namespace: str) -> None:
        check_node_name(name)
        check_namespace(namespace)
        self.session, self.name, self.namespace = session, name, namespace
        self.node_id = session.ids.take()
        self._lock = threading.Lock()
        self._endpoints: set[Endpoint] = set()
        self._closed = False
        self._entity = Entity(
            domain=session.options.domain,
            zid=session.zid,
            node_id=self.node_id,
            entity_id=self.node_id,
            kind="node",
            enclave=session.options.enclave,
            namespace=namespace,
            node_name=name,
        )
        try:
            self._token = session.zenoh.liveliness().declare_token(self._entity.token)
        except zenoh.ZError as error:
            session.ids.give_back(self.node_id)
            raise SessionError(f"The node {self.fq_name} cannot be declared: {error}.") from None
        session.graph.add(self._entity)

    @property
    def fq_name(self) -> str:
        """Namespace and name, such as "/robot/camera"."""
        return f"{self.namespace.rstrip('/')}/{self.name}"

    def create_publisher(self, topic_fq: str, cls: type[Any], qos: Qos) -> WirePublisher:
        """A publisher of messages of class `cls`."""
        check_full_name(topic_fq)
        return self._adopt(lambda: WirePublisher(self, topic_fq, cls, qos))

    def create_subscription(
        self, topic_fq: str, cls: type[Any], qos: Qos, on_ready: Callable[[], None]
    ) -> WireSubscription:
        """A subscription to messages of class `cls`."""
        check_full_name(topic_fq)
        return self._adopt(lambda: WireSubscription(self, topic_fq, cls, qos, on_ready))

    def create_service(self, name_fq: str, srv_cls: type[Any], qos: Qos, on_ready: Callable[[], None]) -> WireService:
        """The server of a service."""
        check_full_name(name_fq, is_service=True)
        return self._adopt(lambda: WireService(self, name_fq, srv_cls, qos, on_ready))

    def create_client(self, name_fq: str, srv_cls: type[Any], qos: Qos, on_ready: Callable[[], None]) -> WireClient:
        """A client of a service."""
        check_full_name(name_fq, is_service=True)
        return self._adopt(lambda: WireClient(self, name_fq, srv_cls, qos, on_ready))

    def _adopt(self, make: Callable[[], E]) -> E:
        if self._closed:
            raise WireError(f"The node {self.fq_name} is closed.")
        endpoint = make()
        with self._lock:
            closed = self._closed
            if not closed:
                self._endpoints.add(endpoint)
        if closed:
            endpoint.close()
            raise WireError(f"The node {self.fq_name} is closed.")
        return endpoint

    def types(self) -> dict[str, str]:
        """The types that its endpoints have: the hash, and the name such as "std_msgs/msg/String"."""
        with self._lock:
            return {endpoint.type_hash: endpoint.type_name for endpoint in self._endpoints}

    def forget(self, endpoint: Endpoint) -> None:
        """An endpoint has closed itself."""
        with self._lock:
            self._endpoints.discard(endpoint)

    def close(self) -> None:
        """Close the endpoints and take the node out of the graph; a second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            endpoints = list(self._endpoints)
        for endpoint in endpoints:
            endpoint.close()
        self.session.graph.remove(self._entity.token)
        try:
            self._token.undeclare()
        except zenoh.ZError as error:
            logger.warning("The node %s did not close well: %s.", self.fq_name, error)
        self.session.ids.give_back(self.node_id)
        self.session.forget(self)
