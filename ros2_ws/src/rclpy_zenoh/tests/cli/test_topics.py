"""`topic list`, `info`, `echo`, `hz` and `pub`, as ros2 prints them."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from rclpy_zenoh.interfaces import get_class, type_hash

Child = Callable[..., subprocess.Popen[str]]
VISIBLE = [
    ("/parameter_events", "rcl_interfaces/msg/ParameterEvent"),
    ("/robot/chatter", "std_msgs/msg/String"),
    ("/robot/description", "std_msgs/msg/String"),
    ("/robot/joints", "sensor_msgs/msg/JointState"),
    ("/robot/mixed", "std_msgs/msg/String"),
    ("/robot/orders", "std_msgs/msg/String"),
    ("/robot/picture", "sensor_msgs/msg/Image"),
    ("/rosout", "rcl_interfaces/msg/Log"),
]


def test_topics_are_listed_without_hidden_ones(ros: Any) -> None:
    outcome = ros("topic", "list")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.lines == [name for name, _ in VISIBLE]


def test_topics_are_listed_with_types_or_counted(ros: Any) -> None:
    assert ros("topic", "list", "-t").lines == [f"{name} [{kind}]" for name, kind in VISIBLE]
    assert ros("topic", "list", "-c").out == f"{len(VISIBLE)}\n"


def test_hidden_topics_are_listed_where_asked_for(ros: Any) -> None:
    lines = ros("topic", "list", "--include-hidden-topics").lines
    assert {"/robot/_secret", "/robot/fibonacci/_action/feedback", "/robot/fibonacci/_action/status"} <= set(lines)


def test_the_verbose_list_counts_both_sides(ros: Any) -> None:
    published, subscribed = ros("topic", "list", "-v").out.split("Subscribed topics:\n")
    assert published.startswith("Published topics:\n")
    assert " * /robot/chatter [std_msgs/msg/String] 1 publisher\n" in published
    assert " * /robot/mixed [std_msgs/msg/String] 2 publishers\n" in published
    assert " * /robot/orders [std_msgs/msg/String] 1 subscriber\n" in subscribed


def test_a_topic_is_described(ros: Any) -> None:
    assert ros("topic", "info", "/robot/chatter").out == (
        "Type: std_msgs/msg/String\nPublisher count: 1\nSubscription count: 0\n"
    )


def test_a_topic_is_described_with_hash_and_qos(ros: Any) -> None:
    out = ros("topic", "info", "-v", "/robot/description").out
    assert out.startswith(
        "Type: std_msgs/msg/String\n\nPublisher count: 1\n\nNode name: talker\nNode namespace: /robot\n"
    )
    assert f"Topic type hash: {type_hash(get_class('std_msgs/msg/String'))}\n" in out
    assert "Endpoint type: PUBLISHER\n" in out
    assert re.search(r"\nGID: [0-9a-f]{2}(\.[0-9a-f]{2}){15}\n", out)
    assert "\nQoS profile:\n  Reliability: RELIABLE\n  History (Depth): KEEP_LAST (1)\n" in out
    assert "  Durability: TRANSIENT_LOCAL\n  Lifespan: Infinite\n  Deadline: Infinite\n" in out
    assert out.endswith("\n\nSubscription count: 0\n\n")


@pytest.mark.parametrize("verb", ["info", "echo", "hz"])
def test_an_unknown_topic_is_answered_with_similar_ones(ros: Any, verb: str) -> None:
    outcome = ros("topic", verb, "/robot/chater")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith("Unknown topic '/robot/chater'; similar topics are /robot/chatter")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("verb", ["info", "echo", "hz"])
def test_a_bad_topic_name_is_refused(ros: Any, verb: str) -> None:
    outcome = ros("topic", verb, "/no spaces")
    assert outcome.status == 2
    assert outcome.err.startswith("'/no spaces' is no valid name: ")
    assert outcome.err.count("\n") == 1


def test_a_message_is_echoed_and_its_type_is_looked_up(ros: Any) -> None:
    assert ros("topic", "echo", "--once", "/robot/chatter").out == "data: hello\n---\n"


def test_a_relative_name_and_a_type_may_be_given(ros: Any) -> None:
    assert ros("topic", "echo", "--once", "robot/chatter", "std_msgs/String").out == "data: hello\n---\n"


def test_a_latched_message_is_echoed_by_who_comes_late(ros: Any) -> None:
    outcome = ros("topic", "echo", "--once", "/robot/description", "--timeout", "30")
    assert outcome.out == "data: <robot/>\n---\n"
    chosen = ros(
        "topic",
        "echo",
        "--once",
        "/robot/description",
        "--qos-durability",
        "transient_local",
        "--qos-reliability",
        "reliable",
        "--qos-depth",
        "1",
        "--timeout",
        "30",
    )
    assert chosen.out == "data: <robot/>\n---\n"


def test_who_does_not_ask_for_latched_messages_gets_none(ros: Any) -> None:
    outcome = ros("topic", "echo", "--once", "/robot/description", "--qos-durability", "volatile", "--timeout", "0.3")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "No message came on /robot/description within 0.3 s.\n"


def test_a_type_that_the_topic_does_not_have_is_told(ros: Any) -> None:
    outcome = ros("topic", "echo", "/robot/chatter", "std_msgs/Int32", "--timeout", "0")
    assert outcome.err == (
        "WARNING: topic '/robot/chatter' has the type std_msgs/msg/String; "
        "no message of std_msgs/msg/Int32 will come.\n"
    )


def test_publishers_that_differ_are_told_and_all_of_them_are_heard(ros: Any) -> None:
    outcome = ros("topic", "echo", "/robot/mixed", "--timeout", "0.05")
    assert outcome.status == 0
    assert outcome.err == (
        "Some, but not all, publishers are offering QoSReliabilityPolicy.RELIABLE. Falling back to "
        "QoSReliabilityPolicy.BEST_EFFORT as it will connect to all publishers\n"
    )


def test_fields_are_selected(ros: Any) -> None:
    assert ros("topic", "echo", "--once", "/robot/joints", "--field", "position").out == "[1.0, 2.5]\n---\n"
    assert ros("topic", "echo", "--once", "/robot/joints", "--field", "header.stamp").out == "sec: 0\nnanosec: 0\n---\n"


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("header.time", "There is no field 'time' in 'header'; fields there are: stamp, frame_id.\n"),
        ("..", "--field names a field such as pose.position, not '..'.\n"),
    ],
)
def test_a_field_that_is_not_there_is_refused(ros: Any, field: str, sentence: str) -> None:
    outcome = ros("topic", "echo", "--once", "/robot/joints", "--field", field)
    assert (outcome.status, outcome.out, outcome.err) == (2, "", sentence)


def test_long_arrays_are_cut_unless_all_of_them_is_wanted(ros: Any) -> None:
    cut = ros("topic", "echo", "--once", "/robot/picture").lines
    assert cut[-2:] == ["- '...'", "---"]
    assert cut.count("- 0") == 128
    assert ros("topic", "echo", "--once", "-f", "/robot/picture").lines.count("- 0") == 200
    assert ros("topic", "echo", "--once", "-l", "2", "/robot/picture").lines.count("- 0") == 2
    assert (
        "data: '<sequence type: uint8, length: 200>'"
        in ros("topic", "echo", "--once", "--no-arr", "/robot/picture").lines
    )


def test_ctrl_c_ends_an_echo_without_a_word(child: Child) -> None:
    process = child("topic", "echo", "/robot/chatter")
    assert process.stdout is not None
    assert process.stdout.readline() == "data: hello\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, "")


def test_a_reader_that_goes_away_ends_an_echo_without_a_word(child: Child) -> None:
    process = child("topic", "echo", "/robot/chatter")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert (process.stderr.read(), process.wait(30)) == ("", 141)


def test_the_rate_of_a_topic_is_printed_every_second(child: Child) -> None:
    process = child("topic", "hz", "/robot/chatter", "--window", "10")
    assert process.stdout is not None
    rate, spread = process.stdout.readline(), process.stdout.readline()
    assert re.fullmatch(r"average rate: \d+\.\d{3}\n", rate)
    assert re.fullmatch(r"\tmin: \d+\.\d{3}s max: \d+\.\d{3}s std dev: \d+\.\d{5}s window: \d+\n", spread)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130


def test_rates_are_those_of_the_latest_messages() -> None:
    from rclpy_zenoh.cli.topics import RateMeter

    meter = RateMeter(2)
    assert meter.report() == ""
    meter.add(9.0)
    assert meter.report() == ""
    for stamp in (10.0, 10.1, 10.4):
        meter.add(stamp)
    assert meter.report() == "average rate: 5.000\n\tmin: 0.100s max: 0.300s std dev: 0.10000s window: 2"
    assert meter.report() == ""


def test_one_message_is_published_to_who_listens(ros: Any, child: Child) -> None:
    listener = child("topic", "echo", "--once", "/loop", "std_msgs/msg/String")
    outcome = ros("topic", "pub", "--once", "/loop", "std_msgs/msg/String", "data: 'go'")
    assert outcome.status == 0
    assert outcome.out.removeprefix("Waiting for at least 1 matching subscription(s)...\n").endswith(
        "publisher: beginning loop\npublishing #1: std_msgs.msg.String(data='go')\n\n"
    )
    assert listener.communicate(timeout=30)[0] == "data: go\n---\n"


def test_messages_are_published_at_a_rate_and_only_some_are_printed(ros: Any) -> None:
    outcome = ros("topic", "pub", "-t", "5", "-r", "200", "-p", "2", "-w", "0", "/quick", "std_msgs/Int32", "data: 3")
    assert re.findall(r"publishing #(\d+)", outcome.out) == ["2", "4"]


def test_a_header_gets_the_time_of_sending(ros: Any) -> None:
    outcome = ros("topic", "pub", "-t", "1", "-w", "0", "/stamped", "std_msgs/Header", "{stamp: now, frame_id: map}")
    assert re.search(r"sec=\d{9,}, .*frame_id='map'", outcome.out)


def test_waiting_for_subscriptions_ends(ros: Any) -> None:
    outcome = ros("topic", "pub", "--once", "/lonely", "std_msgs/String", "--max-wait-time-secs", "0.1")
    assert outcome.status == 1
    assert outcome.out == "Waiting for at least 1 matching subscription(s)...\n"
    assert outcome.err == "Timed out waiting for subscribers: Expected 1 subscribers but only got 0.\n"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["std_msgs/msg/Strin", "{}"], "There is no message type 'std_msgs/msg/Strin'"),
        (["std_srvs/srv/Trigger", "{}"], "is a type of service and not of message"),
        (
            ["std_msgs/String", "{text: hi}"],
            "no field 'text'; its fields are: data; see `interface show std_msgs/msg/String`.",
        ),
        (["std_msgs/Int32", "data: much"], "must be a whole number"),
        (["std_msgs/String", "{data: "], "The message is not YAML"),
        (["std_msgs/String", "{}", "--max-wait-time-secs", "1"], "--max-wait-time-secs needs"),
    ],
)
def test_a_message_that_cannot_be_published_is_refused_at_once(ros: Any, arguments: list[str], part: str) -> None:
    outcome = ros("topic", "pub", "/loop", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert part in outcome.err
    assert outcome.err.count("\n") == 1
