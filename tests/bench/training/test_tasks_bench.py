"""`toolhand bench tasks`."""

import json

import pytest

from bench.training.tasks import TaskRecord, bench_tasks, rows_of_kinds
from tool_nodes.results import ToolError


def test_a_kind_has_n_score_interval_and_the_blind_policy_beside_it(capsys):
    assert bench_tasks(kinds="map_stations", n=2, split="test", as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    (row,) = document["rows"]
    assert (row["kind"], row["n"], row["teacher"]["rate"], row["blind"]["rate"]) == ("map_stations", 2, 1.0, 0.0)
    assert 0 < row["teacher"]["low"] < 1
    assert row["calls"] == 2.0
    assert document["unscored"] == 0
    assert document["failures"] == []
    assert document["made_s"] > 0


def test_what_has_no_score_is_counted_and_left_out():
    records = [
        TaskRecord("depth", 1, 1.0, True, 0.0, False),
        TaskRecord("depth", 2, 0.0, False, 1.0, True, "not the right letter"),
        TaskRecord("depth", 3, why="INTERNAL: gone"),
    ]
    (row,) = rows_of_kinds(records)
    assert row["n"] == 2
    assert row["teacher"]["score"] == 0.5
    assert row["blind"]["success"] == 1
    (empty,) = rows_of_kinds(records[2:])
    assert empty["n"] == 0
    assert empty["teacher"]["rate"] is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"kinds": "juggle"}, "There is no task 'juggle': it must be box or choice or"),
        ({"split": "exam"}, "There is no split 'exam'"),
        ({"difficulty": 2.0}, "difficulty must be from 0 to 1"),
    ],
)
def test_bad_options_are_told_in_a_sentence(options, told):
    with pytest.raises(ToolError, match=told):
        bench_tasks(**options)
