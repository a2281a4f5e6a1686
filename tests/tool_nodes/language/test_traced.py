"""Words keep where they came from, whatever is done to a text."""

from __future__ import annotations

import copy
import pickle
import re

from hypothesis import given
from hypothesis import strategies as st

from toolhand.tool_nodes.language.relations import rewrite
from toolhand.tool_nodes.language.traced import Token, Traced, WordTrace, origin, spoken_words
from toolhand.tool_nodes.language.words import tokenize


def test_a_replacement_comes_from_what_it_replaces_and_a_group_from_itself() -> None:
    text = Traced.spoken("Put it to the bowl's LEFT").sub(r"to the (\w+)'s (left)", r"<\2> of \1")
    assert [(str(token), sorted(token.words)) for token in text.split()] == [
        ("put", [0]),
        ("it", [1]),
        ("<left>", [2, 3, 5]),
        ("of", [2, 3]),
        ("bowl", [4]),
    ]


def test_what_a_replacement_leaves_nothing_of_is_dropped_and_goes_with_the_word_before() -> None:
    text = Traced.spoken("the can please now").sub("please now", "")
    assert text.dropped == {2, 3}
    assert [(str(token), sorted(token.words)) for token in text.folded()] == [("the", [0]), ("can", [1, 2, 3])]


def test_an_account_quotes_as_it_was_said() -> None:
    account = WordTrace("Put  the CAN, up-side  down!")
    tokens = Traced.spoken("Put  the CAN, up-side  down!").split()
    account.give(tokens[:2], "verb")
    assert account.quote(account.unread) == '"CAN, up-side down"'
    account.give(frozenset({3}), "pose")
    assert account.quote(account.unread) == '"CAN" and "side down"'
    assert account.reading()[0] == ("verb", "Put the")


def test_a_token_is_copied_with_its_origin() -> None:
    token = Token("can", frozenset({3}))
    assert token == "can"
    assert copy.deepcopy(token).words == pickle.loads(pickle.dumps(token)).words == {3}


@given(st.text(alphabet="abc t'-.,!?éß½0 \n", max_size=60))
def test_no_word_of_any_text_is_lost(text: str) -> None:
    said = set(range(len(spoken_words(text))))
    assert origin(tokenize(text)) == said
    assert not said or origin(rewrite(tokenize(text))) == said


@given(
    st.text(alphabet="ab c", max_size=40), st.sampled_from(["a", "b+", "a b", "c$"]), st.sampled_from(["", " ", "x"])
)
def test_a_replacement_loses_no_word(text: str, pattern: str, replacement: str) -> None:
    spoken = Traced.spoken(text)
    changed = spoken.sub(pattern, replacement)
    assert changed.text == re.sub(pattern, replacement, spoken.text)
    assert len(changed.origins) == len(changed.text)
    assert changed.words | changed.dropped == spoken.words
