"""The adapter that ships: its files, sums and card, and what is refused before anything is written."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from toolhand.agent_node.policies import smollm2
from toolhand.agent_node.policies.adapters import write_base
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters import ship_adapter
from toolhand.training.adapters.sft_on_trl import LoraSettings
from toolhand.training.adapters.ship_adapter import ship

RATE = {"count": 62, "n": 100, "rate": 0.62, "low": 0.52, "high": 0.71}
NONE = {"count": 0, "n": 0, "rate": None, "low": None, "high": None}
TABLE = {
    "tasks": {"split": "test", "kinds": ["pick"], "perception": "sim", "difficulty": 0.0, "tasks_version": 3},
    "rows": [
        {
            "policy": "smollm2",
            "n": 100,
            "success": RATE,
            "wrong_object": RATE,
            "false_success": RATE,
            "refused_rightly": NONE,
            "calls": 5.0,
            "invalid": 0.01,
            "wall_s": 20.0,
        },
    ],
}


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A folder of a training that is finished."""
    base, folder = tmp_path / "base", tmp_path / "training"
    base.mkdir()
    write_base(base, smollm2.NAME, smollm2.SHA256)
    (folder / "adapter").mkdir(parents=True)
    (folder / "settings.json").write_text(json.dumps(asdict(LoraSettings(str(base), epochs=3.0, seed=5))))
    rows = [{"input_ids": [1, 2, 3], "labels": [-100, 2, 3]}] * 6
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "data.json").write_text('{"conversations": 2, "of": 4, "wordings": 3}')
    log = [{"loss": 3.0, "step": 1}, {"loss": 0.5, "step": 2}, {"train_loss": 1.75, "step": 2}]
    (folder / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in log))
    (folder / "adapter" / "adapter_config.json").write_text(json.dumps({"r": 8, "base_model_name_or_path": str(base)}))
    save_file({"a": np.ones((2, 3), np.float16)}, folder / "adapter" / "adapter_model.safetensors")
    return folder


def refusal(folder: Path, to: Path, table: Path | None = None) -> str:
    with pytest.raises(ToolError) as caught:
        ship(folder, table, to)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert not to.exists()
    return caught.value.message


def test_what_ships_is_what_the_policy_finds_and_says_how_it_was_made(trained, tmp_path, monkeypatch):
    to, table = tmp_path / "shipped", tmp_path / "table.json"
    table.write_text(json.dumps(TABLE))
    (tmp_path / "settings.json").write_text('{"policies": {"smollm2": {"sure": 0.0}}}')
    card = ship(trained, table, to).read_text()
    monkeypatch.setattr(smollm2, "SHIPPED", to)
    assert smollm2.shipped_adapter() == to
    assert {path.name for path in to.iterdir()} == {
        "card.md",
        "SHA256SUMS",
        "adapter_config.json",
        "adapter_model.safetensors",
        "base.json",
        "log.jsonl",
    }
    assert all(str(tmp_path) not in path.read_text("utf-8", "replace") for path in to.iterdir()), "no folder of ours"
    for words in (
        "6 rows of 2 conversations, of 4 of",
        "in\n  3 wordings",
        "18 tokens",
        "of which\n  12 are learned",
        "2\n  steps made",
        "--n 4 --wordings 3 --rows 6 --sentences 0 --unresolved 0 --batch 4 --epochs 3 --seed 5",
        "--policies smollm2 --model.sure 0`, 100 tasks",
        "62 of 100, 62.0 % (52.0..71.0)",
        "Apache-2.0",
    ):
        assert words in card
    assert "Evaluated" not in ship(trained, None, to).read_text(), "what is there is replaced"


def test_an_adapter_of_another_base_does_not_ship(trained, tmp_path):
    write_base(tmp_path / "base", "smollm2", "another")
    assert "which is not smollm2" in refusal(trained, tmp_path / "shipped")


def test_a_training_that_is_not_finished_does_not_ship(trained, tmp_path):
    shutil.copy(trained / "log.jsonl", tmp_path / "log")
    (trained / "log.jsonl").write_text("")
    assert "has no loss" in refusal(trained, tmp_path / "shipped")
    shutil.copy(tmp_path / "log", trained / "log.jsonl")
    (trained / "adapter" / "adapter_model.safetensors").unlink()
    assert "is not finished" in refusal(trained, tmp_path / "shipped")


def test_an_adapter_that_is_too_large_or_not_in_half_precision_or_half_a_file_does_not_ship(
    trained, tmp_path, monkeypatch
):
    weights = trained / "adapter" / "adapter_model.safetensors"
    save_file({"a": np.ones(3, np.float32)}, weights)
    assert "holds F32" in refusal(trained, tmp_path / "shipped")
    weights.write_bytes(weights.read_bytes()[:20])
    assert "no whole file" in refusal(trained, tmp_path / "shipped")
    monkeypatch.setattr(ship_adapter, "MOST_BYTES", 10)
    assert "20 bytes; what ships has 10 at most" in refusal(trained, tmp_path / "shipped")


@pytest.mark.parametrize(
    ("table", "why"), [({"rows": 3}, "is no table"), ({**TABLE, "rows": []}, "no row of the policy smollm2")]
)
def test_a_table_of_something_else_is_refused(trained, tmp_path, table, why):
    (tmp_path / "table.json").write_text(json.dumps(table))
    assert why in refusal(trained, tmp_path / "shipped", tmp_path / "table.json")
