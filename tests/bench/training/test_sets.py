"""`bench sets`: predictions for a public set, and a policy that is asked its questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_node.console.options import BackendOptions
from agent_node.policies import registry
from agent_node.policy import Reply
from bench.training.sets import bench_sets
from tests.training.data.sets.layouts import LAYOUTS, jsonl, png, put
from tool_nodes import registry as backends
from tool_nodes.perception.pixels import PixelPerception
from tool_nodes.port_names import PortNames
from tool_nodes.results import ErrorCode, ToolError


def document(capsys: pytest.CaptureFixture[str], name: str, folder: Path, **options: Any) -> tuple[int, dict[str, Any]]:
    status = bench_sets(name, folder, as_json=True, **options)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, found


def test_predictions_are_marked_by_category_with_intervals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    LAYOUTS["cvbench"][1](tmp_path)
    said = {"2D/0": "(A)", "2D/1": "(A)", "2D/2": "B", "3D/3": "<answer>A</answer>"}
    jsonl(tmp_path / "said.jsonl", [{"id": name, "answer": text} for name, text in said.items()])
    status, found = document(capsys, "cvbench", tmp_path, predictions=tmp_path / "said.jsonl")
    assert status == 0
    rows = {row["name"]: (row["n"], row["success"], row["rate"]) for row in found["rows"]}
    assert rows == {
        "2D Relation": (2, 1, 0.5),
        "2D Count": (1, 1, 1.0),
        "3D Depth": (1, 1, 1.0),
        "all questions": (4, 3, 0.75),
    }
    assert found["rows"][-1]["low"] < 0.75 < found["rows"][-1]["high"]
    assert found["total"] == ((1 + 0.5) / 2 + 1) / 2
    assert found["total_is"] == "((ADE20K + COCO) / 2 + Omni3D) / 2"
    assert found["problems"] == []


def test_marks_between_0_and_1_have_a_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    LAYOUTS["refspatial"][1](tmp_path)
    said = [{"id": "location/0", "answer": "[(0.1, 0.1), (0.9, 0.9)]"}, {"id": "placement/0", "answer": "(0.2, 0.5)"}]
    jsonl(tmp_path / "said.jsonl", said)
    _, found = document(capsys, "refspatial", tmp_path, predictions=tmp_path / "said.jsonl")
    assert {row["name"]: row["mean"] for row in found["rows"]} == {
        "location": 0.5,
        "placement": 1.0,
        "all questions": 0.75,
    }


def test_what_is_missing_or_wrong_is_counted_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    LAYOUTS["vstar"][1](tmp_path)
    with (tmp_path / "test_questions.jsonl").open("a") as file:
        file.write("{}\n")
    put(
        tmp_path / "said.jsonl",
        '{"id": "0", "answer": "A"}\n{"id": "0", "answer": "B"}\n{"id": "7", "answer": "A"}\n{"id"',
    )
    status, found = document(capsys, "vstar", tmp_path, predictions=tmp_path / "said.jsonl")
    assert status == 0
    assert (found["total"], found["unanswered"], found["skipped_rows"]) == (0.5, 1, 1)
    assert (found["bad_predictions"], found["unknown_predictions"]) == (2, 1)
    assert found["problems"][0] == 'test_questions.jsonl, row 3: it has no "text".'
    assert found["problems"][1] == "said.jsonl, row 2: its id '0' is there already."
    assert found["problems"][2].startswith("said.jsonl, row 4: it is no JSON (")
    assert found["problems"][3] == "There is no question '7'."
    assert bench_sets("vstar", tmp_path, predictions=tmp_path / "said.jsonl") == 0
    text = capsys.readouterr().out
    assert "V*Bench: accuracy by letter; mean over all questions: 50.0 %" in text
    assert "skipped rows: 1" in text
    with pytest.raises(ToolError, match=r"said\.jsonl, row 2"):
        bench_sets("vstar", tmp_path, predictions=tmp_path / "said.jsonl", strict=True)


def test_a_set_without_a_usable_row_has_no_total(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "test_questions.jsonl", "{}\n")
    put(tmp_path / "said.jsonl", "")
    status, found = document(capsys, "vstar", tmp_path, predictions=tmp_path / "said.jsonl")
    assert (status, found["total"], found["skipped_rows"]) == (1, None, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Give either predictions or a policy"),
        ({"predictions": Path("a"), "policy": "scripted"}, "Give either"),
        ({"predictions": Path("absent.jsonl")}, "There is no file absent.jsonl of predictions"),
        ({"predictions": Path("a"), "limit": 0}, "--limit must be 1 or more"),
        ({"predictions": Path("a"), "save": Path("b")}, "Answers of a policy are saved"),
        ({"policy": "oracle"}, "There is no policy 'oracle'"),
        ({"policy": "scripted", "protocol": "morse"}, "morse"),
        ({"policy": "scripted", "suite": "hammer"}, "There is no tool suite 'hammer'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    LAYOUTS["vstar"][1](tmp_path)
    with pytest.raises(ToolError, match=words):
        bench_sets("vstar", tmp_path, **options)


class Always:
    """A policy that answers the same."""

    def respond(self, messages: Any) -> Reply:
        assert messages[1].picture is not None
        return Reply("<think>I see.</think><answer>(A)</answer>")


class Points:
    """A policy that points at something in every question but the first, and answers the same after it."""

    def __init__(self) -> None:
        self.asked = 0

    def respond(self, messages: Any) -> Reply:
        self.asked += messages[-1].role == "user"
        if self.asked > 1 and messages[-1].role == "user":
            call = '{"name": "roborefer.detect_one", "arguments": {"obj_name": "cup", "image_index": 0}}'
            return Reply(f"<think>Where?</think><tool_call>{call}</tool_call>")
        return Reply("<think>I see.</think><answer>(A)</answer>")


def questions(folder: Path, count: int) -> None:
    row = {"image": "a.png", "category": "c", "label": "A", "text": "?\n(A) x\n(B) y"}
    put(folder / "a.png", png())
    jsonl(folder / "test_questions.jsonl", [row | {"question_id": k} for k in range(count)])


POINTING = {"policy": "points", "protocol": "spacetools"}


def test_what_a_policy_answers_after_tools_that_see_no_photographs_is_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    questions(tmp_path, 7)
    monkeypatch.setattr(registry, "make_policy", lambda *_: Points())
    status = bench_sets("vstar", tmp_path, as_json=True, **POINTING)
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (status, found["total"], found["unscored"], found["asked"]) == (0, 1.0, 0, 7)
    said = err.splitlines()
    assert said[0].startswith("These cannot look at photographs")
    assert "pointer pixels" in said[0]
    assert "reader" not in said[0]
    assert said[1] == "question 0"


def test_questions_that_a_missing_tool_took_count_as_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    questions(tmp_path, 9)
    monkeypatch.setattr(registry, "make_policy", lambda *_: Points())

    def gone(*_: Any) -> Any:
        raise ToolError(ErrorCode.UNAVAILABLE, "The server is gone.")

    monkeypatch.setattr(PixelPerception, "point", gone)
    saved = tmp_path / "said.jsonl"
    status, found = document(capsys, "vstar", tmp_path, save=saved, **POINTING)
    assert (status, found["asked"], found["unscored"]) == (1, 6, 5)
    assert (found["total"], found["total_of_scored"]) == (0.1667, 1.0)
    assert [(row["success"], row["n"], row["unscored"]) for row in found["rows"]] == [(1, 6, 5)]
    assert found["stopped"] == "UNAVAILABLE: roborefer.detect_one: The server is gone."
    assert [json.loads(line)["id"] for line in saved.read_text().splitlines()] == ["0"]
    assert bench_sets("vstar", tmp_path, **POINTING) == 1
    text = capsys.readouterr().out
    assert "mean over all questions: 16.7 % (100.0 % of those that were scored)" in text
    assert "5 of 6 questions could not be asked, and count as wrong" in text
    assert "stopped after 5 such questions in a row: UNAVAILABLE: roborefer.detect_one: The server is gone." in text


def test_what_is_broken_off_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    questions(tmp_path, 9)

    class Interrupted(Points):
        def respond(self, messages: Any) -> Reply:
            if self.asked:
                raise KeyboardInterrupt
            return super().respond(messages)

    monkeypatch.setattr(registry, "make_policy", lambda *_: Interrupted())
    with pytest.raises(KeyboardInterrupt):
        bench_sets("vstar", tmp_path, save=tmp_path / "said.jsonl", **POINTING)
    assert json.loads((tmp_path / "said.jsonl").read_text())["id"] == "0"


def test_a_missing_extra_is_found_before_the_first_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    questions(tmp_path, 1)
    monkeypatch.setattr(backends, "_lacks", lambda entry: entry.name == "rapidocr")
    with pytest.raises(ToolError, match="The reader 'rapidocr' needs the extra ocr") as error:
        bench_sets("vstar", tmp_path, policy="scripted")
    assert (error.value.code, capsys.readouterr().err) == (ErrorCode.UNAVAILABLE, "")
    assert "pip install" in error.value.hint
    with pytest.raises(ToolError, match="There is no reader 'eyes'"):
        bench_sets("vstar", tmp_path, policy="scripted", backends=BackendOptions("pixels", PortNames(reader="eyes")))


def test_a_port_is_chosen_on_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    questions(tmp_path, 3)
    monkeypatch.setattr(registry, "make_policy", lambda *_: Points())
    bench_sets("vstar", tmp_path, backends=BackendOptions("pixels", PortNames(pointer="sim")), **POINTING)
    assert "pointer sim" in capsys.readouterr().err


def test_a_policy_is_asked_and_its_answers_are_predictions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    LAYOUTS["vstar"][1](tmp_path)
    monkeypatch.setattr(registry, "make_policy", lambda *_: Always())
    saved = tmp_path / "said.txt"  # its name may end as it likes
    _, asked = document(capsys, "vstar", tmp_path, policy="always", save=saved)
    assert asked["total"] == 0.5
    _, again = document(capsys, "vstar", tmp_path, predictions=saved)
    assert again["rows"] == asked["rows"]
    _, first = document(capsys, "vstar", tmp_path, predictions=saved, limit=1)
    assert (first["total"], first["unknown_predictions"]) == (1.0, 0)
