"""What a turn may still bring, by a linear critic on what the policy and the simulator know. Numpy alone.

    V(s_t) = w . [s_t, t, reward before t, mean of the rest of the group, that times t] + b

s_t is what the policy's last layer has at the token before its turn t, and what is true there
(`training.trainer.privileged`). The weights w are those of a ridge regression of
returns, fitted anew in each iteration on the turns of that one and of a few before it. The value of a rollout comes
from a fit without its own group (cross-fitting), so that no turn's advantage is its own prediction.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tool_nodes.array_files import read_arrays
from tool_nodes.files import write_whole
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import FloatArray
from training.advantages.grpo import members
from training.advantages.steps import ScoredRollout
from training.trainer.log import written_to

PENALTY = 100.0
"""Of the squares of w, for features of deviation 1 [turns]; chosen by hand: a fit has some thousand turns."""
REMEMBERED = 4
"""Iterations whose turns a fit is made on [-]; chosen by hand: the policy hardly changes in so many."""
_TURNS = 10.0
"""What a turn's number is divided by [turns]: about the length of an episode."""


class LinearCritic:
    """The critic of one training, which remembers the turns of its last iterations in files.

    Args:
        folder: For these files, so that a training that was broken off goes on to the same numbers.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def values(
        self, iteration: int, states: Sequence[NDArray[np.floating]], rollouts: Sequence[ScoredRollout]
    ) -> list[FloatArray]:
        """Expected returns before each turn, (T,) each, undiscounted; the turns are remembered.

        Args:
            iteration: Its number, from 0.
            states: (T, D) of each rollout, what was known before each of its turns.
            rollouts: With a reward for each turn.

        Raises:
            ToolError: INVALID_ARGUMENT where the file of an iteration before is gone or damaged, or none can be
                written.
        """
        features, returns = _features(states, rollouts), [rollout.returns(1.0) for rollout in rollouts]
        groups = members([rollout.prompt for rollout in rollouts])
        own = [_Sums.of(*_joined(features, returns, group)) for group in groups]
        before = [self._read(k) for k in range(max(0, iteration + 1 - REMEMBERED), iteration)]
        self._write(iteration, np.concatenate(features), np.concatenate(returns))
        everything = sum(own, sum((_Sums.of(*turns) for turns in before), _Sums.none(features[0].shape[1])))
        found: list[FloatArray] = [np.zeros(0)] * len(rollouts)
        for group, sums in zip(groups, own, strict=True):
            fit = (everything - sums).fit()
            for k in group:
                found[k] = fit(features[k])
        return found

    def _file(self, iteration: int) -> Path:
        return self._folder / f"{iteration:04d}.npz"

    def _write(self, iteration: int, features: FloatArray, returns: FloatArray) -> None:
        buffer = io.BytesIO()
        np.savez(buffer, features=features.astype(np.float32), returns=returns)
        with written_to(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._file(iteration), buffer.getvalue())
            self._file(iteration - REMEMBERED).unlink(missing_ok=True)

    def _read(self, iteration: int) -> tuple[FloatArray, FloatArray]:
        path = self._file(iteration)
        try:
            stored = read_arrays(path, ("features", "returns"))
            return stored["features"].astype(np.float64), stored["returns"]
        except (OSError, ValueError) as error:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENT, f"{path} is gone or damaged, and the critic needs it.",
                "Begin again in a new folder.",
            ) from error  # fmt: skip


def means_of_others(rollouts: Sequence[ScoredRollout]) -> FloatArray:
    """(N,): of each rollout the mean reward of the rest of its group; of all rollouts where it is alone."""
    totals = np.array([rollout.total for rollout in rollouts])
    rest = np.zeros(len(rollouts))
    for group in members([rollout.prompt for rollout in rollouts]):
        others = totals[group].sum() - totals[group]
        rest[group] = others / (len(group) - 1) if len(group) > 1 else totals.mean()
    return rest


def explained(values: Sequence[FloatArray], rollouts: Sequence[ScoredRollout]) -> float:
    """Share of the variance of all turns' returns that the values explain, at most 1; 0 where they do not vary."""
    returns = np.concatenate([rollout.returns(1.0) for rollout in rollouts])
    variance = float(returns.var())
    return 1.0 - float(np.mean((returns - np.concatenate(values)) ** 2)) / variance if variance > 0 else 0.0


class _Sums:
    """What a ridge regression needs to know of N turns with D features: it can be added to and taken away from.

    Args:
        count: N.
        first: (D + 1,), sums of features and return.
        second: (D + 1, D + 1), sums of their products.
    """

    def __init__(self, count: int, first: FloatArray, second: FloatArray) -> None:
        self._count, self._first, self._second = count, first, second

    @classmethod
    def none(cls, features: int) -> _Sums:
        """Of no turn."""
        return cls(0, np.zeros(features + 1), np.zeros((features + 1, features + 1)))

    @classmethod
    def of(cls, features: FloatArray, returns: FloatArray) -> _Sums:
        """Of turns (N, D) and (N,)."""
        both = np.column_stack([features, returns])
        return cls(len(both), both.sum(0), both.T @ both)

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(self._count + other._count, self._first + other._first, self._second + other._second)

    def __sub__(self, other: _Sums) -> _Sums:
        return _Sums(self._count - other._count, self._first - other._first, self._second - other._second)

    def fit(self) -> _Fit:
        """The regression; of no turn it expects 0."""
        if self._count <= 0:
            return _Fit(np.zeros(len(self._first) - 1), np.zeros(len(self._first) - 1), 0.0)
        mean = self._first / self._count
        spread = self._second / self._count - np.outer(mean, mean)
        scale = np.sqrt(np.maximum(np.diag(spread)[:-1], _LEAST))
        covariance = spread[:-1, :-1] / np.outer(scale, scale)
        ridge = covariance + PENALTY / self._count * np.eye(len(scale))
        return _Fit(np.linalg.solve(ridge, spread[:-1, -1] / scale) / scale, mean[:-1], float(mean[-1]))


_LEAST = 1e-8
"""Least variance of a feature: what never varies tells nothing."""


class _Fit:
    """A linear function of features."""

    def __init__(self, weights: FloatArray, mean: FloatArray, bias: float) -> None:
        self._weights, self._mean, self._bias = weights, mean, bias

    def __call__(self, features: FloatArray) -> FloatArray:
        return (features - self._mean) @ self._weights + self._bias


def _features(states: Sequence[NDArray[np.floating]], rollouts: Sequence[ScoredRollout]) -> list[FloatArray]:
    """(T, D + 4) of each rollout; see the module."""
    found = []
    for state, rollout, mean in zip(states, rollouts, means_of_others(rollouts), strict=True):
        rewards = np.array([turn.reward for turn in rollout.turns])
        time = np.arange(len(rewards)) / _TURNS
        before = np.cumsum(rewards) - rewards
        found.append(np.column_stack([state.astype(np.float64), time, before, np.full(len(time), mean), mean * time]))
    return found


def _joined(
    features: Sequence[FloatArray], returns: Sequence[FloatArray], group: Sequence[int]
) -> tuple[FloatArray, FloatArray]:
    return np.concatenate([features[k] for k in group]), np.concatenate([returns[k] for k in group])
