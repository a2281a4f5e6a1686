"""The critic: what it expects of rollouts that it was not fitted on, and what it remembers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tool_nodes.results import ErrorCode, ToolError
from training.advantages.steps import Anchor, ScoredRollout, ScoredTurn
from training.trainer.critic import PENALTY, REMEMBERED, LinearCritic, explained
from training.trainer.objective import turn_advantages
from training.trainer.settings import PolicySettings

GAE = PolicySettings(advantages="gae")


def drawn(seed: int, groups: int = 40) -> tuple[list[np.ndarray], list[ScoredRollout]]:
    """Rollouts of two turns whose last reward is what the first state says in its first feature, and some noise."""
    rng = np.random.default_rng(seed)
    states, rollouts = [], []
    for group in range(groups):
        for _ in range(4):
            state = rng.normal(size=(2, 3)).astype(np.float32)
            state[1, 0] = state[0, 0]
            reward = float(state[0, 0]) + 0.1 * rng.normal()
            states.append(state)
            turns = (ScoredTurn(Anchor("a"), 0.25), ScoredTurn(Anchor("b"), reward))
            rollouts.append(ScoredRollout(f"{seed} {group}", turns))
    return states, rollouts


def test_it_expects_what_the_states_tell(tmp_path: Path) -> None:
    states, rollouts = drawn(0)
    values = LinearCritic(tmp_path).values(0, states, rollouts)
    assert [len(own) for own in values] == [2] * len(rollouts)
    assert explained(values, rollouts) > 0.7
    noise = [np.random.default_rng(1).normal(size=state.shape).astype(np.float32) for state in states]
    assert explained(LinearCritic(tmp_path / "noise").values(0, noise, rollouts), rollouts) < 0.2


def test_it_is_a_ridge_regression_without_the_own_group(tmp_path: Path) -> None:
    states, rollouts = drawn(3, groups=5)
    values = LinearCritic(tmp_path).values(0, states, rollouts)
    totals = np.array([r.total for r in rollouts])
    features, returns, group = [], [], []
    for k, (state, one) in enumerate(zip(states, rollouts, strict=True)):
        first = 4 * (k // 4)
        rest = np.mean([totals[j] for j in range(first, first + 4) if j != k])
        for t, before in enumerate((0.0, one.turns[0].reward)):
            features.append([*state[t].astype(float), t / 10, before, rest, rest * t / 10])
            returns.append(one.total - before)
            group.append(k // 4)
    x, y, g = np.array(features), np.array(returns), np.array(group)
    for own in range(5):
        shown = g != own
        mean, scale = x[shown].mean(0), np.maximum(x[shown].std(0), 1e-4)
        z = (x[shown] - mean) / scale
        w = np.linalg.solve(z.T @ z + PENALTY * np.eye(7), z.T @ (y[shown] - y[shown].mean()))
        expected = (x[g == own] - mean) / scale @ w + y[shown].mean()
        np.testing.assert_allclose(np.concatenate(values[4 * own : 4 * own + 4]), expected, atol=1e-6)


def test_it_remembers_the_last_iterations_and_no_more(tmp_path: Path) -> None:
    critic = LinearCritic(tmp_path)
    for iteration in range(REMEMBERED + 2):
        values = critic.values(iteration, *drawn(iteration, groups=3))
    assert len(list(tmp_path.iterdir())) == REMEMBERED
    again = LinearCritic(tmp_path).values(REMEMBERED + 1, *drawn(REMEMBERED + 1, groups=3))
    np.testing.assert_array_equal(np.concatenate(values), np.concatenate(again))
    alone = LinearCritic(tmp_path / "other").values(0, *drawn(REMEMBERED + 1, groups=3))
    assert not np.allclose(np.concatenate(values), np.concatenate(alone))
    newest = sorted(tmp_path.glob("*.npz"))[-2]
    newest.write_bytes(newest.read_bytes()[:50])
    with pytest.raises(ToolError, match="gone or damaged") as caught:
        critic.values(REMEMBERED + 1, *drawn(REMEMBERED + 1, groups=3))
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_of_one_group_alone_nothing_is_expected(tmp_path: Path) -> None:
    states, rollouts = drawn(0, groups=1)
    values = LinearCritic(tmp_path).values(0, states, rollouts)
    assert not np.concatenate(values).any()
    assert explained([np.zeros(2)], [ScoredRollout("q", (ScoredTurn(Anchor("a")), ScoredTurn(Anchor("b"))))]) == 0.0


def test_advantages_by_a_critic_need_one_and_are_of_deviation_1(tmp_path: Path) -> None:
    states, rollouts = drawn(0)
    values = LinearCritic(tmp_path).values(0, states, rollouts)
    advantages, told = turn_advantages(rollouts, GAE, values)
    assert np.concatenate(advantages).std() == pytest.approx(1.0, abs=1e-4)
    assert told == {"explained": explained(values, rollouts)}
    with pytest.raises(ToolError, match="need the values of a critic") as caught:
        turn_advantages(rollouts, GAE)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
