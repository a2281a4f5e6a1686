"""The operator at the terminal approves or refuses single motions.

What is printed is made of numbers, and control characters are taken out all the same; the answer is read from the
keyboard and from nowhere else.
"""

from __future__ import annotations

import os
import select
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from agent_node.console.terminal import save_png
from tool_nodes.motion.approval import Decision, MotionRequest
from tool_nodes.results import ErrorCode, ToolError

DEADLINE_S = 120.0
"""How long the question waits [s]."""

_LOOK_S = 0.1
"""Time between two looks at the keyboard [s], after which a request that has ended is noticed."""
_LONGEST = 200
"""So many characters of an answer are read."""


class TerminalApprover:
    """Asks at the terminal; where there is none, nothing is approved. See `tool_nodes.motion.approval.Approver`.

    Args:
        folder: Where the pictures are written; None for a new temporary one.
        stdin: The keyboard.
        stderr: The screen.
        interrupted: Polled while waiting; True, e.g. after Ctrl-C, ends the question.
        deadline_s: How long it waits [s].
    """

    def __init__(
        self,
        folder: Path | None = None,
        stdin: TextIO | None = None,
        stderr: TextIO | None = None,
        interrupted: Callable[[], bool] = lambda: False,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._folder = folder
        self._stdin = stdin or sys.stdin
        self._stderr = stderr or sys.stderr
        self._interrupted = interrupted
        self._deadline_s = deadline_s

    def decide(self, request: MotionRequest) -> Decision:
        """See `Approver`.

        Raises:
            ToolError: STOPPED when interrupted; INVALID_ARGUMENT where the picture cannot be written.
        """
        if not (self._stdin.isatty() and self._stderr.isatty()):
            return Decision(False, "nobody can be asked: this is no terminal", request.hash, "nobody")
        try:
            import termios
        except ImportError:
            return Decision(False, "nobody can be asked: only terminals of Unix are read", request.hash, "nobody")
        self._show(request)
        # What was typed before the question is no answer to it.
        termios.tcflush(self._stdin.fileno(), termios.TCIFLUSH)
        self._say("Let it move? [y/N] ")
        answer = self._read()
        if answer is None:
            return Decision(False, f"nobody answered within {self._deadline_s:g} s", request.hash, "nobody")
        if answer.lower() in ("y", "yes"):
            return Decision(True, "", request.hash, "terminal")
        self._say("Why not? (may be empty) ")
        return Decision(False, self._read() or "refused at the terminal", request.hash, "terminal")

    def _show(self, request: MotionRequest) -> None:
        lines = [request.what, *request.summary, f"hash {request.hash}"]
        if request.picture is not None:
            folder = self._folder or Path(tempfile.mkdtemp(prefix="toolhand-"))
            path = folder / f"motion-{request.request_id[:8]}.png"
            save_png(path, request.picture)
            lines.append(f"picture {path}")
        self._say("\n" + "".join(f"  {_plain(line)}\n" for line in lines))

    def _say(self, text: str) -> None:
        self._stderr.write(text)
        self._stderr.flush()

    def _read(self) -> str | None:
        """One line of the keyboard without its end; None at the deadline. Raises ToolError STOPPED."""
        keyboard, until_s, line = self._stdin.fileno(), time.monotonic() + self._deadline_s, b""
        while time.monotonic() < until_s:
            if self._interrupted():
                raise ToolError(ErrorCode.STOPPED, "The question was interrupted; nothing has moved.")
            if not select.select([keyboard], [], [], _LOOK_S)[0]:
                continue
            # Not the buffered stream: what it has read ahead would be seen neither by select nor by tcflush.
            read = os.read(keyboard, _LONGEST)
            line += read
            if not read or len(line) >= _LONGEST:
                return ""  # no line was completed, so that nothing was answered
            if b"\n" in read:
                return _plain(line.split(b"\n")[0].decode("utf-8", "replace")).strip()
        return None


def _plain(text: str) -> str:
    """The text without control characters, which could draw over what is shown."""
    return "".join(character for character in text if character.isprintable())
