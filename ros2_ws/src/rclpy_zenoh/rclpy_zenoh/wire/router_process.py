"""The router as a child process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

from rclpy_zenoh.wire.errors import SessionError

READY = "ready "
"""The line that the router prints once it listens begins with this; its endpoint follows."""

_START_TIMEOUT_S = 20.0
_STOP_TIMEOUT_S = 5.0
_PACKAGE_ROOT = Path(__file__).parents[2]


class RouterProcess:
    """A running router. Also a context manager, which closes it.

    Attributes:
        endpoint: Endpoint that it listens on, such as "tcp/127.0.0.1:7447".
        pid: Its process.
    """

    def __init__(self, process: subprocess.Popen[str], endpoint: str) -> None:
        self._process = process
        self.endpoint = endpoint
        self.pid = process.pid

    def close(self) -> None:
        """Stop it and wait for its end; a second call does nothing."""
        _stop(self._process)

    def __enter__(self) -> RouterProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def start_router(port: int = 0) -> RouterProcess:
    """Start a router as a child process and wait until it listens. It ends with this process, however this ends.

    Args:
        port: Port on 127.0.0.1; 0 for any free one.

    Raises:
        SessionError: It did not start; the message is what it said.
    """
    path = os.pathsep.join(filter(None, (str(_PACKAGE_ROOT), os.environ.get("PYTHONPATH"))))
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "rclpy_zenoh.router", "--port", str(port), "--until-stdin-closes"],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    watchdog = threading.Timer(_START_TIMEOUT_S, process.kill)
    watchdog.daemon = True
    watchdog.start()
    line = process.stdout.readline()
    watchdog.cancel()
    if line.startswith(READY):
        return RouterProcess(process, line.removeprefix(READY).strip())
    assert process.stderr is not None
    said = process.stderr.read().strip()
    _stop(process)
    raise SessionError(said or f"The router said nothing within {_START_TIMEOUT_S:.0f} s.")


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
