"""GRPO, DAPO's parts, the split by tokens and the non-interactive baseline, against slow literal transcriptions."""

from math import exp, log, sqrt
from statistics import mean, pstdev, stdev

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.advantages import dapo, tokens
from toolhand.training.advantages.grpo import grpo, grpo_by_group
from toolhand.training.advantages.noninteractive import call_reward, noninteractive

REWARD = st.integers(-8, 8).map(lambda k: k / 4)
REWARDS = st.lists(REWARD, min_size=1, max_size=8)


def test_grpo_by_hand() -> None:
    # mean 0.5; deviations +-0.5; std by N - 1: sqrt(4 * 0.25 / 3) = 0.57735; by N: 0.5
    assert grpo([1, 0, 0, 1]) == pytest.approx(np.array([1, -1, -1, 1]) * 0.5 / 0.57735, abs=1e-5)
    assert grpo([1, 0, 0, 1], ddof=0) == pytest.approx([1, -1, -1, 1])
    assert grpo([1, 0, 0, 1], with_std=False) == pytest.approx([0.5, -0.5, -0.5, 0.5])
    assert grpo([1, 0, 0, 1], epsilon=0.5, ddof=0) == pytest.approx([0.5, -0.5, -0.5, 0.5])


@pytest.mark.parametrize("rewards", [[], [7.0], [0.1, 0.1, 0.1], [-2.0] * 5])
def test_a_group_that_does_not_differ_has_no_advantages(rewards: list[float]) -> None:
    for options in ({}, {"with_std": False}, {"epsilon": 1e-6}, {"ddof": 0}):
        assert grpo(rewards, **options).tolist() == [0.0] * len(rewards)


@given(REWARDS, st.booleans(), st.sampled_from([0.0, 1e-6]), st.sampled_from([0, 1]))
def test_grpo_is_the_formula(rewards: list[float], with_std: bool, epsilon: float, ddof: int) -> None:
    assume(len(set(rewards)) > 1)
    deviation = (stdev if ddof else pstdev)(rewards) + epsilon if with_std else 1.0
    expected = [(r - mean(rewards)) / deviation for r in rewards]
    assert grpo(rewards, with_std, epsilon, ddof) == pytest.approx(expected)


@given(REWARDS, st.floats(0.5, 4), st.floats(-3, 3))
def test_grpo_ignores_scale_and_offset_and_keeps_the_order(rewards: list[float], scale: float, offset: float) -> None:
    advantages = grpo(rewards)
    assert advantages.sum() == pytest.approx(0, abs=1e-9)
    assert grpo([scale * r + offset for r in rewards]) == pytest.approx(advantages, abs=1e-6)
    assert [advantages[i] <= advantages[j] for i, a in enumerate(rewards) for j, b in enumerate(rewards) if a <= b]
    assert all((a > 0) == (r > mean(rewards)) for a, r in zip(advantages, rewards, strict=True) if abs(a) > 1e-9)


def test_groups_of_a_batch_are_each_their_own_in_any_order() -> None:
    rewards, groups = [1, 5, 0, 7, 9], ["a", "b", "a", "c", "b"]
    assert grpo_by_group(rewards, groups, ddof=0).tolist() == [1, -1, -1, 0, 1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: grpo([1.0, float("nan")]),
        lambda: grpo([1.0, float("inf")]),
        lambda: grpo([[1.0], [2.0]]),  # type: ignore[list-item]
        lambda: grpo([1.0, 2.0], ddof=2),
        lambda: grpo([1.0, 2.0], epsilon=-1.0),
        lambda: grpo_by_group([1.0, 2.0], ["a"]),
        lambda: dapo.informative([1.0], ["a", "b"]),
        lambda: dapo.informative([float("nan")], ["a"]),
        lambda: dapo.clipped(np.ones(1), np.ones(1), low=1.5),
        lambda: dapo.clipped(np.ones(1), np.ones(1), high=-0.1),
        lambda: dapo.mean_of_tokens([np.ones(2)], [np.ones(3, bool)]),
        lambda: dapo.mean_of_rollouts([np.ones(2)], []),
        lambda: tokens.of_turns(np.ones(2), [(0, 1)], 5),
        lambda: tokens.of_turns(np.ones(2), [(0, 3), (2, 4)], 5),
        lambda: tokens.of_turns(np.ones(1), [(3, 6)], 5),
    ],
)
def test_bad_input_is_an_error_in_one_sentence(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ToolError) as caught:
        call()
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert caught.value.message.endswith(".")


# -- DAPO ------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 1.0])), max_size=12))
def test_dynamic_sampling_keeps_groups_with_some_right_and_some_wrong(batch: list[tuple[str, float]]) -> None:
    groups, rewards = [g for g, _ in batch], [r for _, r in batch]
    right = {g: sum(r for h, r in batch if h == g) for g in groups}
    assert dapo.informative(rewards, groups).tolist() == [0 < right[g] < groups.count(g) for g in groups]


@pytest.mark.parametrize(
    ("ratio", "advantage", "low_high", "value"),
    [
        (1.5, 2.0, (0.2, 0.2), 2.4),  # 1.2 * 2
        (1.25, 2.0, (0.2, 0.28), 2.5),  # within 1.28
        (1.5, 2.0, (0.2, 0.28), 2.56),
        (0.5, 2.0, (0.2, 0.28), 1.0),  # the minimum is the unclipped one
        (0.5, -2.0, (0.2, 0.28), -1.6),  # 0.8 * -2
        (1.5, -2.0, (0.2, 0.28), -3.0),
        (1.0, 0.0, (0.2, 0.2), 0.0),
    ],
)
def test_clipping_by_hand(ratio: float, advantage: float, low_high: tuple[float, float], value: float) -> None:
    assert dapo.clipped(np.array([ratio]), np.array([advantage]), *low_high) == pytest.approx([value])


@given(st.floats(0, 4), st.floats(-3, 3))
def test_clipping_never_gives_more_than_the_plain_product(ratio: float, advantage: float) -> None:
    value = float(dapo.clipped(np.float64(ratio), np.float64(advantage)))  # type: ignore[arg-type]
    assert value <= ratio * advantage + 1e-12
    printed = min(ratio * advantage, max(0.8, min(1.2, ratio)) * advantage)
    assert value == pytest.approx(printed)


def test_three_ways_from_tokens_to_a_number_by_hand() -> None:
    values = [np.array([1.0, 2.0, 9.0]), np.array([4.0]), np.array([5.0, 5.0])]
    masks = [np.array([True, True, False]), np.array([True]), np.array([False, False])]
    assert dapo.mean_of_tokens(values, masks) == pytest.approx((1 + 2 + 4) / 3)
    assert dapo.mean_of_rollouts(values, masks) == pytest.approx((1.5 + 4 + 0) / 3)
    assert dapo.sum_by_rollouts(values, masks) == pytest.approx((3 + 4 + 0) / 3)


def test_no_tokens_make_0() -> None:
    for way in (dapo.mean_of_tokens, dapo.mean_of_rollouts, dapo.sum_by_rollouts):
        assert way([], []) == 0.0
        assert way([np.ones(2)], [np.zeros(2, bool)]) == 0.0


# -- tokens ----------------------------------------------------------------------------------------------

MASKS = st.lists(st.booleans(), max_size=24).map(lambda bits: np.array(bits, dtype=bool))


@given(MASKS)
def test_spans_are_the_runs_of_the_mask(mask: np.ndarray) -> None:
    spans = tokens.spans_of(mask)
    again = np.zeros(len(mask), bool)
    for start, end in spans:
        assert start < end
        assert start == 0 or not mask[start - 1]
        again[start:end] = True
    assert again.tolist() == mask.tolist()


@given(MASKS, REWARD)
def test_an_advantage_of_the_rollout_is_that_of_all_its_turns_and_of_no_tool(
    mask: np.ndarray, advantage: float
) -> None:
    spans = tokens.spans_of(mask)
    expected = [advantage if own else 0.0 for own in mask]
    assert tokens.of_rollout(advantage, mask).tolist() == expected
    assert tokens.of_turns(np.full(len(spans), advantage), spans, len(mask)).tolist() == expected


def test_ratios_by_hand() -> None:
    mask = np.array([True, True, False, True])
    now, then = np.log([0.5, 0.2, 0.9, 0.3]), np.array([log(0.25), log(0.4), float("nan"), log(0.1)])
    assert tokens.token_ratios(now, then, mask) == pytest.approx([2.0, 0.5, 1.0, 3.0])
    # Eq. 5: the first step has two tokens, (0.5 * 0.2) / (0.25 * 0.4) = 1; the second one
    assert tokens.step_ratios(now, then, tokens.spans_of(mask)) == pytest.approx([1.0, 3.0])
    assert tokens.step_ratios(now, then, []).tolist() == []


def test_what_tools_said_does_not_change_the_objective() -> None:
    mask = np.array([True, False, True])
    values = []
    for said in (0.1, 1e9):
        now, then = np.array([-1.0, said, -2.0]), np.array([-1.2, -3.0, -1.9])
        advantage = tokens.of_rollout(0.5, mask)
        objective = dapo.clipped(tokens.token_ratios(now, then, mask), advantage)
        values.append(dapo.sum_by_rollouts([objective], [mask]))
    # Eq. 4: min(e^0.2, 1.2) * 0.5 + e^-0.1 * 0.5
    assert values == [pytest.approx(0.5 * 1.2 + 0.5 * exp(-0.1))] * 2


# -- the non-interactive baseline ------------------------------------------------------------------------

KNOWN = [("sam2.segment_from_point", {"x": 0.4, "y": 0.5})]


@pytest.mark.parametrize(
    ("well_formed", "calls", "reward"),
    [
        (True, [("sam2.segment_from_point", {"y": 0.5, "x": 0.4})], 1),
        (False, KNOWN, 0),
        (True, [("sam2.segment_from_point", {"x": 0.41, "y": 0.5})], 0),
        (True, [("sam2.segment", {"x": 0.4, "y": 0.5})], 0),
        (True, [*KNOWN, *KNOWN], 0),
        (True, [], 0),
    ],
)
def test_a_call_is_right_only_as_recorded(well_formed: bool, calls: list, reward: float) -> None:
    assert call_reward(well_formed, calls, KNOWN) == reward


def test_each_recorded_history_is_a_group() -> None:
    # (1, 0, 0): mean 1/3, std by N - 1 sqrt((4/9 + 1/9 + 1/9) / 2) = sqrt(1/3)
    first, second = noninteractive([[1, 0, 0], [1, 1]])
    assert first == pytest.approx(np.array([2 / 3, -1 / 3, -1 / 3]) * sqrt(3))
    assert second.tolist() == [0, 0]
