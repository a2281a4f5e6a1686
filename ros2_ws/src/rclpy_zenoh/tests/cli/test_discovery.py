"""How long a command waits for the graph to be known."""

from __future__ import annotations

import time
from typing import Any

from rclpy_zenoh.cli.grammar import Arguments


class Graph:
    """A node and its executor; with every spin, one more of the nodes is discovered."""

    def __init__(self, nodes: int) -> None:
        self.hidden = nodes
        self.nodes = [("me", "/")]

    def spin_once(self, timeout_sec: float) -> None:
        time.sleep(timeout_sec / 4)
        if self.hidden:
            self.hidden -= 1
            self.nodes.append((f"n{self.hidden}", "/"))

    def get_node_names_and_namespaces(self) -> list[tuple[str, str]]:
        return list(self.nodes)

    def get_topic_names_and_types(self) -> list[Any]:
        return []

    get_service_names_and_types = get_topic_names_and_types


def discover(nodes: int, spin_time: float, quiet: float) -> tuple[Graph, float]:
    """The graph after discovery, and how long that took [s]."""
    from rclpy_zenoh.cli.connection import Connection

    graph = Graph(nodes)
    began = time.monotonic()
    Connection(graph, graph, spin_time, quiet).discover()
    return graph, time.monotonic() - began


def test_discovery_goes_on_while_nodes_appear_and_ends_when_it_is_quiet() -> None:
    graph, took = discover(nodes=20, spin_time=60.0, quiet=0.05)
    assert not graph.hidden
    assert took < 30.0


def test_discovery_ends_after_the_spin_time_at_the_latest() -> None:
    graph, _ = discover(nodes=1_000_000, spin_time=0.05, quiet=0.05)
    assert graph.hidden


def test_who_sees_nobody_looks_for_the_whole_spin_time() -> None:
    assert discover(nodes=0, spin_time=0.2, quiet=0.01)[1] >= 0.2


def test_the_spin_time_is_that_of_ros2() -> None:
    assert Arguments().spin_time == 0.5
