"""Places in words and back; the examples of places.yaml are its tests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.tool_nodes.language.measures import metres, point_of
from toolhand.tool_nodes.language.phrases import noun_phrase, parse_noun_phrase
from toolhand.tool_nodes.language.place_phrases import parse_free_space
from toolhand.tool_nodes.language.place_wordings import read_place, wordings
from toolhand.tool_nodes.language.places import BIT_M, LOT_M, STEP_M, FreeSpaceRequest, free_space_phrase, place_words
from toolhand.tool_nodes.language.pointed import AT_POINT, at_point
from toolhand.tool_nodes.language.words import tokenize, words_only
from toolhand.tool_nodes.results import ErrorCode, ToolError

EXAMPLES = [(said, meant) for wording in wordings() for said, meant in wording.examples.items()]
LEMON = "lemon at (0.48, 0.42)"


def read(said: str) -> str | None:
    place = read_place(" ".join(words_only(tokenize(said))))
    return place and place_words(place.request.naming([noun_phrase(words).text for words in place.things]))


@pytest.mark.parametrize(("said", "meant"), EXAMPLES)
def test_every_example_of_the_grammar_means_what_stands_beside_it(said: str, meant: str) -> None:
    assert read(said) == meant


def test_every_entry_of_the_grammar_has_examples() -> None:
    assert all(wording.examples for wording in wordings())


@pytest.mark.parametrize(
    "said",
    [
        "on the box",
        "in front of the bowl",
        "the left can",
        "next to the can on the left",
        "left",
        "aside",
        "5 cm",
        "at the back of the bin",
        "in the left of the two cans",
        "in the middle of the box and the bowl",
        "at (1.2, 0.4)",
    ],
)
def test_what_is_none_of_these_places_is_left_to_others(said: str) -> None:
    assert read(said) is None


REGIONS = [
    FreeSpaceRequest("region", region=region, extent=extent)
    for region, extent in [
        ("left", "side"),
        ("front right", "side"),
        ("middle", ""),
        ("back left", "corner"),
        ("", "corner"),
        ("front", "edge"),
        ("", "edge"),
    ]
]
PLACES = [
    *REGIONS,
    FreeSpaceRequest("at", point=(0.412, 0.53)),
    FreeSpaceRequest("in", ("bowl",), region="back"),
    FreeSpaceRequest("left_of", ("bowl",), distance_m=0.05),
    FreeSpaceRequest("next_to", ("red can next to the bowl",), distance_m=0.2, thing=LEMON),
    FreeSpaceRequest("moved", distance_m=0.12, way="left", thing="lemon"),
    FreeSpaceRequest("moved", ("bowl",), distance_m=0.1, way="towards", thing="far lemon"),
    FreeSpaceRequest("farthest_from", ("bowl at (0.4, 0.5)",)),
    FreeSpaceRequest("in_line", ("red box", "bowl"), thing=LEMON),
    FreeSpaceRequest("left_of", ("bowl at (0.4, 0.5)",)),
    FreeSpaceRequest("between", ("red box", "bowl"), also=(FreeSpaceRequest("in_front_of", ("can",)),)),
    FreeSpaceRequest("next_to", ("bowl",), also=(FreeSpaceRequest("behind", ("bowl",), denied=True),)),
    FreeSpaceRequest("anywhere", also=(FreeSpaceRequest("in", ("bin",), denied=True),)),
    *(
        FreeSpaceRequest("moved", distance_m=length, loosely=True, way=way, thing=LEMON)
        for length in (BIT_M, STEP_M, LOT_M)
        for way in ("left", "right", "front", "back")
    ),
]


@pytest.mark.parametrize("request_", PLACES, ids=place_words)
def test_a_place_is_read_back_from_its_phrase(request_: FreeSpaceRequest) -> None:
    assert parse_free_space(free_space_phrase(request_)) == request_


@given(st.sampled_from(REGIONS), st.sampled_from(["bowl", "red box"]), st.booleans(), st.sampled_from(["", LEMON]))
def test_a_second_condition_is_read_back(first: FreeSpaceRequest, name: str, denied: bool, item: str) -> None:
    also = (FreeSpaceRequest("next_to", (name,), denied=denied),)
    place = FreeSpaceRequest("region", region=first.region, extent=first.extent, also=also, thing=item)
    assert parse_free_space(free_space_phrase(place)) == place


@pytest.mark.parametrize(
    ("said", "metres_"),
    [
        ("5 cm", 0.05),
        ("2.5cm", 0.025),
        ("half a metre", 0.5),
        ("an inch", 0.0254),
        ("two hand widths", 0.2),
        ("three fingers behind it", 0.06),
        ("about twelve mm", 0.012),
        ("1 foot", 0.3048),
    ],
)
def test_a_length_is_one_word(said: str, metres_: float) -> None:
    assert metres(tokenize(said)[0]) == pytest.approx(metres_)


@pytest.mark.parametrize("said", ["with two hands", "a hand towel", "i am", "10 in the bin", "a metronome"])
def test_what_is_no_length_is_none(said: str) -> None:
    assert all(metres(word) is None for word in tokenize(said))


def test_an_object_may_be_named_with_its_point() -> None:
    phrase = parse_noun_phrase("the left lemon at (0.480, .42)")
    assert (phrase.words, phrase.point, phrase.text) == (("lemon",), (0.48, 0.42), "left lemon at (0.480, .42)")
    assert parse_noun_phrase(phrase.text) == phrase
    assert parse_noun_phrase("thing at (0.1, 1.0)").point == (0.1, 1.0)
    assert parse_noun_phrase("the can at (1.5, 0.2)").point is None
    assert point_of("lemon") is None


def test_the_nearest_object_to_a_point_is_meant_and_none_further_away() -> None:
    phrase = parse_noun_phrase("lemon at (0.5, 0.5)")
    assert at_point(phrase, [(0.2, 0.5), (0.52, 0.5), (0.46, 0.5)]) == 1
    with pytest.raises(ToolError, match="nearest one is at") as caught:
        at_point(phrase, [(0.5 + AT_POINT + 0.01, 0.5)])
    assert caught.value.code is ErrorCode.OBJECT_NOT_FOUND


def test_the_object_whose_outline_holds_a_point_is_meant_before_one_whose_middle_is_nearer() -> None:
    tall, small = np.zeros((480, 640), bool), np.zeros((480, 640), bool)
    tall[100:360, 300:340] = True
    small[330:350, 344:366] = True
    middles = [(0.5, 230 / 480), (355 / 640, 340 / 480)]
    foot, between, table = ((320.5 / 640, 350.5 / 480), (341.0 / 640, 340.5 / 480), (0.5, 400.5 / 480))
    for point, meant in ((foot, 0), (between, 0), ((350.5 / 640, 340.5 / 480), 1)):
        phrase = parse_noun_phrase(f"thing at ({point[0]:.4f}, {point[1]:.4f})")
        assert at_point(phrase, middles, [tall, small]) == meant
    assert at_point(parse_noun_phrase(f"thing at ({foot[0]:.4f}, {foot[1]:.4f})"), middles, [None, small]) == 1
    with pytest.raises(ToolError, match="nearest one is at"):
        at_point(parse_noun_phrase(f"thing at ({table[0]:.4f}, {table[1]:.4f})"), middles, [tall, small])
