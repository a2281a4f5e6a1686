"""Loggers: levels, children, and what is printed and published."""

from __future__ import annotations

import pytest
from harness import Ros
from rcl_interfaces.msg import Log
from rclpy.logging import (
    LoggingSeverity,
    get_logger,
    get_logger_effective_level,
    get_logging_severity_from_string,
    set_logger_level,
)
from rclpy.qos import DurabilityPolicy, QoSProfile


def test_severities_are_ordered():
    ordered = [LoggingSeverity.UNSET, *(LoggingSeverity[name] for name in ("DEBUG", "INFO", "WARN", "ERROR", "FATAL"))]
    assert [int(severity) for severity in ordered] == [0, 10, 20, 30, 40, 50]


def test_severities_from_text():
    assert get_logging_severity_from_string("WARN") == LoggingSeverity.WARN
    assert get_logging_severity_from_string("debug") == LoggingSeverity.DEBUG
    with pytest.raises(RuntimeError):
        get_logging_severity_from_string("loud")


def test_a_logger_needs_a_name():
    with pytest.raises(ValueError, match="empty"):
        get_logger("")
    with pytest.raises(ValueError, match="empty"):
        get_logger("parent").get_child("")


def test_names_of_loggers(ros):
    assert get_logger("parent").name == "parent"
    assert get_logger("parent").get_child("child").name == "parent.child"
    assert ros.node("named").get_logger().name == "named"
    assert ros.node("named", namespace="/a/b").get_logger().name == "a.b.named"


def test_setting_a_level():
    logger = get_logger("levels_set")
    logger.set_level(LoggingSeverity.ERROR)
    assert logger.get_effective_level() == LoggingSeverity.ERROR
    assert get_logger_effective_level("levels_set") == LoggingSeverity.ERROR
    set_logger_level("levels_set", LoggingSeverity.DEBUG)
    assert logger.get_effective_level() == LoggingSeverity.DEBUG
    assert get_logger("levels_set").get_effective_level() == LoggingSeverity.DEBUG


def test_is_enabled_for():
    logger = get_logger("levels_enabled")
    logger.set_level(LoggingSeverity.WARN)
    enabled = [level for level in list(LoggingSeverity)[1:] if logger.is_enabled_for(level)]
    assert enabled == [LoggingSeverity.WARN, LoggingSeverity.ERROR, LoggingSeverity.FATAL]


def test_children_inherit_until_they_have_their_own_level():
    parent = get_logger("levels_parent")
    child = parent.get_child("child")
    grandchild = child.get_child("grandchild")
    parent.set_level(LoggingSeverity.ERROR)
    assert child.get_effective_level() == LoggingSeverity.ERROR
    assert grandchild.get_effective_level() == LoggingSeverity.ERROR
    child.set_level(LoggingSeverity.DEBUG)
    assert parent.get_effective_level() == LoggingSeverity.ERROR
    assert grandchild.get_effective_level() == LoggingSeverity.DEBUG
    child.set_level(LoggingSeverity.UNSET)
    assert grandchild.get_effective_level() == LoggingSeverity.ERROR


def test_a_call_says_whether_it_was_logged():
    logger = get_logger("logged_or_not")
    logger.set_level(LoggingSeverity.WARN)
    assert logger.debug("message") is False
    assert logger.info("message") is False
    assert logger.warning("message") is True
    assert logger.error("message") is True
    assert logger.fatal("message") is True


def test_what_is_printed(ros, capfd):
    ros.node("printer").get_logger().warning("careful with 100 % of {braces}")
    error = capfd.readouterr().err
    assert "careful with 100 % of {braces}" in error
    assert "WARN" in error
    assert "[printer]" in error


def test_what_is_below_the_level_is_not_printed(capfd):
    logger = get_logger("quiet")
    logger.set_level(LoggingSeverity.ERROR)
    logger.info("not this")
    logger.error("but this")
    error = capfd.readouterr().err
    assert "but this" in error
    assert "not this" not in error


def test_once():
    logger = get_logger("said_once")
    assert [logger.info("message", once=True) for _ in range(3)] == [True, False, False]


def test_skip_first():
    logger = get_logger("skips")
    assert [logger.info("message", skip_first=True) for _ in range(3)] == [False, True, True]


def test_throttling(ros):
    logger = get_logger("throttled")
    clock = ros.node().get_clock()
    said = [logger.info("message", throttle_duration_sec=1000.0, throttle_time_source_type=clock) for _ in range(3)]
    assert said == [True, False, False]


def test_features_are_checked():
    logger = get_logger("checked")
    with pytest.raises(TypeError):
        logger.info("message", nonsense=True)


@pytest.mark.usefixtures("domain")
def test_levels_from_the_command_line():
    with Ros(["program", "--ros-args", "--log-level", "verbose:=debug", "--log-level", "silent:=fatal"]) as ros:
        assert ros.node("verbose").get_logger().get_effective_level() == LoggingSeverity.DEBUG
        assert ros.node("silent").get_logger().get_effective_level() == LoggingSeverity.FATAL


def test_rosout(ros):
    node = ros.node("talkative", namespace="/ns")
    logs: list[Log] = []
    profile = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    ros.node("listener").create_subscription(Log, "/rosout", logs.append, profile)
    node.get_logger().error("said on rosout")
    ros.spin_until(lambda: any(log.msg == "said on rosout" for log in logs), "the log message")
    log = next(log for log in logs if log.msg == "said on rosout")
    assert log.name == "ns.talkative"
    assert log.level == LoggingSeverity.ERROR
    assert log.stamp.sec > 0


def test_a_node_may_be_kept_off_rosout(ros):
    silent, node = ros.node("silent", enable_rosout=False), ros.node("talkative")
    logs: list[str] = []
    profile = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    ros.node("listener").create_subscription(Log, "/rosout", lambda log: logs.append(log.name), profile)
    silent.get_logger().error("not on rosout")
    node.get_logger().error("on rosout")
    ros.spin_until(lambda: "talkative" in logs, "the other node's message")
    ros.spin_for(0.1)
    assert "silent" not in logs
