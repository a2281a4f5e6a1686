"""How a command ends when it cannot do what it was asked for: one sentence and an exit status."""

from __future__ import annotations

INTERRUPTED = 130
BROKEN_PIPE = 141
"""Exit statuses that a shell gives to programs ended by Ctrl-C and by a reader that has gone away."""


class CliError(Exception):
    """The command failed; its text is the sentence for the user."""

    status = 1


class UsageError(CliError):
    """The command line itself, or a value in it, is wrong."""

    status = 2
