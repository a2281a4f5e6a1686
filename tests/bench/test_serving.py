"""`toolhand bench serving`: what needs no cluster is measured, and targets are judged."""

import json
from itertools import islice
from typing import Any

import pytest

from toolhand.bench.commands.serving import Options
from toolhand.bench.serving.command import targets
from toolhand.bench.serving.load import drive
from toolhand.bench.serving.payloads import LOOKS, Payload, make_payload
from toolhand.tool_nodes.results import ErrorCode, ToolError


def test_calls_in_process_are_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from toolhand.tool_nodes import registry

    registry._entries.cache_clear()
    try:
        assert Options(("small", "rgb"), ("in process",), (1, 3), 0.05, as_json=True)() == 0
    finally:
        registry._entries.cache_clear()
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["payload"], row["way"], row["callers"]) for row in rows] == [
        (payload, way, callers) for payload in ("small", "rgb") for way in ("in process",) for callers in (1, 3)
    ]
    for row in rows:
        assert row["calls"] >= row["callers"]
        assert row["errors"] == {}
        assert row["memory_mb"] > 10
        assert 0.0 < row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"]
        assert row["copies"] == 0.0


def test_each_image_is_asked_about_as_often_as_said() -> None:
    for name in ("small", "rgbd"):
        calls = list(islice(make_payload(name).calls(0), 2 * LOOKS))
        assert len({id(image) for image, _ in calls}) == 2
    first, second = calls[0][0].frame, calls[-1][0].frame
    assert first is not None
    assert second is not None
    assert first.key != second.key


def test_errors_are_counted_and_a_conversation_that_cannot_begin_ends_all() -> None:
    def fails(image: object, text: str) -> None:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, "No.")

    payload = make_payload("small")
    load = drive(payload, lambda: fails, 2, 0.02)
    assert load.errors == {"object_not_found": len(load.seconds)}
    broken = Payload("x", "x", "x", lambda number: iter(()))
    with pytest.raises(StopIteration):
        drive(broken, lambda: fails, 2, 0.02)


def test_targets_are_judged_where_both_sides_were_measured() -> None:
    def row(payload: str, way: str, callers: int, rate: float) -> dict[str, object]:
        made = {"payload": payload, "way": way, "callers": callers, "calls": 1, "calls_per_s": rate}
        return made | {"p50_ms": 1000.0 / rate}

    rows = [
        row("small", "serve", 64, 500.0),
        row("rgbd", "serve", 64, 500.0),
        row("small", "in process", 1, 1e6),
        row("small", "serve", 1, 200.0),
    ]
    found = [(target["value"], target["met"]) for target in targets(rows)]
    assert found == [(500.0, True), (5.0, False)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"payloads": ("tall",)}, "There is no 'tall': small, rgb"),
        ({"ways": ("by mail",)}, "There is no 'by mail': in process, actors"),
        ({"callers": (0,)}, "callers must be 1 to 1000"),
        ({"seconds": 0.0}, "seconds above 0"),
    ],
)
def test_what_cannot_be_measured_is_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        Options(**words)()
