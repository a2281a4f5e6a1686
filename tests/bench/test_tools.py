"""`bench tools`: every tool has an example that runs, and each is timed on pictures that no cache knows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bench.tools
from bench.tools import SizedStation, Timings, bench_tools, parse_sizes, time_tools
from sim.station import StationConfig
from sim.tool_examples import example_of, example_picture, run_example
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.toolbox.example import Example
from tool_nodes.tools.suites import SUITES

SIZE = (640, 480)
STATION = SizedStation(StationConfig(perception="sim", suites=SUITES), SIZE)
MOVING = [name for name, spec in STATION.toolbox.specs.items() if spec.motion]


@pytest.fixture(scope="module")
def station() -> SizedStation:
    return STATION


def test_every_tool_has_an_example_of_its_own_arguments(station: SizedStation) -> None:
    for name, spec in station.toolbox.specs.items():
        assert set(spec.required) <= set(example_of(spec).arguments) <= set(spec.kinds), name
    assert all(name.split(".")[-1].startswith(("execute_", "place_", "return_")) for name in MOVING)


@pytest.mark.parametrize("name", sorted(set(STATION.toolbox.specs) - set(MOVING)))
def test_the_example_of_a_tool_runs(station: SizedStation, name: str) -> None:
    record, session = run_example(name, station.toolbox, station.camera)
    assert record.result.ok, record.result.text
    assert record.result.text
    example = example_of(station.toolbox.find(name))
    json.dumps(example.arguments)
    assert (record.image_index is not None) == (len(session.images) > 1 + len(example.before))


def test_the_examples_of_tools_that_move_the_robot_run_too() -> None:
    on_the_way = {before for name in MOVING for before in example_of(STATION.toolbox.find(name)).before}
    ends = sorted(set(MOVING) - on_the_way)
    assert ends
    for name in ends:
        station = SizedStation(StationConfig(suites=("spacetools",)), SIZE)
        record, _ = run_example(name, station.toolbox, station.camera)
        assert record.result.ok, record.result.text


def test_a_tool_without_an_example_is_told_in_a_sentence(station: SizedStation) -> None:
    with pytest.raises(ToolError, match="There is no tool 'juggle'"):
        run_example("juggle", station.toolbox, station.camera)
    with pytest.raises(ToolError, match="There is no example of 'roborefer"):
        example_of(replace(station.toolbox.find("roborefer.detect_one"), example=None))


def test_the_same_picture_is_given_as_a_new_object_each_time(station: SizedStation) -> None:
    first, second = (example_picture("table", station.camera) for _ in range(2))
    assert first.frame is not second.frame
    assert first.require_frame().rgb is not second.require_frame().rgb
    np.testing.assert_array_equal(first.rgb, second.rgb)


def test_pictures_have_the_size_that_is_asked_for() -> None:
    station = SizedStation(StationConfig(), (320, 180))
    assert example_picture("table", station.camera).size == (320, 180)


def test_what_asks_no_perception_is_timed_once_and_the_rest_with_each() -> None:
    names = ["vision_ops.point_crop", "depth_estimator.estimate_depth", "sam2.segment_from_point"]
    timings = time_tools(names, [SIZE, (320, 240)], ("spacetools",), n=2)
    assert timings.failures == []
    assert [row["name"] for row in timings.rows] == [
        "vision_ops.point_crop",
        "depth_estimator.estimate_depth [sim]",
        "sam2.segment_from_point [sim]",
        "depth_estimator.estimate_depth [pixels]",
        "sam2.segment_from_point [pixels]",
        "vision_ops.point_crop 320x240",
        "depth_estimator.estimate_depth [sim] 320x240",
        "sam2.segment_from_point [sim] 320x240",
        "depth_estimator.estimate_depth [pixels] 320x240",
        "sam2.segment_from_point [pixels] 320x240",
    ]
    assert all(row["n"] == 2 and 0 <= row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"] for row in timings.rows)


def test_an_example_that_gives_an_error_is_a_failure_and_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    zebra = Example({"obj_name": "zebra", "image_index": 0})
    monkeypatch.setattr(bench.tools, "example_of", lambda spec: zebra)
    timings = time_tools(["vlm.detect_one"], [SIZE], ("spacetools",), n=1)
    assert timings.rows == []
    assert [fault["error"].split(":")[0] for fault in timings.failures] == [ErrorCode.NOT_RECOGNISED]


def test_the_document_names_rows_failures_and_what_is_skipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def fake(names: Sequence[str], sizes: object, suites: object, n: int, sensor: str) -> Timings:
        asked.append((list(names), sizes, suites, n))
        row = {"name": "x", "n": n, "p50_ms": 1.0, "p95_ms": 2.0, "p99_ms": 3.0}
        return Timings([row], [{"tool": "y", "perception": "sim", "error": "UNAVAILABLE: no."}])

    monkeypatch.setattr(bench.tools, "time_tools", fake)
    assert bench_tools(n=7, suite="spacetools", size="640x480", as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["bench"], len(document["rows"]), len(document["failures"])) == ("tools", 1, 1)
    assert document["skipped"]["moves the robot"] == sorted(MOVING)
    names, sizes, suites, n = asked[0]
    assert (sizes, suites, n) == ([SIZE], ("spacetools",), 7)
    assert not set(names) & set(MOVING)
    assert "code_executor.exec" in names
    assert bench_tools(n=1, suite="evic", size="640x480") == 0
    assert "failed: y [sim]: UNAVAILABLE: no." in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "640", "640x", "9x9", "640x480;1x1", "1e3x480", "99999x480"])
def test_a_size_that_is_none_is_told_in_a_sentence(text: str) -> None:
    with pytest.raises(ToolError, match="size must be WIDTHxHEIGHT with sides from 64 to 4096"):
        parse_sizes(text)


def test_sizes_are_read_in_their_order() -> None:
    assert parse_sizes("640x480, 1280x720") == [(640, 480), (1280, 720)]


def test_fewer_than_one_call_is_refused() -> None:
    with pytest.raises(ToolError, match="n must be 1 or more"):
        bench_tools(n=0)
