"""The `ros2` command line for machines that have only pip; `main(argv)` runs one command."""

from rclpy_zenoh.cli.app import main

__all__ = ["main"]
