from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tool_nodes.language.referring import (
    FreeSpaceRequest,
    Selector,
    free_space_phrase,
    parse_free_space,
    parse_noun_phrase,
    refer,
    select_points,
)
from tool_nodes.language.words import FILLERS, SURFACES, one_letter_apart, plural, stem, tokenize
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import ObjectView


def thing(name: str, kind: str, colour: str, x: float, y: float, **more: Any) -> ObjectView:
    """A view whose place on the table roughly follows its point in the picture."""
    size = np.asarray(more.pop("size", (0.06, 0.06, 0.10)), float)
    z = float(more.pop("z", size[2] / 2))
    words = {key: tuple(value) for key, value in more.items() if key != "container"}
    return ObjectView(
        name=name,
        kind=kind,
        colour=colour,
        synonyms=words.get("synonyms", ()),
        categories=words.get("categories", ()),
        attributes=words.get("attributes", ()),
        point=(x, y),
        position_m=np.array([0.2 + 0.6 * y, 0.9 * (x - 0.5), z]),
        size_m=size,
        container=bool(more.get("container", False)),
    )


TOY = {"categories": ["toy"]}
DRINK = {"categories": ["drink"]}
JUICE = {"synonyms": ["pineapple juice can"], "categories": ["drink", "juice"]}
GRAPE = {"synonyms": ["purple drink"], "categories": ["drink", "soda"]}
PLUSH = TOY | {"attributes": ["soft"]}
TUBE = {
    "synonyms": ["tennis ball container"],
    "categories": ["container"],
    "attributes": ["tall", "cylindrical", "plastic"],
}
CONTAINER = {"categories": ["container"], "container": True}

TABLE = [
    thing("coconut water", "carton", "turquoise", 0.30, 0.20, **DRINK),
    thing("coconut water", "carton", "turquoise", 0.36, 0.70, **DRINK),
    thing("red box", "box", "red", 0.60, 0.30, attributes=["cardboard", "rigid"]),
    thing("pasta box", "box", "dark blue", 0.50, 0.80, categories=["food"], size=(0.05, 0.08, 0.15)),
    thing("teddy bear", "plush", "brown", 0.72, 0.60, synonyms=["plushie", "stuffed animal"], **PLUSH),
    thing("bunny", "plush", "pink", 0.82, 0.66, synonyms=["plushie", "rabbit"], **PLUSH),
    thing("pony", "figurine", "light purple", 0.90, 0.20, attributes=["rigid"], size=(0.1, 0.04, 0.1), **TOY),
    thing("tennis ball tube", "tube", "lime", 0.50, 0.50, size=(0.07, 0.07, 0.20), **TUBE),
    thing("black bin", "bin", "black", 0.13, 0.50, size=(0.14, 0.17, 0.08), **CONTAINER),
    thing("hot dog", "sandwich", "tan", 0.14, 0.49, categories=["food"], size=(0.13, 0.06, 0.04), z=0.03),
    thing("water bottle", "bottle", "light blue", 0.21, 0.82, synonyms=["water"], attributes=["plastic"], **DRINK),
]

DRINKS = [
    thing("pineapple juice", "can", "yellow", 0.20, 0.50, **JUICE),
    thing("pineapple juice", "can", "yellow", 0.55, 0.52, **JUICE),
    thing("cola", "can", "red", 0.80, 0.30, synonyms=["coke", "soda"], size=(0.05, 0.05, 0.14), **DRINK),
    thing("grape soda", "bottle", "purple", 0.40, 0.20, **GRAPE),
    thing("grape soda", "bottle", "purple", 0.44, 0.80, **GRAPE),
    thing("blue cup", "cup", "blue", 0.70, 0.60, **CONTAINER),
    thing("dark blue cup", "cup", "dark blue", 0.75, 0.75, **CONTAINER),
    thing("orange", "fruit", "orange", 0.10, 0.20, categories=["fruit"]),
    thing("orange juice", "carton", "orange", 0.90, 0.80, categories=["drink", "juice"]),
    thing("tennis ball", "ball", "lime", 0.30, 0.90, **TOY),
]


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
        ("the nearest box to the bunny", [("red box", 0.60)]),
        ("the thing between the teddy bear and the hot dog", [("tennis ball tube", 0.50)]),
        ("the toy to the right of the teddy bear", [("bunny", 0.82)]),
        ("the box in front of the tennis ball tube", [("pasta box", 0.50)]),
        ("the left one of the two boxes", [("pasta box", 0.50)]),
        ("something pink", [("bunny", 0.82)]),
        ("bottle with a white cap", [("water bottle", 0.21)]),
        ("the coconut water that I can see on the right", [("coconut water", 0.36)]),
        ("evian", [("water bottle", 0.21)]),
        ("te ddy bear", [("teddy bear", 0.72)]),
        ("blak bin", [("black bin", 0.13)]),
        ("the Perrier bottle", [("water bottle", 0.21)]),
        ("barilla", [("pasta box", 0.50)]),
        ("pasta packet", [("pasta box", 0.50)]),
        ("red parcel", [("red box", 0.60)]),
        ("black box", [("black bin", 0.13)]),
        ("stufed animal on the right", [("teddy bear", 0.72)]),
        ("turquoise and white carton on the left", [("coconut water", 0.30)]),
        ("most distant coconut water", [("coconut water", 0.30)]),
        ("rightmost piece of food", [("pasta box", 0.50)]),
        ("the coconut water furthest right", [("coconut water", 0.36)]),
        ("the object called red box", [("red box", 0.60)]),
        ("the toy nearest the bunny", [("teddy bear", 0.72)]),
    ],
)
def test_a_phrase_means_the_expected_things(phrase: str, expected: list[tuple[str, float]]) -> None:
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


@pytest.mark.parametrize(
    "phrase",
    [
        "banana",
        "tennis ball",
        "tennis ball jar",
        "red and green carton",
        "purple water",
        "green box",
        "third box",
        "wooden box",
        "the can next to the banana",
        "two bunnies",
    ],
)
def test_what_is_not_there_is_named_together_with_what_is_seen(phrase: str) -> None:
    with pytest.raises(ToolError) as caught:
        refer(phrase, TABLE)
    assert caught.value.code is ErrorCode.OBJECT_NOT_FOUND
    assert "I see: two coconut waters, red box" in caught.value.message


@pytest.mark.parametrize(
    "phrase", ["piano", "person", "robot", "the gripper", "arm", "xyzzy", "the can next to the piano", "rotten pony"]
)
def test_of_a_word_that_is_not_known_it_cannot_be_said_that_there_is_none(phrase: str) -> None:
    with pytest.raises(ToolError, match=r"I do not know '.*I see: two coconut waters, red box") as caught:
        refer(phrase, TABLE)
    assert caught.value.code is ErrorCode.NOT_RECOGNISED


@pytest.mark.parametrize(
    ("phrase", "setting"),
    [
        *(
            (word, "table")
            for word in ("table", "the desk", "tables", "red table", "the table on the left", "two desks")
        ),
        *((word, "table") for word in ("surface", "counter", "tabletop", "this workbench")),
        *((word, "background") for word in ("background", "the foreground", "a backdrop")),
    ],
)
def test_the_table_and_the_background_are_none_of_the_things(phrase: str, setting: str) -> None:
    with pytest.raises(ToolError, match=f"is the {setting}, which is none of the things") as caught:
        refer(phrase, TABLE)
    assert caught.value.code is ErrorCode.NOT_RECOGNISED


@pytest.mark.parametrize(
    ("phrase", "n"),
    [
        ("the pony on the table", 1),
        ("table tennis ball tube", 1),
        ("the red one on the desk", 1),
        ("everything on the table", len(TABLE)),
    ],
)
def test_the_table_in_a_phrase_about_a_thing_changes_nothing(phrase: str, n: int) -> None:
    assert len(refer(phrase, TABLE)) == n


@pytest.mark.parametrize("phrase", [*sorted(FILLERS - SURFACES), "the", "this", "it", "of the", "please just the"])
def test_a_phrase_of_empty_words_is_not_everything(phrase: str) -> None:
    with pytest.raises(ToolError) as caught:
        refer(phrase, TABLE)
    assert caught.value.code is ErrorCode.NOT_UNDERSTOOD


def test_a_thing_that_was_not_recognised_may_be_what_is_asked_for_unless_its_colour_says_otherwise() -> None:
    odd = replace(thing("green box-shaped object", "object", "green", 0.5, 0.5), recognised=False)
    for phrase in ("banana", "green cup"):
        with pytest.raises(ToolError, match=r"what is at \(0\.50, 0\.50\) may be one") as caught:
            refer(phrase, [*TABLE, odd])
        assert caught.value.code is ErrorCode.NOT_RECOGNISED
    with pytest.raises(ToolError, match="no 'purple cup' here") as caught:
        refer("purple cup", [*TABLE, odd])
    assert caught.value.code is ErrorCode.OBJECT_NOT_FOUND


def test_nothing_on_the_table_is_said_so() -> None:
    with pytest.raises(ToolError, match="nothing on the table"):
        refer("red box", [])


def test_an_ambiguous_phrase_gives_every_candidate() -> None:
    assert len(refer("coconut water", TABLE)) == 2
    assert len(refer("toy", TABLE)) == 3


def test_a_piece_of_something_may_be_ambiguous() -> None:
    assert len(refer("the piece of juice", DRINKS)) == 3
    assert not parse_noun_phrase("the piece of fruit").indefinite


def test_a_colour_of_a_part_tells_things_apart() -> None:
    shelf = [
        thing(name, "bottle", "grey", x, 0.5) for name, x in (("mustard", 0.2), ("shampoo", 0.5), ("olive oil", 0.8))
    ]
    assert named("the bottle with the red cap", shelf) == [("mustard", 0.2)]
    assert named("the bottle with a white lid", shelf) == [("shampoo", 0.5)]
    assert named("bottle with the yellow label", shelf) == [("olive oil", 0.8)]
    with pytest.raises(ToolError, match="no 'bottle with a green cap' here"):
        refer("bottle with a green cap", shelf)


def test_the_clearly_nearer_of_two_on_a_side_is_meant_and_otherwise_both() -> None:
    jam = thing("strawberry jam", "jar", "dark red", 0.30, 0.50)
    near, far = (thing("mustard", "bottle", "yellow", x, 0.50) for x in (0.45, 0.80))
    beside = thing("ketchup", "bottle", "red", 0.47, 0.55)
    assert refer("the bottle right of the strawberry jam", [jam, near, far]) == [1]
    assert sorted(refer("the bottle right of the strawberry jam", [jam, near, beside])) == [1, 2]


@pytest.mark.parametrize(
    ("phrase", "there"),
    [
        ("pony on the right", True),
        ("pony on the left", False),
        ("black bin on the left", True),
        ("black bin on the right", False),
        ("pasta box at the front", True),
        ("pasta box at the back", False),
        ("pony in the middle", False),
        ("red box in front of the tennis ball tube", False),
        ("pony left of the teddy bear", False),
        ("pasta box in front of the tennis ball tube", True),
        ("bottle with a red cap", False),
        ("red box, not the banana", False),
        ("red box, not the pasta box", True),
    ],
)
def test_what_is_said_of_the_only_candidate_has_to_hold(phrase: str, there: bool) -> None:
    if there:
        assert len(refer(phrase, TABLE)) == 1
        return
    with pytest.raises(ToolError) as caught:
        refer(phrase, TABLE)
    assert caught.value.code is ErrorCode.OBJECT_NOT_FOUND


def test_the_word_that_nothing_explains_is_named() -> None:
    with pytest.raises(ToolError, match="no 'banana box' here: nothing here is called 'banana'; I see:"):
        refer("banana box", TABLE)
    with pytest.raises(ToolError, match="I do not know 'rotten', so I cannot say whether 'rotten red box' is here"):
        refer("rotten red box", TABLE)


def test_anything_beside_a_thing_may_be_each_of_several() -> None:
    assert len(refer("the thing left of the red box", TABLE)) > 1
    assert len(refer("the object in the middle", TABLE[:8])) > 1


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


@pytest.mark.parametrize(("said", "seen"), [("pear", "bear"), ("cap", "cup"), ("bowl", "ball"), ("candle", "handle")])
def test_another_word_is_no_slip_of_what_is_seen(said: str, seen: str) -> None:
    with pytest.raises(ToolError):
        refer(said, [thing(seen, seen, "grey", 0.5, 0.5)])


def test_left_on_the_table_is_not_left_in_the_picture_when_depth_differs() -> None:
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
def test_things_are_not_free_space(phrase: str) -> None:
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


@pytest.mark.parametrize("text", ["", "   ", "?!", "x" * 301, "can " * 75])
def test_an_empty_or_endless_phrase_is_refused(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_noun_phrase(text)
    assert caught.value.code is ErrorCode.NOT_UNDERSTOOD


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


_GRAMMAR = (
    "the a two left right far second red blue can box bowl one of next to in front of between "
    "and not that is on with from"
)


@given(st.lists(st.sampled_from(_GRAMMAR.split()), min_size=1, max_size=14))
@settings(max_examples=300, deadline=None)
def test_any_order_of_the_words_of_the_grammar_is_read_or_refused(words: list[str]) -> None:
    text = " ".join(words)
    said, request, code = set(), None, None
    try:
        said = set(parse_noun_phrase(text).words)
        request = parse_free_space(text)
    except ToolError as error:
        code = error.code
    assert said <= set(tokenize(text))
    assert code in (None, ErrorCode.NOT_UNDERSTOOD)
    assert request is None or request.relation == "anywhere" or request.references


@pytest.mark.parametrize(
    ("one", "many"),
    [("box", "boxes"), ("cookie", "cookies"), ("berry", "berries"), ("plushie", "plushies"), ("tomato", "tomatoes"),
     ("peach", "peaches"), ("glass", "glasses"), ("can", "cans"), ("shoe", "shoes"), ("knife", "knives")],
)  # fmt: skip
def test_singular_and_plural_have_one_stem(one: str, many: str) -> None:
    assert stem(one) == stem(many)


def test_plurals_are_spelt_right() -> None:
    assert [plural(w) for w in ("can", "box", "bunny", "toy")] == ["cans", "boxes", "bunnies", "toys"]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("coconut", "cocnut", True),
        ("ketchup", "ketchpu", True),
        ("cup", "cap", True),
        ("box", "box", False),
        ("box", "bat", False),
    ],
)
def test_one_letter_slips_are_recognised(a: str, b: str, expected: bool) -> None:
    assert one_letter_apart(a, b) is expected
    assert one_letter_apart(b, a) is expected
