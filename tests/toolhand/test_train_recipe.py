"""`toolhand train RECIPE`: a preset that writes a folder, the one that trains here, and bad input in one sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from toolhand.cli import main as cli
from toolhand.cli.commands import COMMANDS, CliCommand, Group
from toolhand.training.adapters import smollm2_run
from toolhand.training.recipes import RECIPES


def train_commands() -> Mapping[str, CliCommand]:
    group = COMMANDS["train"]
    assert isinstance(group, Group)
    return group.commands


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: object) -> tuple[int, Any]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main(["train", *map(str, arguments), "--json"])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return int(end.value.code or 0), json.loads(captured.out)

    return run


def test_every_recipe_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(train_commands()) == {*RECIPES, "reader"}
    for name, recipe in RECIPES.items():
        assert recipe.paper in train_commands()[name].summary
    with pytest.raises(SystemExit):
        cli.main(["train", "--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in train_commands())


def test_a_preset_writes_a_folder_once(command: Any, tmp_path: Path) -> None:
    arguments = ("evic", "--preset", "qwen2.5-vl-3b", "--n", 1, "--out", tmp_path / "out")
    status, document = command(*arguments)
    assert (status, document["given_by_the_paper"]) == (0, False)
    assert document["tasks"] == {"rl": {"train": 1, "validation": 1}}
    assert "launch.sh" in document["files"]
    status, document = command(*arguments)
    assert (status, document["error_code"]) == (2, "INVALID_ARGUMENT")
    why = "holds something already, such as README.md, and nothing is replaced."
    assert document["answer"].startswith(f"{tmp_path / 'out'} {why}")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("gpt",), 2, "There is no toolhand train 'gpt', only dirl, reader, peria, evic, last."),
        (("dirl", "--preset", "gpt"), 2, "There is no preset 'gpt', only smollm2, qwen2.5-vl-3b, qwen3-vl-8b."),
        (("last", "--preset", "qwen3-vl-8b", "--n", "0"), 2, "There must be 1 task or more"),
        (("peria", "--preset", "smollm2"), 2, "The preset smollm2 is trained by the recipe dirl, not by peria."),
        (("dirl", "--difficulty", "0.5"), 2, "--difficulty is of the presets that write a folder"),
        (("dirl", "--world", "sunny"), 2, "There is no world 'sunny': it must be erring."),
        (("dirl", "--n", "3", "4"), 2, "--n of the preset smollm2 is one number, got 2."),
        (("dirl", "--rounds", "-1"), 2, "--rounds must be 0 or more, got -1."),
        (("dirl", "--preset", "qwen3-vl-8b", "--report-to", "none"), 2, "--report-to is of the preset smollm2."),
        (("dirl", "--preset", "qwen3-vl-8b", "--epochs", "2"), 2, "--epochs is of the preset smollm2."),
    ],
)
def test_bad_input_is_one_sentence(command: Any, arguments: tuple[str, ...], status: int, words: str) -> None:
    found, document = command(*arguments)
    assert found == status
    assert document["answer"].startswith(words)


def test_a_small_language_model_is_trained_here_by_an_engine(
    command: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(folder: Path, options: Any, say: Any) -> dict[str, Any]:
        return {"folder": str(folder), **vars(options)}

    monkeypatch.setattr(smollm2_run, "run_smollm2", run)
    given = ("--n", 7, "--wordings", 2, "--rounds", 1, "--report-to", "none", "--out", tmp_path, "--seed", 3)
    status, document = command("dirl", *given)
    assert status == 0
    assert document == {
        "folder": str(tmp_path),
        "n": 7,
        "wordings": 2,
        "rows": 400,
        "sentences": 1800,
        "unresolved": 24,
        "batch": 4,
        "epochs": 1.0,
        "rounds": 1,
        "groups": 4,
        "group_size": 4,
        "updates": 1,
        "rate": 1e-4,
        "arms": ["grpo"],
        "tests": 0,
        "world": "",
        "minutes": None,
        "seed": 3,
        "workers": 2,
        "report_to": "none",
    }
    assert command("dirl")[1]["folder"] == str(Path("runs/train/dirl-smollm2"))
