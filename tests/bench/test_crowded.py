"""`bench crowded`: one scene end to end, rows by gap, and numbers that are refused."""

import json
from dataclasses import replace

import pytest

import toolhand.bench.crowded
from toolhand.agent_node.console.options import COLOUR_AND_DEPTH
from toolhand.bench.commands.crowded import Options
from toolhand.bench.crowded import BENCH, CrowdJob, CrowdRecord, rows_of, run_one

DONE = CrowdRecord(
    seed=0,
    gap_mm=0.0,
    pairing="other colour",
    category="pick",
    text="pick up the cola",
    scored=True,
    success=True,
)
REFUSED = replace(DONE, gap_mm=2.0, success=False, error_code="OBJECT_NOT_FOUND", answer="No cola.")
WRONG = replace(REFUSED, wrong=True, error_code="EXECUTION_FAILED", lifted=("milk_1",))
DENIED = replace(DONE, gap_mm=5.0, denied=True, error_code="WRONG_OBJECT")
LIE = replace(WRONG, false_success=True, error_code=None, category="pick_and_place")


def test_objects_that_touch_are_picked_by_what_the_pixels_show() -> None:
    records = run_one(CrowdJob(5, COLOUR_AND_DEPTH))
    assert [r.text for r in records if r.category == "pick"]
    assert all(r.scored for r in records)
    assert {(r.gap_mm, r.pairing) for r in records} == {(0.0, "same colour")}
    assert not any(r.false_success for r in records)
    assert any(r.success for r in records if r.category == "pick")


def test_rows_tell_done_refused_wrong_and_false_apart() -> None:
    rows = {
        row["name"]: (row["success"], row["n"])
        for row in rows_of([DONE, REFUSED, WRONG, LIE, DENIED, *BENCH.crashed(CrowdJob(0, COLOUR_AND_DEPTH), "x")])
    }
    assert rows["gap 0 mm"] == (1, 1)
    assert rows["gap 2 mm"] == (0, 3)
    assert rows["pick"] == (2, 4)
    assert rows["all"] == (2, 5)
    assert rows["refused or asked"] == (1, 5)
    assert rows["wrong object lifted, said so"] == (1, 5)
    assert rows["false_success"] == (1, 5)
    assert rows["done, said to have failed"] == (1, 5)


def test_the_document_has_every_failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(toolhand.bench.crowded, "run_one", lambda job: [DONE, LIE])
    assert Options(n=2, first_seed=3, as_json=True)() == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["bench"], document["perception"], document["seeds"]) == ("crowded", "pixels", [3, 4])
    assert [failure["lifted"] for failure in document["failures"]] == [["milk_1"]] * 2
    assert Options(n=1)() == 0
    assert "2 mm  'pick up the cola': false success" in capsys.readouterr().out
