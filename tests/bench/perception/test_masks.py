"""Masks of unknown objects: rows, scores and the plot, on records that were made up, and one scene of a kind."""

import json
from pathlib import Path

import pytest
from PIL import Image

import toolhand.bench.perception.masks
from toolhand.bench.commands.perception import Options
from toolhand.bench.perception.masks import MaskJob, MaskRecord, run_one


def fake(job: MaskJob) -> list[MaskRecord]:
    return [
        MaskRecord(job, "a", iou=0.9, score=0.9),
        MaskRecord(job, "b", iou=0.5, score=0.7, joined=True),
        MaskRecord(job, "c", code="AMBIGUOUS"),
    ]


def test_scores_of_masks_are_printed_and_plotted_with_their_errors(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(toolhand.bench.perception.masks, "run_one", fake)
    plot = tmp_path / "masks.png"
    assert Options(scenes=10, masks="packed,pile", plot=plot, as_json=True)() == 0
    document = json.loads(capsys.readouterr().out)
    rows = {row["name"]: (row.get("success"), row["n"]) for row in document["rows"]}
    assert rows["packed: right"] == (10, 30)
    assert rows["pile: joined"] == (10, 30)
    assert rows["asked which of two"] == (20, 60)
    scores = document["scores"]["mask scores"]
    assert scores["n"] == 40
    assert scores["ece"] == pytest.approx(0.1)
    assert scores["errors"][0]["by_chance_95"] < 0.01, "equal scores with equal overlaps scatter by nothing"
    assert Image.open(plot).width > 300
    assert Options(scenes=1, masks="packed")() == 0
    assert "expected calibration error 0.100" in capsys.readouterr().out


def test_everything_that_is_seen_of_a_scene_is_pointed_at() -> None:
    records = run_one(MaskJob("packed", 3))
    assert len(records) > 2
    assert all(record.code or (record.score is not None and 0.0 <= record.iou <= 1.0) for record in records)
