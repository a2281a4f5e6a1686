"""The look that a toolbox offers, and errors that name it."""

import pytest

from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.scene_look import LOOKS, as_offered, look_of
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox, tool

LOOK, CAPTURE = LOOKS


@pytest.mark.parametrize(
    ("offered", "look"), [({CAPTURE}, CAPTURE), ({LOOK}, LOOK), ({LOOK, CAPTURE}, LOOK), ({"robot.pick"}, "")]
)
def test_the_first_look_that_is_offered(offered: set[str], look: str) -> None:
    assert look_of(offered) == look


@pytest.mark.parametrize(
    ("offered", "said", "read"),
    [
        ({LOOK}, "Look again with robot.capture_image.", "Look again with robot.look."),
        (
            {LOOK},
            "Look again with robot.look, or robot.look_closer.",
            "Look again with robot.look, or robot.look_closer.",
        ),
        ({CAPTURE}, "Call robot.look first.", "Call robot.capture_image first."),
        ({CAPTURE}, "See robot.look_closer.", "See robot.look_closer."),
        ({LOOK, CAPTURE}, "Call robot.look or robot.capture_image.", "Call robot.look or robot.capture_image."),
        (set(), "Call robot.look.", "Call robot.look."),
    ],
)
def test_an_error_names_the_look_that_is_offered_and_nothing_else_of_it_changes(
    offered: set[str], said: str, read: str
) -> None:
    error = ToolError(ErrorCode.IMAGE_UNUSABLE, said, said, "pixels")
    known = as_offered(error, offered)
    assert (known.message, known.hint, known.code, known.backend) == (read, read, error.code, "pixels")
    assert (known is error) is (read == said)


def test_a_call_s_error_names_it_too() -> None:
    class Looks:
        @tool(LOOK, repeatable=True)
        def look(self) -> ToolResult:
            """Look."""
            raise ToolError(ErrorCode.IMAGE_UNUSABLE, "No depth.", f"Use a picture from {CAPTURE}.")

    record = Toolbox([Looks()]).call(LOOK, {}, Session())
    assert record.result.text == f"Error IMAGE_UNUSABLE: No depth. Use a picture from {LOOK}."
