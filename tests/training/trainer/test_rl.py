"""RL on recorded frames: what it draws it reads as it was sampled, goes on after a kill, and stops loudly."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import training.trainer.learner
import training.trainer.rl
from agent_node.episode import Episode, Turn
from agent_node.policies.tiny.visual_encoder import VISUAL_WIDTH
from agent_node.policies.tiny.weights import TinyConfig, TinyWeights, fresh_weights, write_weights
from agent_node.policy import Reply
from agent_node.protocol import ParsedTurn
from sim.tasks.stages import Stage
from sim.tasks.task import Score, Task
from tool_nodes.results import ErrorCode, ToolError
from training.env.grading import EpisodeScore
from training.rollouts.collection import read_rollouts, write_shard
from training.rollouts.engine import CollectReport
from training.rollouts.pictures import PictureStore
from training.rollouts.plan import (
    GIVING_UP_COST,
    GRADERS,
    WRONG_ANSWER_COST,
    WRONG_THING_COST,
    RolloutPlan,
    safe_stages_grade,
    stages_grade,
)
from training.rollouts.replies import RolloutOrder, RolloutReply
from training.rollouts.work import make_work
from training.tasks.kinds import make_task, task_document
from training.trainer.learner import Learner
from training.trainer.log import CHECKPOINT, LOG, POLICY, REPORT
from training.trainer.objective import update
from training.trainer.reading import sequence_of, sequences_of_folder
from training.trainer.rl import reinforce
from training.trainer.sequences import TokenSequence
from training.trainer.settings import ReinforceSettings

SETTINGS = ReinforceSettings(
    iterations=2, group_size=3, stop_no_tool_calls=0, stop_zero_variance=0, device="cpu", keep=None
)


def odd_grade(task: Task, episode: Episode, truth: Score) -> EpisodeScore:
    """The share of tokens with odd numbers: something that a policy without any skill differs in."""
    tokens = [token for turn in episode.turns for token in turn.as_sampled.token_ids]
    return EpisodeScore(float(np.mean([token % 2 for token in tokens])), {}, truth)


def plan_of(iteration: int) -> RolloutPlan:
    task = task_document("pick", 3 + iteration)
    return RolloutPlan((task,), seed=iteration, reward="odd", turns=2, backend="mock")


def collect_here(plan: RolloutPlan, folder: Path, *arguments: Any, **more: Any) -> CollectReport:
    """What the engine does, in this process; what the folder has already stays."""
    work, report = make_work(plan, folder), CollectReport(plan.rollouts)
    for group in range(len(plan.tasks)):
        made = [work(RolloutOrder(group, k)) for k in range(plan.group_size)]
        write_shard(folder, group, [reply.line for reply in made if isinstance(reply, RolloutReply)])
        report.done += len(made)
    return report


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GRADERS, "odd", odd_grade)
    monkeypatch.setattr(training.trainer.rl, "collect", collect_here)


@pytest.fixture(scope="module")
def weights() -> TinyWeights:
    return fresh_weights(1, TinyConfig(width=32, layers=1, heads=2, hidden=32, positions=140, guided=False))


def log_of(folder: Path) -> list[Mapping[str, Any]]:
    rows = [json.loads(line) for line in (folder / LOG).read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in row.items() if not name.endswith("_s")} for row in rows]


def test_it_draws_learns_and_goes_on_after_a_kill_to_the_same_bytes(
    weights: TinyWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SETTINGS
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    trained = reinforce(weights, plan_of, settings, whole, seed=0)
    assert not np.array_equal(trained.tensors["token.weight"], weights.tensors["token.weight"])
    log = log_of(whole)
    assert [(row["rollouts"], row["rows"], row["left_out"], row["groups"]) for row in log] == [(3, 3, 0, 1)] * 2
    assert all(row["logprob_diff"] < 1e-4 for row in log), "rows are read as the policy in numpy has read them"
    assert "- rollouts learned from: 6" in (whole / REPORT).read_text(encoding="utf-8")

    def killed(learner: Any, rows: Any, settings: Any, *more: Any) -> dict[str, float]:
        if (broken / CHECKPOINT).exists():
            raise KeyboardInterrupt
        return update(learner, rows, settings, *more)

    update = training.trainer.rl.update
    with monkeypatch.context() as patch:
        patch.setattr(training.trainer.rl, "update", killed)
        with pytest.raises(KeyboardInterrupt):
            reinforce(weights, plan_of, settings, broken, seed=0)
    reinforce(weights, plan_of, settings, broken, seed=0)
    assert (broken / POLICY).read_bytes() == (whole / POLICY).read_bytes()
    assert log_of(broken) == log

    store = PictureStore(whole / "rollouts" / "0000" / "drawn")
    record = next(read_rollouts(store.folder))
    row = sequence_of(record, store, weights)
    (own,) = Learner(weights, SETTINGS).logprobs([row])
    np.testing.assert_allclose(own, row.logprobs, atol=1e-4)
    swapped = replace(record.turns[0], token_ids=record.turns[0].token_ids[::-1])
    if swapped.token_ids != record.turns[0].token_ids:
        with pytest.raises(ToolError, match="reads otherwise than it was sampled"):
            sequence_of(replace(record, turns=(swapped, *record.turns[1:])), store, weights)
    small = fresh_weights(1, replace(weights.config, positions=10))
    rows, bad = sequences_of_folder(store.folder, small)
    assert (rows, bad.total()) == ([], 3)


def test_rollouts_that_call_no_tool_or_are_all_alike_stop_it(weights: TinyWeights, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="of the last 1 groups no rollout has called a tool") as caught:
        reinforce(weights, plan_of, replace(SETTINGS, stop_no_tool_calls=1), tmp_path / "silent", seed=0)
    assert caught.value.code is ErrorCode.EXECUTION_FAILED
    assert (tmp_path / "silent" / REPORT).exists()

    def same(iteration: int) -> RolloutPlan:
        return replace(plan_of(iteration), reward="mean")

    with pytest.raises(ToolError, match="the rewards of each are all equal"):
        reinforce(weights, same, replace(SETTINGS, stop_zero_variance=1), tmp_path / "alike", seed=0)


def test_rows_that_other_weights_sampled_stop_it(
    weights: TinyWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(plan: RolloutPlan, folder: Path, *arguments: Any, **more: Any) -> CollectReport:
        tensors = {name: 2 * tensor for name, tensor in weights.tensors.items()}
        write_weights(replace(weights, tensors=tensors), folder.parent / POLICY)
        return collect_here(plan, folder)

    monkeypatch.setattr(training.trainer.rl, "collect", other)
    with pytest.raises(ToolError, match="The rows do not fit the weights"):
        reinforce(weights, plan_of, SETTINGS, tmp_path, seed=0)
    assert not (tmp_path / CHECKPOINT).exists()


def test_no_more_steps_are_made_once_the_policy_is_far_enough_from_who_sampled(weights: TinyWeights) -> None:
    settings = replace(SETTINGS, epochs=6, warmup_steps=0, target_kl=math.inf)
    rng = np.random.default_rng(3)
    tokens = np.concatenate([[0], rng.integers(len(weights.vocabulary), size=11)]).astype(np.int32)
    sampled = np.arange(12) > 3
    row = TokenSequence(
        tokens, np.zeros((12, VISUAL_WIDTH), np.float32), sampled, sampled.astype(np.float32), np.zeros(12, np.float32)
    )
    learner = Learner(weights, settings)
    told = replace(row, logprobs=learner.logprobs([row])[0])
    assert update(Learner(weights, settings), [told], settings, rng)["steps"] == 6
    near = replace(settings, target_kl=1e-9)
    assert update(learner, [told], near, rng)["steps"] == 2, "the first step is made where nothing has moved yet"


def test_a_share_of_the_rate_moves_the_weights_by_that_share(weights: TinyWeights) -> None:
    rng = np.random.default_rng(3)
    tokens = np.concatenate([[0], rng.integers(len(weights.vocabulary), size=11)]).astype(np.int32)
    sampled = np.arange(12) > 3
    row = TokenSequence(
        tokens, np.zeros((12, VISUAL_WIDTH), np.float32), sampled, sampled.astype(np.float32), np.zeros(12, np.float32)
    )
    settings = replace(SETTINGS, epochs=1, warmup_steps=0)
    moved = []
    for rate in (1.0, 0.25):
        learner = Learner(weights, settings)
        told = replace(row, logprobs=learner.logprobs([row])[0])
        update(learner, [told], settings, rng, rate)
        moved.append(learner.weights.tensors["token.weight"] - weights.tensors["token.weight"])
    np.testing.assert_allclose(moved[1], 0.25 * moved[0], atol=1e-6)
    assert np.abs(moved[0]).max() > 1e-5


def test_a_step_is_the_same_in_however_many_parts_its_rows_are_read(
    weights: TinyWeights, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    rows = []
    for length in (12, 5, 9, 7, 12):
        tokens = np.concatenate([[0], rng.integers(len(weights.vocabulary), size=length - 1)]).astype(np.int32)
        sampled = np.arange(length) > 2
        eyes, none = np.zeros((length, VISUAL_WIDTH), np.float32), np.zeros(length, np.float32)
        rows.append(TokenSequence(tokens, eyes, sampled, none, none).with_advantages(float(rng.normal())))
    settings = replace(SETTINGS, epochs=1, warmup_steps=0, kl_coef=0.1, entropy_coef=0.01)
    logprobs = Learner(weights, settings).logprobs(rows)
    told = [replace(row, logprobs=own) for row, own in zip(rows, logprobs, strict=True)]
    figures, moved = [], []
    for most in (2, 32):
        monkeypatch.setattr(training.trainer.learner, "_SEQUENCES_AT_ONCE", most)
        learner = Learner(weights, settings)
        figures.append(learner.reinforce(told, settings))
        moved.append(learner.weights.tensors["token.weight"] - weights.tensors["token.weight"])
    assert figures[0] == pytest.approx(figures[1], rel=1e-4, abs=1e-6)
    np.testing.assert_allclose(moved[0], moved[1], atol=1e-6)
    assert np.abs(moved[0]).max() > 1e-5


STAGES = {"hand_at_target": Stage(True, 1.0), "held": Stage(False)}


def said(answer: str | None) -> Any:
    """An episode that ends like that."""
    parsed = ParsedTurn("", (), answer, "")
    session: Any = None
    return Episode("", [], [Turn(Reply(""), parsed)], session)


def test_what_was_not_meant_costs_more_than_doing_nothing() -> None:
    meant, other = (Score({}, False, (), STAGES, (thing,), ("box",)) for thing in ("box", "can"))
    episode, task = said("OBJECT_NOT_FOUND: It is gone."), cast(Any, None)
    right, wrong = (safe_stages_grade(task, episode, truth) for truth in (meant, other))
    assert right.total == stages_grade(task, episode, meant).total - GIVING_UP_COST
    assert wrong.total == right.total - WRONG_THING_COST
    assert (right.terms["wrong_thing"], wrong.terms["wrong_thing"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("answer", "done", "term", "cost"),
    [
        ("Done.", True, "", 0.0),
        ("Done.", False, "wrong_answer", WRONG_ANSWER_COST),
        ("EMPTY_MASK: I cannot outline it.", False, "gave_up", GIVING_UP_COST),
        ("EMPTY_MASK: I cannot outline it.", True, "wrong_answer", WRONG_ANSWER_COST),
        (None, True, "wrong_answer", WRONG_ANSWER_COST),
        (None, False, "wrong_answer", WRONG_ANSWER_COST),
    ],
)
def test_the_last_word_costs_unless_it_is_truly_done(answer: str | None, done: bool, term: str, cost: float) -> None:
    task: Any = None
    truth = Score({}, done, (), STAGES, ("box",), ("box",))
    grade = safe_stages_grade(task, said(answer), truth)
    assert grade.total == pytest.approx(stages_grade(task, said(answer), truth).total - cost)
    assert {name for name in ("wrong_answer", "gave_up") if grade.terms[name]} == ({term} if term else set())
    silent = replace(said(None), turns=[])
    assert safe_stages_grade(task, silent, truth).terms["wrong_answer"] == 1.0


@pytest.mark.parametrize(
    ("said_so", "picked_up", "looked", "total"),
    [
        (True, (), True, 1.0),
        (True, (), False, 0.0),
        (False, (), True, -WRONG_ANSWER_COST),
        (False, ("can",), True, -WRONG_ANSWER_COST - WRONG_THING_COST),
        (True, ("can",), True, -WRONG_THING_COST),
    ],
)
def test_what_is_absent_is_to_be_said_and_nothing_to_be_taken(
    said_so: bool, picked_up: tuple[str, ...], looked: bool, total: float
) -> None:
    task = make_task("absent", 3, "train")
    terms = {"looked": looked, "left alone": not picked_up, "said so": said_so}
    truth = Score(terms, all(terms.values()), (), picked_up=picked_up)
    grade = safe_stages_grade(task, said("OBJECT_NOT_FOUND: I do not see it."), truth)
    assert grade.total == pytest.approx(total)
    assert grade.terms["wrong_answer"] == float(not said_so)
