"""A graph is ready once its nodes have read their parameters; what no node reads is told."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from launch_support import PATIENCE_S, Start, Write, command_line

from rclpy_zenoh.launch import LaunchError

SLOW_READER = """
import sys, time
import rclpy

def main(args=None):
    rclpy.init(args=args)
    node = rclpy.create_node("unnamed")
    time.sleep(0.5)
    if node.declare_parameter("rate", 50.0).value < 0:
        print("rate must not be negative", flush=True)
        sys.exit(2)
    print("read", flush=True)
    rclpy.spin(node)

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def slow_reader(package: Path) -> None:
    """`talker` reads its parameters half a second after it is seen in the graph."""
    (package / "launch_test_nodes" / "talker.py").write_text(SLOW_READER)


@pytest.mark.usefixtures("slow_reader")
def test_a_graph_is_ready_once_its_nodes_have_read_their_parameters(write: Write, start: Start) -> None:
    running = start(write("- node: {pkg: launch_test, exec: talker, name: one, output: screen}"))
    running.graph.wait_ready(PATIENCE_S)
    assert "[one] read" in running.lines


@pytest.mark.usefixtures("slow_reader")
def test_a_node_that_ends_at_its_parameters_is_no_ready_graph(write: Write, start: Start) -> None:
    path = write("- node: {pkg: launch_test, exec: talker, name: one, param: [{name: rate, value: -1.0}]}")
    waited: list[list[str]] = []
    with pytest.raises(LaunchError, match=r"did not start: one ended with status 2: rate must not be negative"):
        start(path).graph.wait_ready(PATIENCE_S, on_missing=waited.append)


def test_a_node_without_services_of_parameters_is_ready_too(write: Write, package: Path, start: Start) -> None:
    talker = package / "launch_test_nodes" / "talker.py"
    talker.write_text(SLOW_READER.replace('"unnamed"', '"unnamed", start_parameter_services=False'))
    running = start(write("- node: {pkg: launch_test, exec: talker, name: one}"))
    assert running.graph.wait_ready(PATIENCE_S) > 0
    assert running.graph.without_effect() == []


PARAMETERS = """
/**:
  ros__parameters: {word: hello, nobodys: 1}
one:
  ros__parameters: {wrod: hi, qos_overrides: {"/x": {depth: 3}}, use_sim_time: false}
two:
  ros__parameters: {word: hi}
"""


def test_what_no_node_reads_of_its_parameters_is_told_by_name(
    write: Write, package: Path, tmp_path: Path, start: Start
) -> None:
    file, empty = tmp_path / "params.yaml", tmp_path / "empty.yaml"
    file.write_text(PARAMETERS)
    empty.write_text("# nothing yet\n")
    path = write(
        f"""
        - node:
            pkg: launch_test
            exec: talker
            name: one
            param: [{{from: {file}}}, {{from: {empty}}}, {{name: speed, value: 1}}, {{name: word, value: x}}]
        """
    )
    running = start(path)
    running.graph.wait_ready(PATIENCE_S)
    assert running.graph.without_effect() == [
        "The parameter 'speed' of the launch file has no effect: /one does not have it.",
        f"{file}: 'nobodys' has no effect: /one does not have such a parameter.",
        f"{file}: 'wrod' has no effect: /one does not have such a parameter. Is 'word' meant?",
        f"{file}: the section '/two' has no effect: no node that reads it has that name.",
        f"{empty} holds no parameters.",
    ]


def test_the_command_line_warns_of_parameters_before_it_says_that_the_graph_is_ready(
    write: Write, package: Path, tmp_path: Path
) -> None:
    (tmp_path / "params.yaml").write_text("one: {ros__parameters: {wrod: hi}}")
    path = write(f"- node: {{pkg: launch_test, exec: talker, name: one, param: [{{from: {tmp_path}/params.yaml}}]}}")
    process = command_line(str(path), "--router-port", "0")
    assert process.stderr is not None
    printed = []
    for line in process.stderr:
        printed.append(line.strip())
        if line.startswith("Ready after"):
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert printed[-2].startswith(f"Warning: {tmp_path}/params.yaml: 'wrod' has no effect")
