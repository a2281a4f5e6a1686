"""What commands share at the terminal: results on stdout, one JSON document where asked for; Ctrl-C stops the arm."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import tyro

from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BAD_INPUT = frozenset({ErrorCode.NOT_UNDERSTOOD, ErrorCode.INVALID_ARGUMENT, ErrorCode.UNKNOWN_TOOL})
"""Errors of the input rather than of the task: exit status 2 instead of 1, where it is the operator's input."""

LONGEST_TEXT = 10_000
"""Longest text that is printed at once [characters]: some hundred lines; all of it is in the report of the run."""

INTERRUPTED = 130
"""Exit status that a shell gives to programs ended by Ctrl-C."""

AsJson = Annotated[
    bool,
    tyro.conf.arg(name="json", help="Print exactly one JSON document on stdout."),
    tyro.conf.FlagCreatePairsOff,
]


def exit_status(code: ErrorCode | None, success: bool) -> int:
    """0 if all was done, 2 for wrong input, 1 if the task was not done."""
    return 0 if success else 2 if code in BAD_INPUT else 1


def exit_status_of(result: Mapping[str, Any]) -> int:
    """As `exit_status`, of a command's result.json.

    The operator's sentence was wrong where the policy's first words refused it. Whatever a call is refused for later is
    the policy's own mistake: the task was not done. What was answered in words alone is answered.
    """
    code = result.get("error_code")
    known = ErrorCode(code) if isinstance(code, str) and code in set(ErrorCode) else None
    if result.get("outcome") == "answered":
        return 0
    at_once = result.get("tool_calls", 0) == 0 and result.get("turns", 0) in (0, 1)
    return exit_status(known if at_once else None, result.get("success") is True or only_planned(result))


def only_planned(result: Mapping[str, Any]) -> bool:
    """True of a dry run that came to its first motion: what would move was planned and within the limits."""
    return result.get("approval") == "dry-run" and result.get("error_code") == ErrorCode.NOT_APPROVED


_documents: ContextVar[TextIO | None] = ContextVar("documents", default=None)
"""Where `emit` prints within `documents_alone`; None stands for stdout."""


def emit(document: Any) -> None:
    """Print a document of finite numbers, text, lists and mappings as JSON."""
    print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False), file=_documents.get())


@contextlib.contextmanager
def documents_alone() -> Iterator[None]:
    """Within it stdout has the documents of `emit` alone: what anything else prints, a plug-in say, goes to stderr."""
    before = _documents.set(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _documents.reset(before)


def terminal_session() -> str:
    """Name of the dialogue of the terminal that somebody types at, the same for all its commands; empty without one."""
    try:
        return f"{socket.gethostname()}:{os.ttyname(sys.stdin.fileno())}:{os.getsid(0)}"
    except (OSError, ValueError):
        return ""


def say(text: str) -> None:
    """Print to stderr; a terminal that has gone away is no reason to stop."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """Print to stdout at once; a reader that has gone away is no reason to stop."""
    with contextlib.suppress(OSError):
        print(text, flush=True)


def plain(text: str) -> str:
    """What a model or a tool wrote, as a terminal may have it: no control characters, of long texts the beginning."""
    cut = f" ... ({len(text):,} characters in all)" if len(text) > LONGEST_TEXT else ""
    return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text[:LONGEST_TEXT]) + cut


@contextlib.contextmanager
def chosen_by_the_user() -> Iterator[None]:
    """A place that cannot be written is wrong input (INVALID_ARGUMENT) when it was given on the command line."""
    try:
        yield
    except ToolError as error:
        raise invalid(error.message, "Choose a place that can be written.") from error


def save_png(path: Path, rgb: NDArray[np.uint8]) -> None:
    """Write an image (H, W, 3). Raises ToolError INVALID_ARGUMENT when the file cannot be written."""
    from PIL import Image

    from toolhand.agent_node.runs.folder import write_atomically

    if path.is_dir():
        raise invalid(f"Cannot write {path}: it is a folder.", "Name a PNG file.")
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, format="PNG")
    with chosen_by_the_user():
        write_atomically(path, buffer.getvalue())


class Interrupt:
    """While entered, the first Ctrl-C stops the arm and lets the result be written; the second ends the program.

    Args:
        stop: Stops the arm; called from the signal handler. It may be bound later, once there is an arm.

    Attributes:
        hit: True from the first Ctrl-C on.
    """

    def __init__(self, stop: Callable[[], None] = lambda: None) -> None:
        self.hit = False
        self._stop = stop

    def bind(self, stop: Callable[[], None]) -> None:
        """From now on this is what stops the arm; it is called at once after a Ctrl-C."""
        self._stop = stop
        if self.hit:
            stop()

    def is_hit(self) -> bool:
        """True from the first Ctrl-C on, for those who poll."""
        return self.hit

    def __enter__(self) -> Interrupt:
        self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *exception: type[BaseException] | BaseException | TracebackType | None) -> None:
        signal.signal(signal.SIGINT, self._previous)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.hit:
            raise KeyboardInterrupt
        self.brake()

    def brake(self) -> None:
        """What the first Ctrl-C does; in any thread."""
        self.hit = True
        self._stop()
        # Not print: the signal may have come in the middle of one, and those do not nest.
        with contextlib.suppress(OSError):
            os.write(2, b"\nStopping: the arm holds its position. (Ctrl-C again ends at once.)\n")
