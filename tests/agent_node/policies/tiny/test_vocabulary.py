"""The words of the small policy: every sentence that a task generator makes, and what becomes of others."""

from __future__ import annotations

import pytest

from agent_node.policies.scripted.commands import parse_command
from agent_node.policies.tiny.vocabulary import FIXED, SLOTS, Vocabulary, default_vocabulary, said_words
from sim.tasks.sentences import COMPARATIVES, PAPER_SENTENCES, PICK, PICK_AND_PLACE, SUPERLATIVES, WHERE, descriptions
from tool_nodes.catalogue import load_catalogue
from tool_nodes.results import ErrorCode, ToolError

VOCABULARY = default_vocabulary()


def test_it_knows_every_word_of_every_sentence_of_the_tasks() -> None:
    named = sorted({text for item in load_catalogue().values() for text in descriptions(item)})
    wordings = [*PICK, *PICK_AND_PLACE, *PAPER_SENTENCES, *named]
    for group in (SUPERLATIVES, COMPARATIVES, WHERE):
        wordings += [text for texts in group.values() for text in texts]
    words = {
        word for text in wordings for word in said_words(text.replace("{", " {").format("", "", target="", where=""))
    }
    assert {word for word in words if not VOCABULARY.knows(word)} == set()


def test_it_knows_every_word_that_the_pointer_is_asked_for() -> None:
    texts = [
        f"pick up {text.format('juice')}"
        for group in (SUPERLATIVES, COMPARATIVES)
        for w in group.values()
        for text in w
    ]
    texts += [
        f"take the can {text.format('the tea box')}" for key in ("left_of", "behind", "next_to") for text in WHERE[key]
    ]
    for text in (*texts, *PAPER_SENTENCES):
        command = parse_command(text)
        assert command.target is not None
        for phrase in (command.target, *command.references):
            assert all(VOCABULARY.knows(word) for word in phrase.text.split()), phrase.text


def test_an_unknown_word_is_a_slot_and_the_same_one_each_time() -> None:
    tokens, slots = VOCABULARY.read_sentence("Put the Zorble cup beside the frobnitz, not the zorble bowl!")
    assert " ".join(tokens) == "put the [w1] cup beside the [w2] [w3] the [w1] bowl"
    assert slots == ("zorble", "frobnitz", "not")


def test_a_word_of_an_operator_is_never_a_token_of_the_dialect() -> None:
    tokens, slots = VOCABULARY.read_sentence("LOOK at p1 and END the [see] box")
    assert not set(tokens) & (set(FIXED) - {f"[w{k}]" for k in range(1, SLOTS + 1)})
    assert {"p1", "look", "end"} <= set(slots)


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("zorble frobnitz", "knows no word"),
        ("", "knows no word"),
        ("... !", "knows no word"),
        ("pick up aa bb cc dd ee ff gg hh ii", "9 words of this sentence (aa, bb"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence(sentence: str, words: str) -> None:
    with pytest.raises(ToolError) as error:
        VOCABULARY.read_sentence(sentence)
    assert error.value.code is ErrorCode.NOT_UNDERSTOOD
    assert words in str(error.value)


def test_a_vocabulary_of_odd_words_is_refused() -> None:
    for words in (["box", "box"], ["Box"], ["red box"], [""], ["p1"]):
        with pytest.raises(ToolError, match="each once"):
            Vocabulary(words)
