"""The robot's own plain words: every form reads into types, is said back the same, and nothing else is read."""

import pytest

from toolhand.agent_node.plan.grammar import END, NotCanonical, PlanWriter, parse, symbols, terminals
from toolhand.agent_node.plan.reader import CanonicalReader, context_of
from toolhand.agent_node.plan.reading import is_plan, read_plan, say
from toolhand.agent_node.plan.types import ObjectClause, ObjectRef, PlacePart, PlanAct

PLANS = (
    "pick up the plum that is at the back",
    "pick up the can that is closest to you",
    "put the second cup from the left on the box that is next to the jam",
    "put all blue ones in the bin",
    "put everything except the bunny in the bin",
    "put both cans on the left side",
    "put two cans in the front left corner",
    "put everything that is in the bowl on the table",
    "if there is a spoon , hand over the spoon ; otherwise , hand over a fork",
    "slowly , put the egg in the cup",
    "at 40 % speed , put it a bit to the left",
    "put the jar 5 cm left of the bowl and in front of the can but not behind it",
    "put it in the back of the bowl",
    "put it where it was",
    "put the can where the cup was",
    "put it as far as possible from the bowl",
    "put it in line with the cup and the box",
    "put it 10 cm closer to me",
    "put it a lot farther from the edge",
    "put the can at (0.500, 0.250) on the free spot at (0.100, 0.900)",
    "pick up the bottle with the red cap that is not closest to the bowl",
    "pick up the left one of the two cans that is on the left",
    "pick up the one that you moved last",
    "swap the lemon and the pear",
    "stack the tea box and the red box",
    "put the apple and the pear together",
    "sort the things by colour",
    "clear the table in the bin",
    "clear the table",
    "empty the bowl",
    "stand the bottle up",
    "lift it a little",
    "not that , the blue one",
    "choose the red one",
    "choose number 2",
    "leave the red box",
    "cannot pour the milk",
    "speed 50 %",
    "how many red things",
    "where is the honey",
    "which can is tallest",
    "which object is closest to the bowl",
    "which is taller , the can or the cup",
    "which is closer to the bin , the can or the cup",
    "what is left of the bowl",
    "what is between the two jars",
    "how far is the can away from the cup",
    "is the lemon in the bowl",
    "is the bowl , empty",
    "can you reach the lemon",
    "on which side of the box is the can",
    "undo the last move of the can",
    "what do you see",
    "put the three cups in a row",
    "put the pear on the right block",
    "pick up the smaller cup",
    "unclear",
)


@pytest.mark.parametrize("text", PLANS)
def test_a_plan_is_said_back_as_it_was_read(text: str) -> None:
    assert say(read_plan(text)) == text


def test_every_fixed_word_of_the_grammar_may_be_written() -> None:
    fixed = [words for words, names in symbols().items() if "FIXED" in names]
    assert len(fixed) > 25
    assert all(read_plan(words) == (PlanAct("fixed", words=words),) for words in fixed)


def test_clauses_belong_to_the_noun_before_them() -> None:
    [act] = read_plan("put the can that is next to the box that is in the bowl behind the cup")
    [can] = act.objects
    [box] = can.clauses[0].objects
    assert box.clauses == (ObjectClause("relation", "in", (ObjectRef("the", "bowl"),)),)
    assert act.place == (PlacePart("relation", "behind", (ObjectRef("the", "cup"),)),)


def test_the_order_condition_and_speed_of_acts_are_kept() -> None:
    first, second = read_plan("if there is a can , slowly , pick up the can ; otherwise , go home")
    assert (first.condition, first.speed, first.kind) == (ObjectRef("a", "can"), "slowly", "pick")
    assert second.otherwise
    assert second.words == "go home"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", 0),
        ("grab the can", 0),
        ("put the can", 3),
        ("put the can in", 4),
        ("pick up the can and", 4),
        ("pick up the can ; ", 5),
        ("choose number two", 1),
    ],
)
def test_what_is_no_plan_is_refused_where_it_goes_wrong(text: str, at: int) -> None:
    assert not is_plan(text)
    with pytest.raises(NotCanonical) as refused:
        parse(text)
    assert refused.value.at >= min(at, 1)


def test_a_plan_can_end_only_where_it_is_whole() -> None:
    writer, ends = PlanWriter(), []
    for terminal, words in terminals("put the can in the bin"):
        ends.append(END in writer.allowed())
        writer.write(terminal, words)
    assert not any(ends)
    assert END in writer.allowed()


def test_the_canonical_reader_reads_its_words_and_nothing_else() -> None:
    reader = CanonicalReader()
    read = reader.read("Please pick up the red box.")
    assert read is not None
    assert (say(read.plan), read.certainty, read.left_over) == ("pick up the red box", 1.0, ())
    assert reader.read("Grab me the red box") is None


def test_a_reader_is_told_the_plan_before_and_the_question() -> None:
    assert context_of("pick up the can") == "pick up the can"
    assert context_of("pick up the can", "Which can?") == "pick up the can ? Which can?"
