"""`toolhand data`: what is asked for is written, and bad input is one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.training.data.rollouts_at_hand import collection
from toolhand.cli import main as cli
from toolhand.training.rollouts.collection import shard_path


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: object) -> tuple[int, Any, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main([*map(str, arguments), "--json"])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return int(end.value.code or 0), json.loads(captured.out), captured.err

    return run


@pytest.mark.parametrize("form", ["chat", "parquet", "sharegpt"])
def test_a_folder_of_rollouts_is_exported_once(form: str, command: Any, tmp_path: Path) -> None:
    collection(tmp_path / "made")
    arguments = ("data", "export", "--from", tmp_path / "made", "--format", form, "--out", tmp_path / "out")
    status, document, _ = command(*arguments)
    assert (status, document["rows"], document["images"], document["skipped"]) == (0, 3, 6, [])
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    status, document, _ = command(*arguments)
    assert (status, document["error_code"]) == (2, "INVALID_ARGUMENT")
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


def test_several_folders_are_exported_as_one_set_with_the_images_of_each(command: Any, tmp_path: Path) -> None:
    collection(tmp_path / "expert", 2)
    collection(tmp_path / "others", 3)
    folders = (tmp_path / "others", tmp_path / "expert")
    status, document, _ = command("data", "export", "--from", *folders, "--out", tmp_path / "out")
    assert (status, document["rows"], document["skipped"]) == (0, 5, [])
    (tmp_path / "empty" / "shards").mkdir(parents=True)
    status, document, _ = command("data", "export", "--from", tmp_path / "empty", "--out", tmp_path / "none")
    assert (status, document["answer"]) == (2, f"{tmp_path / 'empty'} has no rollout that is accepted.")


def test_what_is_kept_is_what_was_asked_for(command: Any, tmp_path: Path) -> None:
    collection(tmp_path / "made", labels={"accepted": False}, truth={"success": True})
    for keep, rows in (("all", 3), ("successful", 3)):
        out = tmp_path / keep
        assert command("data", "export", "--from", tmp_path / "made", "--out", out, "--keep", keep)[1]["rows"] == rows
    status, document, _ = command("data", "export", "--from", tmp_path / "made", "--out", tmp_path / "none")
    assert (status, document["answer"]) == (2, f"{tmp_path / 'made'} has no rollout that is accepted.")
    assert not (tmp_path / "none").exists()


def test_bad_rows_are_told_with_their_place_and_the_others_are_exported(command: Any, tmp_path: Path) -> None:
    collection(tmp_path / "made")
    shard = shard_path(tmp_path / "made", 0)
    first, _, last = shard.read_text().splitlines()
    shard.write_text(f"{first}\n{{broken\n{last[:-20]}")
    status, document, err = command("data", "export", "--from", tmp_path / "made", "--out", tmp_path / "out")
    assert (status, document["rows"]) == (0, 1)
    assert f"{shard}, line 2: it is no line of JSON" in err
    assert f"{shard}, line 3: it is cut off." in err
    status, document, err = command("data", "show", tmp_path / "made", "--html", tmp_path / "page.html")
    assert (status, document["rollouts"]) == (0, 1)
    assert err.count("line 2") == 1


def test_a_folder_without_rollouts_is_told(command: Any, tmp_path: Path) -> None:
    for arguments in (("export", "--from", tmp_path, "--out", tmp_path / "out"), ("show", tmp_path)):
        status, document, _ = command("data", *arguments)
        assert (status, document["answer"]) == (2, f"{tmp_path} is no folder of rollouts: it has no shards/.")


def test_bad_numbers_of_a_lerobot_set_are_refused_before_anything_is_simulated(command: Any, tmp_path: Path) -> None:
    for option, value, told in (
        ("--n", 0, "n must be 1 or more"),
        ("--seed", -1, "--seed must be 0 or more"),
        ("--fps", 7, "fps must be one of 1, 5, 25, got 7"),
        ("--size", "big", "size must be"),
    ):
        status, document, _ = command("data", "lerobot", "--out", tmp_path / "out", option, value)
        assert status == 2
        assert told in document["answer"]
    assert not (tmp_path / "out").exists()
