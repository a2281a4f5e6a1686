"""Lines that a person types at the terminal while something else may end the wait."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from toolhand.tool_nodes.results import ErrorCode, ToolError

_LOOK_S = 0.1
"""How often a wait looks for an interruption [s]."""
_READING = threading.Lock()
"""Held by whoever reads the keyboard: a question before those who overhear."""
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
    with _READING:
        return _read_line(stdin, deadline_s, interrupted)


def _read_line(stdin: TextIO, deadline_s: float, interrupted: Callable[[], bool]) -> str | None:
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


@contextlib.contextmanager
def overheard(stdin: TextIO, takes: Callable[[str], bool]) -> Iterator[list[str]]:
    """While entered, lines are read that a person types though nothing was asked; those that nobody takes are kept.

    Args:
        stdin: The keyboard, a terminal.
        takes: Called with each line in a thread of its own; True where it was for it.

    Yields:
        The lines that are kept, in order, for whoever reads next.
    """
    kept: list[str] = []
    ended = threading.Event()

    def listen() -> None:
        while not ended.is_set():
            with _READING:
                line = _read_line(stdin, _LOOK_S, lambda: False)
            if line and not takes(line):
                kept.append(line)
            ended.wait(_GIVES_WAY_S)

    thread = threading.Thread(target=listen, name="keyboard", daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        ended.set()
        thread.join()


_GIVES_WAY_S = 0.01
"""Between two looks a question may take the keyboard [s]."""


def printable(text: str) -> str:
    """The text without control characters, which could draw over what is shown."""
    return "".join(character for character in text if character.isprintable())
