"""A router, and simulators with a domain of their own."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rclpy_zenoh.overlay import install

install()

from tests.ros.sim_node.graph import Graph

_domains = itertools.cycle(range(1, 100))


@pytest.fixture
def start(router: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Graph]]:
    """`start(lockstep=True, scene="3")` starts a simulator with these parameters."""
    monkeypatch.setenv("RCLPY_ZENOH_ROUTER", router)
    started: list[Graph] = []

    def make(**parameters: Any) -> Graph:
        started.append(Graph(next(_domains), {"image_width": 160, "image_height": 120} | parameters))
        return started[-1]

    yield make
    for graph in started:
        graph.close()


@pytest.fixture
def lockstep(start: Callable[..., Graph]) -> Graph:
    return start(lockstep=True)


@pytest.fixture
def playing(start: Callable[..., Graph]) -> Graph:
    return start()
