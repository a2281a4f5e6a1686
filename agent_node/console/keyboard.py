"""Lines that a person types at the terminal while something else may end the wait."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import TextIO

from tool_nodes.results import ErrorCode, ToolError

_LOOK_S = 0.1
"""How often a wait looks for an interruption [s]."""
_LONGEST = 2000
"""Longest line that is read [bytes]; as long as a sentence of the operator may be."""


def is_terminal(stdin: TextIO, stderr: TextIO) -> bool:
    """Whether a person can be asked here: a terminal of Unix in both directions."""
    try:
        import termios  # noqa: F401
    except ImportError:
        return False
    return stdin.isatty() and stderr.isatty()


def forget_typed(stdin: TextIO) -> None:
    """Drop what was typed before a question: it is no answer to it."""
    import termios

    termios.tcflush(stdin.fileno(), termios.TCIFLUSH)


def read_line(stdin: TextIO, deadline_s: float, interrupted: Callable[[], bool]) -> str | None:
    """One line without its end and without control characters; "" where none was completed, None at the deadline.

    Args:
        stdin: The keyboard, a terminal.
        deadline_s: How long it waits [s].
        interrupted: Polled while waiting.

    Raises:
        ToolError: STOPPED when interrupted.
    """
    keyboard, until_s, line = stdin.fileno(), time.monotonic() + deadline_s, b""
    while time.monotonic() < until_s:
        if interrupted():
            raise ToolError(ErrorCode.STOPPED, "The question was interrupted; nothing has moved.")
        if not select.select([keyboard], [], [], _LOOK_S)[0]:
            continue
        # Not the buffered stream: what it has read ahead would be seen neither by select nor by tcflush.
        read = os.read(keyboard, _LONGEST)
        line += read
        if not read or len(line) >= _LONGEST:
            return ""
        if b"\n" in read:
            return printable(line.split(b"\n")[0].decode("utf-8", "replace")).strip()
    return None


def printable(text: str) -> str:
    """The text without control characters, which could draw over what is shown."""
    return "".join(character for character in text if character.isprintable())
