"""What is not found in a picture that shows no things, or is drawn over: the error says which picture to use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.session import Session

_NOT_SEEN = frozenset(
    {ErrorCode.EMPTY_MASK, ErrorCode.OBJECT_NOT_FOUND, ErrorCode.NOT_RECOGNISED, ErrorCode.IMAGE_UNUSABLE}
)


def not_of_things(error: ToolError, values: Mapping[str, Any], session: Session) -> ToolError:
    """An error of a call that was given colours of depth, or a drawing, with the picture to use; else as it is.

    Args:
        error: Error of a tool.
        values: Checked values of its arguments.
        session: The conversation.
    """
    image = next((value for value in values.values() if isinstance(value, SessionImage)), None)
    if error.code not in _NOT_SEEN or image is None:
        return error
    number = next((index for index, known in enumerate(session.images) if known is image), None)
    named = "This picture" if number is None else f"Image {number}"
    if image.shows:
        message = f"{named} shows {image.shows} as colours, no things."
        return ToolError(ErrorCode.IMAGE_UNUSABLE, message, f"Use {_plain(image, session)}.", error.backend)
    if image.is_whole_frame and image.frame is not None and image.rgb is not image.frame.rgb:
        hint = f"{named} is drawn over: use {_plain(image, session)}. {error.hint}".rstrip()
        return error.reworded(hint=hint)
    return error


def _plain(image: SessionImage, session: Session) -> str:
    """The picture that the camera took, in words: that under a drawing, else the newest."""
    frames = [image.frame] if image.frame is not None else [known.frame for known in reversed(session.images)]
    for frame in (frame for frame in frames if frame is not None):
        for index, known in enumerate(session.images):
            if known.frame is frame and known.rgb is frame.rgb:
                return f"the colour picture, image {index}"
        for name, value in session.variables.items():
            if isinstance(value, SessionImage) and value.frame is frame and value.rgb is frame.rgb:
                return f"the colour picture, ${name}"
    return "a colour picture"
