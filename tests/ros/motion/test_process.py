"""The node as a process: how it starts, what it is called, how it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from std_srvs.srv import Trigger

from rclpy_zenoh import overlay

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0


def start(environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    paths = os.pathsep.join(map(str, (Path(overlay.__file__).parents[1], ROOT)))
    return subprocess.Popen(
        [sys.executable, "-m", "rclpy_zenoh.run", "toolhand.tool_nodes.nodes.motion_node", "--ros-args", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        cwd=ROOT,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("seed", "-1"), ("gripper_action", "Hand"), ("stop_deadline_s", "0"), ("still_velocity", "-1.0")],
)
def test_a_bad_parameter_ends_it_with_one_sentence(router: str, name: str, value: str) -> None:
    process = start({"RCLPY_ZENOH_ROUTER": router, "ROS_DOMAIN_ID": "231"}, "-p", f"{name}:={value}")
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2, errors
    (line,) = [line for line in errors.splitlines() if line and not line.startswith("[")]
    assert name in line


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    """Killed at the end, if they still run."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.wait(PATIENCE_S)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_launched_node_has_two_names_and_ends_quietly(
    make_cell: Any, processes: list[Any], ending: signal.Signals
) -> None:
    cell = make_cell()
    process = start(cell.environment, "-r", "__node:=hand", "-r", "__ns:=/left", "-p", "availability_deadline_s:=1.0")
    processes.append(process)
    names = {"/left/hand", "/left/hand_stop"}
    cell.wait(lambda: names <= set(cell.operator.get_fully_qualified_node_names()), "both nodes")
    services = {"/left/stop", "/left/reset_stop", "/left/execute_grasp_once", "/left/place_once"}
    cell.wait(lambda: services <= {name for name, _ in cell.operator.get_service_names_and_types()}, "services")
    parked = cell.call(Trigger, "/left/return_to_park")  # answered by the executor, so it spins
    assert not parked.success
    assert "No joint states" in parked.message
    process.send_signal(ending)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
