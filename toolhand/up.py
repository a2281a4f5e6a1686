"""`toolhand up`: the launcher of rclpy_zenoh."""

from __future__ import annotations

from rclpy_zenoh.launch.cli import main

__all__ = ["main"]
