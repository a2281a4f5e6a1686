"""`toolhand train RECIPE`: a preset that writes a folder, the one that trains here, and bad input in one sentence."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolhand import cli, train_recipe
from toolhand.commands import TRAIN
from training.recipes import RECIPES


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


def test_every_recipe_is_a_command_beside_the_pointer(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(TRAIN) == {"pointer", "pointer-hits", *RECIPES}
    for name, recipe in RECIPES.items():
        assert recipe.paper in TRAIN[name].summary
    with pytest.raises(SystemExit):
        cli.main(["train", "--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in TRAIN)


def test_a_preset_writes_a_folder_once(command: Any, tmp_path: Path) -> None:
    arguments = ("evic", "--preset", "qwen2.5-vl-3b", "--n", 1, "--out", tmp_path / "out")
    status, document = command(*arguments)
    assert (status, document["given_by_the_paper"]) == (0, False)
    assert document["tasks"] == {"rl": {"train": 1, "validation": 1}}
    assert "launch.sh" in document["files"]
    status, document = command(*arguments)
    assert (status, document["error_code"]) == (2, "INVALID_ARGUMENT")
    assert document["answer"].startswith(f"{tmp_path / 'out'} holds something already, and nothing is replaced.")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("gpt",), 2, "There is no toolhand train 'gpt', only pointer, pointer-hits, dirl, peria, evic, last."),
        (("dirl", "--preset", "gpt"), 2, "There is no preset 'gpt', only tiny, smollm2, qwen2.5-vl-3b, qwen3-vl-8b."),
        (("dirl", "--n", "3"), 2, "--n is of the presets that write a folder: qwen2.5-vl-3b and qwen3-vl-8b."),
        (("last", "--preset", "qwen3-vl-8b", "--n", "0"), 2, "There must be 1 task or more"),
        (("dirl", "--preset", "qwen3-vl-8b", "--scale", "0.1"), 2, "--scale is of the preset tiny."),
        (("peria", "--preset", "smollm2"), 2, "The preset smollm2 is trained by the recipe dirl, not by peria."),
        (("dirl", "--preset", "smollm2", "--scale", "0.1"), 2, "--scale is of the preset tiny."),
        (("dirl", "--preset", "smollm2", "--world", "erring"), 2, "--world is of the presets that write a folder"),
        (("dirl", "--preset", "smollm2", "--n", "3", "4"), 2, "--n of the preset smollm2 is one number, got 2."),
        (("dirl", "--preset", "smollm2", "--rounds", "-1"), 2, "--rounds must be 0 or more, got -1."),
        (("dirl", "--report-to", "none"), 2, "--report-to is of the preset smollm2."),
        (("dirl", "--preset", "qwen3-vl-8b", "--epochs", "2"), 2, "--epochs is of the preset smollm2."),
        (("dirl", "--arms", "sft"), 2, "--arms is of all arms: give --seeds as well."),
        (("peria", "--seeds", "3"), 2, "--seeds is of the recipe dirl"),
        (("evic",), 2, "The preset tiny cannot be trained by the recipe 'evic', only by dirl, peria, last"),
        (("dirl", "--scale", "0"), 2, "The scale must be above 0"),
        (("dirl", "--seeds", "1", "--arms", "sft", "none"), 2, "There is no arm 'none'"),
    ],
)
def test_bad_input_is_one_sentence(command: Any, arguments: tuple[str, ...], status: int, words: str) -> None:
    found, document = command(*arguments)
    assert found == status
    assert document["answer"].startswith(words)


def test_tiny_is_run_here(command: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run_tiny(recipe: str, folder: Path, seed: int) -> dict[str, Any]:
        return {"recipe": recipe, "folder": str(folder), "seed": seed}

    monkeypatch.setitem(sys.modules, "stand_in", SimpleNamespace(run_tiny=run_tiny))
    monkeypatch.setattr(train_recipe, "RUN_TINY", ("stand_in", "run_tiny"))
    status, document = command("peria", "--out", tmp_path, "--seed", 3)
    assert (status, document) == (0, {"recipe": "peria", "folder": str(tmp_path), "seed": 3})

    def run_arms(folder: Path, seeds: tuple[int, ...], names: tuple[str, ...], scale: float) -> dict[str, Any]:
        return {"seeds": list(seeds), "names": list(names), "scale": scale}

    monkeypatch.setitem(sys.modules, "stand_in", SimpleNamespace(run_tiny=run_tiny, run_arms=run_arms))
    monkeypatch.setattr(train_recipe, "RUN_ARMS", ("stand_in", "run_arms"))
    status, document = command("dirl", "--seeds", 2, "--seed", 5, "--arms", "sft", "grpo", "--scale", 0.5)
    assert (status, document) == (0, {"seeds": [5, 6], "names": ["sft", "grpo"], "scale": 0.5})
    monkeypatch.setattr(train_recipe, "RUN_TINY", ("stand_in_that_is_not_there", "run_tiny"))
    status, document = command("peria")
    assert (status, document["error_code"]) == (1, "UNAVAILABLE")


def test_a_small_language_model_is_trained_here_by_an_engine(
    command: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(folder: Path, options: Any, say: Any) -> dict[str, Any]:
        return {"folder": str(folder), **vars(options)}

    monkeypatch.setitem(sys.modules, "stand_in", SimpleNamespace(run=run))
    monkeypatch.setattr(train_recipe, "RUN_SMOLLM2", ("stand_in", "run"))
    given = ("--n", 7, "--wordings", 2, "--rounds", 1, "--report-to", "none", "--out", tmp_path, "--seed", 3)
    status, document = command("dirl", "--preset", "smollm2", *given)
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
        "minutes": None,
        "seed": 3,
        "workers": 2,
        "report_to": "none",
    }
    assert command("dirl", "--preset", "smollm2")[1]["folder"] == str(Path("runs/train/dirl-smollm2"))
