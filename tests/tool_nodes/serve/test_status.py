import re

import pytest

from toolhand.tool_nodes.serve import metrics_actor
from toolhand.tool_nodes.serve.config import ServedEntry
from toolhand.tool_nodes.serve.metrics_actor import MetricsActor, ReplicaStats
from toolhand.tool_nodes.serve.status import prometheus, table

ENTRIES = {
    "pointer": ServedEntry("pointer", "pointer", 'odd"name:C:\\weights', run="serve"),
    "depth": ServedEntry("depth", "depth", "pixels"),
}


def told() -> MetricsActor:
    made = MetricsActor(ENTRIES)
    made.report(
        "one", {"pointer": ReplicaStats(2, (("ok", 0.01), ("ok", 0.03), ("timeout", 1.0))), "gone": ReplicaStats(5)}
    )
    made.report("other", {"pointer": ReplicaStats(1, (("object_not_found", 0.02),))})
    return made


def test_the_metrics_actor_adds_up_what_clients_report() -> None:
    pointer, depth = told().rows()
    assert (pointer["waiting"], pointer["calls"]) == (3, 4)
    assert pointer["errors"] == {"object_not_found": 1, "timeout": 1}
    assert pointer["seconds"] == pytest.approx(1.06)
    assert pointer["p50_ms"] == pytest.approx(25.0)
    assert (depth["waiting"], depth["calls"], depth["p50_ms"]) == (0, 0, None)


def test_a_client_that_is_silent_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = told()
    monkeypatch.setattr(metrics_actor, "SILENT_S", -1.0)
    assert made.rows()[0]["waiting"] == 0


def test_why_a_backend_could_not_be_made_is_kept() -> None:
    made = told()
    made.failed("depth", "There are no weights.")
    assert (made.failure("depth"), made.failure("pointer")) == ("There are no weights.", "")


def test_the_terminal_has_a_line_for_each_entry_and_its_errors() -> None:
    rows = [row | {"replicas": {"RUNNING": 2}} for row in told().rows()]
    head, pointer, errors, depth = table(rows).splitlines()
    assert head.split()[-1] == "p99"
    assert re.search(r"2 running +3 +4 +25\.0 ms", pointer)
    assert errors.strip() == "errors: object_not_found 1, timeout 1"
    assert depth.split()[-3:] == ["-", "-", "-"]


def test_prometheus_reads_counters_gauges_and_a_summary() -> None:
    text = prometheus([row | {"replicas": {"RUNNING": 2}} for row in told().rows()])
    labels = r'name="pointer",port="pointer",backend="odd\"name:C:\\weights"'
    lines = text.splitlines()
    assert f'toolhand_serve_calls_total{{{labels},end="ok"}} 2' in lines
    assert f'toolhand_serve_calls_total{{{labels},end="timeout"}} 1' in lines
    assert f"toolhand_serve_waiting{{{labels}}} 3" in lines
    assert f'toolhand_serve_replicas{{{labels},state="running"}} 2' in lines
    assert f'toolhand_serve_call_seconds{{{labels},quantile="0.5"}} 0.025000' in lines
    assert f"toolhand_serve_call_seconds_count{{{labels}}} 4" in lines
    assert text.endswith("\n")
    sample = re.compile(r'[a-z_]+\{([a-z]+="(\\.|[^"\\])*",?)+\} [0-9.]+')
    assert all(line.startswith("# ") or sample.fullmatch(line) for line in lines)
