"""The command `toolhand` as it is installed: a stop goes its own way, before anything else is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """See `toolhand.cli.main`."""
    try:
        if sys.argv[1:2] == ["stop"]:
            from toolhand.stop import main as stop

            sys.exit(stop(sys.argv[2:]))
        from toolhand.cli import main as command_line
    except KeyboardInterrupt:  # these imports take long enough for a Ctrl-C
        sys.exit(130)
    except (AttributeError, ImportError):
        from toolhand.shadowed import explanation

        if why := explanation():
            print(f"UNAVAILABLE: {why}", file=sys.stderr)
            sys.exit(1)
        raise
    command_line()
