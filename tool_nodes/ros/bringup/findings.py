"""Checks in their order, what each finds, and whether the arm is in the network at all."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid

NO_ARM = "none"
"""An address at which no arm is looked for, as with a simulator."""

KORTEX = "192.168.1.10:10000"
"""Address at which a Gen3 is delivered, and the TCP port of its API (ros2_kortex's `port`)."""

_CONNECT_S = 2.0
"""How long a connection to the arm may take [s]; in one network it takes milliseconds."""


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes:
        check: Name of the check.
        passed: Whether it let the next one follow.
        says: One sentence.
        hint: Remedy in one sentence; empty where it passed.
    """

    check: str
    passed: bool
    says: str
    hint: str = ""


def problem(message: str, hint: str) -> ToolError:
    """A check that failed."""
    return ToolError(ErrorCode.UNAVAILABLE, message, hint)


def network(address: str) -> str:
    """The arm's API can be connected to.

    Args:
        address: HOST or HOST:PORT, or "none" where no arm is looked for, as with a simulator.

    Raises:
        ToolError: INVALID_ARGUMENT, or UNAVAILABLE where nothing answers.
    """
    if address == NO_ARM:
        return "No arm was looked for in the network (--address none)."
    host, _, port = address.partition(":")
    number = int(port) if port.isdecimal() else 10000 if not port else 0
    if not host or not 0 < number < 65536:
        raise invalid(f"--address must be HOST, HOST:PORT or none, got {address[:80]!r}.")
    try:
        socket.create_connection((host, number), _CONNECT_S).close()
    except OSError as error:
        raise problem(
            f"Nothing answers at {host}, port {number}: {error.strerror or error}.",
            "Is the arm on, its cable plugged in, and this computer in its network (192.168.1.x)? --address names "
            "another address.",
        ) from error
    return f"{host} answers on port {number}."


def check_all(checks: Sequence[tuple[str, Callable[[], str]]]) -> Iterator[Finding]:
    """What each check finds, one after the other; the first that fails is the last."""
    for name, check in checks:
        try:
            yield Finding(name, True, check())
        except ToolError as error:
            yield Finding(name, False, error.message, error.hint)
            return
