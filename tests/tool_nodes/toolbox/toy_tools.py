"""Small tools that the tests of the toolbox call: what they take, what they answer, and how they fail."""

import threading
from typing import Annotated, Any

import numpy as np

from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import (
    CallingSession,
    Data,
    ImageIndex,
    InvalidValue,
    Level,
    Lookup,
    Mask,
    NumberArgument,
    Points2D,
    Text,
    Unit,
)
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox, tool

TINY_S = 0.02
"""How long `wait` may take."""
Count = Annotated[float, NumberArgument(1, 10**6)]
Side = Annotated[float, NumberArgument(0, 9000)]


class LevelArgument:
    """Takes a level's number, and fails there."""

    def schema(self) -> dict[str, Any]:
        return {"type": "integer"}

    def parse(self, value: Any, lookup: Lookup) -> Any:
        raise InvalidValue(f"is wrong in {Level(value).name}", Level(value))


class ToyTools:
    """One tool for each object that the toolbox promises.

    Attributes:
        started: Calls of `say` and `wait` that began.
        release: Lets every `wait` go on.
        threads: Where each `wait` ran.
    """

    suite = "test"

    def __init__(self) -> None:
        self.started = 0
        self.release = threading.Event()
        self.threads: list[threading.Thread] = []

    @tool("say")
    def say(self, text: Text, times: Count = 1) -> ToolResult:
        """Repeat a text."""
        self.started += 1
        return ToolResult(text=text * int(times))

    @tool("look", repeatable=True, aliases=["see"], renamed={"what": "text"})
    def look(self, text: Text = "") -> ToolResult:
        """Look again."""
        return ToolResult(text="Looked.", backend="pixels")

    @tool("measure", aliases=["gauge"], renamed={"image": "data"})
    def measure(self, data: Data) -> ToolResult:
        """Measure an array."""
        return ToolResult(text="Measured.", backend="pixels")

    @tool("points")
    def points(self, points: Points2D) -> ToolResult:
        """Take points."""
        return ToolResult(text=f"{len(points)} points.")

    @tool("mask")
    def mask(self, mask: Mask) -> ToolResult:
        """Take a mask."""
        return ToolResult(text=f"{mask.sum()} px.")

    @tool("fail")
    def fail(self) -> ToolResult:
        """Fail inside, with a message of several lines."""
        raise ValueError("first line\nsecond line " + "x" * 10_000)

    @tool("picture", repeatable=True)
    def image(self, width: Side, height: Side) -> ToolResult:
        """Make a picture."""
        return ToolResult(text="Made.", image=np.broadcast_to(np.uint8(7), (int(height), int(width), 3)))

    @tool("grey")
    def grey(self) -> ToolResult:
        """Make what is no picture."""
        return ToolResult(image=np.zeros((4, 4), np.uint8))

    @tool("copy")
    def copy(self, image_index: ImageIndex) -> ToolResult:
        """Give back another picture than the one that is kept."""
        kept = image_index.cropped(0, 0, 1, 1)
        return ToolResult(image=image_index.rgb.copy(), variables={"kept": kept})

    @tool("move", motion=True)
    def move(self, x: Unit) -> ToolResult:
        """Move."""
        return ToolResult(text="Moved.")

    @tool("count_images")
    def count_images(self, session: CallingSession, text: Text = "") -> ToolResult:
        """Count the pictures of the conversation."""
        return ToolResult(value=len(session.images), text=f"{len(session.images)} pictures.")

    @tool("steps", stepwise=True)
    def steps(self, a: Annotated[Any, LevelArgument()], b: Annotated[Any, LevelArgument()]) -> ToolResult:
        """Check in levels."""
        return ToolResult()

    @tool("all_at_once")
    def all_at_once(self, a: Annotated[Any, LevelArgument()], b: Annotated[Any, LevelArgument()]) -> ToolResult:
        """Check everything."""
        return ToolResult()

    @tool("wait", timeout_s=TINY_S)
    def wait(self, fail: Text = "") -> ToolResult:
        """Come too late."""
        self.started += 1
        self.threads.append(threading.current_thread())
        self.release.wait(20)
        if fail:
            raise RuntimeError(fail)
        return ToolResult(text="Late.", image=np.zeros((2, 2, 3), np.uint8), variables={"late": 1})

    @tool("unavailable")
    def unavailable(self) -> ToolResult:
        """Not now."""
        raise ToolError(ErrorCode.UNAVAILABLE, "The camera does not answer.")

    @tool("add")
    def add(self, session: CallingSession) -> ToolResult:
        """Count up in a variable."""
        total = min(session.variables.get("total", 0) + 1, 3)
        return ToolResult(text=f"{total}", variables={"total": total})


def error_of(record: CallRecord) -> ToolError:
    error = record.result.error
    assert error is not None
    assert "\n" not in error.message
    assert len(error.message) <= 400
    return error


def refusal(box: Toolbox, name: str, arguments: Any, session: Session | None = None) -> str:
    error = error_of(box.call(name, arguments, session or Session()))
    assert error.code is ErrorCode.INVALID_ARGUMENT
    return error.message
