"""Places that no single relation says, in whole sentences."""

from __future__ import annotations

import pytest

from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.tool_nodes.results import ErrorCode, ToolError


@pytest.mark.parametrize(
    ("sentence", "place"),
    [
        ("put the lemon in the front left corner", "in the front left corner of the table"),
        ("in the front left corner put the lemon", "in the front left corner of the table"),
        ("take the lemon to the left", "on the left side of the table"),
        ("pick up the lemon and put it on the right side", "on the right side of the table"),
        ("put the lemon on the table on the right", "on the right side of the table"),
        ("put the lemon in the bin, on the left", "in the left of the bin"),
        ("put the lemon 5cm to the right of the bowl", "5 cm to the right of the bowl"),
        ("put the lemon two hands apart from the bowl", "20 cm from the bowl"),
        ("nudge the lemon a bit to the left", "a bit to the left of where the lemon stands"),
        ("move the lemon 10 cm closer to me", "10 cm to the front of where the lemon stands"),
        ("bring the lemon closer to you", "further to the back of where the lemon stands"),
        ("put the lemon as far as possible from the bowl", "as far as possible from the bowl"),
        ("put the lemon in line with the box and the bowl", "in line with the box and the bowl"),
        (
            "put the lemon between the box and the bowl and in front of the can",
            "between the box and the bowl and in front of the can",
        ),
        ("put the lemon next to the bowl but not behind it", "next to the bowl but not behind the bowl"),
        ("put the lemon on the table, not in the bin", "on the table but not in the bin"),
        ("put the lemon anywhere but in the bin", "on the table but not in the bin"),
        ("put the lemon not in the bin but on the table", "on the table but not in the bin"),
        (
            "put the lemon to the right of the car, close to the front",
            "to the right of the car and on the front side of the table",
        ),
        ("put the lemon on the free spot at (0.412, 0.530)", "on the free spot at (0.412, 0.530)"),
    ],
)
def test_a_place_is_read(sentence: str, place: str) -> None:
    command = parse_command(sentence)
    assert command.understood == f"pick: lemon; place: {place}"
    assert not command.without_effect


@pytest.mark.parametrize(
    ("sentence", "quoted"),
    [
        ("put the can but in the bin", '"but in the bin"'),
        ("put the can in the bin and on the table", '"on the table"'),
        ("put the can in the bin but not next to the lemon", '"but not next to the lemon"'),
        ("put the can 5 cm to the left and next to the bowl", '"next to the bowl"'),
        ("put the can left of the bowl behind the box", '"behind the box"'),
        ("put the lemon not next to the bowl", '"not next to the bowl"'),
        ("put the can 5 cm from the edge", '"5 cm from the edge"'),
        ("put the can in line with the box", '"in line with the box"'),
        ("put the can in front", '"in front"'),
        ("put the can 5 cm in the bowl", '"5 cm"'),
        ("pick up the can 5 cm left of the bowl", '"5 cm"'),
    ],
)
def test_what_goes_together_in_no_way_is_quoted(sentence: str, quoted: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_command(sentence)
    assert quoted in caught.value.message


@pytest.mark.parametrize(
    "sentence",
    [
        "put the can left of the bowl and right of the bowl",
        "put the can on the left and on the right",
        "put the can behind the bowl but not behind the bowl",
    ],
)
def test_opposite_places_contradict_each_other(sentence: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_command(sentence)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("sentence", "understood"),
    [
        ("pick up the can on the left", "pick: can on the left"),
        ("bring the can on the right", "pick: can on the right"),
        ("pick up the lemon at (0.480, 0.420)", "pick: lemon at (0.480, 0.420)"),
        ("put the can next to the box at (0.2, 0.3)", "pick: can; place: next to box at (0.2, 0.3)"),
        ("put the can in the middle of the box and the bowl", "pick: can; place: between box and bowl"),
        ("put the can on the left in the bowl", "pick: can on the left; place: in bowl"),
    ],
)
def test_what_tells_which_object_is_meant_is_no_place(sentence: str, understood: str) -> None:
    assert parse_command(sentence).understood == understood
