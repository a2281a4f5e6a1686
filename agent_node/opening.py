"""What a policy that looks at images is shown with an operator's words: the scene, and what was pointed at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolhand.agent_node.memory import at_point
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import Protocol, as_data
from toolhand.tool_nodes.drawing import draw_numbers, draw_points
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.scene_look import look_of
from toolhand.tool_nodes.toolbox.toolbox import Session, Tools, printed_schemas


@dataclass(frozen=True)
class ShownToPolicy:
    """What an operator shows with a sentence.

    Attributes:
        images: Images that the policy sees before the words; calls name them by their indices.
        look: It first sees a new image of the scene, taken by the robot's own tool.
        pointed: The points that the operator shows, in order; each is marked in that image.
    """

    images: Sequence[SessionImage] = ()
    look: bool = False
    pointed: Sequence[PointedPoint] = ()


NOTHING = ShownToPolicy()


def system_message(protocol: Protocol, toolbox: Tools) -> Message:
    """The system prompt: a server is sent every tool beside it; a paper's prompt lists those of its suite."""
    schemas = toolbox.schemas(slim=True) if protocol.native else printed_schemas(toolbox)
    return Message("system", protocol.system_prompt(schemas))


def opening(
    task: str, shown: ShownToPolicy, memory: str, protocol: Protocol, toolbox: Tools, session: Session
) -> list[Message]:
    """The messages with the operator's words, and with what is shown; its images go into the session.

    Args:
        task: The operator's words, which stand in a message as they are.
        shown: Images and points that are shown with them.
        memory: Account of what was done before, in a few sentences.
        protocol: How the policy reads.
        toolbox: Tools of which one takes an image.
        session: The conversation's images.
    """
    seen, told = scene_picture(toolbox, session) if shown.look else (None, "")
    if seen is not None:
        session.images[seen] = marked(session.images[seen], shown.pointed)
    first = len(session.images)
    session.images += shown.images
    indices = [*([] if seen is None else [seen]), *range(first, len(session.images))]
    messages = [Message("user", f"<image {k}>", "", k, session.images[k].rgb) for k in indices[:-1]]
    parts = [
        *(f"<image {k}>" for k in indices[-1:]),
        as_data(told),
        pointed_words(shown.pointed),
        protocol.user_prompt(task, memory),
    ]
    last = indices[-1] if indices else None
    image = None if last is None else session.images[last].rgb
    return [*messages, Message("user", "\n".join(part for part in parts if part), task, last, image)]


def scene_picture(toolbox: Tools, session: Session) -> tuple[int | None, str]:
    """Index of a new image of the scene, taken by the robot's own tool, and its words; None where there is none."""
    look = look_of(toolbox.specs)
    if not look:
        return None, ""
    calls, session.calls = session.calls, None
    record = toolbox.call(look, {}, session)
    session.calls = calls
    seen = record.result.ok and record.image_index is not None
    return (record.image_index, record.result.text) if seen else (None, "")


def pointed_words(pointed: Sequence[PointedPoint]) -> str:
    """What the operator points at, in one sentence; empty where that is nothing."""
    listed = [
        f"{k} {'is' if each.point is None else 'at ' + at_point(each.point)}"
        + (f" ({each.label})" if each.label and each.label != str(k) else "")
        + ("" if each.camera == "scene" else f" of the {each.camera} camera's picture")
        for k, each in enumerate(pointed, 1)
    ]
    return f"The operator points, in this order, at: {', '.join(listed)}." if listed else ""


def marked(image: SessionImage, pointed: Sequence[PointedPoint]) -> SessionImage:
    """An image of the scene, with what the operator points at in it marked by its number."""
    points = [each.point for each in pointed if each.point is not None and each.camera == "scene"]
    if not points or len(points) != len(pointed):  # the numbers are those of the words
        return image
    return image.redrawn(draw_numbers(draw_points(image.rgb, points), points))
