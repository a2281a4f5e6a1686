"""Ways of asking of frames.yaml: each example is a command, and nothing of a sentence is dropped for one."""

from __future__ import annotations

import pytest

from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.agent_node.policies.scripted.frames import frames
from toolhand.tool_nodes.results import ToolError

EXAMPLES = sorted({(said, plain) for frame in frames() for said, plain in frame.examples.items()})


def meaning(text: str) -> tuple[object, ...]:
    command = parse_command(text)
    item = command.target and (command.target.words, command.target.selectors)
    return command.action, item, command.relation, [each.text for each in command.references]


@pytest.mark.parametrize(("said", "plain"), EXAMPLES)
def test_a_frame_is_read_as_its_plain_words(said: str, plain: str) -> None:
    assert meaning(said) == meaning(plain)
    assert meaning(f"Could you please listen: {plain}") == meaning(plain)


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("Of the two, what I need is the left can", "pick up the left can"),
        ("By the red box is where I want the pudding box.", "put the pudding box by the red box"),
        ("Find the red can and leave it by the bowl.", "put the red can by the bowl"),
        ("pick up the can further to the left of the two", "pick up the can on the left"),
        ("take the can that is furthest to the left", "take the can that is on the left"),
        ("take the can that is more to the left", "take the can that is on the left"),
        ("take the can that is furthest away", "grab the can that is far away"),
        ("take the nearer can", "grab the near can"),
        ("take the further left of the two cans", "grab the left of the two cans"),
        ("Hoist the can on the right-hand side up", "pick up the can on the right"),
        ("pick up the can further left", "pick up the can on the left"),
    ],
)
def test_words_of_a_side_say_which_one(said: str, plain: str) -> None:
    assert meaning(said) == meaning(plain)


@pytest.mark.parametrize(
    "said",
    [
        "the can belongs behind the bowl tomorrow, so put it there",
        "behind the bowl is where I never want the can",
        "the thing to take is the can if it is red",
        "of the two, what I need is not the left can",
        "it is the left can and the right can that I want picked up",
        "the place for the can is behind the bowl or the box",
        "let the can stand upright behind the bowl",
    ],
)
def test_what_a_frame_holds_too_much_of_is_refused(said: str) -> None:
    with pytest.raises(ToolError):
        parse_command(said)
