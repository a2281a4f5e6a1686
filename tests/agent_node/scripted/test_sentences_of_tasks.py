"""Every sentence that a task is made of is read exactly, as what it was made from."""

import itertools

import pytest

from toolhand.agent_node.plan.reader import CanonicalReader
from toolhand.agent_node.policies.scripted.commands import Command, command_of, parse_command
from toolhand.sim.objects.products import PRODUCTS
from toolhand.sim.tasks import sentences
from toolhand.sim.tasks.tasks import random_task
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.relations import RELATION_WORDS
from toolhand.training.tasks.sayings import CommandWords

NAMES = sorted({phrase for item in PRODUCTS.values() for phrase in sentences.descriptions(item)})
KEYS = {"left": "left", "right": "right", "front": "near", "behind": "far"}


def read(text: str) -> Command:
    understood = CanonicalReader().read(text)
    assert understood is not None, text
    return command_of(understood.plan)


def test_every_name_is_read_in_every_sentence() -> None:
    for name, pick in zip(NAMES, itertools.cycle(sentences.PICK), strict=False):
        command = read(pick.format(target=f"the {name}"))
        assert (command.action, command.target) == ("pick", parse_noun_phrase(name))
    wheres = [(relation, words) for relation, some in sentences.WHERE.items() for words in some]
    ways = itertools.cycle(itertools.product(sentences.PICK_AND_PLACE, wheres))
    for name, (sentence, (relation, where)) in zip(NAMES, ways, strict=False):
        said = sentence.format(target=f"the {name}", where=where.format("the odd bowl", "the old box"))
        command = read(said)
        assert (command.target, command.relation, command.form) == (parse_noun_phrase(name), relation, None), said
        assert [each.text for each in command.references] == ["odd bowl", "old box"][: len(command.references)]


@pytest.mark.parametrize("table", [sentences.SUPERLATIVES, sentences.COMPARATIVES])
def test_every_side_of_one_of_several_is_read(table: dict[str, tuple[str, ...]]) -> None:
    for side, words in table.items():
        for phrase, pick in itertools.product(words, sentences.PICK):
            target = read(pick.format(target=phrase.format("tea box"))).target
            assert target is not None
            assert (target.words, [s.key for s in target.selectors]) == (("tea", "box"), [KEYS[side]]), phrase


def test_every_relation_of_one_of_several_is_read() -> None:
    for relation in ("left_of", "right_of", "in_front_of", "behind", "next_to"):
        for where, pick in itertools.product(sentences.WHERE[relation], sentences.PICK):
            target = read(pick.format(target=f"the can {where.format('the bowl')}")).target
            assert target is not None
            assert (target.relation, [each.text for each in target.references]) == (relation, ["bowl"])


@pytest.mark.parametrize("recipe", sentences.RECIPES, ids=lambda recipe: recipe.text)
def test_the_sentences_of_the_paper_are_read(recipe: sentences.Recipe) -> None:
    command = read(recipe.text)
    assert command.relation == recipe.relation
    assert command.target is not None
    if recipe.side is not None:
        assert [s.key for s in command.target.selectors] == [KEYS[recipe.side]]


@pytest.mark.parametrize("relation", [None, *sentences.WHERE])
def test_the_plain_words_of_training_tasks_are_read(relation: str | None) -> None:
    references = ("tea box", "hot sauce")[: 0 if relation is None else 2 if relation == "between" else 1]
    for side in ("", *KEYS):
        command = read(CommandWords("rice box", side, relation, references).plain)  # type: ignore[arg-type]
        assert command.target is not None
        assert command.target.words == ("rice", "box")
        assert [s.key for s in command.target.selectors] == ([KEYS[side]] if side else [])
        assert (command.relation, tuple(each.text for each in command.references)) == (relation, references)


@pytest.mark.parametrize("seed", range(12))
def test_tasks_of_a_seed_are_read(seed: int) -> None:
    task = random_task(seed)
    command = parse_command(task.text)
    assert command.relation == getattr(task, "relation", None)
    assert command.relation is None or command.relation in (*RELATION_WORDS, "anywhere")
