"""Figures of the graph: what is computed from two readings of /proc, and how it is shown."""

from __future__ import annotations

import pytest

from bench.ros import graph as ros_graph
from rclpy_zenoh.launch import Usage


class Readings:
    """A graph whose processes used a known processor time between two readings."""

    def __init__(self) -> None:
        self._readings = [
            [Usage("sim", 1, 100_000_000, 60_000_000, 2.0)],
            [Usage("sim", 1, 110_000_000, 70_000_000, 2.5), Usage("late", 2, 50_000_000, 20_000_000, 0.25)],
        ]

    def usage(self) -> list[Usage]:
        return self._readings.pop(0)


def test_idle_load_is_the_difference_of_two_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 10.0])
    monkeypatch.setattr(ros_graph.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(ros_graph.time, "monotonic", lambda: next(clock))
    row = ros_graph.idle_row(Readings())  # type: ignore[arg-type]
    assert row["processes"]["sim"] == {"cpu_percent": 5.0, "rss_mb": 110.0, "pss_mb": 70.0}
    assert row["processes"]["late"]["cpu_percent"] == 2.5
    assert (row["cpu_percent"], row["pss_mb"]) == (7.5, 90.0)
