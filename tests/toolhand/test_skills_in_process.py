"""Commands after skills, in one process: a skill leaves the arm where it is, and the next command begins at home."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from toolhand.agent_node.console.narration import Narrator
from toolhand.agent_node.console.terminal import Interrupt
from toolhand.agent_node.dialogue.acts import SkillAct
from toolhand.agent_node.dialogue.skills import SUITES, skill_policy
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.protocol import load_protocol
from toolhand.agent_node.session import SessionCommand
from toolhand.cli.run_command import RunCommand
from toolhand.cli.run_in_process import ProcessSession


def test_a_command_after_a_skill_begins_at_the_park_position(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = RunCommand("", scene="3", runs_dir=tmp_path, animation=False)
    interrupt = Interrupt()
    session = ProcessSession(command, Narrator(), interrupt)
    station = session.station
    park = station.robot.park
    with interrupt:
        skill = skill_policy(SkillAct("point_at", "the honey"), RobotMemory(), load_protocol("spacetools"))
        pointed, _ = session.carry_out(
            SessionCommand("point at the honey", skill, suites=SUITES), {}, session.sentence("point at the honey")
        )
        assert pointed.success, pointed.answer
        assert np.abs(station.robot.nearest_turn(park, station.arm.state().q) - station.arm.state().q).max() > 0.1
        picked, result = session.carry_out(
            SessionCommand("pick up the honey"), {}, session.sentence("pick up the honey")
        )
    assert picked.success, picked.answer
    assert result["truth"]["picked"]
    assert station.manipulator.holds() == "honey"
