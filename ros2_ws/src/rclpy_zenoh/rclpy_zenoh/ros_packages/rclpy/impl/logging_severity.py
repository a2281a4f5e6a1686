"""Severities of log messages."""

from enum import IntEnum


class LoggingSeverity(IntEnum):
    """The numbers are rcutils's, and those of rcl_interfaces/msg/Log."""

    UNSET = 0
    DEBUG = 10
    INFO = 20
    WARN = 30
    ERROR = 40
    FATAL = 50
