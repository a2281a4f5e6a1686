"""Whose left: the robot looks at the camera."""

from __future__ import annotations

import pytest

from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.tool_nodes.language.viewpoint import in_the_picture
from toolhand.tool_nodes.results import ErrorCode, ToolError


@pytest.mark.parametrize(
    ("said", "robots", "seen"),
    [
        ("pick up the can on your left", False, "pick up the can on the right"),
        ("pick up the can on my left", False, "pick up the can on the left"),
        ("put it on the robot's right side", False, "put it on the left side"),
        ("put it on the robot’s far right", False, "put it on the far left"),
        ("take your left can", False, "take the right can"),
        ("put it on your far right", False, "put it on the far left"),
        ("the one at Your very own far left", False, "the one at the very far right"),
        ("put it at your back left corner", False, "put it at the back right corner"),
        ("take it with your right arm", False, "take it with your right arm"),
        ("use your left hand", False, "use your left hand"),
        ("put it on your left hand side", False, "put it on the right hand side"),
        ("the left arm of the chair", True, "the left arm of the chair"),
        ("put the can to the left of the bowl", False, "put the can to the left of the bowl"),
        ("put the can to the left of the bowl", True, "put the can to the right of the bowl"),
        ("move the left can a bit to the right", True, "move the right can a bit to the left"),
        ("take the leftmost can", True, "take the rightmost can"),
        ("take the can on my left", True, "take the can on the left"),
        ("put it back right now", True, "put it back right now"),
        ("pick up the left can right now", False, "pick up the left can right now"),
        ("take the can on your left", True, "take the can on the right"),
    ],
)
def test_sides_are_those_of_the_image(said: str, robots: bool, seen: str) -> None:
    assert in_the_picture(said, robots) == seen


@pytest.mark.parametrize("said", ["pick up the can on your far right", "put the can on your very left"])
def test_without_a_dialogue_a_side_of_the_robot_is_refused_also_where_a_word_stands_between(said: str) -> None:
    with pytest.raises(ToolError, match="whose side") as caught:
        parse_command(said)
    assert caught.value.code is ErrorCode.NOT_UNDERSTOOD
