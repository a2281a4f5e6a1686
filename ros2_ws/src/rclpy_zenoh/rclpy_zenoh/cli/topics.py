"""`topic list`, `info`, `echo`, `hz` and `pub`."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from rclpy.qos import qos_profile_sensor_data

from rclpy_zenoh.cli.connection import Connection, connect
from rclpy_zenoh.cli.errors import CliError, UsageError
from rclpy_zenoh.cli.grammar import Arguments
from rclpy_zenoh.cli.names import instead_of, is_hidden
from rclpy_zenoh.cli.quality import chosen_qos, qos_for_publishers
from rclpy_zenoh.cli.render import Style, select, to_text
from rclpy_zenoh.cli.types import find_class, type_name
from rclpy_zenoh.cli.values import fill, parse_yaml

PRINT_PERIOD_S = 1.0


def list_topics(arguments: Arguments) -> int:
    """Names of all topics, one a line."""
    with connect(arguments, looks=True) as connection:
        node = connection.node
        topics = [
            (name, ", ".join(types))
            for name, types in sorted(node.get_topic_names_and_types())
            if arguments.include_hidden_topics or not is_hidden(name)
        ]
        counts = {name: (node.count_publishers(name), node.count_subscribers(name)) for name, _ in topics}
    if arguments.count_topics:
        print(len(topics))
    elif arguments.verbose:
        for side, (title, word) in enumerate((("Published", "publisher"), ("Subscribed", "subscriber"))):
            print(f"{title} topics:")
            for name, types in topics:
                if number := counts[name][side]:
                    print(f" * {name} [{types}] {number} {word}{'s' if number > 1 else ''}")
            print()
    else:
        for name, types in topics:
            print(f"{name} [{types}]" if arguments.show_types else name)
    return 0


def info(arguments: Arguments) -> int:
    """Type of a topic and how many publish it and listen to it."""
    end = "\n\n" if arguments.verbose else "\n"
    with connect(arguments, looks=True) as connection:
        node, topic = connection.node, connection.expand(arguments.topic)
        types = _types_of(connection, topic)
        print(f"Type: {types[0] if len(types) == 1 else types}", end=end)
        for title, infos in (
            ("Publisher count", node.get_publishers_info_by_topic(topic)),
            ("Subscription count", node.get_subscriptions_info_by_topic(topic)),
        ):
            print(f"{title}: {len(infos)}", end=end)
            if arguments.verbose:
                for endpoint in infos:
                    print(endpoint, end=end)
    return 0


def _types_of(connection: Connection, topic: str) -> Sequence[str]:
    """The types under which a topic is in the graph. Raises CliError where it is not."""
    topics = dict(connection.node.get_topic_names_and_types())
    if topic not in topics:
        visible = [name for name in topics if not is_hidden(name)]
        raise CliError(f"Unknown topic '{topic}'; {instead_of(topic, visible, 'topics')}.")
    types: Sequence[str] = topics[topic]
    return types


def _class_of(connection: Connection, topic: str) -> type[Any]:
    """The message class of a topic in the graph. Raises CliError."""
    types = _types_of(connection, topic)
    if len(types) > 1:
        raise CliError(f"Topic '{topic}' has more than one type: {', '.join(types)}; name the one to be read.")
    return find_class(types[0], "msg")


def _warn_of_other_types(connection: Connection, topic: str, cls: type[Any]) -> None:
    types = dict(connection.node.get_topic_names_and_types()).get(topic, [])
    if types and type_name(cls) not in types:
        print(
            f"WARNING: topic '{topic}' has the type {', '.join(types)}; no message of {type_name(cls)} will come.",
            file=sys.stderr,
        )


def echo(arguments: Arguments) -> int:
    """Print messages of a topic until Ctrl-C."""
    style = Style(
        truncate=None if arguments.full_length else arguments.truncate_length,
        arrays=not arguments.no_arr,
        texts=not arguments.no_str,
        flow=arguments.flow_style,
    )
    path = [part for part in (arguments.field or "").split(".") if part]
    if arguments.field is not None and not path:
        raise UsageError(f"--field names a field such as pose.position, not '{arguments.field}'.")
    given = find_class(arguments.type, "msg") if arguments.type else None
    with connect(arguments) as connection:
        topic = connection.expand(arguments.topic)
        cls = given or _class_of(connection, topic)
        _warn_of_other_types(connection, topic, cls)
        try:
            select(cls(), path)
        except LookupError as error:
            raise UsageError(str(error)) from error
        printed = 0

        def show(message: Any) -> None:
            nonlocal printed
            if not (arguments.once and printed):
                printed += 1
                print(f"{to_text(select(message, path), style)}---")

        qos = qos_for_publishers(arguments, connection.node.get_publishers_info_by_topic(topic))
        connection.node.create_subscription(cls, topic, show, qos)
        done = connection.spin_until(lambda: bool(arguments.once and printed), arguments.timeout)
    if arguments.once and not done:
        raise CliError(f"No message came on {topic} within {arguments.timeout:g} s.")
    return 0


class RateMeter:
    """Rate and spacing of the latest messages.

    Args:
        window: Number of newest intervals that count [-].
    """

    def __init__(self, window: int) -> None:
        self._intervals: deque[float] = deque(maxlen=window)
        self._last: float | None = None
        self._is_new = False

    def add(self, stamp: float) -> None:
        """Note a message that came at `stamp` [s]."""
        if self._last is not None:
            self._intervals.append(stamp - self._last)
            self._is_new = True
        self._last = stamp

    def report(self) -> str:
        """The figures as ros2 prints them; empty where no message came since the last report."""
        if not self._is_new:
            return ""
        self._is_new = False
        spans = self._intervals
        mean = sum(spans) / len(spans)
        deviation = math.sqrt(sum((span - mean) ** 2 for span in spans) / len(spans))
        return (
            f"average rate: {1 / mean if mean else 0.0:.3f}\n\tmin: {min(spans):.3f}s max: {max(spans):.3f}s "
            f"std dev: {deviation:.5f}s window: {len(spans)}"
        )


def hz(arguments: Arguments) -> int:
    """Print the rate of a topic every second until Ctrl-C; messages are not decoded."""
    meter = RateMeter(arguments.window)
    with connect(arguments) as connection:
        node, topic = connection.node, connection.expand(arguments.topic)
        cls = _class_of(connection, topic)
        node.create_subscription(cls, topic, lambda _: meter.add(time.monotonic()), qos_profile_sensor_data, raw=True)
        while True:
            connection.spin_for(PRINT_PERIOD_S)
            if text := meter.report():
                print(text)


def pub(arguments: Arguments) -> int:
    """Publish a message once, some times, or until Ctrl-C."""
    cls = find_class(arguments.type, "msg")
    message = cls()
    values = parse_yaml(arguments.values, "message")
    stampers = fill(message, values, name=type_name(cls), stamps=True)
    times = 1 if arguments.once else arguments.times
    wanted = arguments.wait_matching_subscriptions
    if wanted is None:
        wanted = 0 if times is None else 1
    if not wanted and arguments.max_wait_time_secs is not None:
        raise UsageError("--max-wait-time-secs needs --wait-matching-subscriptions, --once or --times.")
    with connect(arguments) as connection:
        node = connection.node
        publisher = node.create_publisher(cls, connection.expand(arguments.topic), chosen_qos(arguments))
        _wait_for_subscriptions(connection, publisher, wanted, arguments.max_wait_time_secs)
        print("publisher: beginning loop")
        count, due = 0, time.monotonic()
        while True:
            stamp = node.get_clock().now().to_msg()
            for put in stampers:
                put(stamp)
            count += 1
            if arguments.print and count % arguments.print == 0:
                print(f"publishing #{count}: {message!r}\n")
            publisher.publish(message)
            if count == times:
                break
            due = max(due + 1 / arguments.rate, time.monotonic())
            connection.spin_for(due - time.monotonic())
        connection.spin_for(arguments.keep_alive)
    return 0


def _wait_for_subscriptions(connection: Connection, publisher: Any, wanted: int, timeout: float | None) -> None:
    end = None if timeout is None else time.monotonic() + timeout

    def matched() -> bool:
        return bool(publisher.get_subscription_count() >= wanted)

    while not matched():
        print(f"Waiting for at least {wanted} matching subscription(s)...")
        left = PRINT_PERIOD_S if end is None else min(PRINT_PERIOD_S, end - time.monotonic())
        if not connection.spin_until(matched, left) and end is not None and time.monotonic() >= end:
            raise CliError(
                f"Timed out waiting for subscribers: Expected {wanted} subscribers but only got "
                f"{publisher.get_subscription_count()}."
            )
