"""The launcher's side of the fork server: nodes are forked from a Python that has imported their modules already.

Only where that is safe: on Linux, with pidfds (5.3), and from a process that has no thread but its first. Anything else
starts nodes as programs of their own, which needs more processor time and is otherwise the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import IO

from rclpy_zenoh.launch.plan import ProcessPlan

READY, UNFIT = b"r", b"u"
"""A server's first byte: it can be asked for nodes; or a module has started a thread, which no fork survives."""

UNKNOWN_STATUS = 256
"""Status of a node that ended after its server had died; no process can end with it."""

LABEL = "fork server"

_STATUS_PATIENCE_S = 2.0
"""Longest wait for the server to send the status of a node that has ended [s]."""

_CLOSE_PATIENCE_S = 2.0
_LONGEST_TITLE_BYTES = 1 << 14
_MODULE_ARGUMENT = 4
"""Where the module stands in the command of a plan: python -P -m rclpy_zenoh.run MODULE."""


class ForkedProcess:
    """A node that a fork server has started; offers what is used of `subprocess.Popen`.

    Attributes:
        pid: Its process, the leader of a group of its own.
        stdout: Standard output and standard error of the process, in one stream.
        returncode: Exit status as in Popen; None until the process was waited for, UNKNOWN_STATUS if it is lost.
    """

    def __init__(self, pid: int, replies: IO[bytes], client: socket.socket, stdout: IO[bytes]) -> None:
        self.pid, self.stdout = pid, stdout
        self.returncode: int | None = None
        self._replies, self._client = replies, client
        self._lock = threading.Lock()
        self._pidfd: int | None = None
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            self._pidfd = os.pidfd_open(pid)

    def __del__(self) -> None:
        self._replies.close()
        self._client.close()
        if self._pidfd is not None:
            os.close(self._pidfd)

    def poll(self) -> int | None:
        """The status, None while it runs."""
        return None if self.returncode is None and not self._ended(0) else self.wait()

    def wait(self) -> int:
        """The status, once it has ended."""
        self._ended(None)
        with self._lock:
            if self.returncode is None:
                self._client.settimeout(_STATUS_PATIENCE_S)
                words: list[bytes] = []
                with contextlib.suppress(OSError):
                    words = self._replies.readline().split()
                self.returncode = int(words[1]) if words[:1] == [b"status"] else UNKNOWN_STATUS
            return self.returncode

    def _ended(self, timeout_ms: int | None) -> bool:
        if self._pidfd is None:
            return True
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(timeout_ms))


class ForkServer:
    """One fork server, for nodes that share an environment.

    Args:
        plans: Nodes that it may be asked for.
        environment: Environment variables of the server and of every node.
    """

    def __init__(self, plans: Iterable[ProcessPlan], environment: Mapping[str, str]) -> None:
        commands = [plan.command for plan in plans]
        room = min(_LONGEST_TITLE_BYTES, max(len(os.fsencode(" ".join(command))) for command in commands))
        modules = dict.fromkeys(command[_MODULE_ARGUMENT] for command in commands)
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "rclpy_zenoh.launch.fork_server",
                    str(theirs.fileno()),
                    "-" * room,
                    *modules,
                ],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                process_group=0,  # as its nodes: a Ctrl-C at the terminal is the launcher's
            )
        self._lock = threading.Lock()
        self._ready: bool | None = None

    @property
    def pid(self) -> int | None:
        """Its process, None where it has ended."""
        return self._process.pid if self._process.poll() is None else None

    def spawn(self, plan: ProcessPlan) -> ForkedProcess | None:
        """Start a node as soon as the modules are imported; None where this server cannot. Raises OSError."""
        with self._lock:
            if self._ready is None:
                with contextlib.suppress(OSError):
                    self._ready = self._control.recv(1) == READY
            if not self._ready:
                return None
        request = {"label": plan.label, "program": plan.command[_MODULE_ARGUMENT:], "command": plan.command}
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        stdout = os.fdopen(reading, "rb")
        try:
            with self._lock, theirs:
                socket.send_fds(self._control, [b"n"], [theirs.fileno(), writing])
        except OSError:  # the server has died
            ours.close()
            stdout.close()
            return None
        finally:
            os.close(writing)
        replies = ours.makefile("rb")
        words: list[bytes] = []
        with contextlib.suppress(OSError):
            ours.sendall(json.dumps(request).encode() + b"\n")
            words = replies.readline().split()
        if words[:1] == [b"pid"]:
            return ForkedProcess(int(words[1]), replies, ours, stdout)
        replies.close()
        ours.close()
        stdout.close()
        if words[:1] == [b"error"]:
            raise OSError(int(words[1]), os.strerror(int(words[1])))
        return None

    def abandon(self) -> None:
        """End it if it is not ready yet: who waits for a node of it is answered at once."""
        if not self._ready:
            self._process.kill()

    def close(self) -> None:
        """End it. Its nodes have ended before, or live on."""
        self._control.close()
        try:
            self._process.wait(_CLOSE_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class ForkServers:
    """A fork server for each environment that two or more nodes of a launch share; none where forking is not safe."""

    def __init__(self, processes: Iterable[tuple[ProcessPlan, Mapping[str, str]]]) -> None:
        groups: defaultdict[tuple[tuple[str, str], ...], list[ProcessPlan]] = defaultdict(list)
        for plan, environment in processes:
            if plan.forkable:
                groups[_key(environment)].append(plan)
        self._servers = {
            key: ForkServer(plans, dict(key)) for key, plans in groups.items() if len(plans) > 1 and offered()
        }

    def spawn(self, plan: ProcessPlan, environment: Mapping[str, str]) -> ForkedProcess | None:
        """See ForkServer.spawn; None, too, where there is no server for it."""
        server = self._servers.get(_key(environment)) if plan.forkable else None
        return None if server is None else server.spawn(plan)

    def pids(self) -> list[int]:
        """Those that run."""
        return [server.pid for server in self._servers.values() if server.pid is not None]

    def abandon(self) -> None:
        """See ForkServer.abandon."""
        for server in self._servers.values():
            server.abandon()

    def close(self) -> None:
        """See ForkServer.close."""
        for server in self._servers.values():
            server.close()


def offered() -> bool:
    """True where nodes can be forked and their ends be waited for."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:  # an old kernel, or a sandbox without it
        return False
    return True


def _key(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(environment.items()))
