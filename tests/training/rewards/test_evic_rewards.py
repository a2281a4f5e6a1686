"""E-ViC's rewards and gate against hand arithmetic, and what holds for every input."""

from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.rewards import evic

UNIT = st.floats(0, 1, allow_subnormal=False)
POINTS = st.lists(st.tuples(UNIT, UNIT), min_size=1, max_size=6)
REGION = [[0.2, 0.4], [0.6, 0.4], [0.6, 0.6], [0.2, 0.6]]  # middle (0.4, 0.5), extent 0.4 x 0.2: sigma 0.2 and 0.1
ZOOM = ("image_zoom_in", {"bbox_2d": [0, 0, 9, 9]})
OTHER = ("text_ocr", {"image_index": 0})


@pytest.mark.parametrize(
    ("answer", "printed", "corrected"),
    [("b", 1, 1), (" B. ", 1, 1), ("B)", 1, 1), ("(B)", 0, 1), ("C", 0, 0), ("", 0, 0), ("...", 0, 0)],
)
def test_choice(answer: str, printed: float, corrected: float) -> None:
    assert evic.choice(answer, "B") == printed
    assert evic.choice(answer, "B", as_printed=False) == corrected


@pytest.mark.parametrize(
    ("answer", "truth", "reward"),
    [
        (10, 10, 1.0),
        (11.2, 10, 0.8),  # error 0.12: below 1 - theta for theta = 0.50 .. 0.85, that is 8 of 10
        (14.2, 10, 0.2),  # error 0.42: below 0.50 and 0.45
        (16, 10, 0.0),
        (-10, 10, 0.0),
        (-11.2, -10, 0.8),
        (1e-7, 0, 1.0),
        (1e-5, 0, 0.0),
        (float("nan"), 10, 0.0),
        (float("inf"), 10, 0.0),
    ],
)
def test_mra(answer: float, truth: float, reward: float) -> None:
    assert evic.mra(answer, truth) == pytest.approx(reward)


@given(st.floats(0.1, 100), st.floats(0, 2), st.floats(0, 2))
def test_mra_falls_with_the_relative_error(truth: float, one: float, other: float) -> None:
    near, far = sorted((one, other))
    assert 1 >= evic.mra(truth * (1 + near), truth) >= evic.mra(truth * (1 + far), truth) >= 0


def test_region_by_hand() -> None:
    assert evic.region([0.4, 0.5], REGION) == 1.0
    assert evic.region([0.6, 0.5], REGION) == pytest.approx(exp(-0.5))  # 0.2 = sigma_x
    assert evic.region([0.6, 0.6], REGION) == pytest.approx(exp(-0.5 * (1 + 1)))
    assert evic.region([[0.4, 0.5], [0.6, 0.5]], REGION) == pytest.approx((1 + exp(-0.5)) / 2)


def test_a_single_point_by_hand_as_printed_and_corrected() -> None:
    # the paper: about 0.61 at 0.1 and 0.14 at 0.2
    assert evic.single_point([0.6, 0.5], [0.5, 0.5]) == pytest.approx(exp(-0.5))
    assert evic.single_point([0.7, 0.5], [0.5, 0.5]) == pytest.approx(exp(-2.0))
    both = [[0.6, 0.5], [0.7, 0.5]]
    assert evic.single_point(both, [0.5, 0.5]) == pytest.approx(exp(-0.5))
    assert evic.single_point(both, [0.5, 0.5], as_printed=False) == pytest.approx((exp(-0.5) + exp(-2.0)) / 2)


def test_a_grid_of_points_wins_only_as_printed() -> None:
    grid = [[x, y] for x in np.linspace(0, 1, 11) for y in np.linspace(0, 1, 11)]
    assert evic.single_point(grid, [0.53, 0.47]) > 0.9
    assert evic.single_point(grid, [0.53, 0.47], as_printed=False) < 0.1


def test_trajectory_by_hand() -> None:
    true, said = [[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.9, 0.0]]
    # both ways: (0 + 0.1) / 2 = 0.05; d_bi = 0.05; e^(-0.05 / (0.1 sqrt 2))
    covered = exp(-0.05 / (0.1 * sqrt(2)))
    assert evic.path_coverage(said, true) == pytest.approx(covered)
    # start right, end 0.1 off: 0.4 + 0.6 e^(-0.1 / sqrt 2)
    ends = 0.4 + 0.6 * exp(-0.1 / sqrt(2))
    assert evic.path_ends(said, true) == pytest.approx(ends)
    assert evic.trajectory(said, true) == pytest.approx(0.3 * ends + 0.7 * covered)
    sharper = 0.4 + 0.6 * exp(-0.1 / (0.1 * sqrt(2)))
    assert evic.path_ends(said, true, as_printed=False) == pytest.approx(sharper)
    assert evic.trajectory(said, true, as_printed=False) == pytest.approx(0.3 * sharper + 0.7 * covered)


def test_the_width_of_256_cancels_out() -> None:
    true, said = np.array([[0.1, 0.1], [0.8, 0.4]]), np.array([[0.2, 0.1], [0.7, 0.7], [0.9, 0.4]])
    pixels = np.linalg.norm(256 * true[:, None] - 256 * said[None], axis=2)
    both = (pixels.min(axis=1).mean() + pixels.min(axis=0).mean()) / 2
    assert evic.path_coverage(said, true) == pytest.approx(exp(-both / (0.1 * 256 * sqrt(2))))


def test_the_worst_ends_score_037_only_as_printed() -> None:
    true, said = [[0.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]
    assert evic.path_ends(said, true) == pytest.approx(exp(-1))
    assert evic.path_ends(said, true, as_printed=False) == pytest.approx(exp(-10))


def test_iou_by_hand() -> None:
    assert evic.iou([0.1, 0.0, 0.3, 0.2], [0.0, 0.0, 0.2, 0.2]) == pytest.approx(0.02 / 0.06)
    assert evic.iou([0.3, 0.2, 0.1, 0.0], [0.0, 0.0, 0.2, 0.2]) == 0.0


@given(POINTS, POINTS)
def test_every_reward_of_points_lies_in_0_to_1_and_is_1_for_the_truth(said: list, true: list) -> None:
    for reward in (evic.path_coverage, evic.path_ends, evic.trajectory):
        assert 0 <= reward(said, true) <= 1 + 1e-12
        assert reward(true, true) == pytest.approx(1.0)
    assert evic.path_coverage(said, true) == pytest.approx(evic.path_coverage(true, said))
    assert 0 <= evic.region(said, REGION) <= 1
    nearest, every = (evic.single_point(said, true[0], as_printed=printed) for printed in (True, False))
    assert 0 <= every <= nearest + 1e-12 <= 1 + 1e-9
    assert evic.single_point(said[::-1], true[0]) == nearest


NO_POINTS = ([], None, "here", [[0.1, float("nan")]], [[0.1, 0.2, 0.3]])


@pytest.mark.parametrize("answer", NO_POINTS)
def test_what_is_no_answer_scores_0(answer: object) -> None:
    assert evic.region(answer, REGION) == evic.single_point(answer, [0, 0]) == evic.iou(answer, [0, 0, 1, 1]) == 0.0
    assert evic.path_coverage(answer, REGION) == evic.path_ends(answer, REGION) == 0.0


@pytest.mark.parametrize(
    ("reward", "truth"),
    [
        (evic.region, REGION[:3]),
        (evic.region, [[0.1, 0.2]] * 4),
        (evic.single_point, [[0, 0], [1, 1]]),
        (evic.path_coverage, []),
        (evic.path_ends, None),
        (evic.iou, [0.2, 0.2, 0.1, 0.3]),
    ],
)
def test_a_truth_that_is_none_is_an_error(reward, truth: object) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ToolError) as caught:
        reward([[0.1, 0.1]], truth)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_a_true_value_must_be_finite_and_failures_countable() -> None:
    with pytest.raises(ToolError, match="finite"):
        evic.mra(1.0, float("nan"))
    with pytest.raises(ToolError, match="0 or more"):
        evic.total(1, 1, 1, -1)


CALL, DONE = "Look.<tool_call>{}</tool_call>", r"So \boxed{A}"


@pytest.mark.parametrize(
    ("turns", "reward"),
    [
        ([DONE], 1),
        ([CALL, CALL, DONE], 1),
        (["I wonder.", CALL, DONE], 1),
        ([], 0),
        ([CALL], 0),
        ([CALL + CALL, DONE], 0),
        ([CALL, DONE + CALL], 0),
        (["<tool_call>{}", DONE], 0),
        ([DONE, DONE], 0),
        ([DONE + DONE], 0),
    ],
)
def test_format(turns: list[str], reward: float) -> None:
    assert evic.format_reward(turns) == reward


@pytest.mark.parametrize(
    ("calls", "printed", "corrected"),
    [
        ([], 0.5, 0.5),
        ([OTHER], 0.5, 0.5),
        ([OTHER, ZOOM], 1.0, 1.0),
        ([ZOOM, ZOOM], 0.0, 0.0),
        ([ZOOM, OTHER, ZOOM], 1.0, 0.0),
        ([ZOOM, ("image_zoom_in", {"bbox_2d": [0, 0, 9, 8]})], 1.0, 1.0),
        ([("f", {"a": 1, "b": 2}), ("f", {"b": 2, "a": 1})], 0.0, 0.0),
        ([("f", {"a": 1}), ("f", {"a": True})], 0.5, 0.5),
    ],
)
def test_gate(calls: list, printed: float, corrected: float) -> None:
    assert evic.gate(calls) == printed
    assert evic.gate(calls, as_printed=False) == corrected


def test_the_total_by_hand() -> None:
    # (1.0 * 0.8 + 1.0 * 1) * 0.5 - 2 * 0.05
    assert evic.total(0.8, 1.0, 0.5, failed_calls=2) == pytest.approx(0.8)


@given(UNIT, st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 9))
def test_each_failed_call_costs_the_same_also_behind_a_closed_gate(
    task: float, form: float, gated: float, failed: int
) -> None:
    assert evic.total(task, form, gated, failed) - evic.total(task, form, gated, failed + 1) == pytest.approx(0.05)
