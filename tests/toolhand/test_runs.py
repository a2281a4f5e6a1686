"""`toolhand runs`: every run and nothing else, whatever lies in the folder."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import refused
from toolhand.agent_node.runs.index import RunFilter, list_runs, parse_since
from toolhand.cli.runs import runs
from toolhand.tool_nodes.results import ErrorCode

RESULT = {
    "task": "pick up the cinnamon",
    "answer": "Picked up the cinnamon.",
    "success": True,
    "error_code": None,
    "turns": 5,
    "tool_calls": 7,
    "wall_s": 1.66,
    "policy": "scripted",
}


def make(root: Path, name: str, **values: Any) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(RESULT | values))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three runs of three days."""
    make(tmp_path, "20261120-100000-0")
    make(
        tmp_path,
        "20261121-100000-0",
        task="put the red box in the bin",
        answer="No grasp was found.",
        success=False,
        error_code="NO_GRASP",
    )
    make(
        tmp_path,
        "20261122-100000-0",
        task="pick up the rice",
        answer="Which one?",
        success=False,
        error_code="AMBIGUOUS",
    )
    return tmp_path


def ids(root: Path, **wanted: Any) -> list[str]:
    return [entry.id[:8] for entry in list_runs(root, RunFilter(**wanted))]


def test_runs_are_listed_oldest_first_with_what_their_results_say(root: Path) -> None:
    (root / "20261121-100000-0" / "run.mcap").write_bytes(b"x")
    entries = list_runs(root)
    assert [entry.id for entry in entries] == ["20261120-100000-0", "20261121-100000-0", "20261122-100000-0"]
    assert entries[0].document() == {
        "id": "20261120-100000-0",
        "path": str(root / "20261120-100000-0"),
        "began": "2026-11-20T10:00:00+00:00",
        "problem": None,
        "recorded": False,
        "said": None,
        "command": None,
        **RESULT,
    }
    assert entries[1].recorded


def test_runs_of_one_second_are_in_the_order_of_their_counters(tmp_path: Path) -> None:
    for counter in (10, 2, 0):
        make(tmp_path, f"20261120-100000-{counter}")
    assert [entry.id.rpartition("-")[2] for entry in list_runs(tmp_path)] == ["0", "2", "10"]


def test_each_filter_narrows_and_all_must_hold(root: Path) -> None:
    assert ids(root, failed=True) == ["20261121", "20261122"]
    assert ids(root, code=ErrorCode.NO_GRASP) == ["20261121"]
    assert ids(root, words=["PICK", "up"]) == ["20261120", "20261122"]
    assert ids(root, words=["grasp", "box"]) == ["20261121"]  # one in the answer, one in the sentence
    assert ids(root, since=datetime(2026, 11, 21, 10, tzinfo=UTC)) == ["20261121", "20261122"]
    assert ids(root, failed=True, words=["rice"], since=datetime(2026, 11, 22, tzinfo=UTC)) == ["20261122"]
    assert ids(root, failed=True, words=["cinnamon"]) == []


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-22", "2026-11-22T00:00:00+00:00"),
        ("2026-11-22T10:30", "2026-11-22T10:30:00+00:00"),
        ("2026-11-22T10:30+02:00", "2026-11-22T08:30:00+00:00"),
        ("90m", "2026-11-22T10:30:00+00:00"),
        ("12 h", "2026-11-22T00:00:00+00:00"),
        ("3d", "2026-11-19T12:00:00+00:00"),
        ("1w", "2026-11-15T12:00:00+00:00"),
    ],
)
def test_since_takes_dates_and_ages(text: str, at: str) -> None:
    assert parse_since(text, datetime(2026, 11, 22, 12, tzinfo=UTC)).isoformat() == at


@pytest.mark.parametrize("text", ["", "yesterday", "3", "-3d", "2026-13-01", "999999w", "1" * 400 + "d"])
def test_any_other_time_is_one_sentence(text: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "is no time", within=250):
        parse_since(text)


def test_a_run_that_was_not_finished_is_listed_as_such(tmp_path: Path) -> None:
    (tmp_path / "20261120-100000-0").mkdir()
    entry = list_runs(tmp_path)[0]
    assert (entry.success, entry.problem) == (None, "it was not finished")
    assert ids(tmp_path, failed=True) == ["20261120"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is damaged: it is no JSON document"),
        (b'{"task": "pick', "is damaged: it is no JSON document"),
        (b"\xff\xfe\x00", "is damaged: it is no JSON document"),
        (b"[" * 100_000, "is damaged: it is no JSON document"),
        (b"9" * 10_000, "is damaged: it is no JSON document"),
        (b"[]", "is damaged: it is no JSON object"),
        (b'{"task": 3, "success": true}', "its result.json is not that of a run"),
        (b'{"task": "x", "success": "yes"}', "its result.json is not that of a run"),
        (b" " * (2**20 + 1), "is longer than 1 MiB"),
    ],
)
def test_a_damaged_result_is_told_and_the_others_are_listed(root: Path, content: bytes, problem: str) -> None:
    (root / "20261121-100000-0" / "result.json").write_bytes(content)
    entries = list_runs(root)
    assert len(entries) == 3
    assert problem in str(entries[1].problem)
    assert [entries[0].problem, entries[2].problem] == [None, None]


def test_values_of_other_types_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, "a", turns="five", wall_s="long", error_code=7, answer=None, tool_calls=True, policy=[])
    entry = list_runs(tmp_path)[0]
    assert (entry.turns, entry.wall_s, entry.error_code, entry.answer, entry.tool_calls, entry.policy) == (None,) * 6
    assert entry.success is True


def test_what_is_no_run_is_passed_over(root: Path) -> None:
    (root / "notes.txt").write_text("x")
    (root / "photos").mkdir()
    (root / "20261120-result.json").write_text("{}")
    (root / "other").mkdir()
    (root / "other" / "result.json").write_text('{"score": 1}')
    (root / "broken").symlink_to(root / "nowhere")
    (root / "20261125-100000-0").mkdir()
    os.mkfifo(root / "20261125-100000-0" / "result.json")  # reading it would never end
    assert [entry.id[:8] for entry in list_runs(root)] == ["20261120", "20261121", "20261122", "20261125"]


def test_a_folder_with_another_name_is_a_run_if_its_result_is_one(tmp_path: Path) -> None:
    folder = make(tmp_path, "kept")
    os.utime(folder / "result.json", (1_700_000_000, 1_700_000_000))
    assert list_runs(tmp_path)[0].began == "2023-11-14T22:13:20+00:00"


def test_a_name_with_digits_that_are_no_date_is_still_a_run(tmp_path: Path) -> None:
    make(tmp_path, "99999999-999999-0")
    assert list_runs(tmp_path)[0].success


def test_the_table_has_a_line_a_run_and_nothing_steers_the_terminal(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(root, "20261123-100000-0", task="\x1b[2J\nred\u202e" + "x" * 500, error_code="\x1b[31m", success=False)
    assert runs(root) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[1].split()[:4] == ["20261120-100000-0", "2026-11-20", "10:00", "done"]
    assert "NO_GRASP" in lines[2]
    assert all(line.isprintable() and len(line) < 140 for line in lines)


def test_json_is_one_document(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert runs(root, failed=True, code="no_grasp", text="red bin", since="2026-11-01", as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["count"] == 1
    assert document["runs"][0]["id"] == "20261121-100000-0"


def test_a_folder_that_is_not_there_and_a_code_that_is_none_are_one_sentence(tmp_path: Path) -> None:
    for act, sentence in (
        (lambda: runs(tmp_path / "gone"), "Cannot list the runs in"),
        (lambda: runs(tmp_path, code="BAD"), "There is no error code 'BAD'"),
    ):
        with refused(ErrorCode.INVALID_ARGUMENT, sentence):
            act()
