"""Makes `import rclpy` and `from sensor_msgs.msg import Image` work where no ROS 2 is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from rclpy_zenoh.interfaces import install_import_hook

FOLDER = Path(__file__).with_name("ros_packages")
"""Holds the packages rclpy, tf2_ros and those that go with them, under their own names."""


def install() -> bool:
    """Let the client of this package be imported as rclpy; does nothing where ROS 2 provides its own.

    It may be called again, and says the same again.

    Returns:
        True where the client of this package is in use.
    """
    folder = str(FOLDER)
    if folder not in sys.path:
        if importlib.util.find_spec("rclpy") is not None:
            return False
        sys.path.append(folder)
    install_import_hook()
    return True
