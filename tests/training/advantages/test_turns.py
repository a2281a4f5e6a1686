"""GiGPO and OR-GIGPO: groups and advantages against slow literal transcriptions."""

import random
from difflib import SequenceMatcher
from itertools import permutations
from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.refusals import refused
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.advantages.gigpo import AnchorChoice, TurnAdvantages, gigpo, or_gigpo
from toolhand.training.advantages.grouping import alike, common_subsequence, observation_groups
from toolhand.training.advantages.steps import Anchor, ScoredRollout, ScoredTurn

TEXT = st.text("abc ", max_size=12)


def anchors(*texts: str) -> list[Anchor]:
    return [Anchor.of(text) for text in texts]


def rollout(prompt: str, texts: list[str], reward: float) -> ScoredRollout:
    return ScoredRollout.of_outcome(prompt, anchors(*texts), reward)


# -- data ------------------------------------------------------------------------------------------------


def test_an_anchor_knows_its_text_unless_images_belong_to_it() -> None:
    assert Anchor.of("a") == Anchor.of("a")
    assert (
        len({Anchor.of("a").digest, Anchor.of("b").digest, Anchor.of("a", ["p"]).digest, Anchor.of("ap").digest}) == 4
    )
    assert Anchor.of("a").text == "a"
    assert Anchor.of("a", ["p"]).text is None
    assert Anchor.of("\ud800").digest  # half a character, as models may write


def test_returns_by_hand() -> None:
    turns = tuple(ScoredTurn(Anchor("x"), reward) for reward in (1.0, 0.0, 4.0))
    # 1 + 0.5 * (0 + 0.5 * 4), 0 + 0.5 * 4, 4
    assert ScoredRollout("q", turns).returns(0.5).tolist() == [2.0, 2.0, 4.0]
    assert ScoredRollout("q", turns).total == 5.0
    assert rollout("q", ["a", "b", "c"], 1.0).returns(0.99) == pytest.approx([0.9801, 0.99, 1.0])


@pytest.mark.parametrize("turns", [(), (ScoredTurn(Anchor("x"), float("nan")),)])
def test_a_rollout_has_turns_and_finite_rewards(turns: tuple[ScoredTurn, ...]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT):
        ScoredRollout("q", turns)


# -- groups ----------------------------------------------------------------------------------------------


def all_pairs(observations: list[Anchor], delta: float) -> list[int]:
    """Every pair in both orders; then groups are joined until nothing changes."""
    n = len(observations)
    same = [[a.digest == b.digest for b in observations] for a in observations]
    for i in range(n):
        for j in range(n):
            a, b = observations[i].text, observations[j].text
            if a is not None and b is not None and SequenceMatcher(None, a, b, autojunk=False).ratio() >= delta:
                same[i][j] = same[j][i] = True
    group = list(range(n))
    changed = True
    while changed:
        changed = False
        for i in range(n):
            for j in range(n):
                if same[i][j] and group[i] != group[j]:
                    group[i] = group[j] = min(group[i], group[j])
                    changed = True
    order: dict[int, int] = {}
    return [order.setdefault(g, len(order)) for g in group]


@settings(deadline=None)
@given(st.lists(TEXT, max_size=7), st.sampled_from([0.3, 0.5, 0.6, 0.75, 0.9, 1.0]))
def test_groups_are_those_of_all_pairs_for_short_texts(texts: list[str], delta: float) -> None:
    assert observation_groups(anchors(*texts), delta).tolist() == all_pairs(anchors(*texts), delta)


def near_duplicates(seed: int) -> list[Anchor]:
    """Texts of 60 to 300 characters, most of them a few letters, lines or numbers away from another."""
    rng = random.Random(seed)
    lines = [f"{rng.choice(['mug', 'red box', 'can'])} at ({rng.random():.3f}, {rng.random():.3f})" for _ in range(8)]
    found = []
    for _ in range(24):
        chosen = rng.sample(lines, rng.randint(3, 8)) if rng.random() < 0.3 else lines[: rng.randint(4, 8)]
        text = list("\n".join(chosen))
        for _ in range(rng.randrange(8)):
            text[rng.randrange(len(text))] = rng.choice("0123456789xyz")
        image = ["picture"] if rng.random() < 0.15 else []
        found.append(Anchor.of("".join(text), image))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_groups_are_those_of_all_pairs_for_near_duplicates(seed: int) -> None:
    found = near_duplicates(seed)
    for delta in (0.7, 0.9):
        groups = observation_groups(found, delta).tolist()
        assert groups == all_pairs(found, delta)
    assert 1 < len(set(observation_groups(found, 0.9).tolist())) < len({a.digest for a in found})


@given(TEXT, TEXT, st.sampled_from([0.5, 0.8, 0.9]))
def test_no_ratio_is_above_the_bound_of_the_common_subsequence(a: str, b: str, delta: float) -> None:
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1, j + 1] = table[i, j] + 1 if x == y else max(table[i, j + 1], table[i + 1, j])
    length = common_subsequence(a, b)
    assert length == table[-1, -1] == common_subsequence(b, a)
    if a or b:
        matches = SequenceMatcher(None, a, b, autojunk=False).ratio() * (len(a) + len(b)) / 2
        assert matches <= length + 1e-9
    assert alike(a, b, delta) == alike(b, a, delta)


def test_both_orders_are_compared() -> None:
    # difflib's ratio depends on the order: of these two it is 0.25 and 0.5 (its documentation has the pair)
    a, b = "tide", "diet"
    ratios = [SequenceMatcher(None, *pair, autojunk=False).ratio() for pair in ((a, b), (b, a))]
    assert ratios == [0.25, 0.5]
    for pair in ((a, b), (b, a)):
        assert observation_groups(anchors(*pair), 0.5).tolist() == [0, 0]
        assert observation_groups(anchors(*pair), 0.51).tolist() == [0, 1]


def test_frequent_characters_count_in_long_texts() -> None:
    # difflib's autojunk drops every character that is frequent in 200 of them: then nothing here is alike
    a, b = "x" + "ab" * 150, "y" + "ab" * 150
    assert SequenceMatcher(None, a, b).ratio() < 0.1 < 0.9 < SequenceMatcher(None, a, b, autojunk=False).ratio()
    assert observation_groups(anchors(a, b), 0.9).tolist() == [0, 0]


def test_likeness_passes_on_and_the_order_does_not_count() -> None:
    chain = ["aaaaaaaaaa", "aaaaaaaaab", "aaaaaaaabb", "zzzzzzzzzz"]  # neighbours 0.9, ends 0.8
    for order in permutations(range(4)):
        groups = observation_groups(anchors(*(chain[k] for k in order)), 0.9)
        assert {int(g) for k, g in zip(order, groups, strict=True) if k < 3} != {int(groups[order.index(3)])}
        assert len(set(groups.tolist())) == 2


def test_images_are_the_same_or_are_not() -> None:
    found = [
        Anchor.of("Cropped.", ["one"]),
        Anchor.of("Cropped.", ["two"]),
        Anchor.of("Cropped."),
        Anchor.of("Cropped"),
    ]
    assert observation_groups(found, 0.9).tolist() == [0, 1, 2, 2]
    assert observation_groups(found, None).tolist() == [0, 1, 2, 3]
    assert observation_groups([]).tolist() == []


@pytest.mark.parametrize("delta", [0.0, -1.0, 1.1, float("nan")])
def test_a_delta_out_of_range_is_an_error(delta: float) -> None:
    with pytest.raises(ToolError, match="delta"):
        observation_groups([], delta)


# -- advantages ------------------------------------------------------------------------------------------


def transcription(
    rollouts: list[ScoredRollout], delta: float | None, omega: float, gamma: float, epsilon: float, anchor: str
) -> list[list[float]]:
    """PERIA's section 4.3 word by word, with std by N - 1 and singletons 0, or with the observation answered."""

    def standardized(value: float, group: list[float]) -> float:
        return 0.0 if len(group) < 2 else (value - mean(group)) / (stdev(group) + epsilon)

    totals = []
    for i, own in enumerate(rollouts):
        group_e = [other.total for other in rollouts if other.prompt == own.prompt]
        peers = [(r, t) for r in rollouts if r.prompt == own.prompt for t in range(len(r.turns))]
        observed = [
            r.turns[t].anchor if anchor == "answered" else r.turns[t].returned or Anchor(f"the end of {id(r)}")
            for r, t in peers
        ]
        labels = all_pairs([Anchor(a.digest) for a in observed] if delta is None else observed, delta or 1.0)
        row = []
        for t in range(len(own.turns)):
            place = next(k for k, (r, s) in enumerate(peers) if r is rollouts[i] and s == t)
            group_s = [
                sum(gamma ** (k - s) * r.turns[k].reward for k in range(s, len(r.turns)))
                for (r, s), label in zip(peers, labels, strict=True)
                if label == labels[place]
            ]
            own_return = sum(gamma ** (k - t) * own.turns[k].reward for k in range(t, len(own.turns)))
            row.append(standardized(own.total, group_e) + omega * standardized(own_return, group_s))
        totals.append(row)
    return totals


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("pq"),
            st.lists(st.sampled_from(["look", "looks", "looked", "crop", "stop"]), min_size=1, max_size=4),
            st.sampled_from([0.0, 0.5, 1.0]),
        ),
        max_size=6,
    ),
    st.sampled_from([None, 0.75, 0.9]),
    st.sampled_from([0.0, 1.0, 0.5]),
    st.sampled_from([1.0, 0.99, 0.5]),
    st.sampled_from(["returned", "answered"]),
)
def test_or_gigpo_is_the_papers_text(
    batch: list, delta: float | None, omega: float, gamma: float, anchor: AnchorChoice
) -> None:
    rollouts = [rollout(*one) for one in batch]
    result = or_gigpo(rollouts, delta, omega, gamma, epsilon=1e-6, anchor=anchor)
    expected = transcription(rollouts, delta, omega, gamma, 1e-6, anchor)
    assert [row.tolist() for row in result.total] == [pytest.approx(row, abs=1e-6) for row in expected]


def by_hand(**options: object) -> TurnAdvantages:
    """Three rollouts that begin alike; two of them then read nearly the same, the third something else."""
    return or_gigpo(
        [
            rollout("q", ["Question", "3 cups at (0.10, 0.20)"], 1.0),
            rollout("q", ["Question", "3 cups at (0.10, 0.21)"], 0.0),
            rollout("q", ["Question", "nothing"], 0.0),
        ],
        gamma=0.5,
        epsilon=0.0,
        ddof=0,
        **options,  # type: ignore[arg-type]
    )


def test_or_gigpo_by_the_observation_answered_by_hand() -> None:
    result = by_hand(anchor="answered")
    # rewards 1, 0, 0: mean 1/3, std sqrt(2)/3: (2/3) / (sqrt(2)/3) = sqrt 2, then -1/sqrt 2
    assert result.episode == pytest.approx([2**0.5, -(2**-0.5), -(2**-0.5)])
    # first turns: returns 0.5, 0, 0, the same standardized; second: 1 and 0 are +-1, the third stands alone
    assert [row.tolist() for row in result.turns] == [
        pytest.approx([2**0.5, 1.0]),
        pytest.approx([-(2**-0.5), -1.0]),
        pytest.approx([-(2**-0.5), 0.0]),
    ]
    assert result.total[0] == pytest.approx([2 * 2**0.5, 2**0.5 + 1])
    assert [row.tolist() for row in result.groups] == [[0, 1], [0, 1], [0, 2]]
    assert result.share_of_credited_turns == pytest.approx(5 / 6)


def test_gigpo_takes_only_equal_observations_for_the_same() -> None:
    result = by_hand(delta=None, anchor="answered")
    assert [row[1] for row in result.turns] == [0, 0, 0]
    assert result.share_of_credited_turns == pytest.approx(3 / 6)
    rollouts = [rollout("q", ["a", "b"], 1.0), rollout("q", ["a", "bb"], 0.0)]
    same = gigpo(rollouts).total, or_gigpo(rollouts, delta=None, anchor="answered").total
    assert [row.tolist() for row in same[0]] == [row.tolist() for row in same[1]]


def test_as_printed_turns_are_compared_by_what_they_led_to() -> None:
    printed, answered = by_hand(), by_hand(anchor="answered")
    # first turns brought two readings that are alike and one that is not; last turns brought nothing
    assert [row.tolist() for row in printed.turns] == [
        pytest.approx([1.0, 0.0]),
        pytest.approx([-1.0, 0.0]),
        [0.0, 0.0],
    ]
    assert answered.turns[2][0] != 0


def test_a_long_rollout_counts_once_in_its_group() -> None:
    rollouts = [rollout("q", ["a"] * 9, 1.0), rollout("q", ["a"], 0.0)]
    assert or_gigpo(rollouts, ddof=0, epsilon=0.0).episode == pytest.approx([1.0, -1.0])


def test_one_rollout_alone_is_neither_good_nor_bad() -> None:
    result = or_gigpo([rollout("q", ["a", "b"], 7.0)])
    assert result.episode.tolist() == [0.0]
    assert result.total[0].tolist() == [0.0, 0.0]
    assert or_gigpo([]).share_of_credited_turns == 0.0


def test_prompts_never_meet() -> None:
    rollouts = [rollout(prompt, ["same"], reward) for prompt, reward in zip("ppqq", (1, 0, 5, 5), strict=True)]
    result = or_gigpo(rollouts, anchor="answered")
    assert result.total[0][0] > 0 > result.total[1][0]
    assert [row[0] for row in result.total[2:]] == [0, 0]
    assert [int(row[0]) for row in result.groups] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "options",
    [{"gamma": 1.1}, {"gamma": -0.1}, {"omega": float("nan")}, {"anchor": "before"}, {"delta": 2.0}, {"ddof": 3}],
)
def test_parameters_out_of_range_are_errors(options: dict) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT):
        or_gigpo([rollout("q", ["a"], 1.0), rollout("q", ["a"], 0.0)], **options)


def test_rewards_of_single_turns_count_for_the_rollout_and_for_what_came_before() -> None:
    early, late, never = (
        ScoredRollout("q", (ScoredTurn(Anchor("start"), first), ScoredTurn(Anchor("end"), second)))
        for first, second in ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0))
    )
    result = gigpo([early, late, never], gamma=0.5, with_std=False)
    # totals 1, 1, 0, mean 2/3; returns at the start 1, 0.5, 0, mean 0.5; at the end 0, 1, 0, mean 1/3
    assert result.episode == pytest.approx([1 / 3, 1 / 3, -2 / 3])
    assert [row.tolist() for row in result.turns] == [
        pytest.approx([0.5, -1 / 3]),
        pytest.approx([0.0, 2 / 3]),
        pytest.approx([-0.5, -1 / 3]),
    ]
