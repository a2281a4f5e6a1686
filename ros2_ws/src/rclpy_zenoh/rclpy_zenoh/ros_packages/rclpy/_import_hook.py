"""Importing this lets interfaces be imported: a process that multiprocessing spawns has the path, but not the hook."""

from rclpy_zenoh import overlay

INSTALLED = overlay.install()
