"""Rows, paired tables and the page of a grasp benchmark, on records that were made up."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.grasp_records import HELD
from toolhand.agent_node.console.options import COLOUR_AND_DEPTH
from toolhand.bench.grasp.comparison import figures, report
from toolhand.bench.grasp.page import what_happened, write_page
from toolhand.bench.grasp.plots import scores_of, success_plot
from toolhand.bench.grasp.records import GraspRecord
from toolhand.bench.grasp.rows import cause_rows, causes_of, paired, rows_of, sign_test
from toolhand.bench.grasp.sides import sides_of
from toolhand.bench.perception.calibration import overlap_calibration

WRONG = replace(HELD, seed=1, mask_iou=0.4, up="another", success=False, removed=0)
SLIPPED = replace(HELD, seed=2, up="nothing", success=False, family="bowl", removed=0)
UNTOLD = replace(HELD, seed=3, reported=False, code="WRONG_OBJECT", success=False, removed=0)
NO_GRASP = GraspRecord("main", "pile", 4, family="bowl", objects=3, mask_iou=0.8, code="NO_GRASP", text="No <b>way</b>")
BROKEN = GraspRecord("main", "pile", 5, code="INTERNAL", text="it died")


def found(*records: GraspRecord, protocol: Any = "attempt") -> dict[str, tuple[int, int]]:
    rows = rows_of(records, protocol)
    return {row["name"]: (row["success"], row["n"]) for row in rows if "rate" in row and row.get("part") is None}


def test_rates_tell_false_success_from_what_was_given_up_and_leave_out_what_broke() -> None:
    rows = found(HELD, WRONG, SLIPPED, UNTOLD, NO_GRASP, BROKEN)
    assert rows == {
        "first attempt": (1, 5),
        "first attempt, unscored as wrong": (1, 6),
        "grasp success, of executed": (1, 4),
        "false success": (2, 5),
        "held, said to have failed": (1, 5),
        "mask IoU 0.75 or more": (4, 5),
        "a mask was given": (5, 5),
    }
    parts = {
        (r["part"], r["name"]): (r["success"], r["n"]) for r in rows_of([HELD, NO_GRASP], "attempt") if "part" in r
    }
    assert parts[("kind", "packed")] == (1, 1)
    assert parts[("kind", "pile")] == (0, 1)
    assert parts[("family", "mug")] == (1, 1)
    assert parts[("family", "bowl")] == (0, 1)


def test_targets_that_the_jaws_cannot_open_for_have_a_row_of_their_own() -> None:
    records = [replace(HELD, seed=k, visible=0.9, under=False, fits=k > 0, success=k > 0) for k in range(3)]
    rows = {r["name"]: (r["success"], r["n"]) for r in rows_of(records, "attempt") if "rate" in r}
    assert rows["first attempt, target narrower than the jaws"] == (2, 2)
    assert rows["first attempt, target wider than the jaws"] == (0, 1)


def test_a_side_that_clears_the_way_says_how_many_grasps_it_took_and_what_fell() -> None:
    records = [replace(HELD, seed=k, actions=k + 1, fell=k == 2) for k in range(3)]
    rows = {r["name"]: r for r in rows_of(records, "attempt")}
    assert rows["grasps for one object"]["mean"] == 2.0
    assert (rows["nothing fell off the table"]["success"], rows["nothing fell off the table"]["n"]) == (2, 3)
    assert "grasps for one object" not in {r["name"] for r in rows_of([HELD], "attempt")}


def test_first_attempts_are_divided_by_what_rests_on_the_object_and_by_how_much_of_it_is_seen() -> None:
    lies = [(1.0, False, True), (0.8, False, False), (0.79, True, True), (0.5, True, False), (0.2, True, False)]
    records = [
        replace(HELD, kind="pile", seed=k, visible=visible, under=under, success=success)
        for k, (visible, under, success) in enumerate(lies)
    ]
    broken = replace(BROKEN, seed=9)
    rows = {r["name"]: (r["success"], r["n"]) for r in rows_of([*records, broken], "attempt") if r.get("part") == "lie"}
    assert rows == {
        "first attempt, target free on top": (1, 2),
        "first attempt, target under another": (1, 3),
        "first attempt, target occluded, 0 to 0.1": (1, 1),
        "first attempt, target occluded, 0.2 to 0.3": (1, 2),
        "first attempt, target occluded, 0.5 to 0.6": (0, 1),
        "first attempt, target occluded, 0.8 to 0.9": (0, 1),
    }
    apart = [replace(HELD, seed=k, visible=1.0, under=False) for k in range(3)]
    names = {r["name"] for r in rows_of([*records, *apart], "attempt")}
    assert "pile under another" in names
    assert "packed under another" not in names, "nothing there rests on anything"


def test_where_the_robot_chooses_the_first_attempt_in_each_scene_has_a_row_of_its_own() -> None:
    tries = [replace(HELD, success=False), replace(HELD, attempt=1), replace(HELD, seed=1)]
    rows = {row["name"]: row for row in rows_of([*tries, replace(HELD, kind="pile", seed=2)], "clear")}
    whole = rows["first attempt, the robot chooses"]
    assert (whole["success"], whole["n"]) == (2, 3)
    kinds = [r for r in rows_of([*tries, replace(HELD, kind="pile")], "clear") if r.get("part") == "first attempt"]
    assert [(r["name"], r["success"], r["n"]) for r in kinds] == [("packed", 1, 2), ("pile", 1, 1)]
    (one,) = [r for r in rows_of([HELD], "any") if r["name"] == "first attempt, the robot chooses"]
    assert (one["success"], one["n"]) == (1, 1)


def test_causes_say_whether_the_mask_was_to_blame() -> None:
    assert causes_of([HELD, WRONG, WRONG, SLIPPED, UNTOLD, NO_GRASP]) == {
        "success claimed, another up, poor mask": 2,
        "slipped out after success was reported": 1,
        "WRONG_OBJECT": 1,
        "NO_GRASP": 1,
    }


def test_causes_have_an_interval_over_all_attempts() -> None:
    first, second = cause_rows([HELD, NO_GRASP, BROKEN])
    assert (first["name"], first["success"], first["n"], first["part"]) == ("NO_GRASP", 1, 3, "cause")
    assert first["low"] < 1 / 3 < first["high"]
    assert second["name"] == "INTERNAL"


def test_clearing_counts_objects_scenes_and_picks_in_an_hour() -> None:
    cleared = [replace(HELD, attempt=k, objects=3 - k, removed=1) for k in range(3)]
    left = [replace(HELD, seed=9, objects=3, removed=2), replace(NO_GRASP, kind="packed", seed=9, attempt=1, objects=1)]
    rows = {row["name"]: row for row in rows_of([*cleared, *left], "clear")}
    assert (rows["decluttered"]["success"], rows["decluttered"]["n"]) == (5, 6)
    assert (rows["scenes emptied"]["success"], rows["scenes emptied"]["n"]) == (1, 2)
    assert rows["picks per simulated hour"]["per_hour"] == pytest.approx(3600 * 5 / 24.0)


def test_pairs_are_scenes_that_both_sides_have_and_the_sign_test_is_over_those_that_differ() -> None:
    first = [replace(HELD, seed=k, success=k < 8) for k in range(10)]
    second = [replace(HELD, seed=k, success=k in (0, 1, 9)) for k in range(11)]
    (row,) = paired(first, second, "attempt")
    assert row == {"name": "all", "n": 10, "first": 6, "second": 1, "both": 2, "neither": 1, "p": 0.125}
    assert sign_test(10, 0) == pytest.approx(2 / 2**10, rel=1e-2)
    assert sign_test(0, 0) == 1.0


def test_clearing_is_paired_by_what_was_taken_away() -> None:
    first = [replace(HELD, seed=k, removed=3) for k in range(3)]
    second = [replace(HELD, seed=k, removed=3 - k) for k in range(3)]
    assert paired(first, second, "clear") == [{"name": "all", "n": 3, "first": 2, "second": 0, "alike": 1, "p": 0.5}]


def test_what_broke_on_one_side_is_no_pair() -> None:
    assert paired([HELD, replace(HELD, seed=1)], [HELD, replace(BROKEN, kind="packed", seed=1)], "attempt")[0]["n"] == 1


def test_the_error_of_mask_scores_is_their_distance_to_the_mean_overlap() -> None:
    result = overlap_calibration([(0.55, 0.2), (0.55, 0.6), (0.95, 0.95)])
    assert result["ece"] == pytest.approx((2 * abs(0.55 - 0.4) + 0.0) / 3, abs=1e-4)
    assert [row["n"] for row in result["bins"]] == [2, 1]
    assert scores_of([HELD, WRONG])["grasp scores"]["bins"][0]["right"] == 0.5
    assert scores_of([NO_GRASP]) == {}


def test_the_plot_of_success_has_a_row_for_each_kind_and_side() -> None:
    rows = {side: [{"name": "packed", "n": 2, "success": 1, "rate": 0.5, "low": 0.1, "high": 0.9}] for side in "AB"}
    taller = {side: [*rows[side], {**rows[side][0], "name": "pile"}] for side in "AB"}
    assert success_plot(taller).height > success_plot(rows).height
    assert len(np.unique(np.asarray(success_plot(rows)).reshape(-1, 3), axis=0)) > 4


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (WRONG, "another object was up"),
        (SLIPPED, "slipped out within the 2 s"),
        (UNTOLD, "In truth the target was up at the end."),
        (NO_GRASP, "The arm did not move."),
        (BROKEN, "Not scored, INTERNAL: it died"),
    ],
)
def test_a_sentence_says_what_happened(record: GraspRecord, words: str) -> None:
    assert words in what_happened(record)


def test_the_page_shows_every_failure_with_its_images_and_runs_nothing_that_was_said(tmp_path: Path) -> None:
    failures = tmp_path / "failures"
    failures.mkdir()
    for name in ("x-mask.jpg", "x-film.webp"):
        Image.new("RGB", (8, 8), "red").save(failures / name)
    sides = sides_of(COLOUR_AND_DEPTH, "gen3", "", control=True, ideal=False)
    records = [HELD, replace(WRONG, images=("x-mask.jpg", "x-film.webp")), NO_GRASP, replace(SLIPPED, side="control")]
    document = {"title": "made <up>", "report": "rate & more"}
    text = write_page(tmp_path, document, sides, records).read_text()
    assert text.count('<article class="card failure">') == 3
    assert "No &lt;b&gt;way&lt;/b&gt;" in text
    assert "<b>way" not in text
    assert text.count("data:image/jpeg;base64,") == 1
    assert text.count("data:image/webp;base64,") == 1
    assert "default-src 'none'" in text
    assert "http" not in text.replace("http-equiv", "")
    assert text.index("packed 1: s/a") < text.index("pile 4") < text.index("top_down: 1 failures")


def test_the_report_names_rates_pairs_scores_and_failures() -> None:
    sides = sides_of(COLOUR_AND_DEPTH, "gen3", "", control=True, ideal=False)
    records = [HELD, WRONG, replace(WRONG, side="control"), replace(HELD, side="control", seed=1)]
    document = {**figures(records, sides, "attempt"), "machine": {"cpu": "x", "cores": 1}, "wall_s": 1.0}
    text = report(document)
    for words in ("== analytic", "== top_down", "analytic (A) and top_down (B)", "p = 1", "mask scores: n 2"):
        assert words in text
    assert "analytic, packed 1, s/a: success claimed, another up, poor mask" in text
    assert {row["side"] for row in document["by_object"]} == {"analytic", "top_down"}
