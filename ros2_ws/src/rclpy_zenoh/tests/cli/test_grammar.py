"""The command line itself: its grammar, its help and its complaints. No graph is needed."""

from __future__ import annotations

import inspect

import pytest

from rclpy_zenoh.cli import main
from rclpy_zenoh.cli.app import load_verb
from rclpy_zenoh.cli.errors import UsageError
from rclpy_zenoh.cli.grammar import Arguments, make_parser

COMMANDS = [
    ["node", "list"],
    ["node", "info", "/n"],
    ["topic", "list"],
    ["topic", "info", "/t"],
    ["topic", "echo", "/t"],
    ["topic", "hz", "/t"],
    ["topic", "pub", "/t", "std_msgs/String"],
    ["service", "list"],
    ["service", "call", "/s", "std_srvs/srv/Trigger"],
    ["action", "list"],
    ["action", "info", "/a"],
    ["action", "send_goal", "/a", "example_interfaces/action/Fibonacci"],
    ["param", "list"],
    ["param", "get", "/n", "p"],
    ["param", "set", "/n", "p", "1"],
    ["param", "describe", "/n", "p"],
    ["param", "dump", "/n"],
    ["interface", "list"],
    ["interface", "show", "std_msgs/msg/String"],
    ["router"],
]


def parse(*words: str) -> Arguments:
    return make_parser("ros").parse_args(list(words), Arguments())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_names_a_function_that_takes_its_arguments(words: list[str]) -> None:
    assert list(inspect.signature(load_verb(parse(*words).verb)).parameters) == ["arguments"]


@pytest.mark.parametrize(
    "words", [[], *sorted({tuple(words[:1]) for words in COMMANDS if len(words) > 1}), *COMMANDS], ids=" ".join
)
def test_every_command_has_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    names = [*words[:2]] if len(words) > 1 else list(words)
    assert main([*names, "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: python -m rclpy_zenoh.cli")


def test_the_graph_is_chosen_before_or_after_the_verb() -> None:
    assert parse("--domain", "3", "topic", "list").domain == 3
    assert parse("topic", "--domain", "3", "list").domain == 3
    assert parse("topic", "list", "--domain", "3", "--router", "tcp/127.0.0.1:1").domain == 3
    assert parse("topic", "list").domain is None


def test_arguments_stand_where_ros2_has_them() -> None:
    arguments = parse("topic", "pub", "--once", "/t", "std_msgs/String", "data: -1", "-r", "5")
    assert (arguments.topic, arguments.type, arguments.values, arguments.once) == (
        "/t",
        "std_msgs/String",
        "data: -1",
        True,
    )
    assert (
        parse("topic", "echo", "/t", "std_msgs/String", "--qos-durability", "transient_local").type == "std_msgs/String"
    )
    assert parse("param", "set", "/n", "p", "-1.5").value == "-1.5"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ([], "COMMAND"),
        (["topik"], "invalid choice: 'topik'"),
        (["topic"], "VERB"),
        (["topic", "ekko"], "invalid choice: 'ekko'"),
        (["topic", "echo"], "required: TOPIC"),
        (["topic", "list", "--domain", "233"], "must be an integer from 0 to 232, got '233'"),
        (["topic", "list", "--domain", "x"], "must be an integer from 0 to 232, got 'x'"),
        (["topic", "hz", "/t", "--window", "0"], "must be an integer of 1 or more"),
        (["topic", "pub", "/t", "T", "-r", "0"], "must be a number greater than 0"),
        (["topic", "pub", "/t", "T", "-r", "nan"], "must be a number greater than 0"),
        (["topic", "pub", "/t", "T", "--once", "--times", "3"], "not allowed with"),
        (["topic", "echo", "/t", "--qos-durability", "forever"], "invalid choice: 'forever'"),
        (["topic", "echo", "/t", "--qos-depth", "0"], "must be an integer of 1 or more"),
        (["param", "list", "--filter", "("], "must be a regular expression"),
        (["service", "call", "/s"], "required: TYPE"),
        (["topic", "list", "--loud"], "Unrecognized arguments: --loud"),
    ],
)
def test_a_wrong_command_line_is_answered_in_one_sentence(
    words: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert part in captured.err
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("--help` explains.\n")


def test_a_complaint_is_an_error_and_no_exit() -> None:
    with pytest.raises(UsageError):
        parse("topic")
