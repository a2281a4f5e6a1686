"""The package that `ros2 launch` uses: its table of executables, what it installs, and the launch files themselves."""

import importlib.util
import os
import re
from pathlib import Path

import pytest
import yaml

from rclpy_zenoh.launch import declared_arguments, launch, read_plan
from rclpy_zenoh.launch.packages import executable, share_folder

ROOT = Path(__file__).parents[3]
BRINGUP = share_folder("toolhand_bringup")
ARGUMENTS = {"tools.launch.yaml": {"params": "x"}}


@pytest.fixture
def distribution(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """What setup.py declares; nothing is built."""
    pytest.importorskip("setuptools")
    from distutils.core import run_setup

    monkeypatch.chdir(BRINGUP)
    return run_setup("setup.py", stop_after="commandline")


def scripts() -> dict[str, str]:
    text = (BRINGUP / "setup.cfg").read_text()
    return dict(re.findall(r"^ +(\w+) = ([\w.]+):main$", text, re.MULTILINE))


@pytest.mark.parametrize(("name", "module"), scripts().items())
def test_every_executable_is_a_program_with_a_main(name: str, module: str) -> None:
    command, python_path = executable("toolhand_bringup", name)
    assert command[-1] == module
    assert str(ROOT) in python_path
    source = Path(importlib.util.find_spec(module).origin).read_text(encoding="utf-8")
    assert re.search(r"^def main\(", source, re.MULTILINE)
    assert 'if __name__ == "__main__":\n    main()' in source


def test_launch_files_parameters_and_robot_are_installed(distribution) -> None:  # type: ignore[no-untyped-def]
    installed = {f"{folder}/{Path(file).name}" for folder, files in distribution.data_files for file in files}
    share = "share/toolhand_bringup"
    for pattern in ("launch/*.launch.yaml", "launch/params/*.yaml", "urdf/*/*.urdf", "urdf/*/*.yaml"):
        assert list(ROOT.glob(pattern))
        for file in ROOT.glob(pattern):
            assert f"{share}/{file.relative_to(ROOT)}" in installed
    assert f"{share}/package.xml" in installed
    assert "share/ament_index/resource_index/packages/toolhand_bringup" in installed
    assert all(os.path.isfile(BRINGUP / file) for _, files in distribution.data_files for file in files)


@pytest.mark.parametrize("name", ["sim.launch.yaml", "kinova.launch.yaml", "isaac.launch.yaml"])
def test_every_node_of_a_launch_file_has_a_name_and_comes_from_this_package(name: str) -> None:
    nodes = read_plan(ROOT / "launch" / name, {}).processes
    tools = {
        "camera",
        "pointing",
        "segmentation",
        "depth",
        "bounding_box",
        "grasping",
        "text_reading",
        "code_executor",
        "motion",
        "agent",
    }
    assert {node.label for node in nodes} == tools | ({"sim"} if name.startswith("sim") else set())
    assert all(node.node == f"/{node.label}" and node.command[4] in scripts().values() for node in nodes)


def test_a_seed_as_scene_stays_text() -> None:
    (sim, *_) = read_plan(ROOT / "launch" / "sim.launch.yaml", {"scene": "3", "seed": "7"}).processes
    assert 'scene:="3"' in sim.command
    assert "seed:=7" in sim.command


def test_topics_of_the_real_cameras_can_be_chosen() -> None:
    arguments = {"scene_image": "/overhead/image", "wrist_depth": "/hand/depth"}
    nodes = {node.label: node for node in read_plan(ROOT / "launch" / "kinova.launch.yaml", arguments).processes}
    for name in ("camera", "motion"):
        assert 'scene.image_topic:="/overhead/image"' in nodes[name].command
        assert 'scene.depth_topic:=""' in nodes[name].command
    assert 'wrist.depth_topic:="/hand/depth"' in nodes["camera"].command
    assert 'perception:="pixels"' in nodes["pointing"].command
    assert "use_sim_time:=false" in nodes["motion"].command


@pytest.mark.parametrize("name", ["sim.launch.yaml", "kinova.launch.yaml", "isaac.launch.yaml"])
def test_each_port_has_an_argument_that_takes_any_name(name: str) -> None:
    served_by = {
        "pointer": {"pointing"},
        "detector": {"pointing", "segmentation"},
        "segmenter": {"segmentation"},
        "depth": {"depth"},
        "reader": {"text_reading"},
        "grasps": {"grasping"},
    }
    arguments = {port: f"my_{port}" for port in served_by} | {"perception": "mine"}
    nodes = {node.label: node for node in read_plan(ROOT / "launch" / name, arguments).processes}
    for port, labels in served_by.items():
        assert {label for label, node in nodes.items() if f'{port}:="my_{port}"' in node.command} == labels
        assert all('perception:="mine"' in nodes[label].command for label in labels)


@pytest.mark.parametrize("name", ["sim.launch.yaml", "kinova.launch.yaml", "isaac.launch.yaml"])
def test_one_argument_chooses_the_names_of_an_old_zed_everywhere(name: str) -> None:
    nodes = {node.label: node for node in read_plan(ROOT / "launch" / name, {"zed_names": "old"}).processes}
    for looks in {"camera", "motion", "sim"} & nodes.keys():
        assert 'zed_names:="old"' in nodes[looks].command


def test_one_argument_chooses_the_driver_whose_topics_a_camera_has() -> None:
    said = {"scene_driver": "realsense", "wrist_driver": "realsense"}
    nodes = {node.label: node for node in read_plan(ROOT / "launch" / "kinova.launch.yaml", said).processes}
    for looks in ("camera", "motion"):
        assert 'scene.driver:="realsense"' in nodes[looks].command
    assert 'wrist.driver:="realsense"' in nodes["camera"].command


def test_that_an_image_is_raw_is_said_to_all_that_look() -> None:
    said = {"scene_image_is": "raw", "wrist_image_is": "rectified"}
    nodes = {node.label: node for node in read_plan(ROOT / "launch" / "kinova.launch.yaml", said).processes}
    for looks in ("camera", "motion"):
        assert 'scene.image_is:="raw"' in nodes[looks].command
    assert 'wrist.image_is:="rectified"' in nodes["camera"].command


def test_only_beside_a_real_arm_the_wrist_cameras_mount_is_published() -> None:
    for name, published in (("sim.launch.yaml", False), ("kinova.launch.yaml", True)):
        (camera,) = (node for node in read_plan(ROOT / "launch" / name, {}).processes if node.label == "camera")
        assert ('wrist_mount:=""' in camera.command) is not published


@pytest.mark.parametrize("file", sorted((ROOT / "launch").glob("*.launch.yaml")), ids=lambda file: file.name)
def test_every_argument_without_a_plain_name_is_described(file: Path) -> None:
    arguments = declared_arguments(file)
    assert arguments
    for argument in arguments:
        assert argument.description or "/" in (argument.default or "")


@pytest.mark.parametrize("file", sorted((ROOT / "launch").glob("params/*.yaml")), ids=lambda file: file.name)
def test_parameter_files_are_those_of_ros(file: Path) -> None:
    nodes = yaml.safe_load(file.read_text())
    assert nodes
    for node, entry in nodes.items():
        assert isinstance(node, str)
        assert set(entry) == {"ros__parameters"}


@pytest.mark.parametrize("name", ["sim.launch.yaml", "kinova.launch.yaml", "isaac.launch.yaml"])
def test_a_console_comes_with_the_graph_that_asks_for_it(name: str) -> None:
    file = ROOT / "launch" / name
    without = {process.label for process in read_plan(file, {}).processes}
    asked = read_plan(file, {"console": "true", "runs_dir": "my runs"}).processes
    (console,) = [process for process in asked if process.label not in without]
    at = console.command.index("toolhand.cli.console")
    assert console.command[at + 1 : at + 3] == ("--runs-dir", "my runs")


def test_the_console_that_a_graph_starts_ends_in_a_sentence_where_it_cannot_serve(tmp_path: Path) -> None:
    consoles = "".join(
        f'  - node: {{pkg: toolhand_bringup, exec: console, output: screen, args: "--key {key}.pem"}}\n'
        for key in ("no", "none")
    )
    (file := tmp_path / "test.launch.yaml").write_text(f"launch:\n{consoles}")  # two, because one alone is not forked
    lines: list[str] = []
    with launch(file, domain=83, router_port=0, sink=lines.append) as graph:
        end = graph.wait(60.0)
    assert end is not None
    assert end.status != 0
    said = [line for line in lines if not re.search(r"\] ended with status [12]$", line)]
    assert len(said) == 2
    assert all(re.search(r"\] (INVALID_ARGUMENT: --key names|UNAVAILABLE: The console needs) ", line) for line in said)
