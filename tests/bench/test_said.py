"""Sentences by hand: the judge tells wrong deeds, and today's reading makes none."""

from dataclasses import replace

import pytest

from tests.bench.said.judging import judge_physics, judge_refusal, judge_words
from tests.bench.said.meaning import Sentence
from tests.bench.said.sentences import Half, load_said, read_meanings
from toolhand.agent_node.policies.scripted.refusals import EXAMPLES
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.results import ToolError
from toolhand.training.env.goal_from_text import true_views

SCENE = generate_scene(3)


def placed() -> Sentence:
    """A sentence by hand that puts one object in relation to others."""
    said = load_said("tuned")
    return next(one.options[0] for one in said if len(one.options) == 1 and one.options[0].relation and not one.after)


def test_a_deed_that_was_not_meant_is_a_false_success() -> None:
    sentence = placed()
    views = true_views(Station(sentence.scene))
    assert judge_words(sentence, views).result == "done as meant"
    named = {*sentence.target_ids, *sentence.reference_ids}
    other = next(placed.id for placed in sentence.scene.objects if placed.id not in named)
    for meant in (
        replace(sentence, target_ids=(other,)),
        replace(sentence, relation="between"),
        replace(sentence, reference_ids=(other, *sentence.reference_ids)),
        replace(sentence, wanted="refusal"),
    ):
        assert judge_words(meant, views).result == "false success"


def test_a_refusal_has_to_quote_what_was_not_understood() -> None:
    sentence = replace(placed(), wanted="refusal", quoted=("not", "in the Bin"))
    right, wrong = "refused rightly", "refused in other words"
    assert judge_refusal(sentence, 'NOT_UNDERSTOOD: I do not understand "not in the bin".') == right
    assert judge_refusal(sentence, "NOT_UNDERSTOOD: I do not understand that.") == wrong
    assert judge_refusal(replace(sentence, wanted="deed"), "NOT_UNDERSTOOD: No.") == "refused though fine"
    assert judge_refusal(replace(sentence, wanted="question"), "AMBIGUOUS: Which can?") == right
    assert judge_refusal(replace(sentence, wanted="question"), "OBJECT_NOT_FOUND: No can.") == wrong
    assert judge_refusal(replace(sentence, wanted="question"), "NOT_UNDERSTOOD: Say which object.") == wrong
    long = replace(
        sentence, text="put the apple on the table and not in the bin that is black", quoted=("not in the bin",)
    )
    assert judge_refusal(long, f'NOT_UNDERSTOOD: I do not understand "{long.text}".') == wrong
    assert judge_refusal(sentence, "NOT_UNDERSTOOD: Nothing can be put not in the bin, in grey_bin_1.") == wrong


def test_the_examples_after_a_refusal_are_not_its_words() -> None:
    sentence = Sentence("", "bring the can to the left", SCENE, "refusal", quoted=("to the left",))
    assert judge_refusal(sentence, f"NOT_UNDERSTOOD: I cannot. {EXAMPLES}") == "refused in other words"
    assert judge_refusal(sentence, f'NOT_UNDERSTOOD: "To the left" is no place. {EXAMPLES}') == "refused rightly"


def test_what_is_not_there_has_to_be_looked_for() -> None:
    sentence = Sentence("", "pick up the can next to the box", SCENE, "absence", quoted=("next to the box",))
    assert judge_refusal(sentence, 'OBJECT_NOT_FOUND: no "can next to the box" here') == "refused rightly"
    assert judge_refusal(sentence, 'NOT_UNDERSTOOD: I do not understand "next to the box"') == "refused in other words"


def test_words_that_change_the_wish_may_not_be_called_needless() -> None:
    sentence = Sentence("", "pretend to lift it", SCENE, "refusal", quoted=("pretend to",), kept=True)
    assert judge_refusal(sentence, 'NOT_UNDERSTOOD: "pretend to": leave it out.') == "refused in other words"
    assert judge_refusal(sentence, 'NOT_UNDERSTOOD: I cannot "pretend to".') == "refused rightly"
    place = replace(sentence, quoted=("corner",), kept=False)
    assert judge_refusal(place, "NOT_RECOGNISED: I do not know 'corner', so ...") == "refused in other words"
    assert judge_refusal(replace(place, looked_for=True), "NOT_RECOGNISED: I do not know 'corner'") == "refused rightly"


def test_what_is_held_is_known_by_its_name_in_physics() -> None:
    text = "put the baseball in front of the tea box"
    judged = judge_physics(next(said for said in load_said("tuned") if said.holds and said.text == text))
    assert judged.result == "done as meant", judged.answer


def test_the_halves_share_no_sentence_and_are_large_enough() -> None:
    halves: tuple[Half, ...] = ("tuned", "unseen")
    tuned, unseen = ({(said.text, said.scene.seed) for said in load_said(half)} for half in halves)
    assert not tuned & unseen
    assert min(len(tuned), len(unseen)) >= 250
    assert len(tuned | unseen) >= 600


@pytest.mark.parametrize(
    "meaning", ["pick nothing_1", "place baseball_1", "pick baseball_1 behind honey_1", "refuse", "do", "unknown"]
)
def test_a_meaning_that_says_nothing_of_its_scene_is_refused(meaning: str) -> None:
    with pytest.raises(ToolError, match="is no meaning"):
        read_meanings(meaning, Sentence("", "pick it up", SCENE, "refusal"))


def test_meanings_that_are_as_good_are_joined_by_or() -> None:
    plain = Sentence("", "pick it up", SCENE, "refusal")
    options = read_meanings('place baseball_1|honey_1 behind tea_box_1 or ask or cannot "a"|"b"', plain)
    assert [option.wanted for option in options] == ["deed", "question", "refusal", "refusal"]
    assert options[0].target_ids == ("baseball_1", "honey_1")
    assert options[0].reference_ids == ("tea_box_1",)
    assert [(option.quoted, option.kept) for option in options[2:]] == [(("a",), True), (("b",), True)]
