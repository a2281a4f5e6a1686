"""`bench calibration`: a small sample of it, and its rows."""

import json

import pytest

import toolhand.bench.calibration.command
from toolhand.bench.calibration.command import CalibrationJob, CalibrationRecord
from toolhand.bench.calibration.picks import PickRecord
from toolhand.bench.commands.calibration import Options


def test_one_calibration_meets_its_targets(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolhand.bench.calibration.command, "FAULT_SEEDS", 0)
    Options(camera=("scene",), seeds=1, poses=8, as_json=True)()
    document = json.loads(capsys.readouterr().out)
    [row] = document["errors"]
    assert row["failed"] == 0
    assert row["work_mm_median"] < 0.6
    assert row["deg_median"] < 0.08
    rows = {entry["name"]: (entry["success"], entry["n"]) for entry in document["rows"]}
    assert rows["degenerate poses refused"] == (1, 1)
    assert rows["named: squares printed at 97 %"] == (1, 1)
    assert rows["named: intrinsics of another camera"] == (1, 1)
    assert rows["named: mirrored board"] == (0, 0)


def test_what_was_not_refused_or_named_is_listed() -> None:
    job = CalibrationJob("wrist", 3, 15, True)
    bad = CalibrationRecord(job, degenerate=("one axis", ""), faults={"mirrored board": "It is blurred."})
    lines = toolhand.bench.calibration.command._failures([bad], [PickRecord(4, "", "NO_GRASP"), PickRecord(5, "", "")])
    assert lines == [
        "wrist 3: the poses of kind 'one axis' were not refused",
        "wrist 3: mirrored board: It is blurred.",
        "pick 4: true camera: picked; calibrated: NO_GRASP",
    ]
    [row] = [
        row for row in toolhand.bench.calibration.command._refusals([bad]) if row["name"] == "named: mirrored board"
    ]
    assert (row["success"], row["n"]) == (0, 1)


def test_a_deviation_that_is_too_small_fails_the_bench() -> None:
    job = CalibrationJob("wrist", 0, 15, False)
    good = CalibrationRecord(job, mm=0.1, deg=0.01, squared=5.0)
    far = CalibrationRecord(job, mm=0.1, deg=0.01, squared=50.0)
    errors = toolhand.bench.calibration.command._errors
    assert errors("wrist", [good] * 19 + [far])["met"]
    assert not errors("wrist", [good] * 17 + [far] * 3)["met"]
    assert not errors("wrist", [good] * 20)["met"]  # it covers always: too wide
