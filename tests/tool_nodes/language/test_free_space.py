"""Phrases about free space, and which of several points is meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.tool_nodes.language.phrases import Selector
from toolhand.tool_nodes.language.place_phrases import parse_free_space
from toolhand.tool_nodes.language.places import FreeSpaceRequest, free_space_phrase
from toolhand.tool_nodes.language.sides import select_points
from toolhand.tool_nodes.results import ErrorCode, ToolError


def test_equally_far_to_a_side_is_a_question() -> None:
    near_tie = [(0.300, 0.5), (0.305, 0.5), (0.9, 0.5)]
    assert sorted(select_points([Selector("left")], near_tie)) == [0, 1]
    assert select_points([Selector("right")], near_tie) == [2]
    assert select_points([Selector("left", 2)], near_tie) == [1]


def test_the_middle_one_of_a_row_is_meant_and_of_a_heap_it_is_a_question() -> None:
    row = [(x, 0.5) for x in (0.1, 0.3, 0.5, 0.7, 0.9)]
    assert select_points([Selector("middle")], row) == [2]
    assert len(select_points([Selector("middle")], row[:4])) == 2
    heap = [(0.1, 0.2), (0.2, 0.9), (0.45, 0.95), (0.6, 0.5), (0.9, 0.4)]
    assert len(select_points([Selector("middle")], heap)) > 1


def test_left_on_the_table_is_not_left_in_the_image_when_depth_differs() -> None:
    """Two points on one line of sight from the camera's middle: the nearer one is seen further out."""
    near_the_camera, far_away = (0.20, 0.95), (0.24, 0.05)
    assert select_points([Selector("left")], [near_the_camera, far_away]) == [1]


@pytest.mark.parametrize(
    ("selectors", "count", "expected"),
    [
        ([Selector("left")], None, [0]),
        ([Selector("right")], None, [2]),
        ([Selector("near")], None, [1]),
        ([Selector("far")], None, [2]),
        ([Selector("middle")], None, [1]),
        ([Selector("left", 2)], None, [1]),
        ([Selector("left", 4)], None, []),
        ([Selector("left", -1)], None, [2]),
        ([Selector("left")], 2, [0, 1]),
        ([Selector("far"), Selector("right")], None, [2]),
        ([Selector("big")], None, [0, 1, 2]),
    ],
)
def test_selectors_pick_points(selectors: list[Selector], count: int | None, expected: list[int]) -> None:
    assert select_points(selectors, [(0.1, 0.5), (0.5, 0.8), (0.9, 0.2)], count) == expected


@pytest.mark.parametrize(
    ("phrase", "relation", "references"),
    [
        ("free table left of the coconut water", "left_of", ("coconut water",)),
        ("empty space between the red box and the bowl", "between", ("red box", "bowl")),
        ("free spot next to the far can", "next_to", ("far can",)),
        ("inside the black bin", "in", ("black bin",)),
        ("top of the rice box", "on", ("rice box",)),
        ("the top surface of the rice box", "on", ("rice box",)),
        ("free table", "anywhere", ()),
        ("an empty spot on the table", "anywhere", ()),
        ("free area to the right of the cup", "right_of", ("cup",)),
        ("place in front of the box", "in_front_of", ("box",)),
        ("behind the tea box", "behind", ("tea box",)),
        ("near the purple bottle", "next_to", ("purple bottle",)),
        ("left of the two plushies", "left_of", ("two plushies",)),
        ("space between the two cans", "between", ("two cans",)),
        ("free table left of the can and the bowl", "left_of", ("can", "bowl")),
        ("free table next to the salt and pepper shaker", "next_to", ("salt and pepper shaker",)),
        ("free space on the right of the can next to the bowl", "right_of", ("can next to the bowl",)),
    ],
)
def test_free_space_is_understood(phrase: str, relation: str, references: tuple[str, ...]) -> None:
    assert parse_free_space(phrase) == FreeSpaceRequest(relation, references)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "phrase",
    [
        "near purple bottle",
        "the left can",
        "front box",
        "empty bin",
        "coconut water",
        "right can in the bin",
        "the can next to the box",
        "table",
        "close can",
        "the one on the left",
    ],
)
def test_objects_are_not_free_space(phrase: str) -> None:
    assert parse_free_space(phrase) is None


_NAMES = st.sampled_from(
    ["red box", "far coconut water", "two plushies", "second can from the left", "salt and pepper shaker", "mug"]
)


@given(
    relation=st.sampled_from(["in", "on", "left_of", "right_of", "in_front_of", "behind", "next_to", "between"]),
    references=st.lists(_NAMES, min_size=1, max_size=3),
)
def test_free_space_phrases_are_read_back(relation: str, references: list[str]) -> None:
    if relation == "between":
        references = references[:1] if references[0] == "two plushies" else [references[0], references[-1]]
    read = parse_free_space(free_space_phrase(relation, references))
    assert read == FreeSpaceRequest(relation, tuple(references))  # type: ignore[arg-type]


def test_free_space_needs_a_known_relation_and_its_references() -> None:
    for relation, references in (("under", ["box"]), ("left_of", [])):
        with pytest.raises(ToolError) as caught:
            free_space_phrase(relation, references)
        assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert parse_free_space(free_space_phrase("anywhere")) == FreeSpaceRequest("anywhere")
