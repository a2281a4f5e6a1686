"""SpaceTools' rewards against hand arithmetic, and what holds for every input."""

from math import cos, exp, pi, sin, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.rewards import grasp, spacetools

SQUARE = [[0.4, 0.4], [0.6, 0.4], [0.6, 0.6], [0.4, 0.6]]  # area 0.04, centroid (0.5, 0.5)
UNIT = st.floats(0, 1, allow_subnormal=False)
POINT = st.tuples(UNIT, UNIT)
POINTING = (spacetools.in_hull, spacetools.nndc, spacetools.nsdh, spacetools.nac)
NO_POINT = ([], [float("nan"), 0.5], [0.5], "left", None, [[0.5, 0.5], [0.5]], [float("inf"), 0.0], [[[0.5, 0.5]]])


def gripper(angle: float = 0.0, along: float = 0.0, width: float = 0.1, length: float = 0.1) -> np.ndarray:
    """Centre, bases and tips of a gripper that comes along +y, closes along x, turned about its centre, moved along
    x."""
    half = width / 2
    flat = np.array([[0, 0], [-half, 0], [half, 0], [-half, length], [half, length]])
    turn = np.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
    return np.array([0.5, 0.5]) + flat @ turn.T + [along, 0.0]


@pytest.mark.parametrize(("said", "score"), [("(B).", 1.0), ("b", 1.0), ("A", 0.0), ("", 0.0), ("B C", 0.0)])
def test_a_choice_is_right_or_wrong(said: str, score: float) -> None:
    assert spacetools.choice(said, "B") == score


def test_two_empty_answers_are_no_right_one() -> None:
    assert spacetools.choice("", "") == 0.0


@pytest.mark.parametrize(("point", "score"), [([0.5, 0.5], 1.0), ([0.4, 0.5], 1.0), ([0.39, 0.5], 0.0)])
def test_the_hull_holds_its_inside_and_its_edge(point: list[float], score: float) -> None:
    assert spacetools.in_hull(point, SQUARE) == score


def test_the_order_of_the_regions_points_does_not_count() -> None:
    assert spacetools.in_hull([0.5, 0.5], [SQUARE[k] for k in (2, 0, 3, 1)]) == 1.0


def test_nndc_by_hand() -> None:
    # d = 0.3 from (0.8, 0.5) to the centroid (0.5, 0.5); e^-1.5 = 0.22313, e^-7.07107 = 0.00084919
    floor = 0.00084919
    assert spacetools.nndc([0.8, 0.5], SQUARE) == pytest.approx((0.22313 - floor) / (1 - floor), abs=1e-5)
    assert spacetools.nndc([[0.7, 0.5], [0.9, 0.5]], SQUARE) == pytest.approx(0.22247, abs=1e-5)  # their mean
    assert spacetools.nndc([0.45, 0.5], SQUARE) == 1.0  # inside, by the binary term
    # without it: d = 0.05, e^-0.25 = 0.77880
    assert spacetools.nndc([0.45, 0.5], SQUARE, clip=False) == pytest.approx((0.77880 - floor) / (1 - floor), abs=1e-5)


def test_nndc_ends_at_0_in_the_far_corner_and_beyond() -> None:
    assert spacetools.nndc([1.0, 1.0], [[0.0, 0.0]]) == pytest.approx(0.0, abs=1e-12)
    assert spacetools.nndc([9.0, 9.0], [[0.0, 0.0]]) == 0.0
    assert spacetools.nndc([0.0, 0.0], [[0.0, 0.0]]) == 1.0


def test_the_centroid_is_that_of_the_area_however_often_an_edge_is_marked() -> None:
    crowded = [*SQUARE, [0.4, 0.45], [0.4, 0.5], [0.4, 0.55]]
    assert spacetools.nndc([0.8, 0.5], crowded) == pytest.approx(spacetools.nndc([0.8, 0.5], SQUARE))


def test_nsdh_by_hand_as_printed_and_corrected() -> None:
    # outside by 0.2: 0.5 e^-0.2 = 0.5 * 0.81873; inside by 0.1: e^-0.1 = 0.90484
    assert spacetools.nsdh([0.8, 0.5], SQUARE) == pytest.approx(0.40937, abs=1e-5)
    assert spacetools.nsdh([0.5, 0.5], SQUARE, clip=False) == pytest.approx(0.5 + 0.5 * 0.90484, abs=1e-5)
    assert spacetools.nsdh([0.5, 0.5], SQUARE, clip=False, as_printed=False) == pytest.approx(0.54758, abs=1e-5)
    assert spacetools.nsdh([0.5, 0.5], SQUARE) == 1.0


def test_nsdh_as_printed_prefers_the_edge_to_the_middle_and_corrected_does_not() -> None:
    edge, middle = [0.401, 0.5], [0.5, 0.5]
    assert spacetools.nsdh(edge, SQUARE, clip=False) > spacetools.nsdh(middle, SQUARE, clip=False)
    corrected = [spacetools.nsdh(point, SQUARE, clip=False, as_printed=False) for point in (edge, middle)]
    assert corrected[0] < corrected[1]


def test_nac_by_hand() -> None:
    # the triangle (0.6, 0.4), (0.7, 0.5), (0.6, 0.6) is added: 0.2 * 0.1 / 2 = 0.01 of 0.04
    assert spacetools.nac([0.7, 0.5], SQUARE) == pytest.approx(exp(-0.25))
    assert spacetools.nac([0.5, 0.5], SQUARE) == 1.0


def test_mean_iou_by_hand_as_printed_and_both_ways() -> None:
    true = [[0.0, 0.0, 0.2, 0.2], [0.5, 0.5, 0.7, 0.7]]
    # shifted by half its width: 0.02 shared of 0.04 + 0.04 - 0.02
    assert spacetools.mean_iou([[0.1, 0.0, 0.3, 0.2]], true) == pytest.approx(1 / 3)
    assert spacetools.mean_iou(true[0], true) == 1.0  # the other one is missed for nothing
    assert spacetools.mean_iou(true[0], true, as_printed=False) == pytest.approx((1 + (1 + 0) / 2) / 2)
    assert spacetools.mean_iou([true[0]] * 3, true, as_printed=False) < 1.0


@pytest.mark.parametrize("boxes", [[], [[0.2, 0.2, 0.1, 0.1]], [[0, 0, 1]], [[float("nan")] * 4], "box"])
def test_what_is_no_box_scores_0(boxes: object) -> None:
    assert spacetools.mean_iou(boxes, [[0.0, 0.0, 0.2, 0.2]]) == 0.0


def cube(x: float, y: float) -> np.ndarray:
    """8 projected corners: a hull of width 0.3 and height 0.2, as a rectangle of front and back face."""
    front = np.array([[0, 0], [0.2, 0], [0.2, 0.2], [0, 0.2]])
    return np.vstack([front, front + np.array([0.1, 0.0])]) + np.array([x, y])


def test_pose_iou_by_hand() -> None:
    # two rectangles of 0.3 x 0.2, one moved by 0.1: 0.2 * 0.2 shared of 0.06 + 0.06 - 0.04
    assert spacetools.pose_iou(cube(0.1, 0), cube(0, 0)) == pytest.approx(0.04 / 0.08)
    assert spacetools.pose_iou(cube(0, 0), cube(0, 0)) == pytest.approx(1.0)
    assert spacetools.pose_iou(cube(0.6, 0.6), cube(0, 0)) == 0.0
    assert spacetools.pose_iou(cube(0, 0)[::-1], cube(0, 0)) == pytest.approx(1.0)
    assert spacetools.pose_iou(np.full((8, 2), 0.5), cube(0, 0)) == 0.0
    assert spacetools.pose_iou(cube(0, 0)[:7], cube(0, 0)) == 0.0


def test_nnce_by_hand() -> None:
    # every point 0.03 away, d = 0.1: mean error 0.3; delta_max = 0.5 leaves 1 - 0.3 / 0.5
    moved = gripper(along=0.03)
    assert spacetools.nnce(moved, gripper(), scale=0.1) == pytest.approx(0.7)
    assert spacetools.nnce(moved, gripper(), scale=0.1, largest=0.5) == pytest.approx(0.4)
    assert spacetools.nnce(gripper(along=5.0), gripper(), scale=0.1) == 0.0


def test_mace_by_hand_as_printed_and_bounded() -> None:
    # a quarter turn: all four cosines are 0, (1 - 0) / 2 = 0.5; centres equal: 1 - (0 + 0.5) / 2
    assert spacetools.mace(gripper(pi / 2), gripper(), width=0.1) == pytest.approx(0.75)
    assert spacetools.mace(gripper(pi), gripper(), width=0.1) == pytest.approx(0.5)
    # centres 0.5 = 5 widths apart: 1 - (5 + 0) / 2 as printed, 1 - (1 + 0) / 2 bounded
    assert spacetools.mace(gripper(along=0.5), gripper(), width=0.1) == pytest.approx(-1.5)
    assert spacetools.mace(gripper(along=0.5), gripper(), width=0.1, as_printed=False) == pytest.approx(0.5)
    # the right tip beside its base instead of before it: the fourth cosine is 0, 1 - (0.5 / 4) / 2
    bent = gripper()
    bent[4] = bent[2] + [0.1, 0.0]
    assert spacetools.mace(bent, gripper(), width=0.1) == pytest.approx(1 - 0.0625)
    # all points on the centre: no finger has a direction, each counts as the opposite one
    assert spacetools.mace(np.full((5, 2), 0.5), gripper(), width=0.1) == pytest.approx(0.5)


def test_only_the_oriented_reward_prefers_18_degrees_to_64() -> None:
    truth, steep, slight = gripper(), gripper(np.deg2rad(64)), gripper(np.deg2rad(18), along=-0.07)
    # NNCE, 64 degrees: points move by 2 r sin 32 = 1.060 r; r = 0, 0.05, 0.05, 0.1118, 0.1118; mean 0.0686, by 0.1
    assert spacetools.nnce(steep, truth, scale=0.1) == pytest.approx(1 - 0.686, abs=1e-3)
    assert spacetools.nnce(steep, truth, scale=0.1) > spacetools.nnce(slight, truth, scale=0.1)
    assert spacetools.mace(steep, truth, width=0.1) > spacetools.mace(slight, truth, width=0.1)
    # ours: e^(-(64 / 20)^2 / 2) = e^-5.12; e^(-(0.7 / 0.5)^2 / 2) e^(-(18 / 20)^2 / 2) = e^-0.98 e^-0.405
    assert grasp.oriented_grasp(steep, truth) == pytest.approx(exp(-5.12))
    assert grasp.oriented_grasp(slight, truth) == pytest.approx(exp(-0.98 - 0.405))


GOOD = ("<think>look</think>\n<tool_call>{}</tool_call>", "<think>done</think> <answer>B</answer>\n")
TWO = ("<think>look</think><tool_call>{}</tool_call><tool_call>{}</tool_call>", GOOD[1])


@pytest.mark.parametrize(
    ("turns", "printed", "corrected"),
    [
        (GOOD, 1, 1),
        (GOOD[1:], 1, 1),
        (("".join(GOOD),), 1, 1),
        (TWO, 0, 1),
        ((), 0, 0),
        (("",), 0, 0),
        (("<answer>B</answer>",), 0, 0),
        (GOOD[:1], 0, 0),
        ((*GOOD, GOOD[1]), 0, 0),
        (("<tool_call>{}</tool_call>", GOOD[1]), 0, 0),
        ((GOOD[0], GOOD[1] + " and more"), 0, 0),
        ((GOOD[0], "<think>a</think><answer>B</answer><answer>C</answer>"), 0, 0),
        ((GOOD[0], "<think>a<answer>B</answer>"), 0, 0),
    ],
)
def test_format(turns: tuple[str, ...], printed: float, corrected: float) -> None:
    assert spacetools.format_score(turns) == printed
    assert spacetools.format_score(turns, as_printed=False) == corrected


def test_a_call_can_be_asked_for_and_the_format_weighs_030() -> None:
    assert spacetools.format_score(GOOD[1:], needs_call=True) == 0.0
    assert spacetools.format_score(GOOD, needs_call=True) == 1.0
    assert spacetools.with_format(0.5, 1.0) == pytest.approx(0.5 + 0.3)


@pytest.mark.parametrize("reward", POINTING)
@pytest.mark.parametrize("answer", NO_POINT)
def test_what_is_no_point_scores_0(reward, answer: object) -> None:  # type: ignore[no-untyped-def]
    assert reward(answer, SQUARE) == 0.0


def test_an_answer_of_very_many_points_is_none() -> None:
    assert spacetools.nndc([[0.5, 0.5]] * 1000, SQUARE) == 1.0
    assert spacetools.nndc([[0.5, 0.5]] * 1001, SQUARE) == 0.0


@pytest.mark.parametrize(
    ("reward", "arguments"),
    [
        (spacetools.nndc, ([0.5, 0.5], [])),
        (spacetools.in_hull, ([0.5, 0.5], [[0.0, 0.0], [0.1, 0.1], [0.2, 0.2]])),
        (spacetools.nac, ([0.5, 0.5], [[0.0, 0.0]])),
        (spacetools.mean_iou, ([0, 0, 1, 1], [])),
        (spacetools.pose_iou, (cube(0, 0), np.zeros((8, 2)))),
        (spacetools.nnce, (gripper(), gripper()[:4], 1.0)),
        (spacetools.nnce, (gripper(), gripper(), 0.0)),
        (spacetools.mace, (gripper(), gripper(), float("nan"))),
        (spacetools.mace, (gripper(), np.zeros((5, 2)), 1.0)),
        (grasp.oriented_grasp, (gripper(), np.zeros((5, 2)))),
        (grasp.oriented_grasp, (gripper(), [[0.1, 0.2], [0.3]])),
        (grasp.oriented_grasp, (gripper(), gripper(), 0.0)),
    ],
)
def test_a_truth_that_is_none_is_an_error_in_one_sentence(reward, arguments) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ToolError) as caught:
        reward(*arguments)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert caught.value.message.endswith(".")


@given(POINT)
def test_pointing_lies_in_0_to_1_and_every_point_of_the_region_scores_1(point: tuple[float, float]) -> None:
    inside = all(0.4 <= value <= 0.6 for value in point)
    for reward in POINTING:
        assert 0 <= reward(point, SQUARE) <= 1
        assert (reward(point, SQUARE) == 1) or not inside


@given(st.floats(0, 2 * pi), st.floats(0.15, 0.5), st.floats(0.15, 0.5))
def test_farther_from_the_region_is_never_better(angle: float, near: float, far: float) -> None:
    near, far = sorted((near, far))
    points = [[0.5 + distance * cos(angle), 0.5 + distance * sin(angle)] for distance in (near, far)]
    for reward in POINTING:
        assert reward(points[0], SQUARE) >= reward(points[1], SQUARE) - 1e-12


BOX = st.tuples(UNIT, UNIT, UNIT, UNIT).map(
    lambda v: (min(v[0], v[2]), min(v[1], v[3]), max(v[0], v[2]) + 0.01, max(v[1], v[3]) + 0.01)
)


@given(st.lists(BOX, min_size=1, max_size=4), st.lists(BOX, min_size=1, max_size=4))
def test_mean_iou_is_bounded_and_both_ways_it_is_symmetric(boxes: list, true: list) -> None:
    both = spacetools.mean_iou(boxes, true, as_printed=False)
    assert 0 <= spacetools.mean_iou(boxes, true) <= 1 + 1e-9
    assert both == pytest.approx(spacetools.mean_iou(true, boxes, as_printed=False))
    assert spacetools.mean_iou(true, true, as_printed=False) == pytest.approx(1.0)


@given(st.lists(POINT, min_size=8, max_size=8), UNIT, UNIT)
def test_pose_iou_is_bounded_symmetric_and_the_same_after_a_shift(corners: list, x: float, y: float) -> None:
    spread = np.array(corners) + cube(0, 0)
    score = spacetools.pose_iou(spread, cube(0.1, 0.1))
    assert 0 <= score <= 1
    assert score == pytest.approx(spacetools.pose_iou(cube(0.1, 0.1), spread), abs=1e-6)
    moved = np.array([x, y])
    assert score == pytest.approx(spacetools.pose_iou(spread + moved, cube(0.1, 0.1) + moved), abs=1e-6)


def test_pose_iou_agrees_with_counting_points() -> None:
    rng = np.random.default_rng(0)
    spread = rng.random((20_000, 2))
    for _ in range(5):
        one, two = rng.random((8, 2)), rng.random((8, 2))
        sides = [ConvexHull(corners).equations for corners in (one, two)]
        inside = [np.all(spread @ side[:, :2].T + side[:, 2] <= 0, axis=1) for side in sides]
        counted = (inside[0] & inside[1]).sum() / (inside[0] | inside[1]).sum()
        assert spacetools.pose_iou(one, two) == pytest.approx(counted, abs=0.02)


@given(st.floats(-pi, pi), st.floats(-0.3, 0.3), st.floats(-pi, pi), st.floats(0.2, 4))
def test_the_oriented_grasp_does_not_change_with_the_image(
    angle: float, along: float, turned: float, larger: float
) -> None:
    said, truth = gripper(angle, along), gripper()
    score = grasp.oriented_grasp(said, truth)
    turn = larger * np.array([[cos(turned), -sin(turned)], [sin(turned), cos(turned)]])
    assert 0 <= score <= 1
    assert score == pytest.approx(grasp.oriented_grasp(said @ turn.T + 0.1, truth @ turn.T + 0.1), abs=1e-9)
    swapped = said[[0, 2, 1, 4, 3]]
    assert score == pytest.approx(grasp.oriented_grasp(swapped, truth), abs=1e-12)


@given(st.floats(0, pi / 2), st.floats(0, pi / 2))
def test_more_turned_is_never_better(one: float, other: float) -> None:
    less, more = sorted((one, other))
    truth = gripper()
    assert grasp.oriented_grasp(gripper(less), truth) >= grasp.oriented_grasp(gripper(more), truth) - 1e-12
    assert grasp.oriented_grasp(gripper(-less), truth) == pytest.approx(grasp.oriented_grasp(gripper(less), truth))


def test_the_oriented_grasp_in_a_wide_image_and_in_space() -> None:
    # in an image of 2:1 the normalized x is half as long; turned by 20 degrees in pixels is e^-0.5
    square, turned = gripper(), gripper(np.deg2rad(20))
    wide = [points * [0.5, 1.0] for points in (turned, square)]
    assert grasp.oriented_grasp(*wide, aspect=2.0) == pytest.approx(exp(-0.5))
    lifted = [np.column_stack([points, np.full(5, 0.3)]) for points in (turned, square)]
    assert grasp.oriented_grasp(*lifted) == pytest.approx(exp(-0.5))
    assert grasp.oriented_grasp(gripper(pi), square) < 1e-9  # the same line of closing, but the hand comes from behind


@pytest.mark.parametrize("answer", [*NO_POINT, np.zeros((5, 2)), gripper()[:4]])
def test_what_is_no_grasp_scores_0(answer: object) -> None:
    assert grasp.oriented_grasp(answer, gripper()) == 0.0
    assert spacetools.nnce(answer, gripper(), scale=0.1) < 0.01
    assert spacetools.mace(answer, gripper(), width=sqrt(0.5), as_printed=False) <= 0.5
