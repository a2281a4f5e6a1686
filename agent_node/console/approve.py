"""The operator at the terminal approves or refuses single motions.

What is printed is made of numbers, and control characters are taken out all the same; the answer is read from the
keyboard and from nowhere else.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from toolhand.agent_node.console.keyboard import forget_typed, is_terminal, printable, read_line
from toolhand.agent_node.console.terminal import save_png
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest

DEADLINE_S = 120.0
"""How long the question waits [s]."""


class TerminalApprover:
    """Asks at the terminal; where there is none, nothing is approved. See
    `toolhand.tool_nodes.motion.approval.Approver`.

    Args:
        folder: Where the images are written; None for a new temporary one.
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
            ToolError: STOPPED when interrupted; INVALID_ARGUMENT where the image cannot be written.
        """
        if not (self._stdin.isatty() and self._stderr.isatty()):
            return Decision(False, "nobody can be asked: this is no terminal", request.hash, "nobody")
        if not is_terminal(self._stdin, self._stderr):
            return Decision(False, "nobody can be asked: only terminals of Unix are read", request.hash, "nobody")
        self._show(request)
        forget_typed(self._stdin)
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
        if request.image is not None:
            folder = self._folder or Path(tempfile.mkdtemp(prefix="toolhand-"))
            path = folder / f"motion-{request.request_id[:8]}.png"
            save_png(path, request.image)
            lines.append(f"picture {path}")
        self._say("\n" + "".join(f"  {printable(line)}\n" for line in lines))

    def _say(self, text: str) -> None:
        self._stderr.write(text)
        self._stderr.flush()

    def _read(self) -> str | None:
        """One line of the keyboard; None at the deadline. Raises ToolError STOPPED."""
        return read_line(self._stdin, self._deadline_s, self._interrupted)
