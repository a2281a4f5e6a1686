"""The benchmark of noise terms: one at a time over the same scenes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bench.sensors import ALL, AS_DEVICE, NONE, SensorJob, SensorRecord, chosen_terms, rows_of, run_one, save_plot
from sim.camera.sensors.presets import AZURE_KINECT, REALSENSE_D435
from tool_nodes.port_names import PortNames
from tool_nodes.results import ToolError

SIM = replace(AS_DEVICE, perception="sim", ports=PortNames(sensor="hard"))


def job(term: str, seed: int = 0) -> SensorJob:
    return SensorJob(seed, term, "packed", ("catalogue",), SIM, grasps=False)


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
        SensorRecord(job(term, seed), {"iou": [0.9 - loss, 0.8 - loss], "box_mm": [2.0 + 100 * loss]}, grasp)
        for seed in range(5)
        for term, loss, grasp in ((NONE, 0.0, True), ("noise", 0.1, seed > 2), (ALL, 0.3, False))
    ]
    records.append(SensorRecord(job("noise", 9), code="INTERNAL"))
    rows = rows_of(records, (NONE, "noise", ALL))
    found = {row["name"]: row for row in rows}
    assert found["iou noise"]["mean"] == pytest.approx(0.75)
    assert found["iou noise"]["change"]["mean"] == pytest.approx(-0.1)
    assert found["box_mm all"]["change"]["mean"] == pytest.approx(30.0)
    assert (found["grasp noise"]["success"], found["grasp noise"]["n"]) == (2, 5)
    save_plot(rows, tmp_path / "terms.png")
    picture = np.asarray(Image.open(tmp_path / "terms.png").convert("RGB"))
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 5
    with pytest.raises(ToolError, match="The plot cannot be written"):
        save_plot(rows, tmp_path / "nowhere" / "terms.png")
