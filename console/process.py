"""What both processes of a console are: a server on sockets that were handed over, one line a log entry, no forks."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence

import uvicorn

from toolhand.agent_node.console.terminal import plain

_LONGEST_LINE = 300
"""Longest line of the log [characters]: two lines of a terminal."""
_MOST_LINES, _SPAN_S = 20, 10.0
"""Lines of the log in so many seconds [-, s]: what a person can read; of a flood the rest is counted."""
_FORKED = 70
"""Exit status of a process that was forked off (EX_SOFTWARE of sysexits.h)."""


def handed_over(words: Sequence[str]) -> list[socket.socket]:
    """The sockets whose file descriptors are the arguments of this process; its own children do not get them."""
    sockets = [socket.socket(fileno=int(word)) for word in words]
    for each in sockets:
        each.set_inheritable(False)
    return sockets


def never_fork() -> None:
    """Have whatever is forked off this process end at once.

    A fork holds the listening sockets, the connections, and the operator's token, and none of the threads that serve
    them. Programs that are started (subprocess, the start method spawn) get nothing of these and are let be.
    """
    os.register_at_fork(after_in_child=lambda: os._exit(_FORKED))


def log_plainly() -> None:
    """Log to stderr, whoever logs: a line an entry, without control characters, and no more of them than are read."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Plain())
    handler.addFilter(_Few())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(True)


class ConsoleServer(uvicorn.Server):
    """A server that says when it answers, and ends when the input of its process does: whoever started it is gone.

    Args:
        config: The application, and the address for a start without sockets.
        ready: Called once it answers.
    """

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    def end_with_input(self, within_s: float | None = None) -> None:
        """End when the input ends, in any case after so long [s] where that is given."""

        def wait() -> None:
            while sys.stdin.buffer.read(1):
                pass
            self.should_exit = True
            if within_s is not None:
                time.sleep(within_s)
                os._exit(0)

        threading.Thread(target=wait, daemon=True).start()


class _Plain(logging.Formatter):
    """One line of an entry; of an exception its kind, its words and where it was raised."""

    def format(self, record: logging.LogRecord) -> str:
        own = record.name.startswith("toolhand")
        words = [record.getMessage() if own else f"{record.name}: {record.getMessage()}"]
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            frames = traceback.extract_tb(error.__traceback__)
            at = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
            words.append(f"{type(error).__name__}: {error}{at}")
        text = " ".join(plain(" ".join(words)).split())
        return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]} ..."


class _Few(logging.Filter):
    """Lets `_MOST_LINES` of `_SPAN_S` through, and says with the next one how many it has left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._began_s = -_SPAN_S
        self._count = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """See logging."""
        now = self._clock()
        if now - self._began_s >= _SPAN_S:
            left_out, self._began_s, self._count = max(0, self._count - _MOST_LINES), now, 0
            if left_out:
                record.msg, record.args = f"({left_out} lines were left out) {record.getMessage()}", ()
        self._count += 1
        return self._count <= _MOST_LINES
