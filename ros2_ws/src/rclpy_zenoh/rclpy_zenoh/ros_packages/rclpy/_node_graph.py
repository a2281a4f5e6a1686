"""A node's questions about the graph."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rclpy._rclpy_pybind11 import NodeNameNonExistentError
from rclpy.qos import QoSProfile
from rclpy.topic_endpoint_info import TopicEndpointInfo, TopicEndpointTypeEnum
from rclpy.type_hash import TypeHash

if TYPE_CHECKING:
    from rclpy._handle import Handle
    from rclpy._node_names import NodeNames
    from rclpy_zenoh.wire import GraphCache

NamesAndTypes = list[tuple[str, list[str]]]
_POLL_S = 0.02


class NodeGraph:
    """The part of `Node` that asks who is there; the answers are those that have been heard so far."""

    _names: NodeNames
    _handle: Handle

    @property
    def _graph(self) -> GraphCache:
        raise NotImplementedError

    def get_node_names(self) -> list[str]:
        """Names of all nodes, without namespaces."""
        return [name for name, _, _ in self._graph.get_nodes()]

    def get_fully_qualified_node_names(self) -> list[str]:
        """Names of all nodes, with namespaces."""
        return [f"{namespace.rstrip('/')}/{name}" for name, namespace, _ in self._graph.get_nodes()]

    def get_node_names_and_namespaces(self) -> list[tuple[str, str]]:
        """Names and namespaces of all nodes."""
        return [(name, namespace) for name, namespace, _ in self._graph.get_nodes()]

    def get_node_names_and_namespaces_with_enclaves(self) -> list[tuple[str, str, str]]:
        """Names, namespaces and enclaves of all nodes."""
        return self._graph.get_nodes()

    def get_topic_names_and_types(self, no_demangle: bool = False) -> NamesAndTypes:
        """All topics and their types."""
        return self._graph.get_topic_names_and_types()

    def get_service_names_and_types(self) -> NamesAndTypes:
        """All services and their types."""
        return self._graph.get_service_names_and_types()

    def get_publisher_names_and_types_by_node(
        self, node_name: str, node_namespace: str, no_demangle: bool = False
    ) -> NamesAndTypes:
        """Topics that a node publishes; NodeNameNonExistentError if there is no such node."""
        self._require_node(node_name, node_namespace)
        return self._graph.get_publishers_by_node(node_name, node_namespace)

    def get_subscriber_names_and_types_by_node(
        self, node_name: str, node_namespace: str, no_demangle: bool = False
    ) -> NamesAndTypes:
        """Topics that a node subscribes to; NodeNameNonExistentError if there is no such node."""
        self._require_node(node_name, node_namespace)
        return self._graph.get_subscriptions_by_node(node_name, node_namespace)

    def get_service_names_and_types_by_node(self, node_name: str, node_namespace: str) -> NamesAndTypes:
        """Services that a node serves; NodeNameNonExistentError if there is no such node."""
        self._require_node(node_name, node_namespace)
        return self._graph.get_services_by_node(node_name, node_namespace)

    def get_client_names_and_types_by_node(self, node_name: str, node_namespace: str) -> NamesAndTypes:
        """Services that a node calls; NodeNameNonExistentError if there is no such node."""
        self._require_node(node_name, node_namespace)
        return self._graph.get_clients_by_node(node_name, node_namespace)

    def count_publishers(self, topic_name: str) -> int:
        """How many publishers a topic has; a relative name is expanded, not remapped."""
        return self._graph.count("publisher", self._names.expand(topic_name))

    def count_subscribers(self, topic_name: str) -> int:
        """How many subscriptions a topic has; a relative name is expanded, not remapped."""
        return self._graph.count("subscription", self._names.expand(topic_name))

    def count_services(self, service_name: str) -> int:
        """How many servers a service has; a relative name is expanded, not remapped."""
        return self._graph.count("service", self._names.expand(service_name, is_service=True))

    def count_clients(self, service_name: str) -> int:
        """How many clients a service has; a relative name is expanded, not remapped."""
        return self._graph.count("client", self._names.expand(service_name, is_service=True))

    def get_publishers_info_by_topic(self, topic_name: str, no_mangle: bool = False) -> list[TopicEndpointInfo]:
        """The publishers of a topic."""
        return self._infos("publisher", TopicEndpointTypeEnum.PUBLISHER, topic_name, no_mangle)

    def get_subscriptions_info_by_topic(self, topic_name: str, no_mangle: bool = False) -> list[TopicEndpointInfo]:
        """The subscriptions of a topic."""
        return self._infos("subscription", TopicEndpointTypeEnum.SUBSCRIPTION, topic_name, no_mangle)

    def wait_for_node(self, fully_qualified_node_name: str, timeout: float) -> bool:
        """Wait until there is a node of this full name.

        Args:
            fully_qualified_node_name: The name; the slash at its beginning may be left out.
            timeout: Seconds to wait; for ever if negative.

        Returns:
            True if there is one.
        """
        name = f"/{fully_qualified_node_name.lstrip('/')}"
        end = time.monotonic() + timeout
        while name not in self.get_fully_qualified_node_names():
            if timeout >= 0 and time.monotonic() >= end:
                return False
            time.sleep(_POLL_S)
        return True

    def _require_node(self, name: str, namespace: str) -> None:
        if (name, namespace) not in self.get_node_names_and_namespaces():
            raise NodeNameNonExistentError(f"There is no node '{name}' in namespace '{namespace}'.")

    def _infos(
        self, kind: str, endpoint_type: TopicEndpointTypeEnum, topic_name: str, no_mangle: bool
    ) -> list[TopicEndpointInfo]:
        full_name = topic_name if no_mangle else self._names.resolve(topic_name)
        return [
            TopicEndpointInfo(
                node_name=info.node_name,
                node_namespace=info.node_namespace,
                topic_type=info.type_name,
                topic_type_hash=TypeHash._parse(info.type_hash),
                endpoint_type=endpoint_type,
                endpoint_gid=list(info.gid),
                qos_profile=QoSProfile._from_wire(info.qos),
            )
            for info in self._graph.endpoints(kind, full_name)
        ]
