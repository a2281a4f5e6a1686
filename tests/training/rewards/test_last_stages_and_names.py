"""LAST's rewards, the stages of a manipulation, and rewards by name."""

from itertools import combinations
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.refusals import refused
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.rewards import REWARDS, last, reward_named
from toolhand.training.rewards.stages import ONLY_AFTER, WEIGHTS, stage_reward

GOOD = "<analy>a</analy><action>b</action><analy>c</analy><ans>d</ans>"


@pytest.mark.parametrize(
    ("text", "printed", "corrected"),
    [
        (GOOD, 0, 0),
        (GOOD.replace("</action>", ""), -1, -1),
        ("", 0, -1),
        ("</ans><ans>", 0, -1),
        ("<analy><ans>a</analy></ans>", 0, -1),
        ("<analy>a</analy>", 0, -1),
        ("<ans>a</ans></ans>", -1, -1),
    ],
)
def test_format(text: str, printed: float, corrected: float) -> None:
    assert last.format_reward(text) == printed
    assert last.format_reward(text, as_printed=False) == corrected


def test_correctness_by_hand() -> None:
    assert [last.correct_choice(answer, "left") for answer in ("Left.", "right", "")] == [1, 0, 0]
    assert last.correct_number(1.5, 1.0, alpha=2.0) == pytest.approx(exp(-1.0))  # 2 * 0.5
    assert last.correct_number(1.0, 1.0, alpha=2.0) == 1.0
    assert last.correct_number(float("nan"), 1.0, alpha=2.0) == 0.0


def test_the_unit_counts_because_the_error_is_absolute() -> None:
    assert last.correct_number(1.1, 1.0, alpha=1.0) > last.correct_number(110, 100, alpha=1.0)


@pytest.mark.parametrize(
    ("answer", "truth", "printed", "corrected"),
    [
        (2.0, 2.0, True, True),
        (2.4, 2.0, False, True),  # 1.2
        (2.6, 2.0, False, False),  # 1.3
        (1.6, 2.0, False, True),
        (-2.0, 2.0, False, False),
        (-2.2, -2.0, False, True),
        (0.0, 0.0, True, True),
        (0.1, 0.0, False, False),
        (float("nan"), 2.0, False, False),
        (float("inf"), 2.0, False, False),
    ],
)
def test_a_right_number(answer: float, truth: float, printed: bool, corrected: bool) -> None:
    assert last.right_number(answer, truth) is printed
    assert last.right_number(answer, truth, as_printed=False) is corrected


def test_a_tool_pays_only_with_a_success_and_a_right_answer() -> None:
    assert last.tool_reward([False, True], right=True) == 1.0
    assert last.tool_reward([False], right=True) == last.tool_reward([], right=True) == 0.0
    assert last.tool_reward([True], right=False) == 0.0


def test_the_total_by_hand() -> None:
    assert last.total(-1.0, 1.0, 1.0) == pytest.approx(-0.3 + 1.0 + 0.3)


def test_bad_parameters_are_errors() -> None:
    for arguments in ((1.0, float("inf"), 1.0), (1.0, 1.0, 0.0)):
        with refused(ErrorCode.INVALID_ARGUMENT):
            last.correct_number(*arguments)


# -- stages ----------------------------------------------------------------------------------------------

PICK = ("hand_at_target", "jaws_touch_target", "held", "lifted", "nothing_else_moved")  # 1 + 1 + 2 + 2 + 2 = 8


def picked(*reached: str) -> dict[str, bool]:
    return {stage: stage in reached for stage in PICK}


def test_stages_by_hand() -> None:
    assert stage_reward(picked()) == 0.0
    assert stage_reward(picked(*PICK)) == 1.0
    assert stage_reward(picked("hand_at_target", "jaws_touch_target")) == pytest.approx((1 + 1) / 8)
    assert stage_reward(picked("hand_at_target", "jaws_touch_target", "held")) == pytest.approx(4 / 8)
    assert stage_reward(dict.fromkeys(WEIGHTS, True) | {"relation_true": False}) == pytest.approx((17 - 4) / 17)
    assert stage_reward({"held": True, "lifted": False}, {"held": 1, "lifted": 3}) == pytest.approx(0.25)


def test_doing_nothing_is_not_paid_for() -> None:
    idle = dict.fromkeys(WEIGHTS, False) | dict.fromkeys(ONLY_AFTER, True)
    assert stage_reward(idle) == 0.0
    assert stage_reward(idle | {"held": True}) == pytest.approx((2 + 2) / 17)  # held, and nothing else moved


def test_a_stage_whose_condition_the_task_does_not_have_counts_by_itself() -> None:
    assert stage_reward({"relation_true": True, "hand_at_target": False}) == pytest.approx(4 / 5)


@given(st.dictionaries(st.sampled_from(sorted(WEIGHTS)), st.booleans(), min_size=1), st.data())
def test_reaching_one_more_stage_is_never_worse(reached: dict[str, bool], data: st.DataObject) -> None:
    stage = data.draw(st.sampled_from(sorted(reached)))
    less, more = stage_reward(reached | {stage: False}), stage_reward(reached | {stage: True})
    assert 0 <= less <= more <= 1
    assert stage_reward(dict.fromkeys(reached, True)) == 1.0
    assert stage_reward(dict.fromkeys(reached, False)) == 0.0


@pytest.mark.parametrize(
    ("reached", "weights"),
    [
        ({}, WEIGHTS),
        ({"flown": True}, WEIGHTS),
        ({"held": True}, {"held": 0.0}),
        ({"held": True, "lifted": True}, {"held": 1.0, "lifted": -1.0}),
        ({"held": True}, {"held": float("nan")}),
    ],
)
def test_wrong_stages_and_weights_are_errors(reached: dict[str, bool], weights: dict[str, float]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT):
        stage_reward(reached, weights)


# -- by name ---------------------------------------------------------------------------------------------


def test_a_reward_is_found_by_its_name() -> None:
    assert reward_named("spacetools.choice")("A", "A") == 1.0
    assert reward_named("peria.path")([[0, 0], [1, 1]], [[0, 0], [1, 1]]) == 1.0
    assert reward_named("peria.path")([[0, 0.5], [1, 1]], [[0, 0], [1, 1]], low=0.1, high=0.9) == pytest.approx(0.5)


def test_an_unknown_name_is_one_sentence_with_all_names() -> None:
    with refused(ErrorCode.INVALID_ARGUMENT) as caught:
        reward_named("spacetools.ndc")
    assert all(name in caught.value.message for name in REWARDS)


def test_no_two_names_are_the_same_function() -> None:
    assert not [pair for pair in combinations(REWARDS, 2) if REWARDS[pair[0]] is REWARDS[pair[1]]]


SQUARE = [[0.4, 0.4], [0.6, 0.4], [0.6, 0.6], [0.4, 0.6]]
GRIPPER = [[0.5, 0.5], [0.45, 0.5], [0.55, 0.5], [0.45, 0.6], [0.55, 0.6]]
TRUTHS: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(("spacetools.choice", "evic.choice", "last.choice", "peria.answer"), ("A",)),
    **dict.fromkeys([f"spacetools.{name}" for name in ("in_hull", "nndc", "nsdh", "nac")], (SQUARE,)),
    **dict.fromkeys(("peria.path", "evic.region", "evic.trajectory"), (SQUARE,)),
    **dict.fromkeys(("spacetools.mean_iou", "evic.iou"), ([0.0, 0.0, 1.0, 1.0],)),
    "spacetools.pose_iou": (SQUARE * 2,),
    "spacetools.nnce": (GRIPPER, 0.1),
    "spacetools.mace": (GRIPPER, 0.1, False),
    "evic.mra": (2.0,),
    "evic.single_point": ([0.5, 0.5],),
    "last.number": (2.0, 1.0),
    "grasp": (GRIPPER,),
}
"""A truth, and what else each reward needs, of every reward that takes an answer of any kind."""
NUMBERS = st.floats() | st.integers(-(10**400), 10**400) | st.floats(0, 1)
ROWS = st.lists(st.lists(NUMBERS, min_size=2, max_size=4), max_size=8) | st.lists(
    st.lists(st.floats(0, 1), min_size=2, max_size=2), min_size=5, max_size=8
)


@pytest.mark.filterwarnings("error")
@given(st.sampled_from(sorted(TRUTHS)), ROWS | st.lists(NUMBERS, max_size=5) | NUMBERS | st.text() | st.none())
def test_whatever_is_answered_scores_in_0_to_1(name: str, answer: object) -> None:
    if "A" in TRUTHS[name] and not isinstance(answer, str | None):
        answer = str(answer)
    assert 0 <= reward_named(name)(answer, *TRUTHS[name]) <= 1 + 1e-9


def test_all_rewards_of_answers_are_among_them() -> None:
    of_text = {"spacetools.format", "peria.repetition", "peria.format", "evic.format", "last.format"}
    assert set(REWARDS) == set(TRUTHS) | of_text | {"evic.gate", "last.tool", "stages"}


def test_a_region_that_is_nearly_a_line_has_its_middle_on_it() -> None:
    line = [[0.1, 0.1], [0.3, 0.3 + 1e-15], [0.5, 0.5]]
    assert reward_named("spacetools.nndc")([0.3, 0.3], line) == pytest.approx(1.0, abs=0.01)
    with pytest.raises(ToolError, match="not on a line"):
        reward_named("spacetools.in_hull")([0.3, 0.3], line)
