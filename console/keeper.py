"""The two processes of a console: started, watched and ended together.

The stop server is the first to come and the last to go. Pages that end are started anew, at most once a second, and the
stop server answers meanwhile. Where the stop server ends, so does the console: pages without a stop button are not
served, and a command whose operator's pages are gone is cancelled.
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
from typing import IO

from console.settings import ConsoleSettings
from tool_nodes.results import unavailable

STOP_MODULE, PAGES_MODULE = "console.stop_server", "console.serve"

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
    """

    def __init__(self, name: str, module: str, settings: ConsoleSettings) -> None:
        self.name = name
        self.began_s = time.monotonic()
        self._ready = threading.Event()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
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


class ConsoleKeeper:
    """Starts the two processes and keeps them.

    Args:
        settings: The console.
        say: Gets sentences for the operator.
    """

    def __init__(self, settings: ConsoleSettings, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._say = say
        self._stop_server: _Child | None = None
        self._pages: _Child | None = None

    def start(self) -> None:
        """Start both and wait until they answer. Raises ToolError UNAVAILABLE where one does not."""
        for port in (self._settings.stop_port, self._settings.port):
            require_free(self._settings.host, port)
        # The stop server needs no token of approvals: it never has it.
        self._stop_server = _Child("The stop server", STOP_MODULE, replace(self._settings, approval_token=""))
        self._pages = _Child("The pages", PAGES_MODULE, self._settings)
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
                self._pages = _Child("The pages", PAGES_MODULE, replace(self._settings, anew=True))
            time.sleep(_LOOK_S)
        self._say(f"The stop server has ended (exit status {status}), and so does the console.")
        return status

    def close(self) -> None:
        """End both, the pages first."""
        for child in (self._pages, self._stop_server):
            if child is not None:
                child.end()


def require_free(host: str, port: int) -> None:
    """Raises ToolError UNAVAILABLE where nothing can listen on a port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
    except OSError as error:
        raise unavailable(
            f"Cannot listen on port {port} of {host}: {error.strerror or error}.",
            "Choose others with --port and --stop-port.",
        ) from error


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
