"""How long a service is looked for before it counts as absent."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rclpy_zenoh.overlay import install

install()

from bench import ros_link
from bench.ros_link import RosLink


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
