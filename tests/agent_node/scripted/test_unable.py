"""Wishes that no arm heeds are refused by what the operator has to change, and never by words that invert the wish."""

from __future__ import annotations

import pytest

from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.agent_node.policies.scripted.nouns import is_part
from toolhand.agent_node.policies.scripted.refusals import ABILITY
from toolhand.tool_nodes.results import ToolError


def refused(sentence: str) -> str:
    with pytest.raises(ToolError) as caught:
        parse_command(sentence)
    return caught.value.message


CARRY = ["bring", "take", "carry", "deliver", "pass", "fetch", "get", "give", "move", "return", "transfer"]
WAYS = {
    "to the left": "on the left side of the table",
    "over to the right": "on the right side of the table",
    "toward the back": "on the back side of the table",
    "to the front of the table": "on the front side of the table",
    "to the far side": "on the back side of the table",
    "to the middle": "in the middle of the table",
    "closer": "further to the front of where the mustard stands",
    "forward": "further to the front of where the mustard stands",
    "further away": "further to the back of where the mustard stands",
    "backwards": "further to the back of where the mustard stands",
    "a little to the left": "a bit to the left of where the mustard stands",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_way_to_go_is_no_description_of_what_is_carried(way: str) -> None:
    for verb in CARRY:
        assert parse_command(f"{verb} the mustard {way}").understood == f"pick: mustard; place: {WAYS[way]}"
        assert parse_command(f"pick up the mustard and {verb} it {way}").understood.endswith(f"place: {WAYS[way]}")


@pytest.mark.parametrize("way", ["sideways", "over there"])
def test_a_way_that_leads_nowhere_is_quoted(way: str) -> None:
    assert way.split()[-1] in refused(f"put the mustard {way}")


@pytest.mark.parametrize(
    ("sentence", "understood"),
    [
        ("pick up the can to the left", "pick: can to the left"),
        ("bring me the can on the left", "pick: can on the left"),
        ("take the left can", "pick: left can"),
        ("carry the can to the left of the bowl", "pick: can; place: to the left of bowl"),
        ("bring the can closer to the bowl", "pick: can; place: closer to the bowl than where the can stands"),
        ("take the can closest to the camera", "pick: can closest to the camera"),
        ("take the can away and put it in the bin", "pick: can; place: in bin"),
        ("remove the can from the bowl", "pick: can from the bowl"),
    ],
)
def test_a_side_still_tells_which_object_is_meant(sentence: str, understood: str) -> None:
    assert parse_command(sentence).understood == understood


@pytest.mark.parametrize("side", ["back", "front", "left side", "right", "far side", "rear", "middle", "left corner"])
@pytest.mark.parametrize("into", ["in", "into", "inside"])
def test_a_part_of_a_container_is_no_place_beside_it(side: str, into: str) -> None:
    command = parse_command(f"put the pear {into} the {side} of the bowl")
    plain = side.replace("far side", "back").replace("rear", "back").split()[0]
    assert command.relation == "in"
    assert command.understood == f"pick: pear; place: in the {plain} of the bowl"


@pytest.mark.parametrize(
    ("place", "relation"),
    [("in front of", "in_front_of"), ("in back of", "behind"), ("to the left of", "left_of"), ("inside of", "in")],
)
def test_what_stands_outside_of_a_container_still_does(place: str, relation: str) -> None:
    assert parse_command(f"put the pear {place} the bowl").relation == relation


@pytest.mark.parametrize(
    "sentence",
    [
        "pick up the block on your left",
        "take the can to your right",
        "pick up your left can",
        "pick up the can on the robot's left",
        "put the can left of the bowl as you see it",
    ],
)
def test_a_side_of_the_robot_is_not_taken_for_one_of_the_image(sentence: str) -> None:
    assert "cannot tell whose side" in refused(sentence)


@pytest.mark.parametrize("verb", ["hold", "lift", "raise"])
@pytest.mark.parametrize("where", ["next to the bowl", "behind the bowl", "above the bowl", "to the left of the bowl"])
def test_where_a_hand_is_to_hold_an_object_is_not_which_object(verb: str, where: str) -> None:
    assert f'"{where}" may say which' in refused(f"{verb} the pear {where}")
    assert parse_command(f"{verb} the pear that is {where}").action == "pick"


def test_a_side_between_an_object_and_a_place_is_asked_about() -> None:
    assert '"on the left" says which thing or where to' in refused("put the pear on the left next to the bunny")
    assert parse_command("put the pear that is on the left next to the bunny").relation == "next_to"
    assert parse_command("put the pear on the left into the bin").relation == "in"


@pytest.mark.parametrize("words", ["away", "out", "off", "out of here"])
def test_what_is_only_to_be_gone_is_not_kept_in_the_hand(words: str) -> None:
    assert f'as "{words}" does not say' in refused(f"take the soup {words}")
    assert f'"{words}" alone is no place' in refused(f"put the soup {words}")
    assert 'as "Remove" does not say' in refused("Remove the soup from the table")


@pytest.mark.parametrize("item", ["first can", "last block", "2nd box", "third one"])
def test_a_number_in_a_row_needs_to_know_from_where(item: str) -> None:
    assert f'"the {item}" counts' in refused(f"pick up the {item}")
    assert parse_command(f"pick up the {item} from the left").action == "pick"


INVERTED = [
    ("pretend to put the apple in the bin", "pretend to"),
    ("plan how to pick up the pear", "plan how to"),
    ("think about picking up the pear", "think about"),
    ("almost put the pear in the bowl", "almost"),
    ("after you put the pear in the bowl, pick up the apple", "after you put the pear in the bowl"),
    ("when I say go, pick up the apple", "when I say go"),
    ("put the pear in the bowl while I watch", "while I watch"),
    ("pick up the apple tomorrow", "tomorrow"),
    ("put the pear outside of the bowl", "outside of"),
    ("you should have picked up the pear", "have picked"),
    ("put the pear in the bowl later", "later"),
]


@pytest.mark.parametrize(("sentence", "words"), INVERTED)
def test_words_without_which_the_wish_is_another_one_are_not_called_needless(sentence: str, words: str) -> None:
    message = refused(sentence)
    assert f'"{words}"' in message
    assert "leave" not in message


def test_only_what_adorns_an_object_may_be_left_out() -> None:
    assert refused("pick up the nice red box").endswith('"nice" here; leave it out or say it in other words.')
    assert refused("pick up the box per se").endswith('"per se" here; say it in other words.')


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("put the can on the floor", "on the floor"),
        ("put the can in my hand", "in my hand"),
        ("put the can out of reach", "out of reach"),
        ("put the can in line with the box", "in line with the box"),
        ("put the can north of the bowl", "north of the bowl"),
        ("put the can around the bowl", "around the bowl"),
        ("put the can on the rim of the bowl", "on the rim of the bowl"),
        ("put the can over there", "over there"),
        ("take the cap off the bottle", "the cap off the bottle"),
        ("pick up the colour of the banana", "the colour of the banana"),
        ("pick up the can by its rim", "by its rim"),
        ("put the can in the bowl at full power", "at full power"),
        ("pick up block 2", "2"),
        ("pick up what I am pointing at", "what I am pointing at"),
        ("put the can next to the bowl leaving a gap", "leaving a gap"),
        ("put the can at 3 o'clock", "at 3 o'clock"),
        ("put the can left of the bowl behind the box", "behind the box"),
        ("pick up the can and the box", "and the box"),
        ("pick up the pair", "the pair"),
        ("get rid of the can", "get rid of"),
    ],
)
def test_the_phrase_that_has_to_change_is_quoted_whole(sentence: str, words: str) -> None:
    assert f'"{words}"' in refused(sentence)


@pytest.mark.parametrize(
    "sentence",
    ["the left one", "number 1", "2", "yes", "undo", "do it again", "the other one", "once more", "both", "no"],
)
def test_an_answer_without_a_question_is_told_what_to_type(sentence: str) -> None:
    message = refused(sentence)
    assert f'"{sentence}"' in message
    assert "type the whole command" in message


@pytest.mark.parametrize(
    "sentence", ["help", "what do you see?", "where is the can", "find the can", "go home", "hello"]
)
def test_a_question_is_told_what_can_be_done(sentence: str) -> None:
    assert ABILITY in refused(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "nimm die Banane",
        "prends la banane",
        "toma la manzana",
        "prendi la mela",
        "pak de banaan",
        "ta bananen",
        "mets la pomme dans le bol",
        "leg den Apfel in die Schale",
        "pon la botella al lado del vaso",
    ],
)
def test_another_language_is_named(sentence: str) -> None:
    assert "English only" in refused(sentence)


@pytest.mark.parametrize("sentence", ["pick up a can", "put a can in a bin", "take a tea box", "lay a can on a box"])
def test_english_is_not_taken_for_another_language(sentence: str) -> None:
    assert parse_command(sentence).target is not None


@pytest.mark.parametrize(
    ("sentence", "understood"),
    [
        ("pear behind cup", "pick: pear; place: behind cup"),
        ("bunny in the bowl please", "pick: bunny; place: in bowl"),
        ("to the left of the bunny put the pear", "pick: pear; place: to the left of bunny"),
        ("put in the bowl the pear", "pick: pear; place: in bowl"),
        ("bin the wrench", "pick: wrench; place: in bin"),
        ("throw away the wrench", "pick: wrench; place: in bin"),
        ("throw the wrench out", "pick: wrench; place: in bin"),
        ("put the wrench in the trash can", "pick: wrench; place: in bin"),
        ("drop the soup off at the bowl", "pick: soup; place: in bowl"),
        ("Good job! Now pick up the pear", "pick: pear"),
        ("thanks a million, grab the pear", "pick: pear"),
        ("no, pick up the hot dog", "pick: hot dog"),
        ("I changed my mind, take the pear", "pick: pear"),
        ("pick up the pear for now", "pick: pear"),
        ("put the pear in a spot behind the sponge", "pick: pear; place: behind sponge"),
        ("put the thing you are holding behind the box", "held: what the gripper holds; place: behind box"),
        ("put what you hold in the bin", "held: what the gripper holds; place: in bin"),
    ],
)
def test_plain_commands_in_another_order_are_read(sentence: str, understood: str) -> None:
    assert parse_command(sentence).understood == understood


def test_a_part_has_a_whole() -> None:
    assert is_part(["the", "rim", "of", "the", "bowl"])
    assert is_part(["back", "of", "the", "bin"])
    assert not is_part(["the", "left", "of", "the", "two", "cans"])
    assert not is_part(["box", "of", "pasta"])


@pytest.mark.parametrize("face", ["back", "rear", "front"])
@pytest.mark.parametrize("at", ["at", "to", "on"])
def test_a_face_of_a_container_may_be_inside_or_outside(at: str, face: str) -> None:
    message = refused(f"put the pear {at} the {face} of the bowl")
    assert f'"{at} the {face} of the bowl"' in message
    assert 'say "in" or' in message
    assert parse_command(f"put the pear {at} the {face} of the box").relation in ("behind", "in_front_of")


@pytest.mark.parametrize("lifted", ["lifted", "picked up", "grabbed"])
def test_where_an_object_is_to_be_lifted_is_not_which_object(lifted: str) -> None:
    assert '"beside the car"' in refused(f"have the wrench {lifted} beside the car")
    assert parse_command(f"have the wrench {lifted}").action == "pick"
    assert parse_command(f"have the wrench {lifted} and put in the bin").relation == "in"


@pytest.mark.parametrize("corner", ["front left corner", "near right corner", "upper left corner", "rear right part"])
def test_a_corner_of_a_container_is_one_of_its_parts(corner: str) -> None:
    plain = corner.replace("near", "front").replace("upper", "back").replace("rear", "back").rsplit(" ", 1)[0]
    assert parse_command(f"put the car in the {corner} of the bin").understood.endswith(f"in the {plain} of the bin")


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("put the can at the mouth of the jar", "at the mouth of the jar"),
        ("put the can along the right-hand edge of the box", "along the right-hand edge of the box"),
        ("pick up the can near the edge", "near the edge"),
        ("put the can in place of the box", "in place of the box"),
        ("put the can where the box is", "where the box is"),
        ("put the can halfway into the bowl", "halfway into"),
        ("pick up whatever is on the left", "whatever is on the left"),
        ("leave the can where it is", "leave the can where it is"),
        ("pick up the can with two fingers", "with two fingers"),
        ("put the can 5 cm from the edge", "5 cm from the edge"),
        ("pick up the lightest can", "lightest"),
        ("pick up the final can", "the final can"),
        ("rotate the can by 90 degrees", "rotate"),
        ("turn the can upside down", "turn"),
        ("pick up nothing", "nothing"),
        ("put the can next to nothing", "nothing"),
    ],
)
def test_the_right_rule_is_told_by_the_right_words(sentence: str, words: str) -> None:
    message = refused(sentence)
    assert f'"{words}"' in message
    assert "leave out" not in message
    assert "by itself" not in message


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("after lunch put the can in the bowl", "after lunch"),
        ("when I clap pick up the can", "when I clap"),
        ("after you put the pear in the bowl pick up the can", "after you put the pear in the bowl"),
        ("on my signal grab the can", "on my signal"),
        ("in ten seconds lift the can", "in ten seconds"),
        ("hold the can for two minutes", "for two minutes"),
        ("wait a second", "wait a second"),
    ],
)
def test_a_time_is_quoted_without_the_deed_and_may_not_be_left_out(sentence: str, words: str) -> None:
    message = refused(sentence)
    assert f'heed "{words}"' in message
    assert "leave" not in message


@pytest.mark.parametrize(
    ("sentence", "understood"),
    [
        ("grab one of the jars", "pick: one of the jars"),
        ("put one of the blocks in the bowl", "pick: one of the blocks; place: in bowl"),
        ("gently but quickly pick up the can", "pick: can"),
        ("carefully, but quickly, lift the can", "pick: can"),
        ("put the can someplace else", "pick: can; place: on the table"),
    ],
)
def test_plain_words_are_no_obstacle(sentence: str, understood: str) -> None:
    assert parse_command(sentence).understood == understood


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("carry the can behind the box", "behind the box"),
        ("bring the can next to the box", "next to the box"),
        ("i need the can lifted over the box", "over the box"),
        ("make sure the can is held beside the box", "beside the box"),
    ],
)
def test_a_place_after_a_verb_of_carrying_is_asked_about(sentence: str, words: str) -> None:
    message = refused(sentence)
    assert f'"{words}"' in message
    assert 'say "that is" before it' in message


@pytest.mark.parametrize(
    ("sentence", "understood"),
    [
        ("bring me the can behind the box", "pick: can behind the box"),
        ("bring the can that is behind the box", "pick: can that is behind the box"),
        ("take the can behind the box", "pick: can behind the box"),
        ("take the can to the left of the box", "pick: can to the left of the box"),
        ("pick up the can and bring it next to the box", "pick: can; place: next to box"),
        ("make sure the can is picked up", "pick: can"),
    ],
)
def test_a_description_after_a_verb_of_carrying_is_read(sentence: str, understood: str) -> None:
    assert parse_command(sentence).understood == understood


def test_the_back_of_a_container_is_no_side_of_the_robot() -> None:
    assert '"near the back of the bin"' in refused("put the can near the back of the bin")
