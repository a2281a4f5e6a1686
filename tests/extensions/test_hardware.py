"""A sensor, a planner, a camera and an arm of another package, as docs/guides/sensor.md and camera.md say."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rclpy_zenoh import overlay
from rclpy_zenoh.wire import start_router
from tests.extensions.package import ROOT, Package, install_guide, promised

QUIET = ("--no-animation", "--json")
PICTURE = ("call", "robot.get_depth", "--scene", "3")
PATIENCE_S = 60.0
"""A bound against hanging, not a promise."""
CALL = ("ros", "service", "call", "--timeout", f"{PATIENCE_S:g}")
"""The service is waited for as long as a node needs to start on a busy machine."""


def test_a_sensor_of_another_package_is_named_on_the_command_line(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "sensor")
    assert promised("sensor") == f"{package.files} file, {package.lines // 2} line each"
    ended = [package.toolhand(*PICTURE, *words) for words in ((), ("--sensor", "short_range"))]
    assert [one.returncode for one in ended] == [0, 0]
    assert ended[0].stdout != ended[1].stdout
    wrong = package.toolhand(*PICTURE, "--sensor", "short_rang")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "There is no sensor 'short_rang': it must be azure_kinect or clean or hard or ideal" in wrong.stderr


def test_a_planner_of_another_package_moves_the_robot(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "sensor")
    (package.work / "alone.yaml").write_text("objects:\n  - {name: red box, position: [0.45, 0.1]}\n")
    results = []
    for words in ((), ("--planner", "unhurried")):
        ended = package.toolhand("run", "Pick up the red box", "--scene", "alone.yaml", *QUIET, *words)
        assert ended.returncode == 0, ended.stderr
        results.append(json.loads(ended.stdout))
    assert all(result["truth"]["picked"] for result in results)
    assert results[1]["ports"]["planner"] == "unhurried"
    assert results[1]["sim_time_s"] > 1.2 * results[0]["sim_time_s"]


@pytest.fixture
def router(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    process = start_router()
    monkeypatch.setenv("RCLPY_ZENOH_ROUTER", process.endpoint)
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    yield
    process.close()


@contextlib.contextmanager
def node(package: Package, name: str, *parameters: str) -> Iterator[subprocess.Popen[str]]:
    """A node of the graph in a process that finds the package."""
    paths = map(str, (package.folder, Path(overlay.__file__).parents[1], ROOT))
    words = [word for parameter in parameters for word in ("-p", parameter)]
    process = subprocess.Popen(
        [sys.executable, "-m", "rclpy_zenoh.run", f"tool_nodes.nodes.{name}_node", "--ros-args", *words],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.usefixtures("router")
def test_a_camera_of_another_package_is_what_the_camera_node_looks_through(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "camera")
    assert promised("camera") == f"{package.files} file, {package.lines // 2} line each"
    with node(package, "camera", "scene.camera:=wall"):
        asked = (*CALL, "/capture_image", "toolhand_interfaces/srv/CaptureImage", "{camera: scene}")
        ended = package.toolhand(*asked, timeout_s=2 * PATIENCE_S)
    assert ended.returncode == 0, ended.stderr
    assert "320x240" in ended.stdout
    with node(package, "camera", "wrist.camera:=hall") as process:
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert "There is no camera 'hall': it must be camera_node or recorded or topics or wall or zed." in errors


@pytest.mark.usefixtures("router")
def test_an_arm_of_another_package_is_what_the_motion_node_moves(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "camera")
    with node(package, "motion", "arm:=braked", "scene.camera:=wall", "availability_deadline_s:=1.0"):
        ended = package.toolhand(*CALL, "/return_to_park", "std_srvs/srv/Trigger", timeout_s=2 * PATIENCE_S)
    assert "No joint states came within 5 s." in ended.stdout
    for arm, why in (("sim", "cannot be used here, where there is no world for it"), ("breaked", "There is no arm")):
        with node(package, "motion", f"arm:={arm}") as process:
            _, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 2
        assert why in errors
