"""The same sentences through every paper's protocol: the same calls, the same end."""

import functools

import pytest

from tests.stations import FAST
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.conversation_settings import TURN_BUDGET, ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.protocol import load_protocol, protocol_names
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station

PICK = "pick up the cinnamon"
PLACE = "pick up the cinnamon and place it in front of the rice box"
NOTHING_THERE = "put the violin in the black bin"
TWO_FIT = "pick up the can"
NO_COMMAND = "sing a song"
OTHERS = [name for name in protocol_names() if name != "spacetools"]


@functools.cache
def carried_out(name: str, sentence: str) -> Episode:
    protocol = load_protocol(name)
    station = Station(load_scene(EXAMPLE_SCENE), FAST)
    policy = ScriptedPolicy(max_turns=TURN_BUDGET, protocol=protocol)
    return Agent(policy, station.toolbox, ConversationSettings(protocol=protocol)).run(sentence)


def same(name: str, sentence: str) -> Episode:
    episode, paper = carried_out(name, sentence), carried_out("spacetools", sentence)
    assert [(r.name, r.arguments) for r in episode.records] == [(r.name, r.arguments) for r in paper.records]
    assert (episode.success, episode.error_code, episode.answer) == (paper.success, paper.error_code, paper.answer)
    return episode


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("sentence", [NOTHING_THERE, TWO_FIT, NO_COMMAND])
def test_a_sentence_that_ends_without_a_motion_ends_alike_in_every_protocol(name: str, sentence: str) -> None:
    assert not same(name, sentence).success


@pytest.mark.parametrize("name", OTHERS)
def test_a_pick_is_carried_out_in_every_protocol_with_the_same_calls(name: str) -> None:
    assert same(name, PICK).success


@pytest.mark.parametrize("name", ["peria"])
def test_a_placement_fits_into_24_turns_with_one_call_a_turn(name: str) -> None:
    episode = same(name, PLACE)
    assert episode.success
    assert len(carried_out("spacetools", PLACE).turns) < len(episode.turns) <= TURN_BUDGET * 2 // 3, "room for setbacks"
    assert all(len(turn.calls) <= 1 for turn in episode.turns)
