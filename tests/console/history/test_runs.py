"""Runs as the console lists them: searched, filtered, a page at a time, and read once."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolhand.console.history import runs as history_runs
from toolhand.console.history.folders import file_in, folder_in
from toolhand.console.history.runs import RunIndex, RunSearch
from toolhand.tool_nodes.results import ToolError


def make(root: Path, name: str, **values: Any) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    about = {"task": "pick up the cinnamon", "answer": "Done.", "success": True, "policy": "scripted", **values}
    (folder / "result.json").write_text(json.dumps(about))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three finished runs and one that was not."""
    root = tmp_path / "runs"
    make(root, "20261120-100000-0")
    make(root, "20261121-100000-0", task="put the box away", success=False, error_code="NO_GRASP", policy="teacher")
    make(root, "20261122-100000-0", task="pick up the rice", success=False, error_code="AMBIGUOUS")
    (root / "20261123-100000-0").mkdir()
    (root / "bench").mkdir()
    return root


def days(root: Path, **texts: str) -> list[str]:
    return [entry.id[6:8] for entry in RunIndex(root).page(RunSearch.of_texts(**texts)).entries]


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        ({}, ["23", "22", "21", "20"]),
        ({"text": "PICK rice"}, ["22"]),
        ({"text": "no_grasp"}, ["21"]),
        ({"end": "done"}, ["20"]),
        ({"end": "failed"}, ["22", "21"]),
        ({"end": "unfinished"}, ["23"]),
        ({"code": "AMBIGUOUS"}, ["22"]),
        ({"policy": "teacher"}, ["21"]),
        ({"since": "2026-11-21", "until": "2026-11-22"}, ["21"]),
    ],
)
def test_runs_are_filtered(root: Path, texts: dict[str, str], wanted: list[str]) -> None:
    assert days(root, **texts) == wanted


def test_a_page_says_how_many_there_are_and_what_can_be_filtered_by(root: Path) -> None:
    page = RunIndex(root).page(first=1, count=2)
    assert [entry.id[6:8] for entry in page.entries] == ["22", "21"]
    assert (page.found, page.total, page.unread) == (4, 4, 0)
    assert page.codes == {"NO_GRASP": 1, "AMBIGUOUS": 1}
    assert page.policies == {"scripted": 2, "teacher": 1}


def test_a_run_is_read_once_and_again_where_it_has_changed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    plain = history_runs.read_entry
    monkeypatch.setattr(history_runs, "read_entry", lambda folder: (read.append(folder.name), plain(folder))[1])
    index = RunIndex(root)
    index.page()
    index.page()
    assert len(read) == 5
    (root / "20261120-100000-0" / "result.json").write_text('{"task": "something longer", "success": false}')
    assert index.page(RunSearch.of_texts("longer")).found == 1
    assert read[5:] == ["20261120-100000-0"]


def test_of_many_runs_the_newest_are_read_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_runs, "READ_AT_ONCE", 2)
    index = RunIndex(root)
    first = index.page()
    assert [entry.id[6:8] for entry in first.entries] == ["23"]
    assert first.unread == 3
    assert index.page().unread == 1
    assert len(index.page().entries) == 4


def test_a_run_that_is_deleted_is_gone_from_the_next_page(root: Path) -> None:
    index = RunIndex(root)
    assert index.page().found == 4
    (root / "20261123-100000-0").rmdir()
    assert index.page().found == 3


def test_a_folder_that_is_not_there_yet_has_no_runs(tmp_path: Path) -> None:
    assert RunIndex(tmp_path / "runs").page().found == 0


@pytest.mark.parametrize(
    "texts", [{"since": "yesterday"}, {"until": "2026-13-40"}, {"end": "well"}], ids=["since", "until", "end"]
)
def test_a_field_that_cannot_be_read_is_refused(texts: dict[str, str]) -> None:
    with pytest.raises(ToolError):
        RunSearch.of_texts(**texts)


@pytest.mark.parametrize("name", ["", ".", "..", "../runs", "a/b", "/etc", "a\\b", "a\0b", "x" * 300])
def test_a_name_that_is_no_folder_of_runs_is_refused(root: Path, name: str) -> None:
    for find in (folder_in, file_in):
        with pytest.raises(ToolError, match="is no name of a"):
            find(root, name, "run")


def test_a_link_that_leads_out_is_neither_listed_nor_opened(root: Path, tmp_path: Path) -> None:
    make(tmp_path, "20261124-100000-0")
    (root / "20261124-100000-0").symlink_to(tmp_path / "20261124-100000-0")
    assert RunIndex(root).page().found == 4
    with pytest.raises(ToolError, match="lies outside of runs, and is not shown"):
        folder_in(root, "20261124-100000-0")
    (root / "secret.json").symlink_to(tmp_path / "20261124-100000-0" / "result.json")
    with pytest.raises(ToolError, match="lies outside of runs"):
        file_in(root, "secret.json", "result")
