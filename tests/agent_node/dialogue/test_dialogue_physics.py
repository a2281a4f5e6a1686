"""A dialogue with a simulated arm: what is undone stands where it stood."""

import numpy as np
import pytest

from toolhand.agent_node.agent import Agent
from toolhand.agent_node.dialogue.dialogue import Dialogue
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import Policy
from toolhand.sim.scene.files import named_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.language.speeds import SLOWLY
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray

BACK_M = 0.01
"""What is put back stands so near to where it stood [m]."""


class Table:
    """A station, a dialogue, and where its objects are."""

    def __init__(self, perception: str) -> None:
        self.station = Station(named_scene("57"), StationConfig(perception=perception))
        own = ScriptedPolicy()

        def run(sentence: str, policy: Policy | None, memory: str) -> Episode:
            return Agent(policy or own, self.station.toolbox).run(sentence, memory=memory)

        self.dialogue = Dialogue(run)

    def at(self, name: str) -> np.ndarray:
        return np.array(self.station.world.snapshot().objects[name].position_m)

    def say(self, words: str) -> str:
        turn = self.dialogue.say(words)
        assert turn.success, turn.answer
        return turn.answer


def test_what_was_placed_is_put_back_where_it_stood() -> None:
    table = Table("pixels")
    before = table.at("bunny_1")
    table.say("put the bunny in front of the bowl")
    assert np.linalg.norm(table.at("bunny_1") - before) > 0.1
    assert table.say("undo") == "I have put the bunny back where it stood."
    assert np.linalg.norm(table.at("bunny_1")[:2] - before[:2]) < BACK_M


def test_one_of_two_is_chosen_taken_and_put_back() -> None:
    table = Table("sim")
    blocks = [name for name in table.station.world.snapshot().objects if "block" in name]
    before = {name: table.at(name) for name in blocks}
    asked = table.dialogue.say("pick up the block")
    assert asked.question is not None
    table.say("choose number 1")
    left = min(blocks, key=lambda name: before[name][1])
    assert table.at(left)[2] > before[left][2] + 0.05
    table.say("put it where it was")
    for name in blocks:
        assert np.linalg.norm(table.at(name) - before[name]) < BACK_M


class Stopwatch:
    """Fastest joint of every trajectory that an arm follows, as a share of its limit."""

    def __init__(self, station: Station) -> None:
        self.shares: list[float] = []
        arm, follow = station.arm, station.arm.follow

        def watched(trajectory: object) -> object:
            points: FloatArray = trajectory.q  # type: ignore[attr-defined]
            times: FloatArray = trajectory.t  # type: ignore[attr-defined]
            speeds = np.abs(np.diff(points, axis=0)) / np.diff(times)[:, None]
            self.shares.append(float((speeds / station.robot.velocity).max()))
            return follow(trajectory)  # type: ignore[arg-type]

        arm.follow = watched  # type: ignore[method-assign, assignment]


def test_every_motion_of_a_slow_pick_and_place_is_slow_and_the_next_is_not() -> None:
    station = Station(named_scene("57"), StationConfig(sleep=True))
    watch = Stopwatch(station)
    episode = Agent(ScriptedPolicy(), station.toolbox).run("slowly put the bunny in front of the bowl")
    assert episode.success, episode.answer
    assert "I moved at 0.3 of the allowed speed" in episode.answer
    assert len(watch.shares) >= 5
    assert max(watch.shares) <= SLOWLY + 1e-6
    watch.shares.clear()
    assert Agent(ScriptedPolicy(), station.toolbox).run("pick up the bunny").success
    assert max(watch.shares) > 2 * SLOWLY


def test_a_speed_outside_of_the_allowed_one_is_refused_before_anything_moves() -> None:
    station = Station(named_scene("57"), StationConfig(sleep=True))
    station.arm.first_motion_at = None
    with pytest.raises(ToolError) as error:
        station.manipulator.grasp(np.eye(4), station.manipulator._camera.capture(), speed=1.5)
    assert error.value.code is ErrorCode.INVALID_ARGUMENT
    assert station.arm.first_motion_at is None
