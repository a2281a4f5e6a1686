"""Tables of wordings: their own examples, and patterns."""

from __future__ import annotations

import pytest

from toolhand.agent_node.dialogue.reading import _forms
from toolhand.agent_node.dialogue.wordings import TABLES, TableEntry, Wording, _whole, matches, table
from toolhand.tool_nodes.language.words import tokenize, words_only
from toolhand.tool_nodes.results import ToolError

ENTRIES = [(name, entry) for name in TABLES for entry in table(name).values()]


def best(text: str) -> list[tuple[str, str]]:
    """(table, entry) of all that match the first form of a clause that anything matches, equally well as the best."""
    for form in _forms(tokenize(text)):
        found = matches(form)
        if found:
            return [(f.wording.table, f.wording.entry) for f in found if f.rank == found[0].rank]
    return []


@pytest.mark.parametrize(
    ("name", "entry"), ENTRIES, ids=lambda value: value.name if isinstance(value, TableEntry) else value
)
def test_every_example_is_read_as_its_own_entry_and_as_no_other(name: str, entry: TableEntry) -> None:
    for example in entry.examples:
        assert best(example) == [(name, entry.name)], example
    for other in entry.unlike:
        assert (name, entry.name) not in best(other)[:1], other


@pytest.mark.parametrize(
    ("name", "entry"), ENTRIES, ids=lambda value: value.name if isinstance(value, TableEntry) else value
)
def test_every_wording_can_be_read(name: str, entry: TableEntry) -> None:
    assert entry.examples
    assert all(wording.nodes for wording in entry.say)


@pytest.mark.parametrize(
    ("pattern", "text", "slots"),
    [
        ("undo [(it|that)]", "undo that", {}),
        ("swap {thing} and {thing}", "swap the lemon and the red box", {"thing": "the red box"}),
        ("put {things} {place}", "put the honey, the soup and the tea in the bin", {"place": "in the bin"}),
        ("number {number}", "number two", {"number": "two"}),
        ("say {words}", "say what you like", {"words": "what you like"}),
    ],
)
def test_a_pattern_matches_all_of_a_clause(pattern: str, text: str, slots: dict[str, str]) -> None:
    words = [str(token) for token in tokenize(text)]
    found = list(_whole(Wording("test", "test", pattern), words))
    assert found
    assert slots.items() <= dict(found[0].slots).items()
    assert not list(_whole(Wording("test", "test", pattern), ["gladly", *words]))


@pytest.mark.parametrize("pattern", ["(a|b", "[a", "a)", "a]"])
def test_a_pattern_that_is_not_closed_is_an_error(pattern: str) -> None:
    with pytest.raises(ToolError, match="wording"):
        _ = Wording("test", "test", pattern).nodes


@pytest.mark.parametrize(
    ("said", "meant"), [("undo teh last setp", "undo_last"), ("contniue", "go_on"), ("thnaks", "thanks")]
)
def test_a_slip_of_one_letter_is_mended(said: str, meant: str) -> None:
    assert best(said)[0][1] == meant


def test_words_of_the_grammar_are_no_slips_of_each_other() -> None:
    assert not matches(words_only(tokenize("stop the hand")))
