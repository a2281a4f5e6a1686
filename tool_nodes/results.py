"""What every tool returns, and the one error type every stage raises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from toolhand.tool_nodes.toolbox.images import CameraView, SessionImage
    from toolhand.tool_nodes.types import GraspTarget


class ErrorCode(StrEnum):
    """Each code names the stage that failed, so that a user knows where to look.

    UNKNOWN_TOOL says that no tool has that name, or does what was asked for. OBJECT_NOT_FOUND says that something is
    not there. NOT_RECOGNISED says that the backend cannot know: the words are outside of its vocabulary, it cannot read
    images of this kind, or it did not recognise all that is in view.
    IMAGE_UNUSABLE says that the backend is there and needs more than this image has: a camera frame, depth, another
    camera's view; another image, or another tool, would do. UNAVAILABLE says that no argument would: what should
    answer is not there. TIMEOUT says that something has not ended and may still run.
    """

    NOT_UNDERSTOOD = "NOT_UNDERSTOOD"
    AMBIGUOUS = "AMBIGUOUS"
    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    UNKNOWN_TOOL = "UNKNOWN_TOOL"
    NOT_RECOGNISED = "NOT_RECOGNISED"
    IMAGE_UNUSABLE = "IMAGE_UNUSABLE"
    OBJECT_NOT_FOUND = "OBJECT_NOT_FOUND"
    EMPTY_MASK = "EMPTY_MASK"
    NO_DEPTH = "NO_DEPTH"
    NO_GRASP = "NO_GRASP"
    OUT_OF_WORKSPACE = "OUT_OF_WORKSPACE"
    PLACE_BLOCKED = "PLACE_BLOCKED"
    IK_FAILED = "IK_FAILED"
    PLAN_FAILED = "PLAN_FAILED"
    SCENE_CHANGED = "SCENE_CHANGED"
    NOT_APPROVED = "NOT_APPROVED"
    STOPPED = "STOPPED"
    CANCELLED = "CANCELLED"
    EXECUTION_FAILED = "EXECUTION_FAILED"
    CONTROLLER_FAULT = "CONTROLLER_FAULT"
    GRIPPER_EMPTY = "GRIPPER_EMPTY"
    OBJECT_DROPPED = "OBJECT_DROPPED"
    WRONG_OBJECT = "WRONG_OBJECT"
    NOT_HOLDING = "NOT_HOLDING"
    ALREADY_HOLDING = "ALREADY_HOLDING"
    TURN_BUDGET = "TURN_BUDGET"
    TIMEOUT = "TIMEOUT"
    UNAVAILABLE = "UNAVAILABLE"
    INTERNAL = "INTERNAL"


INFRASTRUCTURE_ERRORS = frozenset({ErrorCode.UNAVAILABLE, ErrorCode.INTERNAL})
"""Faults of the system, never scored as a failed task. No argument of a call may bring one about: it would let a policy
keep its mistakes out of its scores."""


class Cause(StrEnum):
    """Why what is served elsewhere is UNAVAILABLE; no program reads it from the sentence."""

    TIMEOUT = "timeout"
    DIED = "died"
    OUT_OF_MEMORY = "out of memory"
    FULL_QUEUE = "full queue"
    NOT_SERVED = "not served"


class ToolError(Exception):
    """One clear sentence, a code that names the stage, what to do next and which backend says so (may be empty).

    `cause` says why something that is served elsewhere is UNAVAILABLE; None for every other error.
    """

    def __init__(
        self, code: ErrorCode, message: str, hint: str = "", backend: str = "", cause: Cause | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.backend = backend
        self.cause = cause

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()

    def reworded(self, message: str | None = None, hint: str | None = None) -> ToolError:
        """The same error in other words; None keeps a sentence."""
        message, hint = self.message if message is None else message, self.hint if hint is None else hint
        again = ToolError(self.code, message, hint, self.backend, self.cause)
        again.__cause__ = self.__cause__
        return again

    def __reduce__(self) -> tuple[type[ToolError], tuple[ErrorCode, str, str, str, Cause | None]]:
        return type(self), (self.code, self.message, self.hint, self.backend, self.cause)


NOT_THERE = frozenset({ErrorCode.OBJECT_NOT_FOUND, ErrorCode.NOT_RECOGNISED})
"""Codes by which a look answers that what it was asked for is not there: a result of the look, and no fault of it.
Whether the command has failed by it is for the command to say: "is something on top?" hopes for this answer."""


def words_of(error: BaseException, most: int = 200) -> str:
    """What an error of another package says, in one line of at most so many characters and without a full stop."""
    said = "".join(sign if sign.isprintable() else " " for sign in str(error)[: 20 * most])
    return " ".join(said.split())[:most].rstrip(".")


def kind_and_words(error: BaseException, most: int = 200) -> str:
    """The same after its kind, e.g. "KeyError: 'name'"; the kind alone where it says nothing."""
    return f"{type(error).__name__}: {words_of(error, most)}".removesuffix(": ")


def invalid(message: str, hint: str = "") -> ToolError:
    """The error INVALID_ARGUMENT, to raise: one sentence that says what is allowed, and what to do next."""
    return ToolError(ErrorCode.INVALID_ARGUMENT, message, hint)


def unavailable(message: str, hint: str = "", cause: Cause | None = None) -> ToolError:
    """The error UNAVAILABLE, to raise: no argument would help, because what should answer is not there."""
    return ToolError(ErrorCode.UNAVAILABLE, message, hint, cause=cause)


@dataclass(frozen=True)
class ToolResult:
    """Outcome of one tool call.

    Attributes:
        value: The tool's raw value, for callers in Python.
        text: Text that a language model reads.
        image: uint8 RGB (H, W, 3) image of the result, or None.
        variables: New `$name` values, kept by the caller's toolbox session.
        error: None when the call succeeded.
        source: The session's image that `image` was drawn over or cut from, as `SessionImage.redrawn` and `cropped`
            give it; None where the image shows something else.
        view: How a camera saw what `image` shows, where the image itself is none to look for objects in, as colours of
            depth are not; else the toolbox knows it from the image.
        named: Name of the points among the facts, which the session notes for a grasp of one of them; or "".
        outlined: A mask among the variables, and where it was pointed at, which the session notes for a grasp of it.
        backend: Which backend answered, e.g. "pixels"; empty for functions that have only one. The toolbox adds it to
            the text.
        facts: Plain data (numbers, text, lists, mappings) for reports, kept as long as the record of the call:
            `points`, normalized points that were found in the image; `grasped` and `placed`, see `robot.RobotTools`;
            those of `mock_robot.MockRobot`.
    """

    value: Any = None
    text: str = ""
    image: NDArray[np.uint8] | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    error: ToolError | None = None
    source: SessionImage | None = None
    view: CameraView | None = None
    named: str = ""
    outlined: GraspTarget | None = None
    backend: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True when the call succeeded."""
        return self.error is None

    @property
    def failed(self) -> bool:
        """True when the call has failed, as people are shown it: a look that finds nothing has not."""
        return self.error is not None and self.error.code not in NOT_THERE

    @property
    def shown(self) -> str:
        """The text as people are shown it; a language model reads `text`."""
        return self.text if self.error is None or self.failed else f"Not there: {self.error}"
