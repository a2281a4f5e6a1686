"""Intervals, percentiles and the text of a benchmark."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.bench.stats import LINE_WIDTH, SHOWN_FAILURES, format_report, format_rows, machine, rate_row, timing_row
from toolhand.training.intervals import wilson


@pytest.mark.parametrize(
    ("success", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (10, 10, 0.7225, 1.0),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson_intervals_are_those_of_the_literature(success: int, n: int, low: float, high: float) -> None:
    assert wilson(success, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_holds_the_rate_and_mirrors_its_failures(counts: tuple[int, int]) -> None:
    success, n = counts
    low, high = wilson(success, n)
    assert 0.0 <= low < high <= 1.0
    assert low - 1e-12 <= success / n <= high + 1e-12
    assert wilson(n - success, n) == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_a_rate_row_has_the_documented_fields_and_whatever_else_is_given() -> None:
    assert rate_row("pick", 3, 4, points=7) == {
        "name": "pick",
        "n": 4,
        "success": 3,
        "rate": 0.75,
        "low": 0.3006,
        "high": 0.9544,
        "points": 7,
    }


def test_a_rate_of_nothing_is_no_figure_at_all() -> None:
    row = rate_row("pick", 0, 0)
    assert (row["rate"], row["low"], row["high"]) == (None, None, None)
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    assert format_rows([row]).splitlines()[1].split() == ["pick", "0", "0", "-", "-"]


def test_a_timing_row_has_percentiles_in_milliseconds() -> None:
    assert timing_row("plan", [k / 1000 for k in range(101)]) == {
        "name": "plan",
        "n": 101,
        "p50_ms": 50.0,
        "p95_ms": 95.0,
        "p99_ms": 99.0,
    }


def test_a_timing_of_nothing_has_no_percentiles_and_is_still_json() -> None:
    row = timing_row("plan", [])
    assert row == {"name": "plan", "n": 0, "p50_ms": None, "p95_ms": None, "p99_ms": None}
    assert json.loads(json.dumps(row, allow_nan=False)) == row


def test_the_machine_is_named_by_processor_cores_system_and_python() -> None:
    found = machine()
    assert set(found) == {"cpu", "cores", "system", "python"}
    assert found["cores"] >= 1
    assert found["python"].startswith("3.")


def test_a_table_lists_rates_before_timings() -> None:
    text = format_rows([timing_row("plan", [0.0123]), timing_row("none", []), rate_row("pick", 3, 4)])
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[1:2] + lines[3:]] == ["pick", "plan", "none"]
    assert "75.0%" in lines[1]
    assert "30.1 .. 95.4 %" in lines[1]
    assert "12 ms" in lines[3]
    assert lines[4].split()[-3:] == ["-", "-", "-"]


def document(failures: int, unscored: int = 0) -> dict[str, Any]:
    return {
        "rows": [rate_row("all", 1, 2)],
        "error_codes": {"NO_GRASP": 1, "IK_FAILED": 2} if failures else {},
        "unscored": unscored,
        "failures": [{"name": f"failure {k} " + "x" * 500} for k in range(failures)],
        "machine": {"cpu": "a processor", "cores": 2, "system": "Linux", "python": "3.11"},
        "wall_s": 1.5,
    }


def report(failures: int, unscored: int = 0) -> list[str]:
    return format_report(document(failures, unscored), lambda failure: failure["name"]).splitlines()


def test_a_report_has_a_line_for_every_error_code_the_most_frequent_first() -> None:
    lines = [line.split() for line in report(3) if line.startswith("error")]
    assert lines == [["error", "IK_FAILED", "2"], ["error", "NO_GRASP", "1"]]


def test_a_report_of_many_failures_stays_short_and_says_how_many_are_left_out() -> None:
    lines = report(100)
    shown = [line for line in lines if "failure" in line]
    assert len(shown) == SHOWN_FAILURES
    assert max(map(len, shown)) <= LINE_WIDTH + 2
    assert f"  and {100 - SHOWN_FAILURES} more; --json names all of them" in lines


def test_a_report_ends_with_the_machine() -> None:
    assert report(0)[-1] == "a processor, cores 2, Linux, python 3.11; 1.5 s"


def test_a_report_says_how_many_episodes_have_no_score_only_if_there_are_any() -> None:
    assert not any("unscored" in line for line in report(1))
    assert "unscored, because of infrastructure errors: 4" in report(1, unscored=4)
