"""An object that is described after a comma, a question that names its subject first, and English that is short."""

from __future__ import annotations

import pytest

from tests.agent_node.dialogue.operators import TextRobot, dialogue
from toolhand.agent_node.dialogue.acts import Deed, FollowUp, GroupAct, QuestionAct, Refused, Unsure
from toolhand.agent_node.dialogue.languages import answer_in_its_language
from toolhand.agent_node.dialogue.reading import read
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.tool_nodes.language.words import tokenize, words_only
from toolhand.tool_nodes.results import ErrorCode


def said(words: str) -> str:
    (only,) = read(words)
    assert isinstance(only.act, Deed), only.act
    return parse_command(only.act.text).understood


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("pick up the can, the red one", "pick: red can"),
        ("pick up the can, the red one, please", "pick: red can"),
        ("grab the can (the small red one)", "pick: small red can"),
        ("grab the can - that red one.", "pick: red can"),
        ("Pick up the can. The red one.", "pick: red can"),
        ("pick up the can, the left", "pick: left can"),
        ("pick up the mug, on the left", "pick: mug on the left"),
        ("pick up the can, the one on the left", "pick: can that is on the left"),
        ("take the mug, the one that's blue", "pick: mug that is blue"),
        ("take the mug, the one next to the bowl", "pick: mug that is next to the bowl"),
        ("put the can, the red one, in the bowl", "pick: red can; place: in bowl"),
        (
            "put the mug, the blue one, next to the bowl, the green one",
            "pick: blue mug; place: next to green bowl",
        ),
    ],
)
def test_what_is_said_of_an_object_after_a_comma_tells_which_one(words: str, meant: str) -> None:
    assert said(words) == meant


def test_what_may_be_said_of_the_object_or_of_its_place_is_asked() -> None:
    assert [part.act for part in read("put the can in the bowl, the green one")] == [
        Unsure(("put the green can in the bowl", "put the can in the green bowl"))
    ]


@pytest.mark.parametrize("words", ["where is the can, the red one?", "point at the can, the red one"])
def test_questions_and_skills_take_such_a_description_too(words: str) -> None:
    assert "red can" in str(read(words)[0].act)


@pytest.mark.parametrize("words", ["the can is on the left, pick it up", "somebody left the can there, pick it up"])
def test_a_sentence_that_tells_is_a_remark_still(words: str) -> None:
    assert read(words)[-1].remark or isinstance(read(words)[-1].act, Deed)


@pytest.mark.parametrize(
    ("words", "act"),
    [
        ("Ketchup to red box, what's the distance?", ("apart", ("ketchup", "red box"))),
        ("ketchup to red box what's the distance", ("apart", ("the ketchup", "the red box"))),
        ("Ketchup and red box. What's the distance between them?", ("apart", ("the ketchup", "the red box"))),
        ("the lemon to the bowl, how far is it?", ("apart", ("the lemon", "the bowl"))),
        ("the lemon and the bowl, how far apart are they?", ("apart", ("the lemon", "the bowl"))),
        ("lemon to the bowl: how many cm?", ("apart", ("the lemon", "the bowl"))),
        ("the lemon, where is it?", ("where_is", ("the lemon",))),
        ("the lemon, what colour is it?", ("colour", ("the lemon",))),
        ("the rice box, what is the height?", ("size", ("the rice box",))),
    ],
)
def test_a_question_may_name_first_what_it_is_about(words: str, act: tuple[str, tuple[str, ...]]) -> None:
    (only,) = read(words)
    assert isinstance(only.act, QuestionAct)
    assert (only.act.kind, only.act.things) == act


@pytest.mark.parametrize(
    "words",
    [
        "the can in the bin, why?",
        "milk behind the bowl, which one is nearer?",
        "lemon in the bowl. What do you see?",
        "the can to the box, who cares?",
        "the can, where to?",
        "lemon next to the bowl, when?",
    ],
)
def test_an_object_and_its_place_before_a_question_move_nothing(words: str) -> None:
    robot = TextRobot()
    turn = dialogue(robot).say(words)
    assert turn.error_code in (ErrorCode.NOT_UNDERSTOOD, ErrorCode.AMBIGUOUS)
    assert robot.said == []


def test_an_order_before_a_question_is_carried_out() -> None:
    acts = [part.act for part in read("put the lemon in the bowl, what do you see?")]
    assert [type(act) for act in acts] == [Deed, QuestionAct]


ENGLISH = """
    do a backflip; do a flip as in a show;
    do a somersault; do the dishes; do it again for me; do as I do; do no harm; no do not; as you do;
    me as well; a no; is it a do or a no; do a u turn; no can do; do a handstand as a joke; play a la carte; leg day;
    bring lemon; bring a coin; place a coin; place a can; tag a can; pose for me; a place in the sun; die;
    what was that; was it you; in or on; bring it in; no a lemon; one more; do a push up; take a nap; as is; on me;
    do me a favour; me as well do it;
    um; e; o; a; uma; do a barrel roll; come on; do it; me do it; no no no; do that as a test; sing me a song;
    tell me a joke; make a cake; take a bow; jump; do a little dance; up a bit;
    do a dance in the bin; place it as a lid; no place; set a table; do on; as a can
"""


@pytest.mark.parametrize("words", [each.strip() for each in ENGLISH.replace("\n", " ").split(";")])
def test_a_short_english_sentence_is_not_answered_in_another_language(words: str) -> None:
    assert answer_in_its_language(words, words_only(tokenize(words))) == ""


@pytest.mark.parametrize("words", ["bring lemon", "place a coin in the bowl"])
def test_an_order_that_other_languages_have_a_word_of_is_english(words: str) -> None:
    assert said(words)


@pytest.mark.parametrize(
    ("words", "language"),
    [
        ("bring die Dose in die Schale", "Englisch"),
        ("was ist das", "Englisch"),
        ("pose la boîte sur la table", "anglais"),
        ("coge la caja", "inglés"),
        ("pega a caixa", "inglês"),
    ],
)
def test_another_language_with_words_of_english_is_answered_in_it(words: str, language: str) -> None:
    (only,) = read(words)
    assert isinstance(only.act, Refused)
    assert language in only.act.message


@pytest.mark.parametrize(
    ("words", "objects"),
    [
        ("stack the two cubes", ("two", "cubes")),
        ("stack the cubes", ("the cubes",)),
        ("stack both boxes", ("two", "boxes")),
        ("can you stack those two boxes up?", ("two", "boxes")),
    ],
)
def test_a_stack_of_objects_alike_keeps_how_many_there_are(words: str, objects: tuple[str, ...]) -> None:
    assert [part.act for part in read(words)] == [GroupAct("stack", objects)]


@pytest.mark.parametrize(
    ("words", "act"),
    [
        ("undo the swap", FollowUp("undo")),
        ("undo the last step", FollowUp("undo_last")),
        ("put them back", FollowUp("put_back", "them")),
    ],
)
def test_a_whole_plan_and_its_last_step_are_taken_back_by_words_of_their_own(words: str, act: FollowUp) -> None:
    assert [part.act for part in read(words)] == [act]
