"""What a phrase about objects means."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tool_nodes.language.tables import DRINKS, TABLE, make_object
from toolhand.tool_nodes.language.phrases import Selector, parse_noun_phrase
from toolhand.tool_nodes.language.referring import refer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import ObjectView


def named(phrase: str, views: list[ObjectView]) -> list[tuple[str, float]]:
    return [(views[i].name, views[i].point[0]) for i in refer(phrase, views)]


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("far coconut water", [("coconut water", 0.30)]),
        ("the coconut water that is closer to the camera", [("coconut water", 0.36)]),
        ("Coconut Waters", [("coconut water", 0.30), ("coconut water", 0.36)]),
        ("dark blue object", [("pasta box", 0.50)]),
        ("navy box", [("pasta box", 0.50)]),
        ("blue box", [("pasta box", 0.50)]),
        ("the solid toy", [("pony", 0.90)]),
        ("soft toys", [("teddy bear", 0.72), ("bunny", 0.82)]),
        ("the two plushies", [("teddy bear", 0.72), ("bunny", 0.82)]),
        ("left plushie", [("teddy bear", 0.72)]),
        ("tall cylindrical tennis ball container", [("tennis ball tube", 0.50)]),
        ("tallest thing", [("tennis ball tube", 0.50)]),
        ("box of pasta", [("pasta box", 0.50)]),
        ("pasta", [("pasta box", 0.50)]),
        ("water", [("water bottle", 0.21)]),
        ("the box that is red", [("red box", 0.60)]),
        ("the box, not the red one", [("pasta box", 0.50)]),
        ("plushie not left of the bunny", [("bunny", 0.82)]),
        ("the box, not the box in front of the tennis ball tube", [("red box", 0.60)]),
        ("box not on the left", [("red box", 0.60)]),
        ("coconut water not closest to the bunny", [("coconut water", 0.30)]),
        ("tallest pony", [("pony", 0.90)]),
        ("leftmost pony", [("pony", 0.90)]),
        ("the pony closest to you", [("pony", 0.90)]),
        ("red color box", [("red box", 0.60)]),
        ("cocnut water on the left", [("coconut water", 0.30)]),
        ("tennisball container", [("tennis ball tube", 0.50)]),
        ("hotdog", [("hot dog", 0.14)]),
        ("hot-dog in the bin", [("hot dog", 0.14)]),
        ("second box from the left", [("red box", 0.60)]),
        ("the second coconut water from the back", [("coconut water", 0.36)]),
        ("rightmost toy", [("pony", 0.90)]),
        ("the bigger box", [("pasta box", 0.50)]),
        ("the box closest to the pony", [("red box", 0.60)]),
        ("the nearest box to the bunny", [("red box", 0.60), ("pasta box", 0.50)]),  # 29 and 30 cm away
        ("the nearest box to the pony", [("red box", 0.60)]),
        ("the thing between the teddy bear and the hot dog", [("tennis ball tube", 0.50)]),
        ("the toy to the right of the teddy bear", [("bunny", 0.82)]),
        ("the box in front of the tennis ball tube", [("pasta box", 0.50)]),
        ("the left one of the two boxes", [("pasta box", 0.50)]),
        ("something pink", [("bunny", 0.82)]),
        ("bottle with a white cap", [("water bottle", 0.21)]),
        ("evian", [("water bottle", 0.21)]),
        ("te ddy bear", [("teddy bear", 0.72)]),
        ("blak bin", [("black bin", 0.13)]),
        ("the Perrier bottle", [("water bottle", 0.21)]),
        ("barilla", [("pasta box", 0.50)]),
        ("pasta packet", [("pasta box", 0.50)]),
        ("red parcel", [("red box", 0.60)]),
        ("stufed animal on the right", [("teddy bear", 0.72)]),
        ("turquoise and white carton on the left", [("coconut water", 0.30)]),
        ("most distant coconut water", [("coconut water", 0.30)]),
        ("rightmost piece of food", [("pasta box", 0.50)]),
        ("the coconut water furthest right", [("coconut water", 0.36)]),
        ("the object called red box", [("red box", 0.60)]),
        ("the toy nearest the bunny", [("teddy bear", 0.72)]),
    ],
)
def test_a_phrase_means_the_expected_objects(phrase: str, expected: list[tuple[str, float]]) -> None:
    assert sorted(named(phrase, TABLE)) == sorted(expected)


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("left pineapple juice can", [("pineapple juice", 0.20)]),
        ("the right can of pineapple juice", [("pineapple juice", 0.55)]),
        ("further purple drink", [("grape soda", 0.40)]),
        ("near purple bottle", [("grape soda", 0.44)]),
        ("blue cup", [("blue cup", 0.70)]),
        ("blue cups", [("blue cup", 0.70), ("dark blue cup", 0.75)]),
        ("left mug", [("blue cup", 0.70)]),
        ("the orange", [("orange", 0.10)]),
        ("orange drink", [("orange juice", 0.90)]),
        ("orange object on the right", [("orange juice", 0.90)]),
        ("yellow ball", [("tennis ball", 0.30)]),
        ("the tall can", [("cola", 0.80)]),
        ("the middle can", [("pineapple juice", 0.55)]),
        ("the two left cans", [("pineapple juice", 0.20), ("pineapple juice", 0.55)]),
        ("third can from the left", [("cola", 0.80)]),
        ("last can", [("cola", 0.80)]),
        ("beverage in a red can", []),
        ("coke", [("cola", 0.80)]),
        ("red tin", [("cola", 0.80)]),
    ],
)
def test_duplicates_colours_and_synonyms_are_told_apart(phrase: str, expected: list[tuple[str, float]]) -> None:
    if not expected:
        with pytest.raises(ToolError):
            named(phrase, DRINKS)
        return
    assert sorted(named(phrase, DRINKS)) == sorted(expected)


@pytest.mark.parametrize("phrase", ["object", "everything", "all the things", "every item", "objects"])
def test_a_generic_word_means_everything(phrase: str) -> None:
    assert sorted(refer(phrase, TABLE)) == list(range(len(TABLE)))


def test_an_ambiguous_phrase_gives_every_candidate() -> None:
    assert len(refer("coconut water", TABLE)) == 2
    assert len(refer("toy", TABLE)) == 3


def test_a_piece_of_something_may_be_ambiguous() -> None:
    assert len(refer("the piece of juice", DRINKS)) == 3
    assert not parse_noun_phrase("the piece of fruit").indefinite


def test_a_colour_of_a_part_tells_objects_apart() -> None:
    shelf = [
        make_object(name, "bottle", "grey", x, 0.5)
        for name, x in (("mustard", 0.2), ("shampoo", 0.5), ("olive oil", 0.8))
    ]
    assert named("the bottle with the red cap", shelf) == [("mustard", 0.2)]
    assert named("the bottle with a white lid", shelf) == [("shampoo", 0.5)]
    assert named("bottle with the yellow label", shelf) == [("olive oil", 0.8)]
    with pytest.raises(ToolError, match="no 'bottle with a green cap' here"):
        refer("bottle with a green cap", shelf)


def test_nearness_to_the_robot_is_the_distance_from_its_base() -> None:
    beside, ahead = (make_object("can", "can", "red", x, y) for x, y in ((0.05, 0.30), (0.50, 0.36)))
    assert refer("can closest to the robot", [beside, ahead]) == [1]
    assert refer("can furthest from you", [beside, ahead]) == [0]
    assert refer("the far can", [beside, ahead]) == [0]


def test_the_clearly_nearer_of_two_on_a_side_is_meant_and_otherwise_both() -> None:
    jam = make_object("strawberry jam", "jar", "dark red", 0.30, 0.50)
    near, far = (make_object("mustard", "bottle", "yellow", x, 0.50) for x in (0.45, 0.80))
    beside = make_object("ketchup", "bottle", "red", 0.47, 0.55)
    assert refer("the bottle right of the strawberry jam", [jam, near, far]) == [1]
    assert sorted(refer("the bottle right of the strawberry jam", [jam, near, beside])) == [1, 2]


def test_anything_beside_an_object_may_be_each_of_several() -> None:
    assert len(refer("the thing left of the red box", TABLE)) > 1
    assert len(refer("the object in the middle", TABLE[:8])) > 1


def test_a_noun_phrase_keeps_its_parts() -> None:
    phrase = parse_noun_phrase("the second small can from the right next to the far bowl")
    assert (phrase.words, phrase.head) == (("small", "can"), "can")
    assert phrase.selectors == (Selector("right", 2),)
    assert phrase.relation == "next_to"
    assert phrase.references[0].selectors == (Selector("far"),)
    assert parse_noun_phrase("one of the cans").indefinite
    assert parse_noun_phrase("both cups").count == 2


@given(st.text(max_size=80))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused_with_a_code(text: str) -> None:
    found, code = [], None
    try:
        found = refer(text, TABLE)
    except ToolError as error:
        code = error.code
    assert set(found) <= set(range(len(TABLE)))
    assert bool(found) != (code in (ErrorCode.OBJECT_NOT_FOUND, ErrorCode.NOT_RECOGNISED, ErrorCode.NOT_UNDERSTOOD))
