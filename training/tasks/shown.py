"""Tasks that come with a picture: it is the conversation's first, before any tool is called."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sim.tasks.task import Task
from tool_nodes.ports import Camera
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.toolbox import Session, Toolbox
from tool_nodes.types import Frame

_CAPTURE = "robot.capture_image"


@runtime_checkable
class ShownTask(Protocol):
    """A task about a picture."""

    def shown(self, camera: Camera) -> Frame:
        """The picture that it is about, taken now or drawn."""


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


class Seeing(Protocol):
    """What a picture can be taken with: a toolbox at least, a `camera` where there is one in this process."""

    @property
    def toolbox(self) -> Toolbox:
        """Its tools."""


def shown_picture(task: Task, station: Seeing) -> SessionImage | None:
    """What the operator shows with a task's sentence; None for one without a picture.

    Raises:
        ToolError: Where the station's camera gives none.
    """
    if not isinstance(task, ShownTask):
        return None
    camera: Camera = getattr(station, "camera", None) or _ToolCamera(station.toolbox)
    frame = task.shown(camera)
    return SessionImage(frame.rgb, frame)
