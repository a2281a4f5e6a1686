"""Forks the nodes of a launch: a Python that has imported their modules once, so that each need not do it again.

Run by the launcher, see `forking.py`: `python -m rclpy_zenoh.launch.fork_server FD ROOM MODULE...`. It imports the
modules, which open nothing and start nothing, and then only waits: for requests at the socket FD, and for the ends of
those that it has forked. A node is the same process as `python -m rclpy_zenoh.run MODULE ARGUMENTS` would be: its
module runs as `__main__`, it leads a process group, its output is a pipe of its own, and `ps` shows its own command
line. What is shared with others is memory that was not written to since; when this server dies, nodes live on.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import selectors
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TextIO

from rclpy_zenoh import overlay
from rclpy_zenoh.launch.forking import READY, UNFIT
from rclpy_zenoh.run import SIGINT_EXIT, run_program

_PR_SET_NAME = 15
_SHORT_NAME_BYTES = 15
"""Linux keeps so much of a name [bytes]."""


@dataclass(frozen=True)
class Request:
    """What to run.

    Attributes:
        label: Name of the process, as `ps -o comm` and `top` show it.
        program: Module and arguments.
        command: The whole command line, as `ps` shows it.
    """

    label: str
    program: tuple[str, ...]
    command: tuple[str, ...]


def main(argv: Sequence[str]) -> int:
    """Serve until the launcher closes its socket; in a forked node, run it."""
    control = socket.socket(fileno=int(argv[0]))
    room = len(argv[1])
    own_name = (sys.executable, "-P", "-m", "rclpy_zenoh.launch.fork_server")
    preload(argv[2:])
    if len(os.listdir("/proc/self/task")) > 1:
        control.sendall(UNFIT)
        return 0
    title = _Title(room)
    title.show("fork_server", own_name)
    control.sendall(READY)
    gc.collect()
    gc.freeze()  # what is shared stays so: the collector of a node does not write to it
    request = _Server(control).serve()
    if request is None:
        return 0
    title.show(request.label, request.command)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()  # its global generator was seeded when it was imported; Python's own is seeded anew by fork
    sys.modules.pop(request.program[0], None)  # it runs as __main__, and not twice
    return run_program(request.program[0], request.program[1:])


def preload(modules: Sequence[str]) -> None:
    """Import modules. One that cannot be imported fails again in its node, which then says why."""
    overlay.install()
    for module in modules:
        with contextlib.suppress(Exception):
            importlib.import_module(module)


class _Server:
    """Waits for requests and for the ends of nodes; one thread.

    Args:
        control: Gives for each request a socket and the end of a pipe: at the socket the request is read, the pid and,
            later, the status are sent; the pipe is where the node writes to.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._clients: dict[int, socket.socket] = {}

    def serve(self) -> Request | None:
        """What to run, in a process that was forked for it; None where the launcher has gone."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _heard)
        selector = selectors.DefaultSelector()
        selector.register(self._control, selectors.EVENT_READ)
        selector.register(reading, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in selector.select()}
            if reading in ready:
                os.read(reading, 512)
                self._tell_ends()
            if self._control.fileno() in ready:
                _, descriptors, _, _ = socket.recv_fds(self._control, 1, 2)
                if len(descriptors) < 2:
                    return None
                request = self._fork(socket.socket(fileno=descriptors[0]), descriptors[1])
                if request is not None:
                    signal.set_wakeup_fd(-1)
                    selector.close()
                    for descriptor in (reading, writing):
                        os.close(descriptor)
                    return request

    def _fork(self, client: socket.socket, output: int) -> Request | None:
        """The request in the node's process; None in the server's."""
        with client.makefile("rb") as stream:
            line = stream.readline()
        if not line.endswith(b"\n"):  # the launcher has died while it asked
            client.close()
            os.close(output)
            return None
        document = json.loads(line)
        request = Request(document["label"], tuple(document["program"]), tuple(document["command"]))
        try:
            pid = os.fork()
        except OSError as error:
            with contextlib.suppress(OSError), client:
                client.sendall(f"error {error.errno}\n".encode())
            os.close(output)
            return None
        if pid == 0:
            os.setpgid(0, 0)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for name, descriptor in (("stdout", 1), ("stderr", 2)):
                os.dup2(output, descriptor)
                setattr(sys, name, _stream_to(descriptor, getattr(sys, name)))
            os.close(output)
            for open_socket in (self._control, client, *self._clients.values()):
                open_socket.close()
            return request
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # in parent and child: a signal to the group must not come too early
        os.close(output)
        self._clients[pid] = client
        with contextlib.suppress(OSError):
            client.sendall(f"pid {pid}\n".encode())
        return None

    def _tell_ends(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                client = self._clients.pop(pid, None)
                if client is not None:
                    with contextlib.suppress(OSError), client:
                        client.sendall(f"status {os.waitstatus_to_exitcode(status)}\n".encode())


class _Title:
    """What `ps` and `top` show of this process: its command line lies in its own memory, and may be written over.

    Args:
        room: Length of the argument that was given only to make room for longer ones.
    """

    def __init__(self, room: int) -> None:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        self._start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end of proc(5)
        self._size = end - self._start
        self._libc = ctypes.CDLL(None)
        with open("/proc/self/cmdline", "rb") as file:
            if file.read() != ctypes.string_at(self._start, self._size):
                self._size = 0  # not where it is thought to be

    def show(self, label: str, command: Sequence[str]) -> None:
        """Show a short name and a command line, which is cut off where it is longer than there is room."""
        self._libc.prctl(_PR_SET_NAME, label.encode()[:_SHORT_NAME_BYTES])
        if self._size:
            line = b"\0".join(word.encode(errors="surrogateescape") for word in command)[: self._size - 1]
            ctypes.memmove(self._start, line.ljust(self._size, b"\0"), self._size)


def _stream_to(descriptor: int, former: TextIO) -> TextIO:
    """A text stream for what a descriptor is now: the former one believes for ever that it can seek, or cannot.

    Written through, as everything below a launcher is (PYTHONUNBUFFERED).
    """
    raw = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(raw, former.encoding, former.errors, write_through=True)


def _heard(number: int, frame: FrameType | None) -> None:
    """Wakes the selector; without a handler in Python there is no byte at the wakeup descriptor."""


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(SIGINT_EXIT)
