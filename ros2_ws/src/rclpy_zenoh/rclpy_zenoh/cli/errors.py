"""How a command ends when it cannot do what it was asked for: one sentence and an exit status."""

from __future__ import annotations

import shlex
import sys

INTERRUPTED = 130
BROKEN_PIPE = 141
"""Exit statuses that a shell gives to programs ended by Ctrl-C and by a reader that has gone away."""

EXTRA = ("zenoh", "xxhash")
"""Modules that only the graph needs."""
PACKAGES = ("eclipse-zenoh", "xxhash")
"""What pip calls them."""


class CliError(Exception):
    """The command failed; its text is the sentence for the user."""

    status = 1


class UsageError(CliError):
    """The command line itself, or a value in it, is wrong."""

    status = 2


def packages_missing() -> CliError:
    """What is said where the packages of EXTRA are not installed."""
    install = f"{shlex.quote(sys.executable)} -m pip install {' '.join(PACKAGES)}"
    return CliError(f"This command needs {' and '.join(EXTRA)}. Install them with: {install}")
