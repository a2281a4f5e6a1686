"""`node list` and `node info`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rclpy.action import (
    get_action_client_names_and_types_by_node,
    get_action_server_names_and_types_by_node,
)

from rclpy_zenoh.cli.connection import connect
from rclpy_zenoh.cli.errors import CliError
from rclpy_zenoh.cli.grammar import Arguments
from rclpy_zenoh.cli.names import full_name, instead_of, is_hidden, split_node_name

NamesAndTypes = Sequence[tuple[str, Sequence[str]]]


def node_names(node: Any, include_hidden: bool) -> list[str]:
    """Fully qualified names of the nodes in the graph, sorted; one name for each node of that name."""
    return sorted(
        full_name(name, namespace)
        for name, namespace in node.get_node_names_and_namespaces()
        if include_hidden or not name.startswith("_")
    )


def unknown_node(name: str, known: Sequence[str]) -> CliError:
    """The error for a node that is not in the graph."""
    return CliError(f"Unable to find node '{name}'; {instead_of(name, known, 'nodes')}.")


def list_nodes(arguments: Arguments) -> int:
    """Names of all nodes, one a line."""
    with connect(arguments, looks=True) as connection:
        names = node_names(connection.node, arguments.all)
    if arguments.count_nodes:
        print(len(names))
        return 0
    if len(set(names)) < len(names):
        print(
            "WARNING: Be aware that there are nodes in the graph that share an exact name, which can have unintended "
            "side effects.",
            file=sys.stderr,
        )
    for name in names:
        print(name)
    return 0


def info(arguments: Arguments) -> int:
    """Topics, services and actions of one node."""
    name, hidden = full_name(arguments.node_name), arguments.include_hidden
    with connect(arguments, looks=True) as connection:
        node = connection.node
        names = node_names(node, hidden)
        count = names.count(name)
        if not count:
            raise unknown_node(name, names)
        if count > 1:
            print(
                f'There are {count} nodes in the graph with the exact name "{name}". '
                "You are seeing information about only one of them.",
                file=sys.stderr,
            )
        base, namespace = split_node_name(name)
        sections: dict[str, NamesAndTypes] = {
            "Subscribers": node.get_subscriber_names_and_types_by_node(base, namespace),
            "Publishers": node.get_publisher_names_and_types_by_node(base, namespace),
            "Service Servers": node.get_service_names_and_types_by_node(base, namespace),
            "Service Clients": node.get_client_names_and_types_by_node(base, namespace),
            "Action Servers": get_action_server_names_and_types_by_node(node, base, namespace),
            "Action Clients": get_action_client_names_and_types_by_node(node, base, namespace),
        }
    print(name)
    for title, found in sections.items():
        lines = [f"    {n}: {', '.join(types)}" for n, types in sorted(found) if hidden or not is_hidden(n)]
        print(f"  {title}:", *(lines or [""]), sep="\n")
    return 0
