"""A dialogue with a simulated arm: what is undone stands where it stood."""

from __future__ import annotations

import numpy as np

from agent_node.agent import Agent
from agent_node.dialogue.dialogue import Dialogue
from agent_node.episode import Episode
from agent_node.policies.scripted.policy import ScriptedPolicy
from agent_node.policy import Policy
from sim.scene.files import named_scene
from sim.station import Station, StationConfig

BACK_M = 0.01
"""What is put back stands so near to where it stood [m]."""


class Table:
    """A station, a dialogue, and where its things are."""

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
    table.say("number 1")
    left = min(blocks, key=lambda name: before[name][1])
    assert table.at(left)[2] > before[left][2] + 0.05
    table.say("put it back")
    for name in blocks:
        assert np.linalg.norm(table.at(name) - before[name]) < BACK_M
