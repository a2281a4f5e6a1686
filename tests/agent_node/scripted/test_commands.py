"""Plans as commands: what is picked up, where it goes, and what is refused with which code."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.refusals import refused
from toolhand.agent_node.plan.reading import read_plan
from toolhand.agent_node.policies.scripted.commands import MAX_COMMAND, Command, command_of, parse_command
from toolhand.agent_node.policies.scripted.refusals import EXAMPLES
from toolhand.tool_nodes.language.phrases import Selector
from toolhand.tool_nodes.language.places import BIT_M, LOT_M, STEP_M, FreeSpaceRequest
from toolhand.tool_nodes.results import ErrorCode, ToolError


def command(text: str) -> Command:
    return command_of(read_plan(text))


@pytest.mark.parametrize(
    ("plan", "understood"),
    [
        ("pick up the red box", "pick: red box"),
        ("pick up a can", "pick: a can"),
        ("pick up something", "pick: a thing"),
        ("pick up the second can from the left", "pick: second can from the left"),
        ("pick up the can that is on the left", "pick: left can"),
        ("pick up the can that is on your left", "pick: right can"),
        ("pick up the can that is left of the bowl", "pick: can to the left of the bowl"),
        ("pick up the can with the red lid", "pick: can with red lid"),
        ("pick up the can at (0.480, 0.420)", "pick: can at (0.480, 0.420)"),
        ("pick up the red one of the cans", "pick: red can"),
        ("pick up the pony ; put it in the bin", "pick: pony; place: in the bin"),
        ("pick up the pony ; put the pony in the bin", "pick: pony; place: in the bin"),
        ("put the can that is left of the bowl in the bin", "pick: can to the left of the bowl; place: in the bin"),
        ("put it next to the bowl", "held: what the gripper holds; place: next to the bowl"),
        ("put the can that you hold on the table", "held: can; place: on the table"),
        ("put the one that you hold on the table", "held: what the gripper holds; place: on the table"),
        ("put the can between the bowl and the box", "pick: can; place: between the bowl and the box"),
        ("put the can between the two boxes", "pick: can; place: between the two boxes"),
        ("put the can next to the other can", "pick: can; place: next to the other can"),
        ("put the can left of the two plushies", "pick: can; place: to the left of the two plushies"),
    ],
)
def test_a_plan_becomes_a_command(plan: str, understood: str) -> None:
    assert command(plan).understood == understood


def test_what_tells_one_object_from_others_is_in_its_noun_phrase() -> None:
    target = command("pick up the tallest can that is on the left").target
    assert target is not None
    assert target.selectors == (Selector("tall"), Selector("left"))
    excluded = command("pick up the box that is not next to the milk").target
    assert excluded is not None
    assert excluded.excluded is not None
    assert (excluded.head, excluded.excluded.relation) == ("box", "next_to")


@pytest.mark.parametrize(
    ("place", "form"),
    [
        ("in the back of the bowl", FreeSpaceRequest("in", ("",), region="back")),
        ("in the bowl and on the left", FreeSpaceRequest("in", ("",), region="left")),
        ("5 cm left of the bowl", FreeSpaceRequest("left_of", ("",), distance_m=0.05)),
        ("12 cm near the bowl", FreeSpaceRequest("next_to", ("",), distance_m=0.12)),
        ("a lot left of the bowl", FreeSpaceRequest("left_of", ("",), distance_m=LOT_M, loosely=True)),
        ("as far as possible from the bowl", FreeSpaceRequest("farthest_from", ("",))),
        ("as far as possible from me", FreeSpaceRequest("region", region="back", extent="edge")),
        ("in line with the can and the box", FreeSpaceRequest("in_line", ("", ""))),
        ("on the left", FreeSpaceRequest("region", region="left", extent="side")),
        ("on your left side", FreeSpaceRequest("region", region="right", extent="side")),
        ("in the middle", FreeSpaceRequest("region", region="middle")),
        ("in the front left corner", FreeSpaceRequest("region", region="front left", extent="corner")),
        ("in the right corner", FreeSpaceRequest("region", region="right", extent="corner")),
        ("in a corner", FreeSpaceRequest("region", extent="corner")),
        ("at the back edge", FreeSpaceRequest("region", region="back", extent="edge")),
        ("at an edge", FreeSpaceRequest("region", extent="edge")),
        ("out of the way", FreeSpaceRequest("region", extent="aside")),
        ("to the left", FreeSpaceRequest("region", region="left", extent="side")),
        ("a bit to the left", FreeSpaceRequest("moved", distance_m=BIT_M, loosely=True, way="left")),
        ("5 cm to the back", FreeSpaceRequest("moved", distance_m=0.05, way="back")),
        ("a lot to your right", FreeSpaceRequest("moved", distance_m=LOT_M, loosely=True, way="left")),
        ("closer to the bowl", FreeSpaceRequest("moved", ("",), distance_m=STEP_M, loosely=True, way="towards")),
        ("10 cm farther from the bowl", FreeSpaceRequest("moved", ("",), distance_m=0.1, way="away")),
        ("away from the bowl", FreeSpaceRequest("farthest_from", ("",))),
        ("away from you", FreeSpaceRequest("region", region="front", extent="side")),
        ("closer to me", FreeSpaceRequest("moved", distance_m=STEP_M, loosely=True, way="front")),
        ("a bit farther from me", FreeSpaceRequest("moved", distance_m=BIT_M, loosely=True, way="back")),
        ("closer to you", FreeSpaceRequest("moved", distance_m=STEP_M, loosely=True, way="back")),
        ("closer to the left edge", FreeSpaceRequest("region", region="left", extent="edge")),
        ("away from the edge", FreeSpaceRequest("region", region="middle")),
        ("next to me", FreeSpaceRequest("region", region="front", extent="side")),
        ("in front of you", FreeSpaceRequest("region", region="back", extent="side")),
        ("at the point (0.500, 0.250)", FreeSpaceRequest("at", point=(0.5, 0.25))),
        (
            "left of the bowl and in front of the can",
            FreeSpaceRequest("left_of", ("",), also=(FreeSpaceRequest("in_front_of", ("",)),)),
        ),
        (
            "next to the bowl but not behind it",
            FreeSpaceRequest("next_to", ("",), also=(FreeSpaceRequest("behind", ("",), denied=True),)),
        ),
        (
            "somewhere but not in the bin",
            FreeSpaceRequest("anywhere", also=(FreeSpaceRequest("in", ("",), denied=True),)),
        ),
        ("in the bin", None),
        ("touching the bowl", None),
        ("a bit left of the bowl", None),
        ("somewhere else", None),
        ("on the table", None),
    ],
)
def test_a_place_becomes_a_request_for_free_room(place: str, form: FreeSpaceRequest | None) -> None:
    found = command(f"put the lemon {place}")
    assert found.form == form
    assert form is None or found.relation == form.relation


def test_the_references_of_all_conditions_are_named_in_order() -> None:
    found = command("put the lemon on the left and next to the bowl and left of a box but not behind the can")
    assert [reference.text for reference in found.references] == ["bowl", "a box", "can"]
    found = command("put the lemon next to the bowl but not behind it")
    assert [reference.text for reference in found.references] == ["bowl", "bowl"]


@pytest.mark.parametrize(
    ("plan", "quoted"),
    [
        ("pick up all cans", "all cans"),
        ("pick up the two cans", "two cans"),
        ("pick up the can and the box", "the box"),
        ("put everything in the bin", "everything"),
        ("put the can in the bin ; put the box in the bin", "one command at a time"),
        ("pick up the can ; put the box in the bin", "one command at a time"),
        ("pick up it", "which object"),
        ("pick up the one that you moved last", "which object"),
        ("pick up the other can", "other can"),
        ("pick up the last can", "from the left"),
        ("pick up the 2nd can", "from the left"),
        ("pick up the colour of the can", "the colour of the can"),
        ("pick up the heaviest can", "heaviest"),
        ("pick up the can that is in a corner", "in a corner"),
        ("pick up the can that is next to the box that is not red", "the box"),
        ("pick up the can upside down", "upside"),
        ("put the lemon under the bowl", "under the bowl"),
        ("put the lemon here", "here"),
        ("put the lemon alone", "alone"),
        ("put the lemon where it was", "where it was"),
        ("put the lemon behind me", "behind me"),
        ("put the lemon in all boxes", "in all boxes"),
        ("put the lemon 5 cm on the box", "5 cm on the box"),
        ("put the lemon 5 cm next to the edge", "edge"),
        ("put the lemon next to the can that is not next to the bowl", "not next to the bowl"),
        ("put the lemon in the bin but not on the left", "on the left"),
        ("put the lemon in the bin and on the table", "on the table"),
        ("put the lemon in the bin and at the left edge", "at the left edge"),
        ("put the lemon closer to the bowl and behind the can", "behind the can"),
        ("put the lemon at the point (0.5, 0.2) and next to the bowl", "next to the bowl"),
        ("if there is a can , pick up the can", "if there is a can"),
        ("hand over the can", "hand over the can"),
        ("where is the can", "where is the can"),
        ("cannot fly to the moon", "fly to the moon"),
        ("unclear", "unclear"),
    ],
)
def test_what_the_policy_cannot_do_is_refused_with_the_words_that_say_it(plan: str, quoted: str) -> None:
    with refused(ErrorCode.NOT_UNDERSTOOD) as caught:
        command(plan)
    assert quoted in caught.value.message
    assert caught.value.hint == EXAMPLES


@pytest.mark.parametrize(
    "plan",
    [
        "put the lemon in the lemon",
        "put the lemon next to it",
        "put it next to it",
        "put the can left of the bowl and right of the bowl",
        "put the can on the left and on the right",
        "put the can behind the bowl but not behind the bowl",
    ],
)
def test_a_command_that_contradicts_itself_is_an_invalid_argument(plan: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT):
        command(plan)


@pytest.mark.parametrize(
    ("plan", "share"),
    [("slowly , pick up the can", 0.3), ("at 40 % speed , put it in the bin", 0.4), ("pick up the can", 1.0)],
)
def test_the_speed_of_an_act_is_that_of_the_command(plan: str, share: float) -> None:
    assert command(plan).share == share
    assert (command(plan).manner == "") == (share == 1.0)


@pytest.mark.parametrize(
    "text", ["", "...", "stop", "Halt!", "pick up", "sing a song", "nimm die Kiste", "x" * (MAX_COMMAND + 1)]
)
def test_what_is_no_command_is_not_understood(text: str) -> None:
    with refused(ErrorCode.NOT_UNDERSTOOD):
        parse_command(text)


_WORDS = (
    *("pick up", "put", "the", "can", "in", "left of", "and", "it", "(0.1, 0.2)", "at", "at the point", ";", ",", "5"),
    *("cm", "%", "slowly", "not", "that is", "closest to", "on the left", "two", "one", "of the", "me", "(", "--"),
)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join) | st.text(max_size=40))
def test_any_text_is_a_command_or_refused_with_a_code(text: str) -> None:
    with contextlib.suppress(ToolError):
        assert parse_command(text).understood
