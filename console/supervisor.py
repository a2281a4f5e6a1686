"""The two processes of a console: started, watched and ended together.

The stop server is the first to come and the last to go. Both are given sockets that listen already and that stay with
this process: no other program can take a port in between, and what connects meanwhile waits. Pages that end are started
anew, at most once a second, and the stop server answers meanwhile. Where the stop server ends, so does the console:
pages without a stop button are not served, and a command whose operator's pages are gone is cancelled.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import IO

from toolhand.agent_node.web_gate import listening
from toolhand.console.settings import ConsoleSettings
from toolhand.tool_nodes.results import unavailable

STOP_MODULE, PAGES_MODULE = "toolhand.console.stop_server", "toolhand.console.serve"

READY_S = 90.0
"""Longest wait for a process to answer its first request: a bound for a machine that is busy [s]."""

AGAIN_S = 1.0
"""Shortest time between two starts of the pages [s]."""

_LEAVE_S = 3.0
"""How long a process may take to end by itself before it is killed [s]."""

_LOOK_S = 0.1
"""How often it is looked whether the processes live [s]."""


class _Child:
    """One process, in a session of its own: Ctrl-C is for the command, which ends it.

    Args:
        name: Its name, as a sentence begins.
        module: Module that is run.
        settings: Handed over through its input, which ends with this process.
        sockets: Handed over, too: it serves on them.
    """

    def __init__(self, name: str, module: str, settings: ConsoleSettings, sockets: list[socket.socket]) -> None:
        self.name = name
        self.began_s = time.monotonic()
        self._ready = threading.Event()
        numbers = [each.fileno() for each in sockets]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *map(str, numbers)],
            pass_fds=numbers,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        with contextlib.suppress(BrokenPipeError):  # it has ended already, which is found out below
            _pipe(self.process.stdin).write(settings.to_line().encode() + b"\n")
            _pipe(self.process.stdin).flush()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in _pipe(self.process.stdout):
            if line.strip() == b"ready":
                self._ready.set()

    def wait_ready(self) -> None:
        """Until it answers. Raises ToolError UNAVAILABLE where it ends before, or does not answer in time."""
        end = time.monotonic() + READY_S
        while not self._ready.wait(_LOOK_S):
            if self.process.poll() is not None:
                raise unavailable(f"{self.name} could not be started: exit status {self.process.returncode}.")
            if time.monotonic() > end:
                raise unavailable(f"{self.name} did not answer within {READY_S:g} s.")

    def end(self) -> None:
        """End it: by the end of its input, a signal, and a signal that it cannot refuse."""
        with contextlib.suppress(OSError):
            _pipe(self.process.stdin).close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None and self.process.poll() is None:
                os.kill(self.process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_LEAVE_S)
                return


class ConsoleSupervisor:
    """Starts the two processes and keeps them.

    Args:
        settings: The console.
        say: Gets sentences for the operator.

    Attributes:
        settings: The same.
    """

    def __init__(self, settings: ConsoleSettings, say: Callable[[str], None]) -> None:
        self.settings = settings
        self._say = say
        self._stop_server: _Child | None = None
        self._pages: _Child | None = None
        self._sockets: dict[int, list[socket.socket]] = {}

    def start(self) -> None:
        """Start both and wait until they answer. Raises ToolError UNAVAILABLE where one does not."""
        for port in (self.settings.stop_port, self.settings.port):
            self._sockets[port] = listening(self.settings.host, port, "Choose others with --port and --stop-port.")
        # The stop server needs no token of approvals: it never has it.
        settings = replace(self.settings, approval_token="")
        self._stop_server = _Child("The stop server", STOP_MODULE, settings, self._sockets[settings.stop_port])
        self._pages = self._new_pages(self.settings)
        self._stop_server.wait_ready()
        self._pages.wait_ready()

    def pids(self) -> dict[str, int]:
        """Process numbers of what runs, by name."""
        children = {"stop server": self._stop_server, "pages": self._pages}
        return {name: child.process.pid for name, child in children.items() if child is not None}

    def watch(self) -> int:
        """Until the stop server ends; pages that end are started anew. Returns its exit status."""
        assert self._stop_server is not None
        assert self._pages is not None
        while (status := self._stop_server.process.poll()) is None:
            ended = self._pages.process.poll()
            if ended is not None and time.monotonic() - self._pages.began_s >= AGAIN_S:
                self._say(f"The pages have ended (exit status {ended}) and are started anew. The stop server answers.")
                self._pages.end()
                self._pages = self._new_pages(replace(self.settings, anew=True))
            time.sleep(_LOOK_S)
        self._say(f"The stop server has ended (exit status {status}), and so does the console.")
        return status

    def _new_pages(self, settings: ConsoleSettings) -> _Child:
        return _Child("The pages", PAGES_MODULE, settings, self._sockets[settings.port])

    def close(self) -> None:
        """End both, the pages first, and free their ports."""
        for child in (self._pages, self._stop_server):
            if child is not None:
                child.end()
        for each in chain.from_iterable(self._sockets.values()):
            each.close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
