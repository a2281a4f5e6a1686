"""Every word of a command becomes part of it, changes nothing and says so, or is quoted in a refusal."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.agent_node.policies.scripted.commands import Command, parse_command
from toolhand.agent_node.policies.scripted.verbs import VERBS
from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.words import (
    COLOURS,
    DETERMINERS,
    FILLERS,
    FUNCTION_WORDS,
    NUMBERS,
    ORDINALS,
    RELATIVE,
    SHADES,
    SIDES,
    SIZES,
    UNCHECKED,
    stem,
)
from toolhand.tool_nodes.results import ErrorCode, ToolError

REFUSED = [
    ("put the apple anywhere but the bin", '"but the bin"'),
    ("put the apple on the table so it is not next to the bowl", '"not next to the bowl"'),
    ("pick up the can that is not in the bin", '"not in the bin"'),
    ("lay the bottle flat", '"flat"'),
    ("lay the bottle down flat", '"flat"'),
    ("lay the bottle on its side", '"on its side"'),
    ("put the Bottle UPSIDE-DOWN", '"UPSIDE-DOWN"'),
    ("put the bottle on the table with the cap facing left", '"with the cap facing left"'),
    ("put the apple in the bin and then take it out again", '"take it out again"'),
    ("put the apple in the bin and check it", '"check it"'),
    ("put the apple in the bin and on the table", '"on the table"'),
    ("put the can left of the bowl behind the box", '"behind the box"'),
    ("pick up the lemon then the baseball", '"then the baseball"'),
    ("pick up the lemon the baseball", '"the baseball"'),
    ("pick up the lemon followed by the baseball", '"followed by the baseball"'),
    ("put the apple in the bin after the lemon", '"after the lemon"'),
    ("put the can in the bin before the box", '"before the box"'),
    ("pick up the third second can", '"second"'),
    ("pick up the left right can", '"right"'),
    ("we're out of milk, put the carton in the bin", '"we\'re out of milk"'),
    ("my sister is coming, pick up the salt", '"my sister is coming"'),
    ("pick up the nice red box", '"nice"'),
    ("pick up the standing bottle", '"standing"'),
    ("pick up the can over there", '"over there"'),
    ("put the can in the bin twice", '"twice"'),
    ("pick up the apple tomorrow", '"tomorrow"'),
    ("pick up the apple if it is red", '"if"'),
    ("put the can in the bin, no wait, the bowl", '"no wait, the bowl"'),
    ("pick up the red box. Actually the green one.", '"Actually the green one"'),
    ("pick up the red box actually the green one", '"actually the green one"'),
    ("put the can in the bin. wait, the bowl", '"wait, the bowl"'),
    ("pick up the red, I mean the blue cup", '"I mean the blue cup"'),
    ("put the can in the bin without letting go", '"without letting go"'),
    ("put the box against the bin", '"against"'),
    ("pick up 100 % of the apple", '"%"'),
    ("pick up the can with two handles", '"with two handles"'),
]


@pytest.mark.parametrize(("sentence", "quoted"), REFUSED, ids=lambda value: str(value)[:50])
def test_what_is_not_understood_is_refused_in_the_operators_words(sentence: str, quoted: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_command(sentence)
    assert caught.value.code is ErrorCode.NOT_UNDERSTOOD
    assert quoted in caught.value.message


@pytest.mark.parametrize(
    ("sentence", "understood", "without_effect"),
    [
        ("be careful, put the apple in the bin", "pick: apple; place: in bin", ("be careful",)),
        ("Please pick up the red box slowly.", "pick: red box", ("Please", "slowly")),
        ("put the apple in the bowl, not the bin", "pick: apple; place: in bowl not the bin", ()),
        ("pick up the red box, but not the tall one", "pick: red box but not the tall one", ()),
        ("move the can onto the table next to the bowl", "pick: can; place: next to bowl", ()),
        ("put the can in the bin and leave it there", "pick: can; place: in bin", ()),
        ("put the tuna can in the bin", "pick: tuna can; place: in bin", ()),
        ("pick up the can closest to you", "pick: can closest to the robot", ()),
        ("drop the pink ball", "held: pink ball; place: on the table", ()),
        ("put it down", "held: what the gripper holds; place: on the table", ()),
    ],
)
def test_a_command_tells_what_was_understood_and_what_changed_nothing(
    sentence: str, understood: str, without_effect: tuple[str, ...]
) -> None:
    command = parse_command(sentence)
    assert command.understood == understood
    assert command.without_effect == without_effect


@pytest.mark.parametrize("sentence", ["drop the pink ball", "release the can", "let go of the can", "drop it"])
def test_letting_go_is_of_what_is_held(sentence: str) -> None:
    command = parse_command(sentence)
    assert (command.action, command.target, command.relation) == ("place", None, "anywhere")


def test_dropping_into_something_is_a_place_like_any_other() -> None:
    command = parse_command("drop the can in the bin")
    assert command.target is not None
    assert command.relation == "in"


@pytest.mark.parametrize(
    "sentence", ["stop", "STOP!", "halt", "stop the arm", "emergency stop", "please stop moving now"]
)
def test_stop_is_told_how_to_stop(sentence: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_command(sentence)
    assert "Nothing is moving" in caught.value.message
    assert "toolhand stop" in caught.value.hint
    assert "Ctrl-C" in caught.value.hint


@pytest.mark.parametrize(
    "sentence", ["dive the can", "fake the can", "prop the box on the bin", "mold the can", "dress the box on the bin"]
)
def test_another_word_is_no_slip_of_a_verb(sentence: str) -> None:
    with pytest.raises(ToolError, match="no action"):
        parse_command(sentence)


def test_the_reading_holds_every_word_once_and_in_order() -> None:
    text = "Could you please put Bob's hot-dog -- carefully -- to the black bin's left?"
    command = parse_command(text)
    said = " ".join(words for _, words in command.reading)
    kept = "".join(c for c in text.lower() if c.isalnum())
    assert "".join(c for c in said.lower() if c.isalnum()) == kept
    assert all(first[0] != second[0] for first, second in pairwise(command.reading))
    assert "not understood" not in dict(command.reading)


SENTENCES = [
    "pick up the red box",
    "pick up the far coconut water",
    "put the can in the bin",
    "put the can to the left of the bowl",
    "Pick up the hot dog and place it in the black bin",
    "put the can on the table",
    "put the pony between the apple and the pear",
    "put it down",
    "take the can next to the bowl",
]
_SMALL_WORDS = """
    and then so now first next finally also again back away off out over up down aside of to you with anywhere somewhere
    elsewhere wherever afterwards maybe perhaps right please all on in it them he her from little 1st
"""
CHANGE_NOTHING = (FILLERS - UNCHECKED) | DETERMINERS | set(_SMALL_WORDS.split())
"""Courtesy, articles, connectors and particles of verbs."""
KNOWN = sorted(
    {*DETERMINERS, *FILLERS, *UNCHECKED, *NUMBERS, *ORDINALS, *SIDES, *SIZES, *COLOURS, *RELATIVE, *SHADES}
    | {*FUNCTION_WORDS, *list(VERBS)[::5], "not", "rotten", "apple", "flat", "slowly", "twice"}
    - {"had", "too"}  # slips of "hand" and "took"
)


def _meaning(phrase: NounPhrase | None) -> object:
    if phrase is None:
        return None
    references = tuple(_meaning(reference) for reference in phrase.references)
    kinds = (phrase.count, phrase.plural, phrase.indefinite, phrase.details, _meaning(phrase.excluded))
    return phrase.words, set(phrase.selectors), phrase.relation, references, kinds


def _reading(command: Command) -> object:
    objects = (command.target, command.held_as, *command.references)
    return command.action, command.relation, command.form, [_meaning(item) for item in objects]


@given(st.sampled_from(SENTENCES), st.sampled_from(KNOWN), st.integers(0, 12))
@settings(max_examples=1500, deadline=None)
def test_a_further_word_changes_the_reading_or_nothing_or_is_refused(sentence: str, word: str, at: int) -> None:
    words = sentence.split()
    said = " ".join([*words[:at], word, *words[at:]])
    code = None
    try:
        command = parse_command(said)
    except ToolError as error:
        code = error.code
    if code in (ErrorCode.NOT_UNDERSTOOD, ErrorCode.INVALID_ARGUMENT):
        return
    same_side = word in SIDES and any(SIDES.get(other) == SIDES[word] for other in words)
    harmless = word in CHANGE_NOTHING or word in VERBS or word in command.without_effect or same_side
    repeated = stem(word) in {stem(other.lower()) for other in words}
    assert harmless or repeated or _reading(command) != _reading(parse_command(sentence)), said
