"""The executor's side of the sandbox: starts the server, hands it programs, and trusts nothing that comes back."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toolhand.tool_nodes.results import unavailable
from toolhand.tool_nodes.sandbox import wire
from toolhand.tool_nodes.sandbox.server import END, START
from toolhand.tool_nodes.sandbox.worker import LOCKED

_START_S = 60.0
"""Longest wait for a worker to start [s], long enough for a machine under load."""
_STEP_S = 10.0
"""How long the server may take for what needs no time: forking, locking, killing."""

_PACKAGES = str(Path(__file__).parents[2])
_NUMPY = str(Path(np.__file__).parents[1])
# No site is loaded, and with it no finder of an editable installation: the package is told where its parts lie.
_PROGRAM = (
    "import sys, types; sys.modules['toolhand'] = types.ModuleType('toolhand'); "
    f"sys.modules['toolhand'].__path__ = [{_PACKAGES!r}]; sys.path.append({_NUMPY!r}); "
    "from toolhand.tool_nodes.sandbox.server import main; main()"
)
# Alone in the environment, so that nothing of the caller's is in it; one thread, because threads do not survive a fork.
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

_GARBAGE = "unreadable"


class ServerLost(Exception):
    """The server has ended, or does not answer."""


@dataclass(frozen=True)
class ProgramEnd:
    """How one program ended.

    Attributes:
        message: Message of the worker, of any kind; None if it did not send all of one.
        late: True if it was still running at its deadline.
        signal: Number of the signal that ended it before it sent one; 0 if none did.
    """

    message: Any
    late: bool
    signal: int


class Server:
    """One server process. One program runs at a time; the caller sees to it.

    Raises:
        ServerLost: It does not start, with the reason.
    """

    def __init__(self, command_prefix: tuple[str, ...] = ()) -> None:
        self._owner = os.getpid()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        started = threading.Event()
        # The server dies with the thread that started it, so that thread lives as long as the server; it also reaps it.
        self._keeper = threading.Thread(
            target=self._keep, args=(command_prefix, theirs, started), name="sandbox", daemon=True
        )
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper.start()
        started.wait()
        theirs.close()
        try:
            self._control.settimeout(_START_S)
            word = self._control.recv(4096)
            reason = json.loads(word) if word else "its process ended"
        except OSError as error:
            reason = str(error)
        except BaseException:
            self.close()
            raise
        if reason:
            self.close()
            raise ServerLost(reason)

    def _keep(self, prefix: tuple[str, ...], theirs: socket.socket, started: threading.Event) -> None:
        # Not isolated mode: it would ignore PYTHONHASHSEED. Neither the working directory nor any site is on the path.
        interpreter = [sys.executable, "-s", "-P", "-S", "-c", _PROGRAM, "0" if prefix else str(os.getpid())]
        try:
            self._process = subprocess.Popen(
                [*prefix, *interpreter],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_ENVIRONMENT,
                start_new_session=True,
                cwd="/",
            )
        except OSError:
            return
        finally:
            started.set()
        self._process.wait()

    @property
    def process_id(self) -> int:
        """Of the outermost process that was started."""
        return 0 if self._process is None else self._process.pid

    def run(self, request: list[memoryview], wall_s: float, max_bytes: int) -> ProgramEnd:
        """Run one program in a worker of its own.

        Args:
            request: A message for the worker.
            wall_s: Longest run [s].
            max_bytes: Most bytes of arrays that are taken back.

        Raises:
            ServerLost: The server ended or hangs; another one may be tried.
            ToolError: UNAVAILABLE, the worker could not lock itself up, and did not run the program.
        """
        ours, theirs = socket.socketpair()
        with ours:
            try:
                with theirs, _file_of(request) as file:
                    socket.send_fds(self._control, [START], [theirs.fileno(), file])
                ours.settimeout(_START_S)
                locked = ours.recv(len(LOCKED)) == LOCKED
                message, late = _take(ours, wall_s, max_bytes) if locked else (None, False)
                self._control.settimeout(_STEP_S)
                self._control.send(END)
                word = self._control.recv(16)
            except OSError as error:
                raise ServerLost(str(error)) from error
        if len(word) != 4:
            raise ServerLost("its process ended")
        if not locked:
            raise unavailable("Code cannot be run: the process that would run it could not be locked up.")
        status = int.from_bytes(word, "little")
        killed = message is None and not late and os.WIFSIGNALED(status)
        return ProgramEnd(message, late, os.WTERMSIG(status) if killed else 0)

    def close(self) -> None:
        """End the server and a program that still runs. Idempotent; a forked child only forgets its copy."""
        if os.getpid() == self._owner:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_RDWR)  # the end of file, also where a forked child holds a copy
        self._control.close()
        if os.getpid() != self._owner:
            return
        self._keeper.join(_STEP_S / 5)
        if self._keeper.is_alive() and self._process is not None:
            self._process.kill()
            self._keeper.join()


@contextlib.contextmanager
def _file_of(pieces: list[memoryview]) -> Iterator[int]:
    """A file in memory: the worker takes a large request at one go, where a socket would need many turns."""
    with open(os.memfd_create("request"), "wb", buffering=0) as file:
        for piece in pieces:
            while piece:
                piece = piece[file.write(piece) :]
        yield file.fileno()


def _take(ours: socket.socket, wall_s: float, max_bytes: int) -> tuple[Any, bool]:
    """The worker's message or None, and whether its deadline passed before it was complete."""
    deadline = time.monotonic() + wall_s

    def receive(count: int) -> bytearray:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ours.settimeout(left)
            got = ours.recv_into(view)
            if not got:
                raise ConnectionResetError
            view = view[got:]
        return data

    try:
        return wire.read(receive, max_bytes), False
    except TimeoutError:
        return None, True
    except ConnectionResetError:
        return None, False
    except wire.Unreadable:
        return _GARBAGE, False


def bubblewrap() -> tuple[str, ...]:
    """Command that puts the server into namespaces of its own; empty where bubblewrap is not installed."""
    program = shutil.which("bwrap")
    if program is None:
        return ()
    command = [program, "--unshare-all", "--die-with-parent", "--proc", "/proc", "--dev", "/dev"]
    visible = {"/usr", "/lib", "/lib64", "/bin", sys.prefix, sys.base_prefix, _NUMPY, f"{_PACKAGES}/tool_nodes"}
    for path in sorted(visible):
        command += ["--ro-bind-try", path, path]
    return tuple(command)
