"""Shared by all tests."""

import os
import signal
import threading

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--client rclpy` runs tests/rclpy_behaviour against a real ROS 2 instead of the pip client."""
    parser.addoption("--client", choices=("rclpy_zenoh", "rclpy"), default="rclpy_zenoh", help="the rclpy under test")


try:
    from hypothesis import settings
except ImportError:  # a ROS 2 machine that runs only tests/rclpy_behaviour
    settings = None  # type: ignore[assignment, misc]

# A shell that starts something in the background lets it ignore Ctrl-C, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples every time: a test that fails can be run again. No deadline: this must not depend on the machine.
if settings is not None:
    settings.register_profile("repeatable", derandomize=True, deadline=None)
    settings.load_profile("repeatable")
