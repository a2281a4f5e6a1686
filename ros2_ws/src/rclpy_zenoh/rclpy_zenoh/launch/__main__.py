"""Runs the command line."""

from rclpy_zenoh.launch.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
