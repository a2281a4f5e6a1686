"""Loggers and their levels."""

from __future__ import annotations

import logging as _python_logging
import os
from pathlib import Path

from rclpy import _console
from rclpy.impl.logging_severity import LoggingSeverity
from rclpy.impl.rcutils_logger import RcutilsLogger, _internal_callers

_root_logger = RcutilsLogger()
_internal_callers.append(os.path.realpath(__file__))


def get_logger(name: str) -> RcutilsLogger:
    """The logger of this name; dots in the name separate parents from children."""
    if not name:
        raise ValueError("Logger name must not be empty.")
    return _root_logger.get_child(name)


def initialize() -> None:
    """Nothing to do: loggers are always there."""


def shutdown() -> None:
    """Forget all levels."""
    _console.reset_levels()


def clear_config() -> None:
    """Forget all levels."""
    _console.reset_levels()


def set_logger_level(name: str, level: int | LoggingSeverity, detailed_error: bool = False) -> None:
    """Set the level of a logger; UNSET takes the level of its parent."""
    _console.set_level(name, LoggingSeverity(level))


def get_logger_effective_level(name: str) -> LoggingSeverity:
    """The level of a logger, or that of its nearest parent that has one."""
    return _console.effective_level(name)


def get_logger_level(name: str) -> LoggingSeverity:
    """The level that was set for a logger, or UNSET."""
    return _console.level(name)


def get_logging_severity_from_string(log_severity: str) -> LoggingSeverity:
    """The severity of a name, in small or capital letters."""
    try:
        return LoggingSeverity[log_severity.upper()]
    except KeyError:
        names = ", ".join(severity.name for severity in LoggingSeverity)
        raise RuntimeError(f"'{log_severity}' is no log level; allowed are {names}.") from None


def get_logging_directory() -> Path:
    """Where ROS 2 writes its log files; this client writes none."""
    home = Path(os.environ.get("ROS_HOME") or Path.home() / ".ros")
    return Path(os.environ.get("ROS_LOG_DIR") or home / "log").expanduser()


class _ToConsole(_python_logging.Handler):
    """Shows what the layers below log with Python's logging; on the console only, as it may come from their threads."""

    def emit(self, record: _python_logging.LogRecord) -> None:
        """Show a message if the level of its logger allows it."""
        severity = LoggingSeverity(min(max(record.levelno // 10 * 10, LoggingSeverity.DEBUG), LoggingSeverity.FATAL))
        if severity >= _console.effective_level(record.name):
            caller = _console.Caller(record.funcName, record.pathname, record.lineno)
            _console.write(record.name, severity, record.getMessage(), caller, rosout=False)


_python_logging.getLogger("rclpy_zenoh").addHandler(_ToConsole())
