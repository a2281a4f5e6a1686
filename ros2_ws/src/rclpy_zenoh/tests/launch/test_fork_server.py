"""Nodes that are forked are processes like any other: their own in everything, and nobody's fate is another's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from launch_support import PATIENCE_S, Start, Write, alive, wait_until

from rclpy_zenoh.launch import guard
from rclpy_zenoh.launch.forking import LABEL, UNKNOWN_STATUS
from rclpy_zenoh.launch.process import ended_how

SHARED = """
import random
import numpy as np

IMPORTED_BY = __import__("os").getpid()
np.random.random()
"""
NODE = """
import os, random, sys
import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException
from launch_test_nodes import shared

def main(args=None):
    print("module", __name__, shared.IMPORTED_BY != os.getpid(), "parent", os.getppid(), flush=True)
    print("arguments", sys.argv[1:], flush=True)
    print("place", os.getpgrp() == os.getpid(), os.getcwd(), os.environ.get("COLOUR"), flush=True)
    print("chance", random.random(), np.random.random(), flush=True)
    if "--fail" in sys.argv:
        sys.exit(3)
    rclpy.init(args=args)
    node = rclpy.create_node("unnamed")
    print("ready", node.get_name(), flush=True)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        print("goodbye", flush=True)

if __name__ == "__main__":
    main()
"""

STREAMS = """
import sys
import rclpy

def outcome(work, *arguments):
    try:
        return work(*arguments)
    except Exception as error:
        return type(error).__name__

def main(args=None):
    for stream in (sys.stdout, sys.stderr):
        asked = [outcome(stream.reconfigure), outcome(stream.tell), outcome(stream.seek, 0), stream.seekable()]
        asked += [stream.isatty(), stream.fileno(), stream.encoding, stream.write_through]
        stream.reconfigure(errors="replace")
        print("streams", asked, stream.errors, flush=True)
    rclpy.init(args=args)
    rclpy.spin(rclpy.create_node("unnamed"))

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def nodes(package: Path) -> Path:
    """The folder of modules; an executable `talker` that tells what it is."""
    modules = package / "launch_test_nodes"
    (modules / "talker.py").write_text(NODE)
    (modules / "shared.py").write_text(SHARED)
    return modules


def said(lines: list[str], label: str, word: str) -> list[str]:
    """What follows a word in the lines of a process."""
    begin = f"[{label}] {word} "
    return [line.removeprefix(begin) for line in lines if line.startswith(begin)]


def server_of(running: Any) -> int:
    (pid,) = (row.pid for row in running.graph.usage() if row.label == LABEL)
    return pid


def talkers(write: Write, *names: str, more: str = "") -> Path:
    return write(
        "\n".join(f"- node: {{pkg: launch_test, exec: talker, name: {n}, output: screen{more}}}" for n in names)
    )


def test_nodes_share_what_was_imported_and_nothing_else(write: Write, nodes: Path, start: Start) -> None:
    path = write(
        """
        - node: {pkg: launch_test, exec: talker, name: one, output: screen, args: "first --red"}
        - node: {pkg: launch_test, exec: talker, name: two, output: screen, args: "second"}
        """
    )
    running = start(path)
    running.graph.wait_ready(PATIENCE_S)
    wait_until(lambda: all(said(running.lines, label, "ready") for label in ("one", "two")))
    server = server_of(running)
    for label, arguments in (("one", ["first", "--red"]), ("two", ["second"])):
        assert said(running.lines, label, "module") == [f"__main__ True parent {server}"]
        assert said(running.lines, label, "arguments")[0].startswith(str(arguments)[:-1])
        assert said(running.lines, label, "place") == [f"True {os.getcwd()} None"]
    chances = [number for label in ("one", "two") for number in said(running.lines, label, "chance")[0].split()]
    assert len(set(chances)) == 4


def test_a_node_has_its_own_name_and_command_line_in_the_list_of_processes(
    write: Write, nodes: Path, start: Start
) -> None:
    running = start(talkers(write, "a_node_with_a_long_name", "two"))
    running.graph.wait_ready(PATIENCE_S)
    for label in ("a_node_with_a_long_name", "two"):
        entry = Path(f"/proc/{running.graph.pids()[label]}")
        assert (entry / "comm").read_text() == f"{label[:15]}\n"
        words = (entry / "cmdline").read_text().rstrip("\0").split("\0")
        assert words == list(running.graph.process(label).plan.command)
    assert "rclpy_zenoh.launch.fork_server" in Path(f"/proc/{server_of(running)}/cmdline").read_text()


def test_a_node_with_an_environment_of_its_own_is_started_with_it(write: Write, nodes: Path, start: Start) -> None:
    path = write(
        """
        - node: {pkg: launch_test, exec: talker, name: one, output: screen}
        - node: {pkg: launch_test, exec: talker, name: two, output: screen}
        - node: {pkg: launch_test, exec: talker, name: red, output: screen, env: [{name: COLOUR, value: "red"}]}
        """
    )
    running = start(path)
    running.graph.wait_ready(PATIENCE_S)
    wait_until(lambda: said(running.lines, "red", "ready"))
    assert said(running.lines, "red", "place") == [f"True {os.getcwd()} red"]
    assert said(running.lines, "red", "module") == [f"__main__ False parent {os.getpid()}"]
    assert said(running.lines, "one", "place") == [f"True {os.getcwd()} None"]


def test_the_streams_of_a_forked_node_are_those_of_a_program_of_its_own(
    write: Write, nodes: Path, start: Start
) -> None:
    (nodes / "talker.py").write_text(STREAMS)
    path = write(
        """
        - node: {pkg: launch_test, exec: talker, name: one, output: screen}
        - node: {pkg: launch_test, exec: talker, name: two, output: screen}
        - node: {pkg: launch_test, exec: talker, name: alone, output: screen, env: [{name: COLOUR, value: "red"}]}
        """
    )
    running = start(path)
    running.graph.wait_ready(PATIENCE_S)
    wait_until(lambda: all(len(said(running.lines, label, "streams")) == 2 for label in ("one", "alone")))
    assert said(running.lines, "one", "streams") == said(running.lines, "alone", "streams")
    assert "UnsupportedOperation" in said(running.lines, "one", "streams")[0]


def test_a_killed_node_comes_back_and_the_others_do_not_notice(write: Write, nodes: Path, start: Start) -> None:
    running = start(talkers(write, "one", "two", "three", more=", respawn: true"))
    running.graph.wait_ready(PATIENCE_S)
    wait_until(lambda: all(said(running.lines, label, "ready") for label in ("one", "two", "three")))
    before = running.graph.pids()
    os.kill(before["one"], signal.SIGKILL)
    wait_until(lambda: len(said(running.lines, "one", "ready")) == 2)
    after = running.graph.pids()
    assert after.pop("one") != before.pop("one")
    assert after == before
    assert "[one] was ended by SIGKILL; it is started again" in running.lines
    assert said(running.lines, "one", "module")[1] == f"__main__ True parent {server_of(running)}"


def test_the_status_of_a_node_is_told(write: Write, nodes: Path, start: Start) -> None:
    path = write(
        """
        - node: {pkg: launch_test, exec: talker, name: one, args: --fail}
        - node: {pkg: launch_test, exec: talker, name: two, output: screen}
        """
    )
    running = start(path)
    wait_until(lambda: "[one] ended with status 3" in running.lines)
    wait_until(lambda: said(running.lines, "two", "ready"))
    running.graph.close()
    assert "[two] goodbye" in running.lines


def test_nodes_outlive_their_fork_server_and_are_started_without_it(write: Write, nodes: Path, start: Start) -> None:
    running = start(talkers(write, "one", "two", more=", respawn: true"))
    running.graph.wait_ready(PATIENCE_S)
    wait_until(lambda: all(said(running.lines, label, "ready") for label in ("one", "two")))
    before = running.graph.pids()
    os.kill(server_of(running), signal.SIGKILL)
    wait_until(lambda: not [row for row in running.graph.usage() if row.label == LABEL])
    assert running.graph.pids() == before
    assert alive(before["one"])
    os.kill(before["one"], signal.SIGKILL)
    wait_until(lambda: len(said(running.lines, "one", "ready")) == 2)
    assert f"[one] {ended_how(UNKNOWN_STATUS)}; it is started again" in running.lines
    assert said(running.lines, "one", "module")[1] == f"__main__ False parent {os.getpid()}"
    after = running.graph.pids()
    running.graph.close()
    assert not [pid for pid in (*before.values(), *after.values()) if alive(pid)]


def test_a_module_that_starts_a_thread_is_not_forked(write: Write, nodes: Path, start: Start) -> None:
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    (nodes / "shared.py").write_text(thread + SHARED)
    running = start(talkers(write, "one", "two"))
    running.graph.wait_ready(PATIENCE_S)
    wait_until(lambda: all(said(running.lines, label, "ready") for label in ("one", "two")))
    assert said(running.lines, "one", "module") == [f"__main__ False parent {os.getpid()}"]


def test_a_module_that_cannot_be_imported_says_why_in_its_own_node(write: Write, nodes: Path, start: Start) -> None:
    (nodes / "broken.py").write_text("import no_such_module_at_all\n")
    setup = nodes.parent / "setup.cfg"
    setup.write_text(setup.read_text() + "    broken = launch_test_nodes.broken:main\n")
    path = write(
        """
        - node: {pkg: launch_test, exec: broken, name: broken}
        - node: {pkg: launch_test, exec: talker, name: two, output: screen}
        """
    )
    running = start(path)
    wait_until(lambda: said(running.lines, "two", "ready"))
    wait_until(lambda: "[broken] ended with status 1" in running.lines)
    assert "[broken] ModuleNotFoundError: No module named 'no_such_module_at_all'" in running.lines


def test_a_graph_can_be_closed_while_modules_are_imported(write: Write, nodes: Path, start: Start) -> None:
    (nodes / "shared.py").write_text("import time\ntime.sleep(600)\n")
    running = start(talkers(write, "one", "two"))
    server = server_of(running)
    began = time.monotonic()
    running.graph.close()
    assert time.monotonic() - began < PATIENCE_S
    assert not alive(server)
    assert running.lines == []


def test_nothing_is_left_of_forked_nodes_when_the_launcher_is_killed(write: Write, nodes: Path) -> None:
    path = talkers(write, "one", "two", more=", respawn: true")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "ROS_DOMAIN_ID": "81"}
    command = [sys.executable, "-m", "rclpy_zenoh.launch", str(path), "--router-port", "0"]
    process = subprocess.Popen(command, env=environment, text=True, stderr=subprocess.PIPE)
    assert process.stderr is not None
    parents = []
    while len(parents) < 2:
        parents += [int(line.split()[-1]) for line in [process.stderr.readline()] if " parent " in line]
    (server,) = set(parents)
    entries = Path(f"/proc/{server}/environ").read_text().split("\0")
    mark = next(entry for entry in entries if entry.startswith(guard.VARIABLE)).partition("=")[2]
    assert len(guard.members(mark)) == 4
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    wait_until(lambda: not guard.members(mark))
    assert not alive(server)


def test_without_forking_every_node_is_a_program_of_its_own(write: Write, nodes: Path) -> None:
    from rclpy_zenoh.launch import launch

    lines: list[str] = []
    with launch(talkers(write, "one", "two"), domain=82, router_port=0, sink=lines.append, forked=False) as graph:
        graph.wait_ready(PATIENCE_S)
        wait_until(lambda: said(lines, "one", "ready"))
        assert LABEL not in [row.label for row in graph.usage()]
    assert said(lines, "one", "module") == [f"__main__ False parent {os.getpid()}"]
