"""What the agent records of its graph: the attempts of one command, and the commands that start such a graph again."""

import json
import shlex
from typing import Any

import pytest

from rclpy_zenoh.overlay import install

install()

from toolhand.agent_node.ros.record import again_command, as_text, safety_lines
from toolhand.tool_nodes.ros.attempts import Attempts, read_attempts

ONE, TWO, THREE = ({"outcome": "begun", "what": word} for word in ("one", "two", "three"))


def test_only_what_was_attempted_meanwhile_is_kept() -> None:
    before, after = Attempts(1, (ONE,)), Attempts(3, (ONE, TWO, THREE))
    assert safety_lines(before, after) == [TWO, THREE]
    assert safety_lines(after, after) == []
    assert as_text([ONE]) == '{"outcome": "begun", "what": "one"}\n'


def test_of_a_motion_node_that_was_started_anew_everything_is_kept() -> None:
    assert safety_lines(Attempts(9, ()), Attempts(1, (ONE,))) == [ONE]


def test_what_the_motion_node_no_longer_holds_leaves_a_line() -> None:
    assert safety_lines(Attempts(1, (ONE,)), Attempts(5, (TWO, THREE))) == [{"outcome": "lost", "count": 2}, TWO, THREE]


def test_a_motion_node_that_did_not_answer_leaves_nothing() -> None:
    assert safety_lines(None, None) == []
    assert safety_lines(Attempts(0, ()), None) == []
    assert safety_lines(None, Attempts(1, (ONE,))) == [ONE]


@pytest.mark.parametrize("message", ["", "[]", "{}", '{"count": 1}', '{"count": "x", "newest": []}', '{"newest": 3}'])
def test_an_answer_that_is_none_is_a_value_error(message: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any
        read_attempts(message)
    assert read_attempts(json.dumps({"count": 1, "newest": [ONE]})) == Attempts(1, (ONE,))


def test_one_command_line_says_the_sentence_again_in_such_a_scene() -> None:
    settings: dict[str, Any] = {
        "scene": "my scene.yaml",
        "perception": "pixels",
        "seed": 0,
        "lockstep": True,
        "approval": "auto",
        "policy": "openai:m",
        "protocol": "peria",
        "role": "observer",
        "suite": "spacetools,last",
        "turn_budget": 9,
    }
    assert shlex.split(again_command("don't", settings)) == [
        "toolhand",
        "run",
        "don't",
        "--scene",
        "my scene.yaml",
        "--perception",
        "pixels",
        "--policy",
        "openai:m",
        "--protocol",
        "peria",
        "--role",
        "observer",
        "--suite",
        "spacetools,last",
        "--turns",
        "9",
    ]


def test_the_commands_name_no_protocol_where_the_policy_wrote_its_own() -> None:
    for policy, protocol, suite in (
        ("scripted", "spacetools", "spacetools"),
        ("smollm2", "compact", "spacetools"),
        ("openai:m", "native", "native"),
    ):
        command = again_command("stop", {"scene": "3", "policy": policy, "protocol": protocol, "suite": suite})
        assert "protocol" not in command
        assert "suite" not in command
        assert "--scene 3" in command


def test_a_suite_that_is_not_the_protocols_own_is_named() -> None:
    settings = {"scene": "3", "policy": "openai:m", "protocol": "spacetools", "suite": "native"}
    assert "--protocol spacetools --suite native" in again_command("stop", settings)


def test_a_graph_without_a_simulator_is_not_started_again() -> None:
    assert again_command("stop", {"approval": "ask-motion"}) == "toolhand run stop --transport ros"


def test_the_defaults_that_are_left_out_are_those_of_the_command() -> None:
    from toolhand.agent_node.ros.record import _OPTIONS
    from toolhand.cli.run_command import RunCommand

    declared = RunCommand("stop").options()
    for option, default in _OPTIONS.values():
        assert declared[option] == default
