"""The command `toolhand` as it is installed: a stop goes its own way, before anything else is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """See `toolhand.main`."""
    if sys.argv[1:2] == ["stop"]:
        from bench.stop import main as stop

        sys.exit(stop(sys.argv[2:]))
    from importlib import import_module

    import_module("toolhand").main()  # it stands above this room


if __name__ == "__main__":
    main()
