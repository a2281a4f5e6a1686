"""How a call ended, in a ToolStatus: written where tools are served, raised again where they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import Image
from std_msgs.msg import Header
from toolhand_interfaces.msg import ToolStatus

from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult, invalid
from toolhand.tool_nodes.ros.messages import BadMessage, rgb_to_image
from toolhand.tool_nodes.toolbox.arguments import ArgumentType, InvalidValue
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox


def success(text: str, backend: str = "") -> ToolStatus:
    """The status of a call that did what was asked: what a language model reads, and which backend answered."""
    return ToolStatus(success=True, message=text, backend=backend)


def visualization(result: ToolResult, header: Header) -> Image:
    """The image of a result; empty where it has none."""
    return Image() if result.image is None else rgb_to_image(result.image, header)


def failure(error: ToolError) -> ToolStatus:
    """The status of a call that failed."""
    return ToolStatus(
        success=False, error_code=str(error.code), message=error.message, hint=error.hint, backend=error.backend
    )


def raise_failure(status: ToolStatus) -> None:
    """Raise the ToolError of a status, if it holds one; an unknown code becomes INTERNAL."""
    if status.success:
        return
    known = status.error_code in set(ErrorCode)
    code = ErrorCode(status.error_code) if known else ErrorCode.INTERNAL
    message = status.message or f"The call failed with code {status.error_code!r}."
    raise ToolError(code, message, status.hint, status.backend)


@contextmanager
def answering(node: Node, response: Any, what: str) -> Iterator[None]:
    """Put what the block raises into the response's status; a response without an error keeps its own.

    Args:
        node: Logs what failed inside.
        response: Has a `status`.
        what: Name of the service or action, for the sentence.
    """
    try:
        yield
    except BadMessage as error:
        response.status = failure(invalid(f"{what}: {error}"))
    except ToolError as error:
        response.status = failure(error)
        if error.code is ErrorCode.INTERNAL:
            node.get_logger().error(f"{what}: {error} ({error.__cause__!r})")
    except Exception as error:
        message = f"{what} failed inside: {type(error).__name__}: {error}."
        response.status = failure(ToolError(ErrorCode.INTERNAL, message))
        node.get_logger().error(message)


def checked(kind: ArgumentType, value: Any, what: str) -> Any:
    """A value of a request that fits its kind; `what` begins the sentence. Raises ToolError INVALID_ARGUMENT."""
    try:
        return kind.parse(value, Session())
    except InvalidValue as problem:
        raise invalid(f"{what} {problem}.") from problem


def use_tool(toolbox: Toolbox, name: str, arguments: Mapping[str, Any], session: Session) -> ToolResult:
    """Call a tool with the checks of the toolbox. Raises the ToolError that it ended with."""
    result = toolbox.call(name, arguments, session).result
    if result.error is not None:
        raise result.error
    return result
