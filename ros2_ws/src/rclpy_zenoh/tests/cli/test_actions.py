"""`action list`, `info` and `send_goal`, as ros2 prints them."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from rclpy_zenoh.interfaces import get_class

GoalStatus = get_class("action_msgs/msg/GoalStatus")
FIBONACCI = "example_interfaces/action/Fibonacci"


def test_actions_are_listed(ros: Any) -> None:
    assert ros("action", "list").lines == ["/robot/elsewhere", "/robot/fibonacci"]
    assert ros("action", "list", "-t").lines[1] == f"/robot/fibonacci [{FIBONACCI}]"
    assert ros("action", "list", "-c").out == "2\n"


def test_an_action_is_described(ros: Any) -> None:
    assert ros("action", "info", "/robot/fibonacci").lines == [
        "Action: /robot/fibonacci",
        "Action clients: 0",
        "Action servers: 1",
        "    /robot/talker",
    ]
    assert ros("action", "info", "-t", "/robot/elsewhere").lines == [
        "Action: /robot/elsewhere",
        "Action clients: 1",
        f"    /robot/talker [{FIBONACCI}]",
        "Action servers: 0",
    ]
    assert ros("action", "info", "-c", "/robot/fibonacci").lines[1:] == ["Action clients: 0", "Action servers: 1"]


def test_an_unknown_action_is_answered_with_those_that_there_are(ros: Any) -> None:
    outcome = ros("action", "info", "/robot/fib")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "Unknown action '/robot/fib'; the actions are /robot/elsewhere, /robot/fibonacci.\n"


def test_a_goal_is_sent_and_its_result_and_status_are_printed(ros: Any) -> None:
    outcome = ros("action", "send_goal", "/robot/fibonacci", FIBONACCI, "{order: 4}")
    assert (outcome.status, outcome.err) == (0, "")
    assert re.fullmatch(
        r"Waiting for an action server to become available\.\.\.\n"
        r"Sending goal:\n     order: 4\n\n"
        r"Goal accepted with ID: [0-9a-f]{32}\n\n"
        r"Result:\n    sequence:\n- 0\n- 1\n- 1\n- 2\n\n"
        r"Goal finished with status: SUCCEEDED\n",
        outcome.out,
    )


def test_feedback_is_printed_where_asked_for(ros: Any) -> None:
    outcome = ros("action", "send_goal", "-f", "/robot/fibonacci", FIBONACCI, "{order: 4}")
    assert "Feedback:\n    sequence:\n- 0\n- 1\n- 1\n\nFeedback:\n    sequence:\n- 0\n- 1\n- 1\n- 2\n\n" in outcome.out


def test_a_goal_that_fails_is_told_by_status_and_exit_code(ros: Any) -> None:
    outcome = ros("action", "send_goal", "/robot/fibonacci", FIBONACCI, "{order: 13}")
    assert outcome.status == 1
    assert outcome.lines[-1] == "Goal finished with status: ABORTED"


def test_a_goal_that_is_rejected_is_told(ros: Any) -> None:
    outcome = ros("action", "send_goal", "/robot/fibonacci", FIBONACCI, "{order: -1}")
    assert outcome.status == 1
    assert outcome.lines[-1] == "Goal was rejected."


def test_ctrl_c_cancels_the_goal(child: Callable[..., subprocess.Popen[str]]) -> None:
    process = child("action", "send_goal", "-f", "/robot/fibonacci", FIBONACCI, "{order: 1000}")
    assert process.stdout is not None
    while process.stdout.readline() != "Feedback:\n":
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert "Canceling goal...\n" in out
    assert out.endswith("Goal canceled.\n")
    assert (process.returncode, errors) == (130, "")


def test_a_reader_that_goes_away_cancels_the_goal(child: Callable[..., subprocess.Popen[str]], ros: Any) -> None:
    process = child("action", "send_goal", "-f", "/robot/fibonacci", FIBONACCI, "{order: 1000}")
    assert process.stdout is not None
    while process.stdout.readline() != "Feedback:\n":
        assert process.poll() is None
    process.stdout.close()
    assert process.stderr is not None
    assert (process.stderr.read(), process.wait(30)) == ("", 141)
    statuses = ros("topic", "echo", "--once", "/robot/fibonacci/_action/status").out.removesuffix("---\n")
    ended = {GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED}
    assert {goal["status"] for goal in yaml.safe_load(statuses)["status_list"]} <= ended


def test_an_action_that_nobody_serves_is_waited_for(ros: Any) -> None:
    outcome = ros("action", "send_goal", "/robot/elsewhere", FIBONACCI, "--timeout", "0.1")
    assert outcome.status == 1
    assert outcome.out == "Waiting for an action server to become available...\n"
    assert outcome.err == "There is no action '/robot/elsewhere' after 0.1 s; the actions are /robot/fibonacci.\n"


def test_an_action_of_another_type_is_told_at_once(ros: Any) -> None:
    outcome = ros("action", "send_goal", "/robot/fibonacci", "workshop_interfaces/action/Drill")
    assert outcome.status == 1
    assert outcome.err == (
        f"Action '/robot/fibonacci' has the type {FIBONACCI} and not workshop_interfaces/action/Drill.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([FIBONACCI, "{rank: 1}"], "its fields are: order; see `interface show example_interfaces/action/Fibonacci`"),
        ([FIBONACCI, "{order: ten}"], "must be a whole number"),
        ([FIBONACCI, "}"], "The goal is not YAML"),
        (["std_srvs/srv/Trigger"], "is a type of service and not of action"),
        (["example_interfaces/action/Fibonaci"], "There is no action type 'example_interfaces/action/Fibonaci'"),
    ],
)
def test_a_goal_that_cannot_be_sent_is_refused(ros: Any, arguments: list[str], part: str) -> None:
    outcome = ros("action", "send_goal", "/robot/fibonacci", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert part in outcome.err
    assert outcome.err.count("\n") == 1
