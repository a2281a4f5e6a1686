"""The command `toolhand` as it is installed: a stop goes its own way, before anything else is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """See `toolhand.cli.main.main`."""
    try:
        if sys.argv[1:2] == ["stop"]:
            from toolhand.cli.stop import main as stop

            sys.exit(stop(sys.argv[2:]))
        from toolhand.cli.main import main as command_line
    except KeyboardInterrupt:  # these imports take long enough for a Ctrl-C
        sys.exit(130)
    command_line()
