"""What the tests of the wire share: profiles, waiting, and a second process."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rclpy_zenoh.interfaces import get_class
from rclpy_zenoh.wire import Durability, History, Qos, Reliability, SessionOptions

PATIENCE_S = 20.0
"""Bounds how long a test waits for what must come; nothing is measured by it."""

RELIABLE = Qos(Reliability.RELIABLE, Durability.VOLATILE, History.KEEP_LAST, 10)
LATCHED = Qos(Reliability.RELIABLE, Durability.TRANSIENT_LOCAL, History.KEEP_LAST, 3)

String: Any = get_class("std_msgs/msg/String")
SetBool: Any = get_class("std_srvs/srv/SetBool")


def wait_until(condition: Callable[[], Any], timeout_s: float = PATIENCE_S) -> Any:
    """The condition's value once it is true."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)
    return value


class Peer:
    """`peer.py` in a process of its own. Each call of `ask` is one line to it and one line back."""

    def __init__(self, options: SessionOptions) -> None:
        command = [sys.executable, str(Path(__file__).with_name("peer.py")), str(options.router), str(options.domain)]
        self.process = subprocess.Popen(
            [*command, str(int(options.shared_memory))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self.zid = self._answer()

    def ask(self, operation: str, **arguments: Any) -> Any:
        """The answer to one request; arguments are JSON."""
        self.begin(operation, **arguments)
        return self._answer()

    def begin(self, operation: str, **arguments: Any) -> None:
        """Send a request whose answer nobody reads, because the peer is going to be killed."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([operation, arguments]).encode() + b"\n")
        self.process.stdin.flush()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        assert readable, "the peer does not answer"
        line = self.process.stdout.readline()
        assert line, f"the peer ended with {self.process.wait(PATIENCE_S)}"
        return json.loads(line)

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def close(self) -> int:
        """End it in good order. Returns its exit code."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
