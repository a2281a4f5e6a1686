"""Objects that nothing here is called by: another name, fewer words, or a question."""

from __future__ import annotations

import pytest

from tests.agent_node.dialogue.operators import episode_of, record
from toolhand.agent_node.dialogue.dialogue import Dialogue
from toolhand.agent_node.dialogue.renaming import called_otherwise, object_of, without_name
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.plan.reading import read_plan, say_act, say_object
from toolhand.agent_node.plan.types import PlanAct
from toolhand.agent_node.policy import Policy
from toolhand.tool_nodes.language.unfound import Unfound
from toolhand.tool_nodes.results import ErrorCode, ToolError

SEEN = ("transparent bin", "apple", "tea box", "plush frog")


def act_of(text: str) -> PlanAct:
    [act] = read_plan(text)
    return act


@pytest.mark.parametrize(
    ("said", "unfound", "meant"),
    [
        (
            "put the apple in the clear tub",
            Unfound("clear tub", alike=("transparent bin",), seen=SEEN),
            "put the apple in the transparent bin",  # and the apple, which is seen, stays one
        ),
        (
            "put the apple in the red tub",
            Unfound("red tub", alike=("transparent bin",), seen=SEEN),
            "put the apple in the red tub",
        ),
        (
            "pick up the tea box with the yellow wibble that is left of the apple",
            Unfound("tea box with yellow wibble to the left of the apple", unknown=("wibble",), seen=SEEN),
            "pick up the tea box that is left of the apple",
        ),
        (
            "pick up the wibbly green tea box",
            Unfound("wibbly green tea box", unknown=("wibbly",), seen=SEEN),
            "pick up the green tea box",
        ),
        (
            "pick up the green wibble",
            Unfound("green wibble", unknown=("wibble",), seen=SEEN),
            "pick up the green wibble",
        ),
        ("pick up the froggie", Unfound("froggie", unknown=("froggie",), seen=SEEN), "pick up the plush frog"),
        (
            "pick up the red froggie",
            Unfound("red froggie", unknown=("froggie",), seen=SEEN),
            "pick up the red plush frog",
        ),
        ("pick up the pear", Unfound("pear", seen=SEEN), "pick up the pear"),
        ("pick up the aplle", Unfound("aplle", unknown=("aplle",), seen=SEEN), "pick up the apple"),
        (
            "pick up the pulsh frogy",
            Unfound("pulsh frogy", unknown=("pulsh", "frogy"), seen=SEEN),
            "pick up the plush frog",
        ),
        ("pick up the maple", Unfound("maple", unknown=("maple",), seen=("apple", "staple")), "pick up the maple"),
    ],
)
def test_what_is_not_found_gets_other_words_only_where_they_are_clear(said: str, unfound: Unfound, meant: str) -> None:
    act, told = called_otherwise(act_of(said), [unfound])
    assert say_act(act) == meant
    assert bool(told) is (said != meant)


def test_the_object_that_is_not_found_is_the_one_that_was_asked_for() -> None:
    act = act_of("put the red cup that is left of the bowl in the bin")
    found = [object_of(act, Unfound(asked)) for asked in ("red cup to the left of the bowl", "bowl", "bin", "unicorn")]
    assert [ref and ref.words for ref in found] == ["red cup", "bowl", "bin", None]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("pick up the little red wibble", "the little red object"),
        ("pick up the wibble that is left of the bowl", "the object that is left of the bowl"),
        ("pick up the wooden wibble", None),  # no word is left that a camera sees
        ("pick up the red one", None),
        ("pick up all red wibbles", None),
    ],
)
def test_an_object_is_asked_about_by_its_looks_and_place(said: str, left: str | None) -> None:
    ref = without_name(act_of(said).objects[0])
    assert (ref and say_object(ref)) == left


def test_a_name_that_leads_from_one_to_the_next_ends_in_a_failure_and_not_in_a_success() -> None:
    asked: list[str] = []

    def never_there(sentence: str, policy: Policy | None, memory: str) -> Episode:
        asked.append(sentence)
        name = sentence.split()[-1]
        told = f"no '{name}' here; do you mean the x{name}? I see: x{name}"
        missing = ToolError(ErrorCode.OBJECT_NOT_FOUND, told)
        episode = episode_of(sentence, [record("roborefer.detect_all", {}, missing, obj_name=name)])
        episode.error_code, episode.answer = missing.code, told
        return episode

    turn = Dialogue(never_there).say("pick up the bolt")
    assert (turn.success, turn.error_code) == (False, ErrorCode.OBJECT_NOT_FOUND)
    assert asked[-1] == "pick up the xxxbolt"
    assert "no 'xxxbolt' here" in turn.answer
