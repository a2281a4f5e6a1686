"""SFT on rows of the toy: it learns, goes on after a kill to the same numbers, and stops at what is wrong."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import training.trainer.learner
import training.trainer.log
import training.trainer.sft
from agent_node.policies.tiny.weights import TinyWeights, read_weights
from tests.training.adapters.toy import context_of, form_examples, toy_weights
from tool_nodes.results import ErrorCode, ToolError
from training.trainer.learner import Learner
from training.trainer.log import CHECKPOINT, CURVES, EVENTS, LOG, POLICY, REPORT
from training.trainer.sequences import TokenSequence
from training.trainer.settings import PolicySettings, ReinforceSettings, SupervisedSettings
from training.trainer.sft import schedule, supervise

SETTINGS = SupervisedSettings(learning_rate=5e-3, epochs=3, batch=16, dropout=0.1, held_out=0.1, device="cpu")

Rows = list[TokenSequence]


@pytest.fixture(scope="module")
def weights() -> TinyWeights:
    return toy_weights(0)


@pytest.fixture(scope="module")
def rows(weights: TinyWeights) -> Rows:
    return [TokenSequence.of(context_of(said, weights.vocabulary)) for said in form_examples(0, 96)]


@pytest.fixture(scope="module")
def whole(weights: TinyWeights, rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    supervise(weights, rows, SETTINGS, folder, seed=1)
    return folder


def log_of(folder: Path) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in (folder / LOG).read_text(encoding="utf-8").splitlines()]


def numbers_of(folder: Path) -> list[Mapping[str, Any]]:
    return [{name: value for name, value in row.items() if name != "step_s"} for row in log_of(folder)]


def same_policy(a: Path, b: Path) -> bool:
    return (a / POLICY).read_bytes() == (b / POLICY).read_bytes()


def test_it_learns_and_everything_is_written(whole: Path) -> None:
    log = log_of(whole)
    assert [row["epoch"] for row in log] == [1, 2, 3]
    assert log[-1]["held_out_loss"] < 0.6 * log[0]["loss"]
    report = (whole / REPORT).read_text(encoding="utf-8")
    assert "| learning_rate | 0.005 |" in report
    assert "- rows: 87" in report
    assert (whole / CURVES).read_bytes().startswith(b"\x89PNG")
    assert read_weights(whole / POLICY).about == "SFT on 87 rows, 3 epochs, seed 1"


@pytest.mark.parametrize("when", ["in an epoch", "before the log"])
def test_a_killed_training_goes_on_to_the_same_bytes(
    when: str,
    weights: TinyWeights,
    rows: Rows,
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    epoch, add = training.trainer.sft._epoch, training.trainer.log.RunLog.add

    def killed_epoch(learner: Any, *arguments: Any) -> dict[str, Any]:
        if arguments[4] == 2:
            learner.supervise(arguments[0][:8])
            raise KeyboardInterrupt
        return epoch(learner, *arguments)

    def killed_add(self: Any, row: Mapping[str, Any]) -> None:
        if row["epoch"] == 2:
            raise KeyboardInterrupt
        add(self, row)

    with monkeypatch.context() as patch:
        if when == "in an epoch":
            patch.setattr(training.trainer.sft, "_epoch", killed_epoch)
        else:
            patch.setattr(training.trainer.log.RunLog, "add", killed_add)
        with pytest.raises(KeyboardInterrupt):
            supervise(weights, rows, SETTINGS, tmp_path, seed=1)
    assert not (tmp_path / POLICY).exists()
    supervise(weights, rows, SETTINGS, tmp_path, seed=1)
    assert same_policy(tmp_path, whole)
    assert numbers_of(tmp_path) == numbers_of(whole)


def test_another_seed_gives_other_numbers(weights: TinyWeights, rows: Rows, whole: Path, tmp_path: Path) -> None:
    supervise(weights, rows, SETTINGS, tmp_path, seed=2)
    assert not same_policy(tmp_path, whole)


def test_a_folder_of_another_training_or_with_a_damaged_checkpoint_is_refused(
    weights: TinyWeights, rows: Rows, whole: Path, tmp_path: Path
) -> None:
    with pytest.raises(ToolError, match="holds a training of other seed") as caught:
        supervise(weights, rows, SETTINGS, whole, seed=3)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    with pytest.raises(ToolError, match="holds a training of other first weights, rows"):
        supervise(toy_weights(5), rows[:-1], SETTINGS, whole, seed=1)
    with pytest.raises(ToolError, match="holds a training of other rows"):
        supervise(weights, [row.with_advantages(0.5) for row in rows], SETTINGS, whole, seed=1)
    older = Learner(weights, SETTINGS)
    older.save(tmp_path / CHECKPOINT, {"identity": {"settings": {"warm_up": 0.1}, "seed": 1}, "log": []})
    with pytest.raises(ToolError, match="a checkpoint of version 1, and this trainer goes on with version 2"):
        supervise(weights, rows, SETTINGS, tmp_path, seed=1)
    (tmp_path / CHECKPOINT).write_bytes((whole / CHECKPOINT).read_bytes()[:-1000])
    with pytest.raises(ToolError, match="damaged or of another network"):
        supervise(weights, rows, SETTINGS, tmp_path, seed=1)


def test_a_loss_that_is_no_number_stops_and_writes_nothing(weights: TinyWeights, rows: Rows, tmp_path: Path) -> None:
    broken = replace(weights, tensors={**weights.tensors, "norm.bias": np.full(32, np.nan, np.float32)})
    with pytest.raises(ToolError, match="The loss of step 1 is not a number") as caught:
        supervise(broken, rows, SETTINGS, tmp_path, seed=1)
    assert caught.value.code is ErrorCode.INTERNAL
    assert not (tmp_path / POLICY).exists()
    assert not (tmp_path / CHECKPOINT).exists()


def test_a_full_disk_is_one_sentence(
    weights: TinyWeights, rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(training.trainer.learner, "write_whole", full)
    with pytest.raises(ToolError, match=r"cannot be written to .*: No space left on device"):
        supervise(weights, rows, SETTINGS, tmp_path, seed=1)
    assert not (tmp_path / CHECKPOINT).exists()


def test_rows_that_do_not_fit_are_left_out_and_said_or_refused(
    weights: TinyWeights, rows: Rows, tmp_path: Path
) -> None:
    strange = [replace(row, tokens=row.tokens + 1000) for row in rows]
    supervise(weights, [*rows[:20], *strange[:3]], replace(SETTINGS, epochs=1), tmp_path, seed=1)
    assert "- 3 left out: a row has tokens that are not in the vocabulary of" in (tmp_path / REPORT).read_text()
    with pytest.raises(ToolError, match="20 of 40 rows cannot be trained on"):
        supervise(weights, [*rows[:20], *strange[:20]], SETTINGS, tmp_path / "other", seed=1)


def test_tokens_that_count_less_than_nothing_are_refused(weights: TinyWeights, rows: Rows, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="must count 0 times or more") as caught:
        supervise(weights, [*rows, rows[0].with_advantages(-0.5)], SETTINGS, tmp_path, seed=1)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert not list(tmp_path.iterdir())


def test_events_for_tensorboard_are_optional(
    weights: TinyWeights,
    rows: Rows,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    supervise(weights, rows[:20], replace(SETTINGS, epochs=1), tmp_path, seed=1)
    assert "tensorboardX is not installed" in capsys.readouterr().err
    assert (tmp_path / POLICY).exists()


def test_events_for_tensorboard_are_written(whole: Path) -> None:
    pytest.importorskip("tensorboardX")
    (events,) = (whole / EVENTS).iterdir()
    assert b"held_out_loss" in events.read_bytes()


def test_what_is_dropped_is_drawn_from_the_seed_and_in_steps_alone(weights: TinyWeights, rows: Rows) -> None:
    def loss(seed: int, dropout: float = 0.5) -> float:
        learner = Learner(weights, SETTINGS)
        return learner.supervise(rows[:16], 1.0, learner.dropout(dropout, np.random.default_rng(seed)))["loss"]

    assert loss(1) == loss(1)
    assert len({loss(1), loss(2), loss(1, dropout=0.0)}) == 3
    learner = Learner(weights, SETTINGS)
    assert learner.measure(rows[:16]) == learner.measure(rows[:16]), "nothing is dropped where nothing is learned"


def test_the_rate_rises_and_falls_to_nothing() -> None:
    rates = [schedule(step, 100, 0.1) for step in range(101)]
    assert np.argmax(rates) == 10
    assert rates[0] == pytest.approx(1 / 11)
    assert rates[-1] == pytest.approx(0.0)


def test_sgd_moves_by_the_gradient_and_adamw_everything_as_far(weights: TinyWeights, rows: Rows) -> None:
    moved = {}
    for optimiser in ("sgd", "adamw"):
        learner = Learner(weights, replace(SETTINGS, optimiser=optimiser, weight_decay=0.0, max_grad_norm=1e9))
        learner.supervise(rows[:8])
        before, after = weights.tensors["layer.0.up.weight"], learner.weights.tensors["layer.0.up.weight"]
        moved[optimiser] = np.abs(after - before)
    assert moved["sgd"].max() > 5 * np.median(moved["sgd"])
    assert moved["adamw"].max() < 1.1 * np.median(moved["adamw"])


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (SupervisedSettings, "epochs", 0),
        (SupervisedSettings, "warmup_ratio", 1.0),
        (SupervisedSettings, "dropout", 1.0),
        (SupervisedSettings, "held_out", -0.1),
        (SupervisedSettings, "learning_rate", 0.0),
        (PolicySettings, "clip_low", 0.0),
        (PolicySettings, "kl_coef", -1.0),
        (PolicySettings, "gamma", 1.1),
        (PolicySettings, "delta", 0.0),
        (PolicySettings, "advantages", "ppo"),
        (PolicySettings, "optimiser", "adam"),
        (PolicySettings, "target_kl", 0.0),
        (SupervisedSettings, "beta2", 1.0),
        (ReinforceSettings, "group_size", 1),
        (ReinforceSettings, "iterations", 0),
        (ReinforceSettings, "keep", 0),
    ],
)
def test_settings_out_of_range_are_refused(kind: type, field: str, value: Any) -> None:
    with pytest.raises(ToolError, match=f"{kind.__name__}: .*{field}") as caught:
        kind(**{field: value})
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
