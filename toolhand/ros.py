"""`toolhand ros`: the ros2 command line of rclpy_zenoh, under Toolhand's name."""

from __future__ import annotations

from rclpy_zenoh.cli import main as ros2


def main(argv: list[str]) -> int:
    """Run a command such as ["topic", "list"]. Returns the exit status, see `rclpy_zenoh.cli.main`."""
    return ros2(argv, prog="toolhand ros")
