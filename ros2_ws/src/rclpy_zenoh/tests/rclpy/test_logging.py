"""Loggers: the console's format, filters, and /rosout."""

import re

import pytest
import rclpy
from rcl_interfaces.msg import Log, LoggerLevel
from rcl_interfaces.srv import GetLoggerLevels, SetLoggerLevels
from rclpy.clock import Clock
from rclpy.executors import SingleThreadedExecutor
from rclpy.logging import LoggingSeverity, get_logger
from rclpy.qos import qos_profile_rosout_default


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    for name in ("RCUTILS_CONSOLE_OUTPUT_FORMAT", "RCUTILS_COLORIZED_OUTPUT", "RCUTILS_LOGGING_USE_STDOUT"):
        monkeypatch.delenv(name, raising=False)


def test_line_on_the_console(capsys):
    get_logger("robot").get_child("arm").warning("hot")
    err = capsys.readouterr().err
    assert re.fullmatch(r"\[WARN\] \[\d{10}\.\d{9}\] \[robot\.arm\]: hot\n", err)


def test_format_of_the_environment(capsys, monkeypatch):
    layout = r"{name}|{severity}|{message}|{function_name}|{line_number}|{unknown}\n"
    monkeypatch.setenv("RCUTILS_CONSOLE_OUTPUT_FORMAT", layout)
    monkeypatch.setenv("RCUTILS_LOGGING_USE_STDOUT", "1")
    get_logger("a").error("x {y}")
    line = test_format_of_the_environment.__code__.co_firstlineno + 4
    assert capsys.readouterr().out == f"a|ERROR|x {{y}}|test_format_of_the_environment|{line}|{{unknown}}\n\n"


def test_colors(capsys, monkeypatch):
    monkeypatch.setenv("RCUTILS_COLORIZED_OUTPUT", "1")
    get_logger("a").error("red")
    get_logger("a").info("plain")
    red, plain = capsys.readouterr().err.splitlines()
    assert red.startswith("\033[31m[ERROR]")
    assert red.endswith("\033[0m")
    assert plain.startswith("[INFO]")


def test_once_skip_first_and_throttle(capsys):
    logger, clock = get_logger("filters"), Clock()
    for number in range(4):
        logger.info(f"once {number}", once=True)
        logger.info(f"skip {number}", skip_first=True)
        logger.info(f"throttle {number}", throttle_duration_sec=1000.0, throttle_time_source_type=clock)
    texts = [line.rpartition("]: ")[2] for line in capsys.readouterr().err.splitlines()]
    assert texts == ["once 0", "throttle 0", "skip 1", "skip 2", "skip 3"]


def test_options_must_not_change():
    logger = get_logger("changing")

    def log(severity=LoggingSeverity.INFO, **options):
        return logger.log("x", severity, **options)

    assert log()
    with pytest.raises(ValueError, match="filters cannot be changed"):
        log(once=True)
    with pytest.raises(ValueError, match="severity cannot be changed"):
        log(LoggingSeverity.WARN)
    with pytest.raises(ValueError, match="name cannot be changed"):
        log(name="other")
    with pytest.raises(TypeError, match="recognized logging options"):
        logger.info("x", twice=True)
    with pytest.raises(TypeError, match="throttle_duration_sec"):
        logger.info("x", throttle_time_source_type=Clock())
    with pytest.raises(TypeError, match="string"):
        logger.info(3)


def test_levels_are_inherited(capsys):
    parent = get_logger("levels")
    child = parent.get_child("child")
    parent.set_level(LoggingSeverity.ERROR)
    assert child.get_effective_level() == LoggingSeverity.ERROR
    assert child.warning("kept back") is False
    child.set_level(LoggingSeverity.DEBUG)
    assert child.debug("shown") is True
    assert capsys.readouterr().err.count("\n") == 1


def test_messages_reach_rosout(make_node, context):
    node = make_node("talker", namespace="/robot")
    received = []
    listener = make_node("listener", enable_rosout=False)
    listener.create_subscription(Log, "/rosout", received.append, qos_profile_rosout_default)
    node.get_logger().warning("hello")
    node.get_logger().get_child("part").info("from a part")
    get_logger("stranger").info("not from a node")
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(listener)
    for _ in range(100):
        executor.spin_once(timeout_sec=0.1)
        if len(received) == 2:
            break
    assert [(log.name, log.level, log.msg) for log in received] == [
        ("robot.talker", 30, "hello"),
        ("robot.talker.part", 20, "from a part"),
    ]
    assert received[0].function == "test_messages_reach_rosout"


@pytest.mark.parametrize("text", ["a\0b", "lone \udc80 surrogate", "", "x" * 100_000])
def test_any_text_can_be_logged(make_node, text):
    node = make_node("talker")
    assert node.get_logger().info(text)
    node._wire.close()  # as another thread may, right now
    assert node.get_logger().error(text)


def test_rosout_can_be_switched_off(make_node):
    node = make_node("quiet", enable_rosout=False)
    assert node.count_publishers("/rosout") == 0
    make_node("also_quiet", cli_args=["--disable-rosout-logs"])
    assert node.count_publishers("/rosout") == 0
    loud = make_node("loud")
    assert node.count_publishers("/rosout") == 1
    loud.destroy_node()
    assert node.count_publishers("/rosout") == 0


def test_levels_over_services(make_node, context):
    node = make_node("levels", enable_logger_service=True)
    getter = node.create_client(GetLoggerLevels, "levels/get_logger_levels")
    setter = node.create_client(SetLoggerLevels, "levels/set_logger_levels")
    executor = SingleThreadedExecutor(context=context)

    def call(client, request):
        assert client.wait_for_service(20)
        future = client.call_async(request)
        rclpy.spin_until_future_complete(node, future, executor, 20)
        return future.result()

    wanted = [LoggerLevel(name="levels", level=40), LoggerLevel(name="levels", level=7)]
    results = call(setter, SetLoggerLevels.Request(levels=wanted)).results
    assert [result.successful for result in results] == [True, False]
    levels = call(getter, GetLoggerLevels.Request(names=["levels", "unknown"])).levels
    assert [(level.name, level.level) for level in levels] == [("levels", 40), ("unknown", 0)]
    node.get_logger().set_level(LoggingSeverity.UNSET)


def test_messages_of_the_layers_below_are_shown(capsys, domain):
    context = rclpy.context.Context()
    rclpy.init(args=[], context=context)
    import logging

    logging.getLogger("rclpy_zenoh.wire").warning("from the wire")
    assert re.search(r"\[WARN\] \[[\d.]+\] \[rclpy_zenoh\.wire\]: from the wire\n", capsys.readouterr().err)
    context.shutdown()
