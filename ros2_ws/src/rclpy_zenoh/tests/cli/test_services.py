"""`service list` and `service call`, as ros2 prints them."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Start = Callable[..., subprocess.Popen[str]]


def test_services_are_listed_without_hidden_ones(ros: Any) -> None:
    lines = ros("service", "list").lines
    assert lines == sorted(lines)
    assert {"/robot/add", "/robot/talker/get_parameters"} <= set(lines)
    assert not [line for line in lines if "/_" in line]
    assert ros("service", "list", "-c").out == f"{len(lines)}\n"


def test_services_are_listed_with_types_and_hidden_ones(ros: Any) -> None:
    lines = ros("service", "list", "-t", "--include-hidden-services").lines
    assert "/robot/add [example_interfaces/srv/AddTwoInts]" in lines
    assert "/robot/_inner [std_srvs/srv/Trigger]" in lines
    assert "/robot/fibonacci/_action/cancel_goal [action_msgs/srv/CancelGoal]" in lines


def test_a_service_is_called(ros: Any) -> None:
    outcome = ros("service", "call", "/robot/add", "example_interfaces/srv/AddTwoInts", "{a: 2, b: 40}")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == (
        "requester: making request: example_interfaces.srv.AddTwoInts_Request(a=2, b=40)\n\n"
        "response:\nexample_interfaces.srv.AddTwoInts_Response(sum=42)\n\n"
    )


def test_a_request_has_defaults_and_a_type_may_be_short(ros: Any) -> None:
    assert "AddTwoInts_Response(sum=0)" in ros("service", "call", "robot/add", "example_interfaces/AddTwoInts").out


def test_a_call_is_repeated_until_ctrl_c(child: Start) -> None:
    process = child("service", "call", "/robot/add", "example_interfaces/srv/AddTwoInts", "-r", "50")
    assert process.stdout is not None
    seen = [process.stdout.readline() for _ in range(12)]
    assert seen.count("response:\n") == 2
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, "")


def test_a_service_that_nobody_offers_is_waited_for_and_then_similar_ones_are_named(ros: Any) -> None:
    outcome = ros("service", "call", "/robot/ad", "std_srvs/srv/Trigger", "--timeout", "0.1")
    assert outcome.status == 1
    assert outcome.out == "waiting for service to become available...\n"
    assert outcome.err.startswith("There is no service '/robot/ad' after 0.1 s; similar services are /robot/add")


def test_ctrl_c_ends_the_wait_for_a_service(child: Start) -> None:
    process = child("service", "call", "/nothing", "std_srvs/srv/Trigger", "--timeout", "600")
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting for service to become available...\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, "")


MORTAL = """
import os, rclpy
from rclpy.node import Node
from std_srvs.srv import Trigger
rclpy.init()
node = Node("mortal")
node.create_service(Trigger, "die", lambda request, response: os._exit(0))
print("ready", flush=True)
rclpy.spin(node)
"""


def test_a_server_that_goes_away_without_a_reply_is_told(
    child: Start, graph: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spawned: Start
) -> None:
    _, router, _, domain = graph
    monkeypatch.setenv("RCLPY_ZENOH_ROUTER", router)
    monkeypatch.setenv("ROS_DOMAIN_ID", domain)
    (tmp_path / "mortal.py").write_text(MORTAL)
    mortal = spawned("-m", "rclpy_zenoh.run", str(tmp_path / "mortal.py"))
    assert mortal.stdout is not None
    assert mortal.stdout.readline() == "ready\n"
    process = child("service", "call", "/die", "std_srvs/srv/Trigger")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "The server of '/die' went away without a reply.\n" in errors


def test_a_service_of_another_type_is_told_at_once(ros: Any) -> None:
    outcome = ros("service", "call", "/robot/add", "std_srvs/srv/Trigger")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == (
        "Service '/robot/add' has the type example_interfaces/srv/AddTwoInts and not std_srvs/srv/Trigger.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["/robot/add", "std_msgs/msg/String"], "is a type of message and not of service"),
        (["/robot/add", "example_interfaces/srv/AddTwoInts", "{c: 1}"], "its fields are: a, b; see `interface show"),
        (["/robot/add", "example_interfaces/srv/AddTwoInts", "a"], "The text must be a mapping"),
        (["/robot/add", "example_interfaces/srv/AddTwoInts", "{"], "The request is not YAML"),
        (["a//b", "example_interfaces/srv/AddTwoInts"], "is no valid name"),
    ],
)
def test_a_call_that_cannot_be_made_is_refused(ros: Any, arguments: list[str], part: str) -> None:
    outcome = ros("service", "call", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert part in outcome.err
    assert outcome.err.count("\n") == 1


def test_ctrl_c_in_the_middle_of_a_callback_of_zenoh_is_given_again_later(monkeypatch: Any) -> None:
    from rclpy_zenoh.cli import app
    from rclpy_zenoh.wire import log

    again: list[int] = []
    monkeypatch.setattr(log, "interrupt_later", again.append)

    def _zenoh_callback() -> None:
        app._on_interrupt(signal.SIGINT, sys._getframe())

    _zenoh_callback()
    assert again == [signal.SIGINT]
    with pytest.raises(KeyboardInterrupt):
        app._on_interrupt(signal.SIGINT, sys._getframe())
