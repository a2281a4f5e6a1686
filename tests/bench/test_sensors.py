"""The benchmark of noise terms: one at a time over the same scenes."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import bench.sensors
from bench.grasp.records import GraspRecord, RunFolder
from bench.sensors import ALL, AS_DEVICE, NONE, SensorJob, SensorRecord, chosen_terms, rows_of, run_one, save_plot
from sim.camera.sensors.presets import AZURE_KINECT, REALSENSE_D435
from tool_nodes.port_names import PortNames
from tool_nodes.results import ToolError

SIM = replace(AS_DEVICE, perception="sim", ports=PortNames(sensor="hard"))


def job(term: str, seed: int = 0) -> SensorJob:
    return SensorJob(seed, term, "packed", ("catalogue",), SIM, grasps=False)


def attempt(term: str, seed: int, success: bool) -> GraspRecord:
    return GraspRecord(term, "packed", seed, success=success, reported=success, code="" if success else "NO_GRASP")


def test_the_terms_are_those_of_the_sensor_or_some_of_them() -> None:
    assert chosen_terms("realsense_d435", "") == REALSENSE_D435.terms()
    assert chosen_terms("azure_kinect", "") == AZURE_KINECT.terms()
    assert chosen_terms("hard", "jpeg,noise") == ("jpeg", "noise")
    with pytest.raises(ToolError, match="There is no noise term 'fog'"):
        chosen_terms("hard", "fog")
    for name in ("stereo", "random", "hard:noise", "hard+zed2"):
        with pytest.raises(ToolError, match="has no noise terms of its own"):
            chosen_terms(name, "")


def test_a_calibration_error_alone_displaces_boxes_and_leaves_masks_as_they_were() -> None:
    clean, moved = run_one(job(NONE)), run_one(job("hand_eye"))
    assert len(clean.values["iou"]) == len(moved.values["iou"]) > 1
    assert np.allclose(clean.values["iou"], moved.values["iou"])
    assert np.mean(moved.values["box_mm"]) > np.mean(clean.values["box_mm"]) + 1.0


def test_rows_have_means_changes_against_the_clean_scenes_and_grasps(tmp_path: Path) -> None:
    records = [
        SensorRecord(
            job(term, seed), {"iou": [0.9 - loss, 0.8 - loss], "box_mm": [2.0 + 100 * loss]}, attempt(term, seed, grasp)
        )
        for seed in range(5)
        for term, loss, grasp in ((NONE, 0.0, True), ("noise", 0.1, seed > 2), (ALL, 0.3, False))
    ]
    records.append(SensorRecord(job("noise", 9), code="INTERNAL"))
    rows = rows_of(records, (NONE, "noise", ALL))
    found = {row["name"]: row for row in rows}
    assert found["iou noise"]["mean"] == pytest.approx(0.75)
    assert found["iou noise"]["change"]["mean"] == pytest.approx(-0.1)
    assert found["box_mm all"]["change"]["mean"] == pytest.approx(30.0)
    noise = found["grasp noise"]
    assert (noise["success"], noise["n"], noise["pairs"]) == (2, 5, 5)
    assert (noise["lost"], noise["gained"], noise["p"]) == (3, 0, 0.25)
    assert noise["change"]["mean"] == pytest.approx(-0.6)
    assert noise["change"]["low"] <= -0.6 <= noise["change"]["high"] <= 0.0
    assert found["grasp clean"]["change"]["mean"] == 0.0
    save_plot(rows, tmp_path / "terms.png")
    picture = np.asarray(Image.open(tmp_path / "terms.png").convert("RGB"))
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 5
    with pytest.raises(ToolError, match="The plot cannot be written"):
        save_plot(rows, tmp_path / "nowhere" / "terms.png")


def test_what_is_kept_is_not_measured_again_and_the_tables_are_those_of_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    done: list[str] = []

    def fake(job: SensorJob) -> SensorRecord:
        done.append(job.grasp.key)
        tried = attempt(job.term, job.seed, job.term == NONE)
        values = {"iou": [0.9], "box_mm": [2.0]}
        RunFolder(Path(job.out)).keep_document(job.grasp.key, {"values": values, "attempt": asdict(tried)})
        return SensorRecord(job, values, tried)

    monkeypatch.setattr(bench.sensors, "run_one", fake)
    options: dict[str, Any] = {"terms": "noise", "backends": SIM, "grasping": True, "out": tmp_path, "as_json": True}

    def measure(**more: Any) -> dict[str, Any]:
        capsys.readouterr()
        assert bench.sensors.bench_sensors(**{**options, **more}) == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    first = measure(scenes=1)
    assert done == ["clean-packed-0", "noise-packed-0", "all-packed-0"]
    rows = {row["name"]: row for row in measure(scenes=2)["rows"]}
    assert done[3:] == ["clean-packed-1", "noise-packed-1", "all-packed-1"]
    assert (rows["grasp noise"]["n"], rows["grasp noise"]["lost"]) == (2, 2)
    assert first["contents"] == {}
    assert {"rows.csv", "terms.png", "settings.json"} <= {path.name for path in tmp_path.iterdir()}
    assert "change_mean" in (tmp_path / "rows.csv").read_text()
    with pytest.raises(ToolError, match="holds a run with another scene: name another folder"):
        measure(scene="pile")


def test_an_attempt_is_made_at_the_same_thing_whatever_the_noise(tmp_path: Path) -> None:
    (tmp_path / "scenes").mkdir()
    tried = [run_one(replace(job(term), grasps=True, out=str(tmp_path))) for term in (NONE, "hand_eye")]
    records = [record.attempt for record in tried]
    assert records[0] is not None
    assert records[1] is not None
    assert (records[0].thing, records[0].prompt) == (records[1].thing, records[1].prompt)
    assert [record.side for record in records if record] == [NONE, "hand_eye"]
    again = RunFolder(tmp_path).find_as("clean-packed-0", bench.sensors._kept(job(NONE)))
    assert again is not None
    assert again.attempt == records[0]
