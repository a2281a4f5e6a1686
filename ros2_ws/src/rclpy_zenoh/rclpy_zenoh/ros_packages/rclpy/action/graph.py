"""Which actions there are, and who offers and uses them."""

from __future__ import annotations

from collections.abc import Iterable

from rclpy.node import Node

_FEEDBACK_TOPIC = "/_action/feedback"
_FEEDBACK_TYPE = "_FeedbackMessage"


def get_action_names_and_types(node: Node) -> list[tuple[str, list[str]]]:
    """Names of all actions in the graph, with their types such as "example_interfaces/action/Fibonacci"."""
    return _actions(node.get_topic_names_and_types())


def get_action_server_names_and_types_by_node(
    node: Node, remote_node_name: str, remote_node_namespace: str
) -> list[tuple[str, list[str]]]:
    """Names and types of the actions that a node offers; `node` is the one that looks."""
    return _actions(node.get_publisher_names_and_types_by_node(remote_node_name, remote_node_namespace))


def get_action_client_names_and_types_by_node(
    node: Node, remote_node_name: str, remote_node_namespace: str
) -> list[tuple[str, list[str]]]:
    """Names and types of the actions that a node uses; `node` is the one that looks."""
    return _actions(node.get_subscriber_names_and_types_by_node(remote_node_name, remote_node_namespace))


def _actions(topics: Iterable[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    return [
        (name.removesuffix(_FEEDBACK_TOPIC), [type_name.removesuffix(_FEEDBACK_TYPE) for type_name in types])
        for name, types in topics
        if name.endswith(_FEEDBACK_TOPIC)
    ]
