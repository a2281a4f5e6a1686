"""Environments of engines: what is pinned, and what one is told who lacks them."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import refused
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters import environments
from toolhand.training.adapters.environments import ENGINES, Engine, engine_named, make_environment, require_engine

ABSENT = Engine("absent", "absent", "a_module_that_is_nowhere", 0.0)


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Engine:
    monkeypatch.setitem(ENGINES, "absent", ABSENT)
    monkeypatch.setattr(environments, "_REQUIREMENTS", tmp_path)
    (tmp_path / "absent.txt").write_text("absent==1.2\n")
    return ABSENT


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What would have been run; it makes the interpreter, as venv does, and pip fails while the list holds "fail"."""
    run: list[list[str]] = []

    def note(command: list[str], **_: Any) -> Any:
        run.append(command)
        if "venv" in command:
            python = Path(command[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.touch()
        return subprocess.CompletedProcess(command, int(["fail"] in run and "pip" in command))

    monkeypatch.setattr(environments.subprocess, "run", note)
    return run


@pytest.mark.parametrize("engine", ENGINES.values(), ids=list(ENGINES))
def test_every_engine_pins_all_that_it_is_made_of(engine: Engine) -> None:
    lines = [line for line in engine.requirements.read_text("utf-8").splitlines() if line and line[0] != "#"]
    assert all(line.count("==") == 1 for line in lines)
    names = [line.split("==")[0].lower() for line in lines]
    assert len(set(names)) == len(names) > 30
    assert engine.version in "".join(lines)


def test_an_absent_engine_is_told_in_one_sentence_with_the_command_that_makes_it(absent: Engine) -> None:
    making = "Make its environment, `toolhand engines make absent`, and run this with "
    with refused(ErrorCode.UNAVAILABLE, "This Python cannot import absent", hint=making), require_engine("absent"):
        import a_module_that_is_nowhere  # noqa: F401


def test_an_unknown_engine_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ToolError, match=r"one of trl, openenv.*not 'tlr'"):
        engine_named("tlr")


def test_an_environment_is_made_once_for_its_versions(
    absent: Engine, commands: list[list[str]], tmp_path: Path
) -> None:
    python = make_environment(absent, tmp_path)
    assert [command[2] for command in commands] == ["venv", "pip"]
    assert make_environment(absent, tmp_path) == python
    assert len(commands) == 2
    absent.requirements.write_text("absent==1.3\n")
    make_environment(absent, tmp_path)
    assert [command[2] for command in commands[2:]] == ["pip"], "the interpreter was there"
    make_environment(absent, tmp_path, again=True)
    assert [command[2] for command in commands[3:]] == ["venv", "pip"]


def test_packages_that_need_it_are_repaired_after_they_were_installed_and_again_where_that_changed(
    absent: Engine, commands: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "_REPAIRS", tmp_path)
    script = tmp_path / "absent.py"
    script.write_text("one")
    python = make_environment(absent, tmp_path)
    assert commands[-1] == [str(python), str(script)]
    make_environment(absent, tmp_path)
    assert len(commands) == 3
    script.write_text("another")
    assert not absent.made(tmp_path)


def test_a_pip_that_fails_leaves_no_environment_that_looks_whole(
    absent: Engine, commands: list[list[str]], tmp_path: Path
) -> None:
    commands.append(["fail"])
    with refused(ErrorCode.UNAVAILABLE, r"of absent was not made: .* ended with status 1"):
        make_environment(absent, tmp_path)
    assert not absent.made(tmp_path)
    commands.clear()
    make_environment(absent, tmp_path)
    assert absent.made(tmp_path)


def test_a_full_disk_is_told_before_anything_is_loaded(
    absent: Engine, commands: list[list[str]], tmp_path: Path
) -> None:
    with pytest.raises(ToolError, match="needs 1e\\+09 GB of free disk"):
        make_environment(Engine("absent", "absent", "absent", 1e9), tmp_path)
    assert not commands
