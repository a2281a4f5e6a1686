"""GAE against its definition, written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tool_nodes.results import ErrorCode, ToolError
from training.advantages.gae import gae

NUMBER = st.floats(-10, 10)
SHARE = st.floats(0, 1)


@given(st.lists(st.tuples(NUMBER, NUMBER), max_size=8), SHARE, SHARE)
def test_it_is_the_sum_of_discounted_surprises(turns: list[tuple[float, float]], gamma: float, share: float) -> None:
    rewards, values = [r for r, _ in turns], [v for _, v in turns]
    ends = [*values, 0.0]
    surprises = [rewards[t] + gamma * ends[t + 1] - values[t] for t in range(len(turns))]
    expected = [sum((gamma * share) ** k * surprises[t + k] for k in range(len(turns) - t)) for t in range(len(turns))]
    assert gae(rewards, values, gamma, share) == pytest.approx(expected, abs=1e-9)


def test_by_hand() -> None:
    # surprises: 0 + 0.5 - 0.2, 1 + 0 - 0.5
    assert gae([0.0, 1.0], [0.2, 0.5], gae_lambda=0.5) == pytest.approx([0.3 + 0.5 * 0.5, 0.5])
    assert gae([0.0, 1.0], [0.2, 0.5], gae_lambda=0.0) == pytest.approx([0.3, 0.5])
    assert gae([0.0, 1.0], [0.2, 0.5], gae_lambda=1.0) == pytest.approx([1.0 - 0.2, 1.0 - 0.5]), "the return less V"


@pytest.mark.parametrize(
    ("rewards", "values", "share"),
    [([1.0], [1.0, 2.0], 0.5), ([np.nan], [0.0], 0.5), ([0.0], [np.inf], 0.5), ([0.0], [0.0], 1.5)],
)
def test_other_lengths_numbers_and_shares_are_refused(rewards: list[float], values: list[float], share: float) -> None:
    with pytest.raises(ToolError) as caught:
        gae(rewards, values, gae_lambda=share)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
