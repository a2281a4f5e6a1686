"""Whose left: the robot looks at the camera."""

from __future__ import annotations

import pytest

from tool_nodes.language.viewpoint import Viewer, as_camera_sees, names_robots_side


@pytest.mark.parametrize(
    ("said", "whose", "seen"),
    [
        ("pick up the can on your left", "camera", "pick up the can on the right"),
        ("put it on the robot's right side", "camera", "put it on the left side"),
        ("take your left can", "camera", "take the right can"),
        ("put the can to the left of the bowl", "camera", "put the can to the left of the bowl"),
        ("put the can to the left of the bowl", "robot", "put the can to the right of the bowl"),
        ("put the can in front of the bowl", "robot", "put the can behind the bowl"),
        ("move the left can a bit to the right", "robot", "move the right can a bit to the left"),
        ("take the can on my left", "robot", "take the can on my left"),
        ("put it back right now", "robot", "put it back right now"),
        ("take the can on your left", "robot", "take the can on the right"),
        ("put it at the back", "robot", "put it at the front"),
    ],
)
def test_sides_are_those_of_the_picture(said: str, whose: Viewer, seen: str) -> None:
    assert as_camera_sees(said, whose) == seen


def test_twice_from_the_other_side_is_the_same() -> None:
    said = "put the leftmost can behind the bowl"
    assert as_camera_sees(as_camera_sees(said, "robot"), "robot") == said


def test_a_side_of_the_robot_is_told_from_others() -> None:
    assert names_robots_side("the can on your left")
    assert not names_robots_side("the can on my left")
