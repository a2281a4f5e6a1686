"""Reliability of scores: figures of made-up scores are known, those of both perceptions stay within bounds."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from toolhand.bench.perception.calibration import auc, calibration, calibration_error, dropped, reliability, save_plot
from toolhand.bench.perception.chance import equal_counts, errors_of
from toolhand.bench.perception.report import Findings, SceneJob, run_one
from toolhand.bench.perception.scores import phrases, shrunk
from toolhand.bench.perception.truth import truth_of
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.results import ErrorCode, ToolError


def drawn(share_of: float, n: int = 4000) -> list[tuple[float, bool]]:
    """Scores that are right as often as `share_of` times what they say."""
    rng = np.random.default_rng(0)
    scores = rng.uniform(size=n)
    return [(float(s), bool(r)) for s, r in zip(scores, rng.uniform(size=n) < share_of * scores, strict=True)]


def test_scores_that_are_probabilities_have_no_calibration_error_and_others_have() -> None:
    honest, boasting = calibration_error(drawn(1.0)), calibration_error(drawn(0.5))
    assert honest is not None
    assert honest < 0.03
    assert boasting == pytest.approx(0.25, abs=0.03)


def test_bins_hold_every_score_once_and_their_intervals_the_share() -> None:
    rows = reliability([*drawn(1.0), (1.0, True), (0.0, False)])
    assert sum(row["n"] for row in rows) == 4002
    assert all(row["low"] <= row["right"] <= row["high"] for row in rows)
    assert all(row["from"] <= row["score"] <= row["to"] for row in rows)


def test_auc_is_the_share_of_pairs_in_order() -> None:
    assert auc([(0.9, True), (0.5, True), (0.5, False), (0.1, False)]) == pytest.approx(3.5 / 4)
    assert auc([(0.9, True)]) is None
    assert calibration([])["ece"] is None


def test_a_threshold_drops_what_is_below_it() -> None:
    found = dropped([(0.09, False), (0.1, False), (0.05, True), (0.9, True)], 0.1)
    assert (found["wrong"], found["wrong_dropped"], found["right"], found["right_lost"]) == (2, 1, 2, 1)


def test_the_scores_of_both_perceptions_are_nearly_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolhand.bench.perception.report.measure", lambda *_: Findings())  # what scores need not
    records = [run_one(SceneJob(seed, perceptions=("sim", "pixels"))) for seed in range(3000, 3004)]
    for name in ("sim", "pixels"):
        found = calibration([one for record in records for one in record.findings[name].ratings])
        wrong = found["thresholds"][0]["wrong"]
        assert wrong >= 5, name
        assert found["n"] > 4 * wrong
        assert found["ece"] < 0.10
        assert found["auc"] > 0.8
        last, peria = found["thresholds"]
        assert last["wrong_dropped"] <= peria["wrong_dropped"]
        assert peria["wrong_dropped"] > 0 or name == "pixels"  # whose wrong ones are near synonyms, above it
        assert peria["right_lost"] < 0.05 * peria["right"]


def test_objects_that_are_not_there_are_asked_for_too() -> None:
    truth = truth_of(Station(generate_scene(5)))
    here = {placed.item for placed, _ in truth.visible()}
    asked = dict(phrases(truth, 5))
    assert here <= asked.keys()
    assert sum(not products & here for products in asked.values()) > len(here)
    assert asked == dict(phrases(truth, 5))


def test_a_smaller_image_shows_the_same() -> None:
    frame = Station(generate_scene(5)).camera.capture()
    small = shrunk(frame, 4)
    assert small.size == (160, 120)
    assert frame.ids is not None
    assert small.ids is not None
    assert set(np.unique(small.ids)) <= set(np.unique(frame.ids))
    assert small.K[0, 0] == frame.K[0, 0] / 4
    assert frame.K[0, 0] != small.K[0, 0]


def test_the_plot_shows_every_perception_and_a_bad_path_is_told(tmp_path: Path) -> None:
    panels = {"one": calibration(drawn(1.0)), "other": calibration(drawn(0.5))}
    save_plot(panels, tmp_path / "plot.png")
    save_plot({"one": panels["one"]}, tmp_path / "one.png")
    with Image.open(tmp_path / "plot.png") as both, Image.open(tmp_path / "one.png") as one:
        assert both.width == 2 * one.width
        assert not np.array_equal(np.asarray(both.convert("RGB"))[:, : one.width], 255)
    with pytest.raises(ToolError, match="cannot be written") as error:
        save_plot(panels, tmp_path / "no" / "plot.png")
    assert error.value.code == ErrorCode.INVALID_ARGUMENT


def test_scores_that_scatter_by_chance_alone_have_the_error_that_chance_gives_and_boasting_ones_a_larger() -> None:
    for n, most in ((60, 0.2), (4000, 0.03)):
        honest = calibration(drawn(1.0, n))["errors"]
        assert [row["bins"] for row in honest] == ["equal width", "equal counts"]
        for row in honest:
            assert row["by_chance"] < row["by_chance_95"] < most
            assert row["ece"] < 1.3 * row["by_chance_95"]
        for row in calibration(drawn(0.5, n))["errors"]:
            assert row["ece"] > row["by_chance_95"]
    assert calibration([])["errors"] == []


def test_the_error_of_overlaps_is_compared_with_overlaps_that_scatter_as_much_about_perfect_scores() -> None:
    rng = np.random.default_rng(1)
    scores = rng.uniform(0.4, 1.0, 200)
    overlaps = scores + rng.normal(0.0, 0.1, 200)
    for row in errors_of(scores, overlaps, 10):
        assert 0.01 < row["by_chance"] < 0.03  # 0.1 sqrt(2 / pi) / sqrt(20 or 33 in a bin)
        assert row["ece"] < 1.3 * row["by_chance_95"]
    for row in errors_of(scores, overlaps - 0.1, 10):
        assert row["ece"] > row["by_chance_95"]


def test_bins_of_equal_counts_hold_as_many_each_and_keep_equal_scores_together() -> None:
    places = equal_counts(np.linspace(0.9, 1.0, 100), 10)
    assert np.bincount(places).tolist() == [10] * 10
    assert len(np.unique(equal_counts(np.full(50, 0.7), 10))) == 1
    assert equal_counts(np.array([0.1, 0.2, 0.3]), 10).max() == 0, "too few for two bins"
