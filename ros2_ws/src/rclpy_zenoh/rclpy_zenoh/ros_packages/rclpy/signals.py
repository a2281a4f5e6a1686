"""SIGINT and SIGTERM shut the contexts down."""

from __future__ import annotations

import signal
import threading
from enum import IntEnum
from types import FrameType
from typing import Any

from rclpy.context import interrupt_all
from rclpy_zenoh.wire import in_callback, interrupt_later


class SignalHandlerOptions(IntEnum):
    """Which signals are handled."""

    NO = 0
    SIGINT = 1
    SIGTERM = 2
    ALL = 3


_signals = {SignalHandlerOptions.SIGINT: signal.SIGINT, SignalHandlerOptions.SIGTERM: signal.SIGTERM}
_previous: dict[signal.Signals, Any] = {}


def _handle(number: int, frame: FrameType | None) -> None:
    """Shut the contexts down, then do what was done before: Python's handler of SIGINT raises KeyboardInterrupt."""
    interrupt_all()
    if in_callback(frame):
        interrupt_later(number)
        return
    previous = _previous.get(signal.Signals(number))
    if callable(previous):
        previous(number, frame)


def install_signal_handlers(options: SignalHandlerOptions = SignalHandlerOptions.ALL) -> None:
    """Handle signals from now on; the handlers that were there are called afterwards.

    Python allows it in the main thread only; in another one nothing is installed.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for option, number in _signals.items():
        if options & option and number not in _previous:
            _previous[number] = signal.signal(number, _handle)


def get_current_signal_handlers_options() -> SignalHandlerOptions:
    """Which signals are handled now."""
    return SignalHandlerOptions(sum(option for option, number in _signals.items() if number in _previous))


def uninstall_signal_handlers() -> None:
    """Put the handlers back that were there before."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in list(_previous):
        previous = _previous.pop(number)
        if signal.getsignal(number) is _handle and previous is not None:
            signal.signal(number, previous)
