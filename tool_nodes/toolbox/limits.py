"""Limits of every tool call: sizes of arguments and results, run time, and repeated calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.toolbox.arguments import show
from toolhand.tool_nodes.types import Frame

T = TypeVar("T")


@dataclass(frozen=True)
class CallLimits:
    """What one call may ask for and give back.

    Attributes:
        argument_characters: Characters of all strings and keys of the arguments together.
        argument_values: Numbers, strings, keys, lists and objects in the arguments together.
        argument_depth: Lists and objects inside each other.
        text_characters: Longest text that a model is given; the rest is cut off, and said so.
        error_characters: Longest sentence about several wrong arguments; the problems after that are only counted.
        image_side: Longest side of an image that enters a conversation [px].
        repeats: So often the same call may be made in a row where nothing can have changed.
        abandoned: Calls that ran out of time and have not ended yet; at this number no further call is started.
    """

    argument_characters: int = 100_000
    argument_values: int = 20_000
    argument_depth: int = 12
    text_characters: int = 20_000
    error_characters: int = 300
    image_side: int = 8192
    repeats: int = 3
    abandoned: int = 4


@dataclass
class CallHistory:
    """The last call of a conversation, and how often it was made in a row."""

    key: Any = None
    times: int = 0
    held: list[Any] = field(default_factory=list)
    """The values behind the key's identities: kept alive, so that no other value can take the identity."""


class CallLimiter:
    """Checks every call of a toolbox before and after the tool.

    Args:
        limits: Allowed number, size and duration of calls.
    """

    def __init__(self, limits: CallLimits | None = None) -> None:
        self.limits = limits or CallLimits()
        self._late: list[threading.Thread] = []

    def check_size(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Refuse arguments that are too many, too long or too deep, or that no file could hold.

        Raises:
            ToolError: INVALID_ARGUMENT.
        """
        limits = self.limits
        characters, values = 0, 0
        waiting: list[tuple[Any, int]] = [(arguments, 0)]
        while waiting:
            value, depth = waiting.pop()
            inner: Sequence[Any] = ()
            if isinstance(value, str):
                characters += len(value)
            elif isinstance(value, Mapping):
                inner = [*value.keys(), *value.values()]
            elif isinstance(value, (list, tuple)):
                inner = value
            values += len(inner)
            for number, most, what in (
                (characters, limits.argument_characters, "characters in all"),
                (values, limits.argument_values, "values in all"),
                (depth, limits.argument_depth, "levels of lists and objects"),
            ):
                if number > most:
                    raise invalid(f"{name}: the arguments may have {most:,} {what}.")
            if isinstance(value, str) and not _is_unicode(value):
                raise invalid(f"{name}: {show(value)} is no Unicode text: half of a pair is missing.")
            waiting += [(item, depth + 1) for item in inner]

    def note(self, history: CallHistory, name: str, values: Mapping[str, Any], repeatable: bool) -> int:
        """How often this very call has been made in a row, this one included.

        Args:
            history: Calls of the conversation so far; updated.
            name: The tool.
            values: Its arguments, resolved: another value behind the same `$variable` is another call.
            repeatable: True if the same call may give another result.

        Raises:
            ToolError: INVALID_ARGUMENT when it has been made too often.
        """
        held: list[Any] = []
        key = (name, *((argument, _identity(values[argument], held)) for argument in sorted(values)))
        if repeatable or key != history.key:
            history.key, history.times, history.held = key, 0, held
        history.times += 1
        if history.times > self.limits.repeats and not repeatable:
            raise invalid(
                f"{name}: this same call was made {self.limits.repeats} times in a row; its result cannot change.",
                "Use the result, or call with other arguments.",
            )
        return history.times

    def run(self, name: str, work: Callable[[], T], timeout_s: float | None) -> T:
        """The work's result, or its exception, within a time.

        A thread cannot be ended from outside: one that is late is left to itself, and its result is thrown away.

        Args:
            name: The tool, for the sentence.
            work: The function to run.
            timeout_s: None runs it in this thread, for tools that keep their own deadlines.

        Raises:
            ToolError: TIMEOUT, also at once while too many late calls still run.
        """
        if timeout_s is None:
            return work()
        self._late = [thread for thread in self._late if thread.is_alive()]
        if len(self._late) >= self.limits.abandoned:
            raise ToolError(
                ErrorCode.TIMEOUT,
                f"{name}: {len(self._late)} earlier calls ran out of time and still run.",
                "Wait until they have ended.",
            )
        results: list[T] = []
        failures: list[BaseException] = []

        def job() -> None:
            try:
                results.append(work())
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=job, name=f"tool {name}", daemon=True)
        try:
            thread.start()
            thread.join(timeout_s)
        finally:  # a Ctrl-C ends the waiting, not the thread
            if thread.is_alive():
                self._late.append(thread)
        if failures:
            raise failures.pop()  # out of the list: its traceback holds this frame
        if results:
            return results[0]
        raise ToolError(
            ErrorCode.TIMEOUT, f"{name}: no result within {timeout_s:g} s.", "Use a smaller picture or region."
        )

    def short(self, text: str) -> str:
        """The text, cut where it is longer than a model is given."""
        most = self.limits.text_characters
        return text if len(text) <= most else f"{text[:most]} ... ({len(text) - most:,} more characters are not shown)"

    def joined(self, problems: Sequence[str]) -> str:
        """Some problems in one sentence, the first ones where all are too long."""
        sentence = next(iter(problems), "")
        for number, problem in enumerate(problems[1:], 1):
            if len(sentence) + len(problem) > self.limits.error_characters:
                return f"{sentence}; and {len(problems) - number} more"
            sentence += f"; {problem}"
        return sentence

    def check_image(self, name: str, rgb: NDArray[np.uint8]) -> None:
        """Refuse what is no image. Raises ToolError INTERNAL, or INVALID_ARGUMENT for one that is too large."""
        if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3 or not rgb.size:
            raise ToolError(ErrorCode.INTERNAL, f"{name} made a picture of type {rgb.dtype} and shape {rgb.shape}.")
        if max(rgb.shape[:2]) > self.limits.image_side:
            raise invalid(
                f"{name}: the picture would be {rgb.shape[1]}x{rgb.shape[0]}; a side may have "
                f"{self.limits.image_side} px."
            )


def _is_unicode(text: str) -> bool:
    """False where a text has half a surrogate pair, which JSON can spell and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _identity(value: Any, held: list[Any]) -> Any:
    """Something hashable that is equal for equal plain values, and for the same array or image."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, np.ndarray) and value.size <= 4096:
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, Mapping):
        return tuple((name, _identity(value[name], held)) for name in sorted(value, key=str))
    if isinstance(value, Sequence):
        return tuple(_identity(inner, held) for inner in value)
    if isinstance(value, Frame):
        return value.key  # its copy from another process is the same image
    held.append(value)
    return id(value)
