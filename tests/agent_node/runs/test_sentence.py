"""One sentence is one folder, and old folders of runs, and nothing else, can be deleted."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from toolhand.agent_node.runs.folder import keep_newest, write_json
from toolhand.agent_node.runs.index import list_runs
from toolhand.agent_node.runs.sentence import SentenceFolder, with_words
from toolhand.tool_nodes.results import ErrorCode


def write(task: str, success: bool = True) -> Callable[[Path], None]:
    def into(folder: Path) -> None:
        write_json(folder / "result.json", with_words({"task": task, "success": success}, "said", task))

    return into


def carried_out(root: Path, *commands: tuple[str, bool, bool], said: str = "said") -> SentenceFolder:
    """A sentence that became commands, each (what, whether it is on the way, whether it only looks)."""
    sentence = SentenceFolder(root, said)
    for what, on_the_way, looks in commands:
        sentence.keep(sentence.begin(on_the_way), write(what), looks)
    sentence.end("All is done.", True, None, "toolhand run said")
    sentence.close()
    return sentence


LOOK, HOME = ("look", True, True), ("go home", True, False)
DEED, NEXT = ("pick it up", False, False), ("put it down", False, False)


@pytest.mark.parametrize(
    ("commands", "task", "inside"),
    [
        ([DEED], "pick it up", []),
        ([LOOK, DEED, LOOK], "pick it up", []),
        ([LOOK], "said", []),
        ([DEED, NEXT], "said", ["2"]),
        ([HOME, DEED], "said", ["2"]),
        ([LOOK, DEED, HOME, NEXT, LOOK], "said", ["2", "3"]),
    ],
)
def test_a_sentence_is_one_run(
    tmp_path: Path, commands: list[tuple[str, bool, bool]], task: str, inside: list[str]
) -> None:
    sentence = carried_out(tmp_path, *commands)
    (entry,) = list_runs(tmp_path)
    assert (entry.path, entry.words, entry.success) == (str(sentence.path), "said", True)
    result = json.loads((Path(entry.path) / "result.json").read_text())
    assert result["task"] == task
    assert result.get("steps", []) == inside
    assert sorted(path.name for path in Path(entry.path).iterdir() if path.is_dir()) == inside
    if task == "said":
        assert (result["answer"], result["command"]) == ("All is done.", "toolhand run said")


def test_a_sentence_that_failed_says_so_however_its_first_command_ended(tmp_path: Path) -> None:
    sentence = SentenceFolder(tmp_path, "both")
    for task, success in (("one", True), ("two", False)):
        sentence.keep(sentence.begin(False), write(task, success), False)
    sentence.end("The second is not there.", False, ErrorCode.OBJECT_NOT_FOUND)
    (entry,) = list_runs(tmp_path)
    assert (entry.success, entry.error_code, entry.answer) == (False, "OBJECT_NOT_FOUND", "The second is not there.")


def test_a_sentence_of_which_nothing_came_leaves_nothing(tmp_path: Path) -> None:
    sentence = SentenceFolder(tmp_path, "said")
    sentence.begin(False)
    sentence.end("No.", False, None)
    sentence.close()
    assert not list(tmp_path.iterdir())


def test_the_newest_runs_are_kept_and_nothing_else_is_touched(tmp_path: Path) -> None:
    runs = [tmp_path / f"20261120-10000{k // 3}-{k % 3 + 8}" for k in range(6)]
    for run in runs:
        (run / "images").mkdir(parents=True)
        (run / "images" / "000.jpg").write_bytes(b"x")
        (run / "2" / "images").mkdir(parents=True)
        (run / "2" / "result.json").write_text("{}")
        write("x")(run)
    others = [tmp_path / name for name in ("bench", "20261120", "20261120-100000-8.old", "notes.txt", "20251120-1-1")]
    for path in others:
        path.mkdir()
    own = tmp_path / "20200101-000000-0"
    own.mkdir()
    (own / "thesis.pdf").write_bytes(b"x")
    elsewhere = tmp_path / "20200101-000000-1"
    elsewhere.symlink_to(tmp_path / "bench", target_is_directory=True)
    linked = tmp_path / "20200101-000000-2"
    linked.mkdir()
    (linked / "run.mcap").symlink_to(own / "thesis.pdf")
    keep_newest(tmp_path, 0)
    assert all(run.is_dir() for run in runs)
    keep_newest(tmp_path, 2)
    assert [run.is_dir() for run in runs] == [False] * 4 + [True] * 2
    assert all(path.exists() for path in (*others, own, elsewhere, linked, own / "thesis.pdf"))


def test_a_run_under_way_is_the_newest_and_stays(tmp_path: Path) -> None:
    for _ in range(3):
        sentence = SentenceFolder(tmp_path, "said", keep=1)
        folder = sentence.begin(False)
        assert [path.name for path in tmp_path.iterdir()] == [folder.name]
        sentence.keep(folder, write("x"), False)
