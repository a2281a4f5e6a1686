"""`toolhand bench ros`: its document, its table and one short run across two processes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from bench.ros.latency import bench_ros, format_table, latency_row
from bench.ros.standing import bench_stop
from tool_nodes.results import ErrorCode, ToolError

NAMES = ["tiny_call", "rgb_720p_call", "rgbd_720p_call", "image_topic_30hz", "action_goal"]


def test_a_row_has_percentiles_to_the_microsecond() -> None:
    assert latency_row("tiny_call", [0.0004567] * 3, shm=True) == {
        "name": "tiny_call",
        "n": 3,
        "p50_ms": 0.457,
        "p95_ms": 0.457,
        "p99_ms": 0.457,
        "shm": True,
    }
    assert latency_row("tiny_call", [], shm=False)["p50_ms"] is None


def test_the_table_has_a_line_for_every_row_and_says_what_it_was_measured_on() -> None:
    document = {
        "rows": [
            latency_row("tiny_call", [0.001], shm=True),
            latency_row("image_topic_30hz", [], shm=False, delivered=0, sent=5),
        ],
        "machine": {"cpu": "c", "cores": 2, "system": "s", "python": "3"},
        "load_before": 0.5,
        "warm_up": 10,
        "wall_s": 1.0,
    }
    lines = format_table(document).splitlines()
    assert lines[1].split() == ["tiny_call", "on", "1", *["1.00", "ms"] * 3]
    assert lines[2].split() == ["image_topic_30hz", "off", "0", "-", "-", "-", "0", "of", "5", "delivered"]
    assert lines[3] == "c, cores 2, python 3, load 0.5; warm-up of 10 not counted; 1.0 s"


def test_no_samples_are_refused() -> None:
    with pytest.raises(ToolError) as error:
        bench_ros(n=0)
    assert error.value.code is ErrorCode.INVALID_ARGUMENT


def test_where_ros_2_is_sourced_the_pip_client_cannot_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    from rclpy_zenoh import overlay

    monkeypatch.setattr(overlay, "install", lambda: False)
    with pytest.raises(ToolError) as error:
        bench_ros(n=1)
    assert error.value.code is ErrorCode.UNAVAILABLE


def test_without_zenoh_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zenoh", None)
    with pytest.raises(ToolError) as error:
        bench_ros(n=1)
    assert error.value.code is ErrorCode.UNAVAILABLE
    assert "eclipse-zenoh" in str(error.value)


def children() -> set[str]:
    """Processes that this one has started, where the system tells."""
    file = Path(f"/proc/self/task/{os.getpid()}/children")
    return set(file.read_text().split()) if file.exists() else set()


def test_a_short_run_gives_one_document_and_leaves_nothing_behind(capsys: pytest.CaptureFixture[str]) -> None:
    environment, before = dict(os.environ), children()
    assert bench_ros(n=3, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"bench": "ros", "seeds": [], "warm_up": 10}.items() <= document.items()
    assert document["machine"]["cores"] == os.cpu_count()
    assert [(row["name"], row["shm"]) for row in document["rows"]] == [
        (name, shm) for shm in (True, False) for name in NAMES
    ]
    for row in document["rows"]:
        if row["name"] == "image_topic_30hz":  # best effort: a busy machine may lose some
            assert row["n"] == row["delivered"] <= row["sent"] == 3
        else:
            assert row["n"] == 3
        assert 0 < row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"]
    assert dict(os.environ) == environment
    assert children() == before


def test_a_stop_beside_joint_states_is_confirmed_and_reset_at_rest_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_stop(only="honest", as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    counts = [document[key] for key in ("moving", "confirmed_while_moving", "at_rest", "refused_at_rest")]
    assert counts == [1, 0, 1, 0]
    assert "joint_2 moves: it was measured to travel" in document["heard"][0]["told"]
    with pytest.raises(ToolError, match="No manner") as error:
        bench_stop(only="unheard of")
    assert error.value.code is ErrorCode.INVALID_ARGUMENT
