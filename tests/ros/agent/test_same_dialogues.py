"""The same conversations in process, over MCP and over ROS end the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.ros.agent.conftest import DOMAIN
from toolhand.agent_node.dialogue.skills import SUITES
from toolhand.agent_node.events import ignore
from toolhand.agent_node.ros import record
from toolhand.agent_node.ros.operator import Operator
from toolhand.bench.dialogue.conversation import TalkedTo
from toolhand.bench.dialogue.ways import InProcess, OverMcp, OverRos, Speaker, SpokenTo, Told, over_mcp
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.ros.link import RosLink

SCENE = """
objects:
  - {name: toy block, position: [0.42, 0.12], yaw_deg: 20}
  - {name: red box, position: [0.50, -0.15]}
  - {name: red box, position: [0.42, 0.30]}
"""
TIE = ["what do you see?", "pick up the red box", "the left one", "what are you holding?", "undo", "why not?"]
SEQUENCE = [
    "put the toy block behind the left red box ; pick up the unicorn",
    "go on",
    "why not?",
    "skip it",
    "what a lovely day",
]


def station() -> Station:
    return Station(parse_scene(SCENE), StationConfig(sleep=True))


def held(speaker: Speaker, at: Station) -> tuple[list[Told], dict[str, np.ndarray]]:
    """Everything that is said to the end, and where the objects then stand."""
    told = [speaker.say(words) for words in TIE + SEQUENCE]
    return told, {name: np.array(each.position_m) for name, each in at.world.snapshot().objects.items()}


def test_a_tie_an_undo_a_broken_sequence_and_questions_are_the_same_in_process_over_mcp_and_over_ros(
    agent: Callable[..., Any], router: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_THERE_S", 0.0)  # this graph has none of the nodes whose settings are noted
    here, behind_server, behind_node = station(), station(), station()
    told, stood = held(InProcess(TalkedTo(here)), here)
    codes = [each.code for each in told]
    assert codes[:6] == ["", "AMBIGUOUS", "", "", "", ""]
    assert codes[6] == "OBJECT_NOT_FOUND"
    assert told[2].commands != (TIE[2],), "the command is whole"
    assert len(told[6].commands) == 2

    with over_mcp(SpokenTo(behind_server)) as client:
        assert isinstance(client, OverMcp)
        told_over_mcp, stood_over_mcp = held(client, behind_server)

    agent(lambda *_: behind_node.new_toolbox(SUITES))
    with RosLink({"RCLPY_ZENOH_ROUTER": router, "ROS_DOMAIN_ID": str(DOMAIN)}) as link:
        told_over_ros, stood_over_ros = held(OverRos(Operator(link, ignore, session="one")), behind_node)

    assert told_over_mcp == told
    assert told_over_ros == told
    for other in (stood_over_mcp, stood_over_ros):
        assert {name: bool(np.linalg.norm(at - other[name]) < 1e-3) for name, at in stood.items()} == dict.fromkeys(
            stood, True
        )
