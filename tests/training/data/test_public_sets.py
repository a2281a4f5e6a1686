"""Public sets in their publishers' layouts: questions, marks computed by hand, totals, rows with something wrong."""

import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.refusals import refused
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.data.public_sets import (
    SETS,
    Question,
    RowError,
    chosen_letter,
    in_polygon,
    load_set,
    mark,
    share_in_mask,
)


def png(pixels: Any = None) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.zeros((10, 20, 3), np.uint8) if pixels is None else pixels).save(file, "PNG")
    return file.getvalue()


def half_mask() -> bytes:
    """The left half is in."""
    pixels = np.zeros((10, 20), np.uint8)
    pixels[:, :10] = 255
    return png(pixels)


def put(path: Path, data: bytes | Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())


def parquet(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)


def image(data: bytes | None = None) -> dict[str, Any]:
    """The form that `datasets` gives an image in Parquet."""
    return {"bytes": png() if data is None else data, "path": "0.png"}


def robospatial(folder: Path) -> None:
    put(folder / "images" / "img_0.png", png())
    rows = [
        ("context", "Point left of the bowl.", "[(0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.0, 1.0)]"),
        ("configuration", "Is the cup left of the bowl?", "Yes"),
        ("configuration", "Is the bowl behind the cup?", "no"),
    ]
    named = [{"category": c, "question": q, "answer": a, "img": "images/img_0.png", "mask": None} for c, q, a in rows]
    put(folder / "annotations.json", named)


def robospatial_parquet(folder: Path) -> None:
    row = {"category": "compatibility", "question": "Can the box fit left of the cup?", "answer": "yes", "img": image()}
    parquet(folder / "data" / "compatibility-00000-of-00001.parquet", [row])


def blink(folder: Path) -> None:
    rows = [
        {
            "idx": f"val_Relative_Depth_{k}",
            "prompt": "Which point is closer to the camera?\n(A) A is closer\n(B) B is closer",
            "choices": ["A is closer", "B is closer"],
            "answer": answer,
            "image_1": image(),
            "image_2": None,
        }
        for k, answer in enumerate(("(A)", "(B)"))
    ]
    parquet(folder / "Relative_Depth" / "val-00000-of-00001.parquet", rows)
    parquet(folder / "Relative_Depth" / "test-00000-of-00001.parquet", [rows[0] | {"answer": "hidden"}])
    counting = {"idx": "val_Counting_0", "prompt": "How many?\n(A) 1\n(B) 2", "choices": ["1", "2"], "answer": "(B)"}
    parquet(folder / "Counting" / "val-00000-of-00001.parquet", [counting | {"image_1": image(), "image_2": image()}])


def refspatial(folder: Path) -> None:
    for split in ("Location", "Placement"):
        put(folder / split / "image" / "0.png", png())
        put(folder / split / "mask" / "0.png", half_mask())
        row = {"id": 0, "prompt": "Please point out the red box.", "suffix": "Answer [(x1, y1)]."}
        put(folder / split / "question.json", [row | {"rgb_path": "image/0.png", "mask_path": "mask/0.png"}])


def refspatial_parquet(folder: Path) -> None:
    row = {"id": 7, "prompt": "Point at a cup.", "suffix": "[(x1, y1)]", "image": image(), "mask": image(half_mask())}
    parquet(folder / "data" / "unseen-00000-of-00001.parquet", [row])


def cvbench(folder: Path) -> None:
    row = {"image": image(), "choices": ["left", "right"], "prompt": "Where is the cup?\n(A) left\n(B) right"}
    flat = [
        row | {"idx": 0, "answer": "(A)", "source": "ADE20K"},
        row | {"idx": 1, "answer": "(B)", "source": "COCO"},
        row | {"idx": 2, "answer": "(B)", "source": "COCO"},
    ]
    parquet(folder / "test_2d.parquet", flat)
    parquet(folder / "test_3d.parquet", [row | {"idx": 3, "answer": "(A)", "source": "Omni3D"}])


Write = Callable[[Path], None]
LAYOUTS: dict[str, tuple[str, Write, list[str]]] = {
    "robospatial": ("robospatial", robospatial, ["Yes, it is.", "No.", "[(0.25, 0.5), (0.9, 0.9)]"]),
    "robospatial as Parquet": ("robospatial", robospatial_parquet, ["yes"]),
    "blink": ("blink", blink, ["(B)", "A is closer", "<answer>(B)</answer>"]),
    "refspatial": ("refspatial", refspatial, ["(0.1, 0.5)", "[(0.2, 0.2)]"]),
    "refspatial as Parquet": ("refspatial", refspatial_parquet, ["The cup is at (0.4, 0.9)."]),
    "cvbench": ("cvbench", cvbench, ["A", "(B)", "The answer is B.", "left"]),
}
"""Name of the set, what writes a few rows of it, and a right answer to each question in the order of the splits."""


def test_every_set_has_a_layout_here() -> None:
    assert {name for name, *_ in LAYOUTS.values()} == set(SETS)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_right_answers_are_worth_1_and_others_nothing(layout: str, tmp_path: Path) -> None:
    name, write, right = LAYOUTS[layout]
    write(tmp_path)
    questions = list(load_set(name, tmp_path))
    assert [mark(q, said) for q, said in zip(questions, right, strict=True)] == [1.0] * len(questions)
    for nothing in ("", "I do not know", None, 5, "x" * 200_000):
        assert [mark(q, nothing) for q in questions] == [0.0] * len(questions)
    assert SETS[name].total([(q, 1.0) for q in questions]) == 1.0
    assert all(image.rgb.shape == (10, 20, 3) for q in questions for image in q.images())
    assert len({q.id for q in questions}) == len(questions)
    assert all(q.text and q.files for q in questions)


@pytest.mark.parametrize(
    ("layout", "scores", "expected"),
    [
        ("cvbench", [1, 0, 1, 0], ((1 + 0.5) / 2 + 0) / 2),  # ADE20K 1, COCO 1/2, Omni3D 0
        ("blink", [1, 0, 1], (1 + 0.5) / 2),  # counting 1, depth 1/2
        ("robospatial", [1, 0, 1], (0.5 + 1) / 2),  # configuration 1/2, context 1
        ("refspatial", [1, 0.5], 0.75),
    ],
)
def test_the_sets_own_totals(layout: str, scores: list[float], expected: float, tmp_path: Path) -> None:
    name, write, _ = LAYOUTS[layout]
    write(tmp_path)
    assert SETS[name].total(list(zip(load_set(name, tmp_path), scores, strict=True))) == pytest.approx(expected)


def test_splits_are_read_alone_or_together(tmp_path: Path) -> None:
    refspatial(tmp_path)
    assert [q.id for q in load_set("refspatial", tmp_path)] == ["location/0", "placement/0"]
    assert [q.category for q in load_set("refspatial", tmp_path, "placement")] == ["placement"]


def test_answers_of_blinks_test_files_are_not_public_and_not_read(tmp_path: Path) -> None:
    blink(tmp_path)
    ids = [question.id for question in load_set("blink", tmp_path, "Relative_Depth")]
    assert ids == ["val_Relative_Depth_0", "val_Relative_Depth_1"]


# -- what is wrong -------------------------------------------------------------------------------------


def problems(name: str, folder: Path) -> tuple[list[str], list[str]]:
    """Ids that were read, and what was said of the other rows; the first of these stops a reader that tells nobody."""
    said: list[str] = []
    ids = [question.id for question in load_set(name, folder, on_bad=said.append)]
    if said:
        with pytest.raises(ToolError) as stopped:
            list(load_set(name, folder))
        assert (stopped.value.code, stopped.value.message) == (ErrorCode.INVALID_ARGUMENT, said[0])
    return ids, said


@pytest.mark.parametrize(
    ("name", "folder", "split", "words"),
    [
        ("imagenet", "", None, "only blink, cvbench, refspatial, robospatial"),
        ("refspatial", "", "train", "location, placement, unseen"),
        ("refspatial", "absent", None, "BAAI/RefSpatial-Bench"),
        ("cvbench", "", None, r"test_2d\.parquet or test_3d\.parquet"),
    ],
)
def test_an_unknown_set_split_or_place_is_refused_with_what_there_is(
    name: str, folder: str, split: str | None, words: str, tmp_path: Path
) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, words):
        load_set(name, tmp_path / folder, split)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"answer": None}, "answer"),
        ({"answer": "perhaps"}, "perhaps"),
        ({"answer": 1}, "1"),
        ({"question": " "}, "question"),
        ({"category": "other"}, "other"),
        ({"img": "images/9.png"}, "absent"),
        ({"img": "../secret.png"}, "outside"),
        ({"img": "/etc/passwd"}, "outside"),
        ({"img": "images"}, "absent"),
        ({"img": None}, "img"),
        ({"img": 5}, "5"),
    ],
)
def test_fields_that_are_missing_or_wrong(change: dict[str, Any], word: str, tmp_path: Path) -> None:
    robospatial(tmp_path)
    put(tmp_path.parent / "secret.png", png())
    file = tmp_path / "annotations.json"
    rows = json.loads(file.read_text())
    put(file, [rows[0], rows[1] | change])
    said: list[str] = []
    ids = [question.id for question in load_set("robospatial", tmp_path, "configuration", on_bad=said.append)]
    assert not ids
    assert said[0].startswith("annotations.json, row 2: ")
    assert word in said[0]


def test_rows_that_are_no_objects_ids_that_come_twice_and_files_that_are_broken(tmp_path: Path) -> None:
    refspatial(tmp_path)
    file = tmp_path / "Location" / "question.json"
    (row,) = json.loads(file.read_text())
    put(file, [row, [1], row])
    ids, said = problems("refspatial", tmp_path)
    assert ids == ["location/0", "placement/0"]
    assert [sentence.partition(": ")[0] for sentence in said] == [f"Location/question.json, row {k}" for k in (2, 3)]
    for content in (b'[{"id": 0', json.dumps(row).encode(), b"[" * 100_000):
        put(file, content)
        ids, said = problems("refspatial", tmp_path)
        assert ids == ["placement/0"]
        assert len(said) == 1


def test_a_truncated_parquet_file_is_one_problem_and_the_others_are_read(tmp_path: Path) -> None:
    cvbench(tmp_path)
    file = tmp_path / "test_2d.parquet"
    file.write_bytes(file.read_bytes()[:-200])
    ids, said = problems("cvbench", tmp_path)
    assert ids == ["3D/3"]
    assert len(said) == 1
    assert "\n" not in said[0]


@pytest.mark.parametrize("change", [{"answer": "(C)"}, {"answer": "left"}, {"choices": []}, {"image": image(b"")}])
def test_letters_that_are_none_and_images_without_bytes(change: dict[str, Any], tmp_path: Path) -> None:
    row = {"image": image(), "choices": ["left", "right"], "prompt": "?", "idx": 0, "answer": "(A)", "source": "COCO"}
    parquet(tmp_path / "test_2d.parquet", [row | change])
    ids, said = problems("cvbench", tmp_path)
    assert (ids, len(said)) == ([], 1)


def test_without_pyarrow_parquet_files_are_unavailable_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cvbench(tmp_path / "cv")
    robospatial(tmp_path / "r")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with refused(ErrorCode.UNAVAILABLE, "needs pyarrow", hint="pip install .*data"):
        list(load_set("cvbench", tmp_path / "cv"))
    assert len(list(load_set("robospatial", tmp_path / "r"))) == 3


def test_an_image_or_mask_that_is_broken_says_so_when_it_is_needed() -> None:
    question = Question("a", "Point.", (b"no image",), "mask", b"no mask")
    with pytest.raises(RowError):
        question.images()
    with pytest.raises(RowError):
        mark(question, "(0.5, 0.5)")


# -- marks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        ("A", "A"),
        ("b", "B"),
        ("(C)", "C"),
        ("(c)", "C"),
        ("B. the table", "B"),
        ("**B**", "B"),
        ("A) because it is near", "A"),
        ("The answer is (D).", "D"),
        ("Option A looks good, but the correct answer is: B", "B"),
        ("I chose (B) since it is red", "B"),
        ("cart", "D"),
        ("A cart is nearest", None),
        ("The answer is a table", None),
        ("E", None),
        ("(A) or (B)", "A"),
        ("It could be (A) or (B)", None),
        ("", None),
    ],
)
def test_the_letter_of_an_answer(said: str, letter: str | None) -> None:
    assert chosen_letter(said, ("garage door", "cabinet", "table", "cart")) == letter


@pytest.mark.parametrize(
    ("said", "worth"),
    [
        ("B", 1.0),
        ("<think>A?</think> B ", 1.0),
        ("<answer>A</answer> no, <answer>B</answer>", 1.0),
        ("<analy>x</analy><ans>right</ans>", 1.0),
        ("<answer>B", 1.0),
        ("B <answer>A</answer>", 0.0),
    ],
)
def test_tags_and_thoughts_are_left_out(said: str, worth: float) -> None:
    assert mark(Question("a", "?", (), "choice", "B", ("left", "right")), said) == worth


def test_the_share_of_points_in_a_mask() -> None:
    mask = np.zeros((10, 20))
    mask[:, :10] = 1
    assert share_in_mask("(0.1, 0.1)", mask) == 1.0
    assert share_in_mask("[(0.5, 0.25), (3, 4)]", mask) == 0.5  # shares with a decimal point, pixels without
    assert share_in_mask("(0.1, 0.1) (0.9, 0.9)", mask) == 0.5
    assert share_in_mask("(0.1, 0.1) (1.5, 0.5) (-0.5, 0.5)", mask) == pytest.approx(1 / 3)
    assert share_in_mask("(0.25, 0.0, 1.0, 1.0)", mask) == pytest.approx(5 / 15)  # a box counts all its pixels
    assert share_in_mask("(0.0, 0.0, 999999.0, 999999.0)", mask) < 1e-9
    assert share_in_mask("[0.5, 0.5]", mask) == 0.0
    assert share_in_mask("nowhere", mask) == 0.0


def test_a_point_in_a_polygon() -> None:
    square = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    assert in_polygon(0.5, 0.5, square)
    assert not in_polygon(1.5, 0.5, square)
    notched = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 0.2), (0.0, 1.0))
    assert not in_polygon(0.5, 0.6, notched)
    assert in_polygon(0.5, 0.1, notched)


@given(said=st.text(max_size=200))
def test_whatever_is_said_is_worth_between_0_and_1(said: str) -> None:
    for kind, truth in (("choice", "A"), ("yes_no", "yes"), ("polygon", ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)))):
        assert 0.0 <= mark(Question("a", "?", (), kind, truth, ("one", "two")), said) <= 1.0
    assert 0.0 <= mark(Question("a", "?", (), "mask", half_mask()), said) <= 1.0
