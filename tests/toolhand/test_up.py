"""`toolhand up`: what it adds to the launcher of rclpy_zenoh."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from toolhand.up import main, next_steps


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
    assert "launch/sim.launch.yaml" in words
    assert "Space or s stops the arm (/stop), r allows motions again (/reset_stop)." in words
