"""A graph that somebody has started: used where it is what was asked for, left alone where it is not."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rclpy_zenoh.launch import LaunchedGraph
from tests.toolhand.blocks import SCENE, write_blocks
from toolhand.agent_node.memory_file import FOLDER
from toolhand.cli import main as cli
from toolhand.sim.objects.folders import OBJECTS_PATH
from toolhand.sim.ros.graph import started_graph
from toolhand.sim.ros.station import RemoteWorld
from toolhand.sim.scene.files import scene_yaml
from toolhand.sim.scene.generator import generate_scene
from toolhand.tool_nodes.ros.link import RosLink

ROOT = Path(__file__).parents[3]
NONSENSE = "pick up the moon"
"""Refused after a look; nothing moves."""


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LaunchedGraph, Path]]:
    """(graph, its folder of runs): not as anything is by default."""
    runs = tmp_path_factory.mktemp("runs")
    arguments = {"scene": "3", "perception": "pixels", "sensor": "ideal", "lockstep": "true", "runs_dir": str(runs)}
    with started_graph(arguments) as graph:
        yield graph, runs


@pytest.fixture
def beside(stranger: tuple[LaunchedGraph, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stranger's folder of runs; this process is on the stranger's domain, in a folder of its own."""
    for name, value in stranger[0].environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return stranger[1]


def reports(runs: Path) -> list[Path]:
    """Folders of runs, beside what the graph remembers."""
    return [folder for folder in runs.iterdir() if folder.name != FOLDER]


def run(*options: str) -> int:
    return cli._run_command(["run", NONSENSE, "--transport", "ros", "--no-animation", *options], False)


@pytest.mark.parametrize(
    ("options", "asked", "there"),
    [
        (("--scene", "example"), "scene example", "scene 3"),
        (("--scene", "4"), "scene 4", "scene 3"),
        (("--robot", "jaco2_j2s7s300"), "robot jaco2_j2s7s300", "robot gen3"),
        (("--perception", "sim"), "perception sim", "perception pixels"),
        (("--pointer", "sim"), "pointer sim", "pointer pixels"),
        (("--sensor", "stereo"), "sensor stereo", "sensor ideal"),
        (("--seed", "1"), "seed 1", "seed 0"),
        (("--objects", "generated"), "objects generated", "no objects"),
        (("--suite", "all"), "suite all", "suite spacetools"),
        (("--turns", "5"), "turns 5", "turns 24"),
        (("--runs-dir", "mine"), "runs_dir mine", "runs_dir /"),
        (
            ("--scene", "example", "--robot", "gen3", "--perception", "sim"),
            "scene example and perception sim",
            "scene 3 and perception pixels",
        ),
    ],
)
def test_a_graph_that_is_not_what_was_asked_for_is_left_alone(
    options: tuple[str, ...], asked: str, there: str, beside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*options) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"INVALID_ARGUMENT: You asked for {asked}, but the graph that runs on ROS domain ")
    assert f" has {there}" in line
    assert line.endswith("or give --own-graph for a graph of your own.")
    assert not reports(beside)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--scene", "3"),
        ("--scene", "my.yaml"),
        ("--robot", str(ROOT / "urdf" / "gen3_robotiq_2f_85")),
        ("--robot", "./Größe (v2)"),
        ("--perception", "pixels", "--segmenter", "pixels+drawings", "--seed", "0"),
        ("--sensor", "ideal", "--planner", "embedded"),
        ("--turns", "24", "--policy", "scripted", "--suite", "spacetools"),
    ],
)
def test_a_graph_that_is_what_was_asked_for_is_used_and_named(
    options: tuple[str, ...], beside: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my.yaml").write_text(scene_yaml(generate_scene(3)))
    shutil.copytree(ROOT / "urdf" / "gen3_robotiq_2f_85", tmp_path / "Größe (v2)")
    assert run(*options) == 1
    told = capsys.readouterr()
    shown = told.err
    assert "as it was started: scene 3, robot gen3, perception pixels, seed 0, policy scripted, approval auto." in shown
    assert "NOT_RECOGNISED" in told.out
    (folder,) = reports(beside)
    shutil.rmtree(folder)


def test_two_graphs_of_ones_own_at_once_leave_each_other_and_a_third_alone(
    stranger: tuple[LaunchedGraph, Path], beside: Path, tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "toolhand", "run", "--transport", "ros", "--own-graph", "--scene", "alone.yaml"]
    words += ["--no-animation"]
    with RosLink(stranger[0].environment) as link:
        before = RemoteWorld(link).truth()
        names = ["red box", "cinnamon"]
        folders = [tmp_path / name for name in names]
        started = []
        for name, folder in zip(names, folders, strict=True):
            folder.mkdir()
            (folder / "alone.yaml").write_text(f"objects:\n  - {{name: {name}, position: [0.45, 0.1]}}\n")
            said = [*words, f"pick up the {name}"]
            started.append(subprocess.Popen(said, cwd=folder, stderr=subprocess.PIPE, text=True))
        for process, folder in zip(started, folders, strict=True):
            _, shown = process.communicate()
            assert process.returncode == 0, shown
            assert "Started a graph of" in shown
            (run_dir,) = (folder / "runs").iterdir()
            result = json.loads((run_dir / "result.json").read_text())
            assert (Path(result["scene"]).name, result["truth"]["picked"]) == ("alone.yaml", True)
        assert RemoteWorld(link).truth() == before
    assert not reports(beside)


def test_a_graph_is_started_with_the_folder_and_its_perception_knows_the_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(OBJECTS_PATH, "")  # which is put back as it was
    monkeypatch.chdir(tmp_path)
    write_blocks(tmp_path / "My_Things")
    (tmp_path / "scene.yaml").write_text(SCENE, encoding="utf-8")
    options = ("--scene", "scene.yaml", "--objects", "My_Things", "--transport", "ros", "--own-graph", "--no-animation")
    assert cli._run_command(["run", "pick up the brick", *options, "--json"], True) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["truth"]["picked"]
    assert document["objects"] == "My_Things"


def test_an_own_graph_is_for_the_transport_ros(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli._run_command(["run", NONSENSE, "--own-graph"], False) == 2
    assert "--own-graph is for --transport ros." in capsys.readouterr().err


def test_make_run_starts_a_graph_of_its_own() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\nrun:")[2].partition("\n\n")[0]
    assert '$(BIN)/toolhand run "$$TASK" --transport ros --own-graph' in recipe
