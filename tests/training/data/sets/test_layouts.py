"""Every set in its publisher's layout: what is asked, and hand-computed totals of given answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.data.sets.layouts import LAYOUTS
from training.data.sets import SETS, QuestionReader, load_set
from training.data.sets.marks import MARKS, mark
from training.data.sets.question import rgb_of


def read(layout: str, folder: Path, split: str | None = None) -> QuestionReader:
    name, write = LAYOUTS[layout]
    write(folder)
    return load_set(name, folder, split)


def test_every_set_has_a_layout_here() -> None:
    assert {name for name, _ in LAYOUTS.values()} == set(SETS)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_questions_come_with_their_pictures_and_a_mark_of_a_known_kind(layout: str, tmp_path: Path) -> None:
    reader = read(layout, tmp_path)
    questions = list(reader)
    assert questions
    assert reader.skipped == (1 if layout == "msmu" else 0), reader.problems
    for question in questions:
        assert question.kind in MARKS
        assert question.text
        assert question.category
        assert all(rgb_of(picture).shape == (10, 20, 3) for picture in question.pictures)
        assert bool(question.pictures) == (layout != "vsibench")
    assert len({question.id for question in questions}) == len(questions)


RIGHT = {
    "robospatial": ["Yes, it is.", "No.", "[(0.25, 0.5), (0.9, 0.9)]"],
    "robospatial as Parquet": ["yes"],
    "blink": ["(B)", "A is closer", "<answer>(B)</answer>"],
    "refspatial": ["(0.1, 0.5)", "[(0.2, 0.2)]"],
    "refspatial as Parquet": ["The cup is at (0.4, 0.9)."],
    "where2place": ["[(0.1, 0.1), (0.2, 0.9)]", "(3, 4)"],
    "cvbench": ["A", "(B)", "The answer is B.", "left"],
    "embspatial": ["C", "garage door"],
    "erqa": ["B", "D."],
    "erqa as Parquet": ["A"],
    "sparbench": ["C", "2.0", "First 9, then 1.5", "rotate_up:10,move_right:0.5"],
    "mmsi": ["B", "D: down"],
    "vsibench": ["4", "A", "right", "B"],
    "spbench": ["four", "left"],
    "msmu": ["It is 90 cm wide.", "2.1 m by 0.75 m", "4"],
    "vstar": ["(A)", "blue"],
    "visualprobe": ["<think>It says</think><answer>exit</answer>", "3"],
    "babyvision": ["C", "B"],
    "maptrace": ["[(0.0, 0.1), (0.9, 1.0)]", "[[0.1, 0.1], [0.5, 0.1], [0.5, 0.8]]"],
    "reasonmap": [
        "Route Name: Downtown Line\nDeparture Stop: Stevens Station\nArrival Stop: Newton Station\n--\n"
        "Route Name: North South Line\nDeparture Stop: Newton Station\nArrival Stop: Orchard Station"
    ],
    "reasonmap-plus": ["Yes", "C", "\\boxed{12}"],
}
"""A right answer to each question, in the order of the splits."""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_right_answers_are_worth_1_and_others_nothing(layout: str, tmp_path: Path) -> None:
    questions = list(read(layout, tmp_path))
    assert [mark(q, said) for q, said in zip(questions, RIGHT[layout], strict=True)] == [1.0] * len(questions)
    for nothing in ("", "I do not know", None, 5, "x" * 200_000):
        assert [mark(q, nothing) for q in questions] == [0.0] * len(questions)
    assert SETS[LAYOUTS[layout][0]].total([(q, 1.0) for q in questions]) == 1.0


def test_splits_are_read_alone_or_together(tmp_path: Path) -> None:
    write = LAYOUTS["refspatial"][1]
    write(tmp_path)
    assert [q.id for q in load_set("refspatial", tmp_path)] == ["location/0", "placement/0"]
    assert [q.category for q in load_set("refspatial", tmp_path, "placement")] == ["placement"]


def test_answers_of_blinks_test_files_are_not_public_and_not_read(tmp_path: Path) -> None:
    ids = [question.id for question in read("blink", tmp_path, "Relative_Depth")]
    assert ids == ["val_Relative_Depth_0", "val_Relative_Depth_1"]


def test_a_reader_can_be_read_twice_and_in_part(tmp_path: Path) -> None:
    reader = read("cvbench", tmp_path)
    assert [q.id for q in reader] == [q.id for q in reader] == ["2D/0", "2D/1", "2D/2", "3D/3"]
    assert [q.id for q in load_set("cvbench", tmp_path, most=2)] == ["2D/0", "2D/1"]


def total(layout: str, folder: Path, scores: list[float]) -> float:
    questions = list(read(layout, folder))
    public_set = SETS[LAYOUTS[layout][0]]
    return public_set.total(list(zip(questions, scores, strict=True)))


@pytest.mark.parametrize(
    ("layout", "scores", "expected"),
    [
        ("cvbench", [1, 0, 1, 0], ((1 + 0.5) / 2 + 0) / 2),  # ADE20K 1, COCO 1/2, Omni3D 0
        ("blink", [1, 0, 1], (1 + 0.5) / 2),  # counting 1, depth 1/2
        ("robospatial", [1, 0, 1], (0.5 + 1) / 2),  # configuration 1/2, context 1
        ("vsibench", [0.5, 1, 0, 0], (0.5 + (1 + 0) / 2 + 0) / 3),  # counting, directions, routes
        ("sparbench", [1, 0.5, 0, 0.2], 1.7 / 4),
        ("refspatial", [1, 0.5], 0.75),
    ],
)
def test_the_sets_own_totals(layout: str, scores: list[float], expected: float, tmp_path: Path) -> None:
    assert total(layout, tmp_path, scores) == pytest.approx(expected)
