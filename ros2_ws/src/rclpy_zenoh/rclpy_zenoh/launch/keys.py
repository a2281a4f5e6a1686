"""Keys of the terminal that a launcher runs in: each calls a service of the graph, such as one that stops a robot."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType

from rclpy_zenoh.trigger import call_trigger
from rclpy_zenoh.wire.errors import WireError
from rclpy_zenoh.wire.options import SessionOptions

ANSWER_S = 30.0
"""Longest wait for the answer to a key [s]."""

_LOOK_S = 0.1


@dataclass(frozen=True)
class ServiceKeys:
    """Which key calls which service.

    Attributes:
        services: Key to the full name of a service of the type std_srvs/srv/Trigger.
        help: One sentence that describes the keys.
    """

    services: Mapping[str, str] = field(default_factory=dict)
    help: str = ""


class Keys:
    """While entered, reads single keys from a terminal; from anything else, and in the background, nothing is read.

    Args:
        actions: Function for each key, run in a new thread each time.
        fd: File descriptor from which keys are read.

    Attributes:
        listening: True where there is a terminal to read from.
    """

    def __init__(self, actions: Mapping[str, Callable[[], None]], fd: int = 0) -> None:
        self._actions, self._fd = actions, fd
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, name="keys", daemon=True)
        self.listening = bool(actions) and os.isatty(fd) and _in_foreground(fd)

    def __enter__(self) -> Keys:
        if self.listening:
            import termios
            import tty

            self._before = termios.tcgetattr(self._fd)
            self._in_background = signal.signal(signal.SIGTTIN, signal.SIG_IGN)  # a read fails then, and goes on later
            tty.setcbreak(self._fd, termios.TCSANOW)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.listening:
            return
        import termios

        self._ended.set()
        self._thread.join()
        if _in_foreground(self._fd):  # in the background the terminal is another program's
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._fd, termios.TCSANOW, self._before)
        signal.signal(signal.SIGTTIN, self._in_background)

    def _read(self) -> None:
        while not self._ended.is_set():
            if not _in_foreground(self._fd):
                self._ended.wait(_LOOK_S)
                continue
            try:
                ready, _, _ = select.select([self._fd], [], [], _LOOK_S)
                keys = os.read(self._fd, 64) if ready else b""
            except OSError:  # the terminal has gone, or this has just been put into the background
                self._ended.wait(_LOOK_S)
                continue
            if ready and not keys:
                return  # the end of the input
            for action in dict.fromkeys(map(self._actions.get, keys.decode(errors="replace"))):
                if action is not None:
                    threading.Thread(target=action, daemon=True).start()


def service_keys(keys: ServiceKeys, domain: int, router: str, say: Callable[[str], None]) -> Keys:
    """The keys that call services of a graph; the answers are said."""
    options = SessionOptions(domain, router, allow_remote=os.environ.get("RCLPY_ZENOH_ALLOW_REMOTE") == "1")

    def ask(service: str) -> None:
        try:
            for answer in call_trigger(service, options, ANSWER_S):
                say(answer.message if answer.success else f"NOT CONFIRMED: {answer.message}")
        except WireError as error:
            say(f"NOT CONFIRMED: {error}")

    asking = {service: (lambda service=service: ask(service)) for service in dict.fromkeys(keys.services.values())}
    actions = {key: asking[service] for key, service in keys.services.items()}
    return Keys(actions, sys.__stdin__.fileno() if sys.__stdin__ else -1)


def _in_foreground(fd: int) -> bool:
    """False where reading the terminal would stop this process; a terminal without job control stops none."""
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return True
