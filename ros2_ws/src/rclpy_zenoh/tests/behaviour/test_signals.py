"""SIGINT and SIGTERM to a process that spins."""

from __future__ import annotations

import signal

import pytest
import rclpy
from rclpy.signals import SignalHandlerOptions, get_current_signal_handlers_options

ENDINGS = {"returned", "KeyboardInterrupt", "ExternalShutdownException", "RCLError"}
"""rclpy ends in one of them, depending on what it does when the signal comes; RCLError where it was about to wait."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("mode", ["spin", "multi", "idle"])
def test_a_signal_ends_spin_and_shuts_the_context_down(peer, mode, number):
    spinner = peer("spinner.py", mode)
    if mode == "idle":
        spinner.expect("waiting")
    spinner.signal(number)
    _, ending, ok = spinner.expect("ended").split()
    assert ending in ENDINGS - ({"KeyboardInterrupt"} if number == signal.SIGTERM else set())
    assert ok == "ok=False"
    assert spinner.wait() == 0
    assert "Traceback" not in spinner.errors


@pytest.mark.usefixtures("domain")
def test_init_of_the_default_context_installs_the_handlers_and_shutdown_removes_them():
    before = signal.getsignal(signal.SIGINT)
    rclpy.init(args=[])
    assert get_current_signal_handlers_options() == SignalHandlerOptions.ALL
    rclpy.shutdown()
    assert get_current_signal_handlers_options() == SignalHandlerOptions.NO
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.usefixtures("domain")
def test_another_context_installs_none():
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    assert get_current_signal_handlers_options() == SignalHandlerOptions.NO
    rclpy.shutdown(context=context)


@pytest.mark.usefixtures("domain")
def test_handlers_can_be_declined():
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    assert get_current_signal_handlers_options() == SignalHandlerOptions.NO
    rclpy.shutdown()
