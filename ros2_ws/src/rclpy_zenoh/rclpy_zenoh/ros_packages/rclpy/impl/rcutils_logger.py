"""Loggers with the filters of rcutils: once, skip_first and throttle."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from rclpy import _console
from rclpy.impl.logging_severity import LoggingSeverity

_OPTIONS = ("throttle_duration_sec", "throttle_time_source_type", "skip_first", "once")

_internal_callers = [os.path.realpath(__file__)]
"""Files whose functions are never named as the origin of a message; wrappers of loggers may add theirs."""


def _caller() -> FrameType:
    """The nearest frame that is not in a file of `_internal_callers`."""
    frame = sys._getframe(2)
    while frame.f_back is not None and os.path.realpath(frame.f_code.co_filename) in _internal_callers:
        frame = frame.f_back
    return frame


class _CallSite:
    """One place in the code that logs; its options must not change from call to call."""

    def __init__(self, name: str, severity: LoggingSeverity, options: dict[str, Any]) -> None:
        self.name = name
        self.severity = severity
        self.options = options
        self._first = True
        self._logged = False
        self._last_ns = 0
        self._now = _time_source(options)

    def check(self, name: str, severity: LoggingSeverity, options: dict[str, Any]) -> None:
        """Refuse other options than those of the first call."""
        if severity != self.severity:
            raise ValueError("Logger severity cannot be changed between calls.")
        if name != self.name:
            raise ValueError("Logger name cannot be changed between calls.")
        if options.keys() != self.options.keys():
            raise ValueError("Requested logging filters cannot be changed between calls.")
        if options != self.options:
            raise ValueError("Logging filter parameters cannot be changed between calls.")

    def passes(self) -> bool:
        """Ask the filters, in rcutils's order: throttle, skip_first, once."""
        first, self._first = self._first, False
        if "throttle_duration_sec" in self.options:
            now = self._now()
            if now < self._last_ns + self.options["throttle_duration_sec"] * 1e9:
                return False
            self._last_ns = now
        if self.options.get("skip_first") and first:
            return False
        if self.options.get("once"):
            logged, self._logged = self._logged, True
            return not logged
        return True


def _time_source(options: dict[str, Any]) -> Callable[[], int]:
    clock = options.get("throttle_time_source_type")
    if clock is None:
        return time.time_ns
    from rclpy.clock import Clock

    if not isinstance(clock, Clock):
        raise ValueError(f'Received throttle_time_source_type of "{clock}" is not a clock instance')
    return clock._now_ns


def _used(options: dict[str, Any]) -> dict[str, Any]:
    """The options that ask for a filter."""
    for option in options:
        if option not in _OPTIONS:
            raise TypeError(f'parameter "{option}" is not one of the recognized logging options "{list(_OPTIONS)}"')
    if options.get("throttle_time_source_type") and options.get("throttle_duration_sec") is None:
        raise TypeError(
            'required parameter "throttle_duration_sec" not specified but is required for the logging filter "throttle"'
        )
    return {option: value for option, value in options.items() if value}


class RcutilsLogger:
    """A logger; get one from `rclpy.logging.get_logger` or `Node.get_logger`."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._sites: dict[tuple[CodeType, int], _CallSite] = {}

    def get_child(self, name: str) -> RcutilsLogger:
        """The logger below this one; it takes over the level unless it has its own."""
        if not name:
            raise ValueError("Child logger name must not be empty.")
        return RcutilsLogger(f"{self.name}{_console.SEPARATOR}{name}" if self.name else name)

    def set_level(self, level: LoggingSeverity | int) -> None:
        """Log only messages of this severity or above."""
        _console.set_level(self.name, LoggingSeverity(level))

    def get_effective_level(self) -> LoggingSeverity:
        """Its level, or that of the nearest parent that has one."""
        return _console.effective_level(self.name)

    def is_enabled_for(self, severity: LoggingSeverity | int) -> bool:
        """True if messages of this severity are logged."""
        return LoggingSeverity(severity) >= _console.effective_level(self.name)

    def log(self, message: str, severity: LoggingSeverity | int, **kwargs: Any) -> bool:
        """Log a message.

        Args:
            message: The text.
            severity: Severity level of the message.
            kwargs: `name`, a logger to use instead, and filters: `once=True`, `skip_first=True`,
                `throttle_duration_sec` with or without `throttle_time_source_type`, a clock.

        Returns:
            False if the level or a filter kept it back.

        Raises:
            TypeError: An unknown option, or a message that is no string.
            ValueError: The options of this call in the code have changed.
        """
        if not isinstance(message, str):
            raise TypeError(f"A log message is a string, not {type(message).__name__}.")
        severity = LoggingSeverity(severity)
        if not self.is_enabled_for(severity):
            return False
        name = kwargs.pop("name", self.name)
        options = _used(kwargs)
        frame = _caller()
        key = (frame.f_code, frame.f_lasti)
        site = self._sites.get(key)
        if site is None:
            site = self._sites[key] = _CallSite(name, severity, options)
        else:
            site.check(name, severity, options)
        if not site.passes():
            return False
        caller = _console.Caller(frame.f_code.co_name, frame.f_code.co_filename, frame.f_lineno)
        _console.write(name, severity, message, caller)
        return True

    def debug(self, message: str, **kwargs: Any) -> bool:
        """Log with severity DEBUG; see `log`."""
        return self.log(message, LoggingSeverity.DEBUG, **kwargs)

    def info(self, message: str, **kwargs: Any) -> bool:
        """Log with severity INFO; see `log`."""
        return self.log(message, LoggingSeverity.INFO, **kwargs)

    def warning(self, message: str, **kwargs: Any) -> bool:
        """Log with severity WARN; see `log`."""
        return self.log(message, LoggingSeverity.WARN, **kwargs)

    def warn(self, message: str, **kwargs: Any) -> bool:
        """The old name of `warning`."""
        return self.log(message, LoggingSeverity.WARN, **kwargs)

    def error(self, message: str, **kwargs: Any) -> bool:
        """Log with severity ERROR; see `log`."""
        return self.log(message, LoggingSeverity.ERROR, **kwargs)

    def fatal(self, message: str, **kwargs: Any) -> bool:
        """Log with severity FATAL; see `log`."""
        return self.log(message, LoggingSeverity.FATAL, **kwargs)
