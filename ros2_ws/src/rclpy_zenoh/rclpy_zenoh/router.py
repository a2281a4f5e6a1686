"""The router, through which sessions of this machine find each other: `python -m rclpy_zenoh.router [--port N]`.

It carries no data between them: once they have found each other they talk directly, also while it is away. It prints
one line, `ready tcp/127.0.0.1:PORT`, and serves until SIGINT or SIGTERM. Exit code 2: it cannot listen there.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import threading

import zenoh

from rclpy_zenoh.wire.config import router_config
from rclpy_zenoh.wire.errors import SessionError
from rclpy_zenoh.wire.options import DEFAULT_PORT
from rclpy_zenoh.wire.router_process import READY

_ATTEMPTS = 20
_ENDING = (signal.SIGINT, signal.SIGTERM)


def open_router(port: int) -> tuple[zenoh.Session, int]:
    """Listen on a port of 127.0.0.1, 0 for any free one. Returns the router and its port.

    Raises:
        SessionError: The port is taken, or cannot be listened on.
    """
    # Between looking for a free port and listening on it, another process may have taken it.
    candidates = [port] if port else [_free_port() for _ in range(_ATTEMPTS)]
    for candidate in candidates:
        try:
            return zenoh.open(router_config(candidate)), candidate
        except zenoh.ZError as error:
            reason = str(error)
    if "in use" in reason:
        raise SessionError(
            f"Port {candidate} of 127.0.0.1 is taken, perhaps by another router: "
            "use that one, or choose a port with --port."
        )
    raise SessionError(f"The router cannot listen on port {candidate} of 127.0.0.1: {reason}.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= 65535):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not '{text[:40]}'")
    return int(text)


def main(argv: list[str] | None = None) -> int:
    """Serve until a signal. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m rclpy_zenoh.router", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=_port, default=DEFAULT_PORT, help="port on 127.0.0.1; 0 for any free one")
    parser.add_argument("--until-stdin-closes", action="store_true", help="also end when standard input does")
    arguments = parser.parse_args(argv)

    # Blocked before the router has threads, which inherit it, and taken one by one below: a handler that sets an event
    # is never run if the signal comes after the interpreter's last look for one and before the wait begins.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        router, port = open_router(arguments.port)
    except SessionError as error:
        print(error, file=sys.stderr)
        return 2
    if arguments.until_stdin_closes:
        threading.Thread(target=_watch_stdin, daemon=True).start()
    print(f"{READY}tcp/127.0.0.1:{port}", flush=True)
    signal.sigwait(_ENDING)
    router.close()
    return 0


def _watch_stdin() -> None:
    # Not sys.stdin.read: the interpreter's end would wait a second for the lock that it holds.
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    raise SystemExit(main())
