"""Skills said in words: done by fixed calls, and judged by the simulator's state."""

import numpy as np
import pytest

from tests.stations import FAST
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.dialogue.acts import SkillAct
from toolhand.agent_node.dialogue.skills import SUITES, skill_policy
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.memory import DoneDeed, RobotMemory
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import only_answers
from toolhand.agent_node.protocol import load_protocol
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationState
from toolhand.tool_nodes.results import ErrorCode

SCENE = parse_scene("""
objects:
  - {name: toy block, position: [0.42, 0.12]}
  - {name: red box, position: [0.50, -0.15]}
""")
HELD = RobotMemory([DoneDeed("pick up the toy block", "pick", "toy block")])


@pytest.fixture(scope="module")
def holding() -> tuple[Station, StationState]:
    station = Station(SCENE, FAST)
    assert Agent(ScriptedPolicy(), station.toolbox).run("pick up the toy block").success
    return station, station.save()


@pytest.fixture
def full(holding: tuple[Station, StationState]) -> Station:
    station, state = holding
    station.restore(state)
    return station


@pytest.fixture
def empty(holding: tuple[Station, StationState]) -> Station:
    station, _ = holding
    station.reset(0)
    return station


def asked(station: Station, name: str, item: str = "", speed: float = 1.0, held: bool = False) -> Episode:
    policy = skill_policy(SkillAct(name, item, speed), HELD if held else RobotMemory(), load_protocol("spacetools"))
    return Agent(policy, station.new_toolbox(SUITES)).run("a skill")


SKILLS = (
    "open_gripper", "close_gripper", "park", "lift_a_little", "hold_low", "point_at", "hand_over", "upright",
    "look_again", "hold_still",
)  # fmt: skip


def test_every_skill_is_known(empty: Station) -> None:
    for name in SKILLS:
        assert asked(empty, name, "the red box").error_code is not ErrorCode.INTERNAL


def test_the_gripper_and_the_arm_do_what_was_said(empty: Station) -> None:
    assert asked(empty, "close_gripper").success
    assert empty.world.opening_m < 0.002
    assert asked(empty, "open_gripper").success
    assert empty.world.opening_m > 0.08
    pointed = asked(empty, "point_at", "the red box", speed=0.3)
    assert pointed.success, pointed.answer
    assert pointed.answer == "I point at the red box from above."
    assert [record.arguments["speed"] for record in pointed.records if record.motion] == [0.3]
    tip = empty.manipulator._kinematics.fk(empty.arm.state().q)[:3, 3]
    assert np.hypot(*(tip[:2] - (0.50, -0.15))) < 0.05
    assert empty.world.snapshot().objects["red_box_1"].touching == {"table"}
    assert asked(empty, "lift_a_little").answer == "The gripper is 5.0 cm higher."
    assert asked(empty, "park").success


def test_what_needs_a_full_hand_says_how_to_fill_it(empty: Station) -> None:
    for name in ("hand_over", "upright"):
        episode = asked(empty, name, "the toy block")
        assert episode.error_code is ErrorCode.NOT_HOLDING
        assert '"pick up the toy block"' in episode.answer
        assert not any(record.motion for record in episode.records)


def test_another_object_in_the_hand_is_not_handed_over(full: Station) -> None:
    episode = asked(full, "hand_over", "the red box", held=True)
    assert episode.error_code is ErrorCode.ALREADY_HOLDING
    assert "I hold the toy block" in episode.answer


def test_what_would_fall_is_not_let_go(full: Station) -> None:
    episode = asked(full, "open_gripper", held=True)
    assert episode.error_code is ErrorCode.ALREADY_HOLDING
    assert full.world.snapshot().objects["toy_block_1"].touching == {"gripper"}


def test_what_is_put_upright_stands_on_the_table(full: Station) -> None:
    episode = asked(full, "upright", "it", held=True)
    assert episode.success, episode.answer
    assert full.world.snapshot().objects["toy_block_1"].touching == {"table"}


def test_an_object_that_is_meant_by_two_is_asked_about(empty: Station) -> None:
    episode = asked(empty, "point_at", "things")
    assert episode.error_code is ErrorCode.AMBIGUOUS
    assert not any(record.motion for record in episode.records)


def test_to_hold_still_moves_nothing_and_to_look_again_takes_an_image(empty: Station) -> None:
    still = asked(empty, "hold_still")
    assert still.success
    assert not still.records
    again = asked(empty, "look_again")
    assert again.success
    assert [record.name for record in again.records] == ["robot.capture_image"]
    assert asked(empty, "look_again", "the red box").answer == "I have looked at the red box from the wrist."
    assert only_answers(skill_policy(SkillAct("hold_still"), HELD, load_protocol("spacetools")))


def test_what_is_held_low_is_a_little_above_where_it_stood(full: Station) -> None:
    episode = asked(full, "hold_low", "it", held=True)
    assert episode.success, episode.answer
    block = full.world.snapshot().objects["toy_block_1"]
    assert block.touching == {"gripper"}
    assert 0.02 < block.position_m[2] < 0.15
