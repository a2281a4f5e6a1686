"""One worker beside several: the same rollouts in turn, and what is counted of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import bench.rollout_workers
from bench.rollout_workers import compare_workers, report_lines
from sim.station import StationConfig
from tool_nodes.results import ErrorCode, ToolError
from training.pool.workers import JobEnd
from training.rollouts.replies import RolloutBrief, RolloutOrder, RolloutReply

GONE = ToolError(ErrorCode.UNAVAILABLE, "Gone.")


def test_rates_are_by_the_clock_without_what_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    asked: list[tuple[int, list[RolloutOrder]]] = []

    class Instant:
        def __init__(self, make: Callable[[], Any], count: int) -> None:
            self.count = count

        def __enter__(self) -> Instant:
            return self

        def __exit__(self, *exception: object) -> None:
            pass

        def run(self, orders: Sequence[RolloutOrder], kind: object) -> Iterator[JobEnd[RolloutOrder, RolloutReply]]:
            asked.append((self.count, list(orders)))
            clock[0] += len(orders) / self.count
            for order in orders:
                brief = RolloutBrief(1.0, order.group == 0, 7, 10, {"tools": 0.75, "policy": 0.25})
                reply = RolloutReply("", brief, 0.5 * self.count, 100.0 * self.count)
                failed = order == RolloutOrder(1, 1) and self.count == 2
                yield JobEnd(order, None if failed else reply, GONE if failed else None)

    monkeypatch.setattr(bench.rollout_workers, "Workers", Instant)
    monkeypatch.setattr(bench.rollout_workers.time, "monotonic", lambda: clock[0])
    document = compare_workers(range(7, 11), StationConfig(image_size=(320, 240)), 2)
    first, second = ([RolloutOrder(group, rollout) for rollout in range(2)] for group in range(2))
    assert asked[2:] == [(1, first), (2, first), (2, second), (1, second)]
    assert [row["per_min_wall"] for row in document["rows"]] == [60.0, 90.0], "three of four, in half the time"
    assert (document["times"], document["cpu_times"], document["unscored"]) == (1.5, 2.0, 1)
    assert (document["success"]["success"], document["success"]["n"]) == (2, 3)
    assert document["rows"][1]["peak_mb"] == 200
    assert [row["busy"] for row in document["rows"]] == [1.0, 0.75]
    assert document["rows"][0]["share"] == {"tools": 0.75, "policy": 0.25}
    assert report_lines(document)[-1].startswith("together 1.5 times the rollouts of one")
