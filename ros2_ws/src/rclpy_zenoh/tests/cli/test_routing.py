"""Finding the graph: the router, the domain, and what is said when they are wrong."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from rclpy_zenoh.cli import main

ROUTER_VARIABLE = "RCLPY_ZENOH_ROUTER"
Spawn = Callable[..., subprocess.Popen[str]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_without_a_router_the_command_that_starts_one_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    assert main(["node", "list", "--router", f"tcp/127.0.0.1:{port}"]) == 1
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == (
        "",
        f"No router answers at tcp/127.0.0.1:{port}; start one with "
        f"`python -m rclpy_zenoh.cli router --port {port}`.\n",
    )


@pytest.mark.parametrize("endpoint", ["127.0.0.1:7447", "tcp/127.0.0.1", "tcp/:1", "tcp/127.0.0.1:0", "udp/a:1", ""])
def test_an_endpoint_that_is_none_is_refused(endpoint: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "list", "--router", endpoint]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_the_router_is_found_by_the_environment_which_stays_as_it_was(
    graph: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    _, router, _, domain = graph
    monkeypatch.setenv(ROUTER_VARIABLE, "tcp/127.0.0.1:1")
    assert main(["node", "list", *graph]) == 0
    assert os.environ[ROUTER_VARIABLE] == "tcp/127.0.0.1:1"
    monkeypatch.setenv(ROUTER_VARIABLE, router)
    monkeypatch.setenv("ROS_DOMAIN_ID", domain)
    assert main(["node", "list"]) == 0
    assert capfd.readouterr().out.count("/robot/talker\n") == 2


def test_another_domain_is_another_graph(ros: Any) -> None:
    assert ros("node", "list", "--domain", "0", "--spin-time", "0.2").out == ""


def test_a_bad_domain_in_the_environment_is_refused(
    router: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", "many")
    assert main(["node", "list", "--router", router]) == 2
    assert "ROS_DOMAIN_ID" in capfd.readouterr().err


def test_a_router_is_started_by_a_command_and_ends_with_ctrl_c(command: Spawn) -> None:
    process = command("router", "--port", "0")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("ready tcp/127.0.0.1:")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")


WITHOUT_ZENOH = (
    "import sys; sys.modules['zenoh'] = None; from rclpy_zenoh.cli import main; sys.exit(main(sys.argv[1:]))"
)


def test_without_zenoh_interfaces_are_shown_and_the_graph_says_what_is_missing(spawned: Spawn) -> None:
    process = spawned("-c", WITHOUT_ZENOH, "interface", "show", "std_msgs/msg/String")
    assert (*process.communicate(timeout=60), process.returncode) == ("string data\n", "", 0)
    process = spawned("-c", WITHOUT_ZENOH, "topic", "list")
    assert (*process.communicate(timeout=60), process.returncode) == (
        "",
        "This command needs zenoh and xxhash. Install them with: "
        f"{shlex.quote(sys.executable)} -m pip install eclipse-zenoh xxhash\n",
        1,
    )
