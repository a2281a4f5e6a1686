"""PERIA's rewards against hand arithmetic, and what holds for every input."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.rewards import peria

SENTENCE = "The station is on the red line. "


@pytest.mark.parametrize(
    ("text", "turns", "penalty"),
    [
        ("", 1, 0.0),
        ("x" * 49, 1, 0.0),
        ("see " + "x" * 50, 1, -3.0),
        ("no " * 9, 1, 0.0),
        ("no " * 10, 1, -1.5),
        ("no " * 19, 1, -1.5),
        ("no " * 20, 1, -3.0),
        ("go on to it " * 9, 1, 0.0),
        ("go on to it " * 10, 1, -2.0),
        ("go on to " * 10, 1, 0.0),  # three words are no span
        ("a b c d e f g h i " * 10, 1, -2.0),
        # sentences, with others between them: 1.5 * 2 / T and 1 * 2 / T with T = max(turns, 2)
        (" ".join(f"{SENTENCE}Turn {k} of them." for k in range(6)), 6, 0.0),
        (" ".join(f"{SENTENCE}Turn {k} of them." for k in range(7)), 1, -1.0),
        (" ".join(f"{SENTENCE}Turn {k} of them." for k in range(7)), 7, -1.0 * 2 / 7),
        (" ".join(f"{SENTENCE}Turn {k} of them." for k in range(10)), 10, -1.5 * 2 / 10),
        ("1.5 " + "0.5, then " * 9, 1, 0.0),
    ],
)
def test_repetition_row_by_row(text: str, turns: int, penalty: float) -> None:
    assert peria.repetition(text, turns) == pytest.approx(penalty)


def test_as_printed_a_second_fault_can_lower_the_penalty() -> None:
    stutter = "no " * 10
    loop = " ".join(f"{SENTENCE}Turn {k} of them." for k in range(7))
    assert peria.repetition(stutter, 10) == -1.5
    assert peria.repetition(f"{loop} {stutter}", 10) == pytest.approx(-1.0 * 2 / 10)
    assert peria.repetition(f"{loop} {stutter}", 10, as_printed=False) == -1.5


@given(st.lists(st.sampled_from(["a", "bb", "go.", "on", "x" * 30]), max_size=120), st.integers(0, 12))
def test_the_lowest_row_is_never_above_the_first(words: list[str], turns: int) -> None:
    text = " ".join(words)
    assert -3 <= peria.repetition(text, turns, as_printed=False) <= peria.repetition(text, turns) <= 0


@given(st.integers(4, 9), st.integers(2, 14), st.integers(0, 99))
def test_spans_are_found_as_a_slow_search_finds_them(length: int, times: int, seed: int) -> None:
    rng = random.Random(seed)
    words = [rng.choice("abc") for _ in range(rng.randrange(8))]
    words += [rng.choice("abcdefgh") for _ in range(length)] * times
    words += [rng.choice("abc") for _ in range(rng.randrange(8))]
    slow = any(
        words[start : start + size] * 10 == words[start : start + 10 * size]
        for size in range(4, len(words) // 10 + 1)
        for start in range(len(words))
    )
    assert peria._repeats_span(words, 10) == slow


T, C, A = "<think>why</think>", "<action>{}</action>", "<answer>7</answer>"


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        (T + A, 1),
        (T + C + T + C + T + A, 1),
        ("why</think>" + A, 1),  # "indicated by </think>"
        (T + C, 0),
        (T + C + T, 0),
        (T + "<action>{", 0),
        (T + C + T + "<answer>7", 0),
        (T + "<answer>7", -1),
        (T + "<action>{}</answer>", -1),
        (C, -1),
        (C + T + A, -1),
        (T + C + C + T + A, -1),
        (T, -1),
        (A, -1),
        ("", -1),
        (T + A + T + A, -1),
        (A + T, -1),
    ],
)
def test_format(text: str, reward: float) -> None:
    assert peria.format_reward(text) == reward


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("Yes.", "yes"),
        ("true", "Yes"),
        ("incorrect", "No"),
        (r"\boxed{A}", "a"),
        ("60%", "60"),
        ("1,000", "1000"),
        ("7.0", "7"),
        ("-3", "-3.0"),
        ("23.8 billion euros", "23.8 Billion  euros"),
        ("3-5", "3 – 5"),
        ("3% to 5%", "3-5"),
        ("red, blue,green", "green, red, blue"),
        ("a, a, b", "a, b, a"),
    ],
)
def test_answers_that_mean_the_same(answer: str, truth: str) -> None:
    assert peria.answers_match(answer, truth) == peria.answers_match(truth, answer) == 1.0


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("yes", "no"),
        ("", "no"),
        ("8", "7"),
        ("12", "1, 2"),
        ("3-5", "3-6"),
        ("5-3", "3-5"),
        ("nan", "inf"),
        ("red, blue", "red, blue, green"),
        ("a, b, b", "a, a, b"),
        ("3-5", "-2"),
        ("the answer is 7", "7"),
    ],
)
def test_answers_that_do_not(answer: str, truth: str) -> None:
    assert peria.answers_match(answer, truth) == peria.answers_match(truth or "x", answer or "y") == 0.0


def test_one_of_several_true_answers_is_enough_and_none_is_an_error() -> None:
    assert peria.answers_match("two", ["2", "two"]) == 1.0
    for empty in ([], "", [""]):
        with pytest.raises(ToolError) as caught:
            peria.answers_match("two", empty)
        assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_ndtw_by_hand() -> None:
    true = [[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]]
    # each point 0.1 above its own: 0.1 + 0.1 + 0.1; a true point 0.1
    above = [[x, 0.1] for x, _ in true]
    assert peria.ndtw(above, true) == pytest.approx(0.3)
    assert peria.ndtw(above, true, as_printed=False) == pytest.approx(0.1)
    # without its middle: the middle is matched with an end, 0.5 away
    assert peria.ndtw([true[0], true[2]], true) == pytest.approx(0.5)
    # the other way round: ends 1 away from their partners, the middle 0
    assert peria.ndtw(true[::-1], true) == pytest.approx(2.0)


def test_as_printed_more_points_cost_more_for_the_same_error() -> None:
    paths = []
    for points in (10, 20):
        true = np.column_stack([np.linspace(0, 1, points), np.zeros(points)])
        paths.append((true + np.array([0, 0.04]), true))
    assert [peria.ndtw(*pair) for pair in paths] == [pytest.approx(0.4), pytest.approx(0.8)]
    assert [peria.ndtw(*pair, as_printed=False) for pair in paths] == [pytest.approx(0.04)] * 2


PATH = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=7)


def slow_dtw(path: list, true: list) -> float:
    """The recursion of dynamic time warping as textbooks have it."""
    sums = np.full((len(path) + 1, len(true) + 1), np.inf)
    sums[0, 0] = 0
    for i in range(1, len(path) + 1):
        for j in range(1, len(true) + 1):
            cost = np.hypot(path[i - 1][0] - true[j - 1][0], path[i - 1][1] - true[j - 1][1])
            sums[i, j] = cost + min(sums[i - 1, j], sums[i, j - 1], sums[i - 1, j - 1])
    return float(sums[-1, -1])


@given(PATH, PATH)
def test_ndtw_is_the_textbooks_symmetric_and_0_for_itself(path: list, true: list) -> None:
    assert peria.ndtw(path, true) == pytest.approx(slow_dtw(path, true), abs=1e-12)
    assert peria.ndtw(path, true) == pytest.approx(peria.ndtw(true, path), abs=1e-12)
    assert peria.ndtw(path, path) == 0.0
    assert peria.ndtw(path[::-1], true[::-1]) == pytest.approx(peria.ndtw(path, true), abs=1e-12)


@pytest.mark.parametrize(
    ("distance", "reward"),
    [(0, 1), (0.3, 1), (0.4, 0.8), (0.55, 0.5), (0.8, 0), (5, 0), (float("inf"), 0), (float("nan"), 0)],
)
def test_the_path_reward_falls_from_03_to_08(distance: float, reward: float) -> None:
    assert peria.path_reward(distance) == pytest.approx(reward)  # (0.8 - 0.4) / (0.8 - 0.3) = 0.8


@given(st.floats(0, 3), st.floats(0, 3))
def test_a_longer_distance_is_never_better(one: float, other: float) -> None:
    near, far = sorted((one, other))
    assert 1 >= peria.path_reward(near) >= peria.path_reward(far) >= 0


@pytest.mark.parametrize("path", [[], [[0.1, 0.1]], [[0, float("nan")], [1, 1]], "path", [[0.5] * 3] * 2])
def test_what_is_no_path_scores_0(path: object) -> None:
    assert peria.path_reward(peria.ndtw(path, [[0, 0], [1, 1]])) == 0.0


def test_wrong_truths_and_bounds_are_errors() -> None:
    for wrong in ([[0, 0]], [], [[0, float("inf")], [1, 1]]):
        with pytest.raises(ToolError, match="true path"):
            peria.ndtw([[0, 0], [1, 1]], wrong)
    with pytest.raises(ToolError, match="low"):
        peria.path_reward(0.1, low=0.8, high=0.8)


def test_the_total_is_the_sum() -> None:
    assert peria.total(-1.5, 1.0, 0.8) == pytest.approx(0.3)
