"""Phrases about what is not there, is not known or says nothing: the sentence that answers them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.tool_nodes.language.tables import TABLE, make_object
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.referring import refer
from toolhand.tool_nodes.language.unfound import Unfound, names_seen, unfound_in
from toolhand.tool_nodes.language.words import FILLERS, SURFACES
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import ObjectView


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
    ("phrase", "alike"),
    [
        ("the trash", "the black bin"),
        ("glass", None),
        ("the doll", "the teddy bear or the bunny"),
    ],
)
def test_what_is_only_alike_is_asked_about_and_is_no_object_but_may_be_a_place(phrase: str, alike: str | None) -> None:
    with pytest.raises(ToolError, match=f"do you mean {alike}" if alike else "") as caught:
        refer(phrase, TABLE)
    assert caught.value.code is ErrorCode.OBJECT_NOT_FOUND
    if alike:
        assert refer(phrase, TABLE, alike=True)


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
def test_the_table_and_the_background_are_none_of_the_objects(phrase: str, setting: str) -> None:
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
def test_the_table_in_a_phrase_about_an_object_changes_nothing(phrase: str, n: int) -> None:
    assert len(refer(phrase, TABLE)) == n


@pytest.mark.parametrize("phrase", [*sorted(FILLERS - SURFACES), "the", "this", "it", "of the", "please just the"])
def test_a_phrase_of_empty_words_is_not_everything(phrase: str) -> None:
    with pytest.raises(ToolError) as caught:
        refer(phrase, TABLE)
    assert caught.value.code is ErrorCode.NOT_UNDERSTOOD


def test_an_object_that_was_not_recognised_may_be_what_is_asked_for_unless_its_colour_says_otherwise() -> None:
    odd = replace(make_object("green box-shaped object", "object", "green", 0.5, 0.5), recognised=False)
    for phrase in ("banana", "green cup"):
        with pytest.raises(ToolError, match=r"what is at \(0\.50, 0\.50\) may be one") as caught:
            refer(phrase, [*TABLE, odd])
        assert caught.value.code is ErrorCode.NOT_RECOGNISED
    with pytest.raises(ToolError, match="no 'purple cup' here") as caught:
        refer("purple cup", [*TABLE, odd])
    assert caught.value.code is ErrorCode.OBJECT_NOT_FOUND


@pytest.mark.parametrize(
    ("phrase", "name"),
    [
        ("basket", "black bin"),
        ("black box", "black bin"),
        ("squeezy bottle", "ketchup"),
        ("snag", "hot dog"),
        ("shifter", "wrench"),
        ("iron tool", "wrench"),
        ("bottle with the white stripe", "ketchup"),
        ("wrench", "wrench"),
    ],
)
def test_other_names_of_what_is_seen_are_tried_after_those_of_the_product_list(phrase: str, name: str) -> None:
    table = [_product(each, x) for each, x in (("black bin", 0.2), ("ketchup", 0.4), ("hot dog", 0.6), ("wrench", 0.8))]
    assert [table[k].name for k in refer(phrase, table)] == [name]


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("bottle with the white cap", True),
        ("bottle with a white tip", True),
        ("bottle with a whiet cap", True),
        ("bottle with a white label", False),
        ("bottle with a green cap", False),
    ],
)
def test_a_part_is_told_by_its_colour_unless_another_part_has_it(phrase: str, found: bool) -> None:
    table = [_product("ketchup", 0.4), _product("red box", 0.6)]
    if found:
        assert refer(phrase, table) == [0]
        return
    with pytest.raises(ToolError) as caught:
        refer(phrase, table)
    assert caught.value.code is ErrorCode.OBJECT_NOT_FOUND


def test_what_a_sentence_tells_of_what_is_not_there_is_read_back() -> None:
    told = []
    for phrase in ("the rotten pony", "the glass", "the banana box", "the trash"):
        with pytest.raises(ToolError) as caught:
            refer(phrase, TABLE)
        told.append(unfound_in(caught.value.message))
    seen = tuple(dict.fromkeys(view.name for view in TABLE))
    assert told[:3] == [
        Unfound("rotten pony", unknown=("rotten",), seen=seen),
        Unfound("glass", seen=seen),
        Unfound("banana box", strange=("banana",), seen=seen),
    ]
    assert told[3] == Unfound("trash", alike=("black bin",), seen=seen)
    assert unfound_in("The gripper is empty.") is None
    names = names_seen("no 'unicorn' here; I see: honey, two red boxes, and 3 more; what stands at (0.1, 0.2) may be")
    assert names == [("honey", "honey", 1), ("red box", "red boxes", 2)]


def _product(name: str, x: float) -> ObjectView:
    item = load_catalogue()[name]
    return item.seen((x, 0.5), np.array([0.5, 0.5 - x, item.size_m[2] / 2]), np.array(item.size_m))


def test_nothing_on_the_table_is_said_so() -> None:
    with pytest.raises(ToolError, match="nothing on the table"):
        refer("red box", [])


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


@pytest.mark.parametrize(("said", "seen"), [("pear", "bear"), ("cap", "cup"), ("bowl", "ball"), ("candle", "handle")])
def test_another_word_is_no_slip_of_what_is_seen(said: str, seen: str) -> None:
    with pytest.raises(ToolError):
        refer(said, [make_object(seen, seen, "grey", 0.5, 0.5)])


@pytest.mark.parametrize("text", ["", "   ", "?!", "x" * 301, "can " * 75])
def test_an_empty_or_endless_phrase_is_refused(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_noun_phrase(text)
    assert caught.value.code is ErrorCode.NOT_UNDERSTOOD
