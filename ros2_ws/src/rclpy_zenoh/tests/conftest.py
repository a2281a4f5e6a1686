"""Shared by all tests of this distribution: an interface package of their own, and examples that repeat themselves."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads of BLAS would keep nodes from being forked
os.environ["RCLPY_ZENOH_PACKAGE_PATH"] = os.pathsep.join(
    filter(None, (str(Path(__file__).with_name("packages")), os.environ.get("RCLPY_ZENOH_PACKAGE_PATH")))
)

import pytest
from hypothesis import settings


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--client rclpy` runs tests/behaviour against a real ROS 2 instead of this client."""
    parser.addoption("--client", choices=("rclpy_zenoh", "rclpy"), default="rclpy_zenoh", help="the rclpy under test")


# A shell that starts something in the background lets it ignore Ctrl-C, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples every time: a test that fails can be run again. No deadline: this must not depend on the machine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
