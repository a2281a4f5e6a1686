"""Tasks that come with an image: it is the conversation's first, before any tool is called."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

from toolhand.agent_node.protocol import Protocol as Form
from toolhand.sim.tasks.task import Task
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.types import Frame

_CAPTURE = "robot.capture_image"


@runtime_checkable
class ShownTask(Protocol):
    """A task about an image."""

    def shown(self, camera: Camera) -> Frame:
        """The image that it is about, taken now or drawn."""


class _ToolCamera:
    """The camera of a station in another process, through its tool."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    def capture(self) -> Frame:
        """See ports.Camera. Raises ToolError as the tool, and UNKNOWN_TOOL without the suite spacetools."""
        session = Session()
        error = self._toolbox.call(_CAPTURE, {}, session).result.error
        if error is not None:
            raise error
        frame = session.newest_frame()
        if frame is None:
            raise ToolError(ErrorCode.INTERNAL, f"{_CAPTURE} gave no frame.")
        return frame


def asked_in(form: Form, task: Task) -> Form:
    """A protocol for a task: `for_question` where it is one."""
    return for_question(form) if isinstance(task, ShownTask) else form


def for_question(form: Form) -> Form:
    """A protocol whose prompt, where it says what kind of task it is, speaks of a question about an image."""
    if not form.task_type:
        return form
    return replace(form, task_type="spatial reasoning", output_format="as the question asks for it")


def shown_images(task: Task, camera: Camera | None, toolbox: Toolbox) -> tuple[SessionImage, ...]:
    """What the operator shows with a task's sentence: an image, or nothing.

    Args:
        camera: The scene camera; None where it is in another process.
        toolbox: The tools, for the camera's image there.

    Raises:
        ToolError: Where there is no image to be had.
    """
    if not isinstance(task, ShownTask):
        return ()
    frame = task.shown(camera or _ToolCamera(toolbox))
    return (SessionImage(frame.rgb, frame),)
