"""Sets with something wrong: named with file and row in a sentence, left out and counted, or stopped at."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.training.data.sets.layouts import LAYOUTS, base64_png, image, jsonl, parquet, png, put, reasonmap_plus, vstar
from tool_nodes.results import ErrorCode, ToolError
from training.data.sets import load_set
from training.data.sets.question import RowError, picture_at


def problems(name: str, folder: Path) -> tuple[list[str], list[str]]:
    """Ids that were read, and what was said of the other rows; the first of these stops a strict reader."""
    reader = load_set(name, folder)
    ids = [question.id for question in reader]
    assert reader.skipped == len(reader.problems)
    if reader.problems:
        with pytest.raises(ToolError) as stopped:
            list(load_set(name, folder, strict=True))
        assert stopped.value.code == ErrorCode.INVALID_ARGUMENT
        assert stopped.value.message == reader.problems[0]
    return ids, reader.problems


def test_an_unknown_set_split_or_place_is_refused_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match='no public set "imagenet", only babyvision, blink, '):
        load_set("imagenet", tmp_path)
    vstar(tmp_path)
    with pytest.raises(ToolError, match=r'V\*Bench has no split "train": it must be one of test'):
        load_set("vstar", tmp_path, "train")
    with pytest.raises(ToolError, match="is published as BAAI/RefSpatial-Bench on Hugging Face"):
        load_set("refspatial", tmp_path / "absent")
    with pytest.raises(ToolError, match=r"holds no test_2d\.parquet or test_3d\.parquet: CV-Bench is published as"):
        load_set("cvbench", tmp_path)
    with pytest.raises(ToolError, match="There is no folder"):
        load_set("vstar", tmp_path / "test_questions.jsonl")


def test_lines_that_are_no_objects_and_ids_that_come_twice(tmp_path: Path) -> None:
    vstar(tmp_path)
    file = tmp_path / "test_questions.jsonl"
    good = file.read_text()
    file.write_text(good + '[1]\n\n{"text": \n' + good.splitlines()[0] + "\n" + "[" * 100_000 + "\n")
    ids, said = problems("vstar", tmp_path)
    assert ids == ["0", "1"]
    assert said[0] == "test_questions.jsonl, row 3: it is no JSON object."
    assert said[1].startswith("test_questions.jsonl, row 5: it is no JSON (")
    assert said[2] == "test_questions.jsonl, row 6: its id '0' is there already."
    assert said[3].startswith("test_questions.jsonl, row 7: it is no JSON (")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"label": None}, 'it has no "label"'),
        ({"label": "C"}, "its \"label\" must be the letter of one of 2 options, got 'C'"),
        ({"label": 1}, 'its "label" must be a text, got 1'),
        ({"text": " "}, "its \"text\" must be a text, got ' '"),
        ({"text": "Which?"}, 'its "text" has no options "(A) ..."'),
        ({"question_id": True}, 'its "question_id" must be a text, got True'),
        ({"image": "direct_attributes/9.jpg"}, "its picture 'direct_attributes/9.jpg' is absent"),
        ({"image": "../secret.png"}, "its picture '../secret.png' lies outside the set"),
        ({"image": "/etc/passwd"}, "its picture '/etc/passwd' lies outside the set"),
        ({"image": "direct_attributes"}, "its picture 'direct_attributes' is absent"),
    ],
)
def test_fields_that_are_missing_or_wrong(change: dict[str, Any], problem: str, tmp_path: Path) -> None:
    vstar(tmp_path)
    put(tmp_path.parent / "secret.png", png())
    file = tmp_path / "test_questions.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    jsonl(file, [rows[0] | change, rows[1]])
    assert problems("vstar", tmp_path) == (["1"], [f"test_questions.jsonl, row 1: {problem}."])


def test_a_json_file_that_is_broken_or_no_list(tmp_path: Path) -> None:
    put(tmp_path / "embspatial_bench.json", '[{"question_id": "a"')
    ids, said = problems("embspatial", tmp_path)
    assert not ids
    assert said[0].startswith("embspatial_bench.json, row 0: it is no JSON (")
    put(tmp_path / "embspatial_bench.json", {"question_id": "a"})
    assert problems("embspatial", tmp_path) == ([], ["embspatial_bench.json, row 0: it must be a list of objects."])


@pytest.mark.parametrize("answer", [4, -1, True, "C", None, 1.0])
def test_the_number_of_an_option_must_be_one(answer: Any, tmp_path: Path) -> None:
    LAYOUTS["embspatial"][1](tmp_path)
    file = tmp_path / "embspatial_bench.json"
    rows = json.loads(file.read_text())
    others = [rows[1] | {"question_id": name, "image": image} for name, image in (("x", "no base64!"), ("y", None))]
    put(file, [rows[0] | {"answer": answer}, rows[1], *others])
    ids, said = problems("embspatial", tmp_path)
    assert ids == ["mp3d_58"]
    assert "must be the number of one of 4 options" in said[0]
    assert said[1] == 'embspatial_bench.json, row 3: its "image" is no base64.'
    assert said[2] == 'embspatial_bench.json, row 4: it has no "image".'


def test_a_truncated_parquet_file_is_one_problem_and_the_others_are_read(tmp_path: Path) -> None:
    LAYOUTS["cvbench"][1](tmp_path)
    file = tmp_path / "test_2d.parquet"
    file.write_bytes(file.read_bytes()[:-200])
    ids, said = problems("cvbench", tmp_path)
    assert ids == ["3D/3"]
    assert len(said) == 1
    assert said[0].startswith("test_2d.parquet, row 1: it cannot be read (")
    assert "\n" not in said[0]


def test_pictures_in_parquet_files_must_have_bytes(tmp_path: Path) -> None:
    row = {
        "idx": 0,
        "task": "Depth",
        "answer": "(A)",
        "source": "Omni3D",
        "choices": ["a", "b"],
        "prompt": "?",
        "image": image() | {"bytes": b""},
    }
    parquet(tmp_path / "test_3d.parquet", [row])
    ids, said = problems("cvbench", tmp_path)
    assert not ids
    assert said == ["test_3d.parquet, row 1: a picture must be the bytes of a picture file, got b''."]


def test_a_truncated_or_damaged_tfrecord_file(tmp_path: Path) -> None:
    LAYOUTS["erqa"][1](tmp_path)
    file = tmp_path / "erqa.tfrecord"
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    assert problems("erqa", tmp_path) == (["erqa/0"], ["erqa.tfrecord, row 2: the file ends within it."])
    file.write_bytes(whole[:12] + b"\xff" * 20 + whole[32:])
    ids, said = problems("erqa", tmp_path)
    assert ids == ["erqa/1"]
    assert said == ["erqa.tfrecord, row 1: it is no tf.train.Example."]


def test_lines_of_a_tsv_file_with_too_few_fields(tmp_path: Path) -> None:
    reasonmap_plus(tmp_path)
    file = tmp_path / "ReasonMap-Plus.tsv"
    file.write_text(file.read_text() + f"3\t{base64_png()}\tA question?\n4\t{base64_png()}\tQ?\t7\tCounting1\teasy\n")
    ids, said = problems("reasonmap-plus", tmp_path)
    assert ids == ["0", "1", "2"]
    assert said == [
        "ReasonMap-Plus.tsv, row 4: it has 3 fields where the first line names 6.",
        "ReasonMap-Plus.tsv, row 5: its \"answer\" '7' is none to Counting1.",
    ]


def test_where_a_mask_belongs_to_a_line_by_its_number_bad_lines_count(tmp_path: Path) -> None:
    LAYOUTS["where2place"][1](tmp_path)
    file = tmp_path / "point_questions.jsonl"
    file.write_text("{\n" + file.read_text())
    ids, said = problems("where2place", tmp_path)
    assert ids == ["0"]  # with the mask of the second line
    assert len(said) == 2
    assert said[1] == "point_questions.jsonl, row 3: its picture '02.jpg' is absent."


def test_without_pyarrow_parquet_files_are_unavailable_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LAYOUTS["cvbench"][1](tmp_path / "cv")
    vstar(tmp_path / "v")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ToolError, match=r"Parquet needs pyarrow.*, which cannot be imported") as missing:
        list(load_set("cvbench", tmp_path / "cv"))
    assert missing.value.code == ErrorCode.UNAVAILABLE
    assert "data" in missing.value.hint
    assert len(list(load_set("vstar", tmp_path / "v"))) == 2


def test_a_file_that_may_not_be_read_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vstar(tmp_path)

    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tool_nodes.files.open_file", refused)
    ids, said = problems("vstar", tmp_path)
    assert not ids
    assert said == ["test_questions.jsonl, row 0: the file cannot be read (Permission denied)."]


@pytest.mark.parametrize("name", ["", "a\0b", "..", "C:\\..\\x", 5, None])
def test_names_of_pictures_that_are_none(name: Any, tmp_path: Path) -> None:
    with pytest.raises(RowError):
        picture_at(tmp_path, name)
