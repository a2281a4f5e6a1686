"""The grammar of paraphrases: enough wordings, none of one split in another, and all read back by who made them."""

import ast
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.sim.tasks.predicates import RELATIONS
from toolhand.training.tasks import sayings as grammar
from toolhand.training.tasks.kinds import TASK_KINDS
from toolhand.training.tasks.sayings import (
    CommandWords,
    command_of,
    heard,
    say,
    say_command,
    say_widely,
    sayings,
    side_of,
    wider_sayings,
    wordings_of,
)
from toolhand.training.tasks.splits import HELD_OUT, SPLITS, products_of
from toolhand.training.tasks.wordings import FORMS, SIDE_WORDS
from toolhand.training.teacher.reading import plainly, read_question

SIDES = ("left", "right", "front", "behind")
BLANKS = {"a": "rice box", "b": "cola", "line": "red", "target": "the rice box"}


def plain(text: str) -> str:
    """Words alone: neither capitals nor punctuation make a wording another one."""
    return " ".join(re.sub(r"[^\w{}|' -]", " ", text.lower()).split())


def parts(split: str) -> dict[str, list[str]]:
    """Every list of words of a split's file."""
    words = sayings(split)
    found = {f"do {kind}": list(some) for kind, some in words.do.items()}
    found |= {f"say {kind}": list(some) for kind, some in words.say.items()}
    found |= {"polite": list(words.polite)}
    for name in ("sides", "compared", "which", "where"):
        found |= {f"{name} {key}": list(some) for key, some in getattr(words, name).items()}
    return found


@pytest.mark.parametrize("kind", TASK_KINDS)
def test_every_kind_has_forty_wordings_and_no_wording_is_in_two_splits(kind):
    wordings = [plain(wording) for split in SPLITS for wording in wordings_of(kind, split)]
    assert len(wordings) >= 40
    assert len(set(wordings)) == len(wordings)
    assert min(len(wordings_of(kind, split)) for split in SPLITS) >= 8


def test_no_words_of_validation_or_test_are_those_of_another_split():
    for one in ("validation", "test"):
        for other in SPLITS:
            if other != one:
                theirs = {plain(text) for some in parts(other).values() for text in some}
                shared = [text for some in parts(one).values() for text in some if plain(text) in theirs]
                assert not shared, (one, other)


def test_no_phrase_for_a_side_or_place_of_test_holds_one_of_training():
    for name in ("sides", "compared", "which", "where"):
        for key, phrases in getattr(sayings("test"), name).items():
            for phrase in phrases:
                for theirs in getattr(sayings("train"), name).get(key, ()):
                    assert f" {plain(theirs)} " not in f" {plain(phrase)} ", (phrase, theirs)


def test_no_more_words_for_plans_are_those_of_validation_or_test():
    more = wider_sayings()
    for split in ("validation", "test"):
        own = sayings(split)
        assert not set(more.polite) & set(own.polite)
        for name in ("do", "say"):
            for kind, wordings in getattr(own, name).items():
                assert not set(wordings) & set(getattr(more, name).get(kind, ())), (split, kind)
        for name in ("sides", "which", "where"):
            for key, phrases in getattr(own, name).items():
                for ours, theirs in itertools.product(getattr(more, name)[key], phrases):
                    assert ours != theirs
                    assert split != "test" or f" {plain(ours)} " not in f" {plain(theirs)} ", (ours, theirs)


def test_more_words_say_what_those_of_the_split_say_and_more():
    more, own = wider_sayings(), sayings("train")
    assert all(len(more.where[key]) > len(phrases) + 3 for key, phrases in own.where.items())
    assert all(len(more.which[key]) > len(phrases) + 3 for key, phrases in own.which.items())
    rng = np.random.default_rng(5)
    words = CommandWords("salt", relation="between", references=("tea box", "hot sauce"))
    said = {say_widely(rng, words) for _ in range(60)}
    assert len(said) > 50
    assert all("tea box" in text and "hot sauce" in text and not re.search(r"[{}|]", text) for text in said)


def test_products_of_test_are_asked_for_nowhere_else():
    assert not set(products_of("test")) & (set(products_of("train")) | set(products_of("validation")))
    assert set(HELD_OUT["test"]) == set(products_of("test"))


@pytest.mark.parametrize("split", SPLITS)
def test_every_side_and_relation_can_be_said(split):
    words = sayings(split)
    assert set(words.sides) == set(words.which) == set(SIDES)
    assert set(words.where) == set(RELATIONS)
    assert all(side_of(phrase) == side for side, phrases in words.sides.items() for phrase in phrases)
    assert side_of("above") is None


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("kind", sorted(FORMS))
def test_every_question_is_read_back_as_what_was_asked(kind, split):
    rng = np.random.default_rng(3)
    form = FORMS[kind].format(options="A) left of it, B) behind it, C) right of it, D) in front of it.")
    for k in range(60):
        side = SIDES[k % 4]
        where = grammar.side_words(rng, side, split, compared=kind == "yes_no")
        text = f"{say(rng, kind, split, where=where, **BLANKS)} {form}"
        question = read_question(text)
        assert question is not None, text
        assert question.kind == kind, text
        expected = {name: BLANKS[name] for name in question.blanks if name != "where"}
        expected |= {"where": SIDE_WORDS[side]} if "where" in question.blanks else {}
        assert question.blanks == expected, text
        assert text[0].isupper()
        assert not re.search(r"[{}|]|\.\.|\?\.", text.removesuffix(form))


@pytest.mark.parametrize("split", SPLITS)
def test_every_command_is_read_back_as_what_was_asked(split):
    rng = np.random.default_rng(4)
    for k in range(160):
        relation = RELATIONS[k % len(RELATIONS)] if k % 2 else None
        side = SIDES[k % 4] if k % 3 == 0 and relation is None else ""
        references = ("tea box", "hot sauce")[: 2 if relation == "between" else 1] if relation else ()
        words = CommandWords("rice box", side, relation, references)
        text = say_command(rng, split, words)
        assert command_of(text) == words, text
        assert plainly(text) == words.plain
        assert read_question(text) is None


def test_what_a_teacher_is_told_is_in_words_that_the_robot_reads():
    for relation in RELATIONS:
        references = ("tea box", "hot sauce")[: 2 if relation == "between" else 1]
        command = parse_command(CommandWords("salt", relation=relation, references=references).plain)
        assert (command.action, command.relation) == ("place", relation)
    for side in SIDES:
        assert parse_command(CommandWords("salt", side).plain).target is not None


def test_the_same_numbers_say_the_same_and_others_something_else():
    said = [say(np.random.default_rng(k), "size", "train", a="salt") for k in (*range(20), *range(20))]
    assert said[:20] == said[20:]
    assert len(set(said)) > 10


def test_a_sentence_of_nobodys_grammar_is_left_as_it_is():
    assert plainly("Make me a sandwich") == "Make me a sandwich"
    assert heard("Make me a sandwich", "pick") is None
    assert read_question("How tall is the rice box?") is None  # without the form of its answer


def test_the_grammar_and_the_robots_reader_share_nothing():
    own = Path(grammar.__file__).parent
    for path in (own / f"{name}.py" for name in ("sayings", "wordings", "question", "manipulation", "splits")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            imported = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            imported += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not any(
                name.startswith(("toolhand.tool_nodes.language", "toolhand.agent_node")) for name in imported
            ), path.name
