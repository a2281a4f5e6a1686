"""`router`: the process that nodes find each other through."""

from __future__ import annotations

from rclpy_zenoh.cli.grammar import Arguments


def router(arguments: Arguments) -> int:
    """Serve on one port of this machine until SIGINT or SIGTERM."""
    from rclpy_zenoh.router import main

    return main(["--port", str(arguments.port)])
