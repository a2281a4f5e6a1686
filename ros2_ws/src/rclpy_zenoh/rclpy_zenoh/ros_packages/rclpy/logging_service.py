"""Services that let other nodes see and set log levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rcl_interfaces.msg import LoggerLevel, SetLoggerLevelsResult
from rcl_interfaces.srv import GetLoggerLevels, SetLoggerLevels

from rclpy.logging import get_logger_level, set_logger_level

if TYPE_CHECKING:
    from rclpy.node import Node


class LoggingService:
    """The services `<node>/get_logger_levels` and `<node>/set_logger_levels`."""

    def __init__(self, node: Node) -> None:
        node.create_service(GetLoggerLevels, f"{node.get_name()}/get_logger_levels", _get_levels)
        node.create_service(SetLoggerLevels, f"{node.get_name()}/set_logger_levels", _set_levels)


def _get_levels(request: Any, response: Any) -> Any:
    response.levels = [LoggerLevel(name=name, level=int(get_logger_level(name))) for name in request.names]
    return response


def _set_levels(request: Any, response: Any) -> Any:
    response.results = [_set_level(wanted) for wanted in request.levels]
    return response


def _set_level(wanted: Any) -> Any:
    try:
        set_logger_level(wanted.name, wanted.level)
    except ValueError:
        return SetLoggerLevelsResult(successful=False, reason="Failed reason: Invalid logger level.")
    return SetLoggerLevelsResult(successful=True)
