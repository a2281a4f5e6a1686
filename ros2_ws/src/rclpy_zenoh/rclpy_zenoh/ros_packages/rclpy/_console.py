"""Levels of loggers, and lines on the console in the format of rcutils."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from datetime import datetime
from typing import NamedTuple

from rclpy import _rosout
from rclpy.impl.logging_severity import LoggingSeverity

SEPARATOR = "."
_DEFAULT_FORMAT = "[{severity}] [{time}] [{name}]: {message}"
_TOKEN = re.compile(r"\{(\w+)\}")
_COLORS = {
    LoggingSeverity.DEBUG: "\033[32m",
    LoggingSeverity.WARN: "\033[33m",
    LoggingSeverity.ERROR: "\033[31m",
    LoggingSeverity.FATAL: "\033[31m",
}

_lock = threading.RLock()  # reentrant, because the garbage collector may log
_levels: dict[str, LoggingSeverity] = {}
_effective: dict[str, LoggingSeverity] = {}


class Caller(NamedTuple):
    """Where a message comes from."""

    function: str
    file: str
    line: int


def set_level(name: str, level: LoggingSeverity) -> None:
    """Set the level of a logger; "" is the root, and UNSET takes the level of the parent."""
    with _lock:
        _levels[name] = level
        _effective.clear()


def level(name: str) -> LoggingSeverity:
    """The level that was set for a logger, or UNSET."""
    return _levels.get(name, LoggingSeverity.UNSET)


def effective_level(name: str) -> LoggingSeverity:
    """The level of a logger, or of its nearest parent that has one; INFO if none has."""
    found = _effective.get(name)
    if found is None:
        with _lock:
            parts = name.split(SEPARATOR) if name else []
            names = [SEPARATOR.join(parts[:count]) for count in range(len(parts), 0, -1)] + [""]
            set_ones = (_levels[n] for n in names if _levels.get(n, LoggingSeverity.UNSET) != LoggingSeverity.UNSET)
            found = _effective[name] = next(set_ones, LoggingSeverity.INFO)
    return found


def reset_levels() -> None:
    """Forget all levels."""
    with _lock:
        _levels.clear()
        _effective.clear()


def write(name: str, severity: LoggingSeverity, message: str, caller: Caller, *, rosout: bool = True) -> None:
    """Write a message to the console and, unless asked not to, to /rosout of the node that the logger belongs to."""
    stamp = time.time_ns()
    stream = sys.stdout if os.environ.get("RCUTILS_LOGGING_USE_STDOUT") == "1" else sys.stderr
    line = _format(name, severity, message, caller, stamp)
    color = _COLORS.get(severity) if _colorized(stream) else None
    try:
        stream.write(f"{color}{line}\033[0m\n" if color else f"{line}\n")
        stream.flush()
    except (OSError, ValueError, AttributeError):  # closed, or gone at the end of the interpreter
        pass
    if rosout:
        _rosout.publish(name, severity, message, caller, stamp)


def _format(name: str, severity: LoggingSeverity, message: str, caller: Caller, stamp: int) -> str:
    values = {
        "severity": severity.name,
        "name": name,
        "message": message,
        "function_name": caller.function,
        "file_name": caller.file,
        "short_file_name": os.path.basename(caller.file),
        "line_number": str(caller.line),
        "time": f"{stamp // 10**9}.{stamp % 10**9:09d}",
        "time_as_nanoseconds": str(stamp),
        "date_time_with_ms": datetime.fromtimestamp(stamp / 1e9).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3],
    }
    layout = os.environ.get("RCUTILS_CONSOLE_OUTPUT_FORMAT", _DEFAULT_FORMAT)
    layout = layout.replace(r"\n", "\n").replace(r"\t", "\t").replace(r"\033", "\033")
    return _TOKEN.sub(lambda token: values.get(token[1], token[0]), layout)


def _colorized(stream: object) -> bool:
    wanted = os.environ.get("RCUTILS_COLORIZED_OUTPUT")
    if wanted is not None:
        return wanted == "1"
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty())
