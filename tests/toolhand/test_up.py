"""`toolhand up`: what it adds to the launcher of rclpy_zenoh."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolhand.cli.up import main, next_steps


def graph(*labels: str) -> Any:
    return SimpleNamespace(labels=labels)


def test_an_agent_can_be_given_a_sentence_in_the_scene_of_the_launch() -> None:
    steps = next_steps(graph("router", "agent"), "ROS_DOMAIN_ID=3 ", {"scene": "my scene.yaml"})
    assert steps == [
        "toolhand scene 'my scene.yaml'    # what stands on the table",
        'ROS_DOMAIN_ID=3 toolhand run "pick up the ..." --transport ros',
        "ROS_DOMAIN_ID=3 toolhand ros node list",
    ]
    assert 'toolhand run "pick up the red box" --transport ros' in next_steps(graph("agent"), "", {})


def test_a_graph_without_an_agent_can_be_looked_into() -> None:
    assert next_steps(graph("router", "sim"), "", {}) == ["toolhand ros node list"]


def test_the_help_names_the_command_the_file_and_the_keys(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert words.startswith("usage: toolhand up")
    assert "or isaac, kinova, sim, tools" in words
    assert "Space or s stops the arm (/stop), r allows motions again (/reset_stop)." in words


@pytest.mark.parametrize("name", ["sim", "kinova"])
def test_a_launch_file_that_comes_along_is_known_by_its_name_in_any_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).mkdir()  # as the checkout has a folder sim
    monkeypatch.chdir(tmp_path)
    assert main([name, "--show-args"]) == 0
    assert "perception: Which backends" in capsys.readouterr().out


def test_without_a_launch_file_the_names_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err == "Name a launch file, isaac, kinova, sim, tools, or the path of one.\n"


@pytest.mark.parametrize("name", ["sin", "launch/sim.launch.yaml"])
def test_a_launch_file_that_is_none_is_told_with_the_names_that_there_are(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([name, "scene:=3"]) == 2
    said = capsys.readouterr().err
    assert said == f"There is no launch file {name!r}: give the path of one, or a name: isaac, kinova, sim, tools.\n"
