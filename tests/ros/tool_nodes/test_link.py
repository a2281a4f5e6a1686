"""How long a service is looked for before it counts as absent."""

import os
from types import SimpleNamespace
from typing import Any

import pytest

from rclpy_zenoh.overlay import install

install()

import rclpy

from rclpy_zenoh.wire import start_router
from toolhand.cli import run_over_ros as over_ros
from toolhand.cli import stop
from toolhand.tool_nodes.ros import link as ros_link
from toolhand.tool_nodes.ros.link import RosLink


class Clock:
    """Time that passes with sleep only."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(("appears_s", "found"), [(0.0, True), (4.5, True), (60.0, False)])
def test_a_service_that_discovery_finds_late_is_there(
    monkeypatch: pytest.MonkeyPatch, appears_s: float, found: bool
) -> None:
    clock = Clock()
    monkeypatch.setattr(ros_link, "time", clock)
    link = RosLink({})
    link.node = SimpleNamespace(get_service_names_and_types=lambda: [("/run", ["x"])] if clock.now >= appears_s else [])
    assert link.offers("/run") is found
    assert clock.now < 10.0


def test_whether_a_graph_runs_is_looked_up_without_becoming_its_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    with start_router() as router:
        monkeypatch.setenv("RCLPY_ZENOH_ROUTER", router.endpoint)
        monkeypatch.setattr(ros_link, "_DISCOVERY_S", 0.1)
        opened: list[bool] = []
        create_node = rclpy.create_node

        def note(name: str, *, context: Any, **more: Any) -> Any:
            opened.append(context._options.client)
            return create_node(name, context=context, **more)

        monkeypatch.setattr(rclpy, "create_node", note)
        assert not over_ros.graph_runs(pip_client=True)
    assert opened == [True]
    assert "RCLPY_ZENOH_CLIENT" not in os.environ


@pytest.mark.parametrize(("given", "domain"), [(7, 7), (None, 9)])
def test_a_stop_that_nobody_serves_names_the_domain(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: int | None, domain: int
) -> None:
    with start_router() as router:
        monkeypatch.setenv("RCLPY_ZENOH_ROUTER", router.endpoint)
        monkeypatch.setenv("ROS_DOMAIN_ID", "9")
        monkeypatch.setattr(ros_link, "_DISCOVERY_S", 0.1)
        assert stop._over_rclpy("/stop", given, None) == stop.NOT_CONFIRMED
    told = f"UNAVAILABLE: The stop was not delivered: Nobody serves /stop in domain {domain}. "
    assert capsys.readouterr().err.startswith(told)
