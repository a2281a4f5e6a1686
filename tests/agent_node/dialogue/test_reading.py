"""From what an operator says to acts."""

from __future__ import annotations

import pytest

from toolhand.agent_node.dialogue.acts import Deed, FollowUp, Refused, SmallTalk, Unsure
from toolhand.agent_node.dialogue.reading import MOST_CLAUSES, read
from toolhand.tool_nodes.results import ErrorCode


def acts(text: str) -> list[object]:
    return [part.act for part in read(text)]


@pytest.mark.parametrize(
    "text",
    [
        "pick up the lemon",
        "pick up the lemon and put it in the bowl",
        "Could you please put the red box to the left of the bowl",
        "put the can on the table",
        "return the can to the bin",
        "gibberish of no kind",
        "can you pick up the lemon?",
        "after you put the banana in the bowl, pick up the pear",
        "when I say go, pick up the apple",
        "tomorrow, put the pear in the bowl",
        "unless I stop you, put the pear in the bowl",
        "pretend to put the apple in the bin",
        "if you can, put the lemon in the bowl and if not the pear",
        "juggle the can behind the box",
        "put one of the ketchups in the bin",
    ],
)
def test_what_no_table_knows_goes_to_the_policy_as_it_is(text: str) -> None:
    assert acts(text) == [Deed(text)]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("put the lemon in the bowl, then pick up the pear", ["put the lemon in the bowl", "pick up the pear"]),
        ("put the lemon in the bowl and pick up the pear", ["put the lemon in the bowl", "pick up the pear"]),
        ("put the lemon in the bowl then pick up the pear", ["put the lemon in the bowl", "pick up the pear"]),
        (
            "First put the lemon in the bowl. After that, pick up the pear!",
            ["put the lemon in the bowl", "pick up the pear"],
        ),
        ("put the lemon in the bowl and the pear in the bin", ["put the lemon in the bowl", "put the pear in the bin"]),
        (
            "pick up the lemon and put it in the bowl and then pick up the pear",
            ["pick up the lemon and put it in the bowl", "pick up the pear"],
        ),
    ],
)
def test_several_commands_are_parted(text: str, steps: list[str]) -> None:
    assert acts(text) == [Deed(step) for step in steps]


def test_a_follow_up_may_be_a_step() -> None:
    assert acts("pick up the lemon, then undo that") == [Deed("pick up the lemon"), FollowUp("undo")]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("pick up the orange, no wait, the lemon", "pick up the lemon"),
        ("pick up the orange no wait the lemon", "pick up the lemon"),
        ("pick up the orange, sorry, the lemon", "pick up the lemon"),
        ("pick up the orange, I mean the lemon", "pick up the lemon"),
        ("put the lemon in the bowl, no, in the bin", "put the lemon in the bin"),
        ("pick up the orange, actually put the lemon in the bin", "put the lemon in the bin"),
    ],
)
def test_a_correction_takes_the_place_of_what_it_corrects(text: str, meant: str) -> None:
    assert acts(text) == [Deed(meant)]


def test_a_correction_that_may_mean_two_objects_is_asked_about() -> None:
    both = ("put the bin in the bowl", "put the lemon in the bin")
    assert acts("put the lemon in the bowl, no wait, the bin") == [Unsure(both)]


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("toma el limón de la mesa", "Solo entiendo inglés"),
        ("prends le citron s'il te plaît", "Je ne comprends que l'anglais"),
        ("pegue o limão da mesa", "Só entendo inglês"),
        ("nimm die Banane", "Ich verstehe nur Englisch"),
        ("请把柠檬拿起来", "我只懂英语"),
        ("नींबू उठाओ", "मैं केवल अंग्रेज़ी"),
        ("التقط الليمونة", "أفهم الإنجليزية فقط"),
        ("লেবুটি তোলো", "আমি শুধু ইংরেজি"),
        ("возьми лимон", "Я понимаю только по-английски"),
    ],
)
def test_another_language_is_refused_in_that_language(text: str, begins: str) -> None:
    [act] = acts(text)
    assert isinstance(act, Refused)
    assert act.message.startswith(begins)


@pytest.mark.parametrize("text", ["", "   ", "?!", "\x00\x1b"])
def test_no_words_are_refused(text: str) -> None:
    [act] = acts(text)
    assert isinstance(act, Refused)


def test_what_is_too_long_is_refused() -> None:
    [act] = acts("put " + "the red " * 400 + "box down")
    assert isinstance(act, Refused)
    assert "2,000" in act.message
    [act] = acts(", then ".join(["put the lemon in the bowl"] * (MOST_CLAUSES + 1)))
    assert act == Refused(
        ErrorCode.NOT_UNDERSTOOD, "I keep at most 10 steps in mind, and these are 11: say fewer at once."
    )


def test_control_characters_are_blanks() -> None:
    assert acts("pick\x1b up\x00the lemon") == [Deed("pick up the lemon")]


def test_small_talk_before_a_command_is_no_act_of_its_own() -> None:
    assert acts("Thanks! pick up the lemon") == [Deed("pick up the lemon")]
    assert acts("Thanks a lot!") == [SmallTalk("thanks")]


def test_an_object_alone_after_a_command_is_for_the_same_to_be_done_with() -> None:
    parts = read("put the lemon in the bin, then the pear")
    assert [part.said for part in parts] == ["put the lemon in the bin", "the same with the pear"]
    assert read(parts[1].said)[0].act == FollowUp("same_with", "the pear")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("bin it", "put it in the bin"),
        ("get rid of the soup", "put the soup in the bin"),
        ("hide the lemon behind the box", "put the lemon behind the box"),
        ("transport the lemon to the bowl", "put the lemon to the bowl"),
        ("if there is a lemon, pick it up", "pick up a lemon"),
        ("you might want to pick up the lemon", "pick up the lemon"),
        ("when you are done, put the lemon in the bowl", "put the lemon in the bowl"),
    ],
)
def test_ways_of_saying_become_the_command_that_they_stand_for(text: str, meant: str) -> None:
    assert acts(text) == [Deed(meant)]
