"""Stems, plurals and slips of words, and any order of the grammar's words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.place_phrases import parse_free_space
from toolhand.tool_nodes.language.words import one_letter_apart, plural, stem, tokenize
from toolhand.tool_nodes.results import ErrorCode, ToolError

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
    [
        ("box", "boxes"),
        ("cookie", "cookies"),
        ("berry", "berries"),
        ("plushie", "plushies"),
        ("tomato", "tomatoes"),
        ("peach", "peaches"),
        ("glass", "glasses"),
        ("can", "cans"),
        ("shoe", "shoes"),
        ("knife", "knives"),
    ],
)
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
