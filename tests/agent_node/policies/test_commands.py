"""Whole commands: what a server says works the arm's tools exactly as the same words from this process do."""

import json

import pytest

from toolhand.agent_node.agent import Agent
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.protocol import load_protocol
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.results import ErrorCode

TASK = "pick up the unicorn"


def toolbox():
    return Station(load_scene(EXAMPLE_SCENE), StationConfig(seed=1)).toolbox


@pytest.fixture(scope="module")
def scripted():
    """A command that looks, finds nothing and says so."""
    return Agent(ScriptedPolicy(), toolbox()).run(TASK)


def run(spec, name, quick):
    tools, protocol = toolbox(), load_protocol(name)
    return Agent(
        make_policy(spec, protocol, tools.schemas(), quick), tools, ConversationSettings(protocol=protocol)
    ).run(TASK)


def did(episode):
    return [(call.name, call.result.text) for turn in episode.turns for call in turn.calls]


def sent(name):
    return name.replace(".", "__")


def test_text_mode_gives_the_conversation_that_the_words_give_here(scripted, server, quick):
    server.will(*(server.completion(turn.text) for turn in scripted.turns))
    episode = run(f"openai:m@{server.url}/v1", "spacetools", quick)
    assert [message.text for message in episode.messages] == [message.text for message in scripted.messages]
    assert (episode.answer, episode.error_code) == (scripted.answer, scripted.error_code)
    assert did(episode)


def test_native_calls_do_what_written_calls_do(scripted, server, quick):
    def spoken(turn):
        calls = [
            {
                "id": "x",
                "type": "function",
                "function": {"name": sent(call.name), "arguments": json.dumps(call.arguments)},
            }
            for call in turn.parsed.calls
        ]
        words = turn.parsed.answer or turn.thought
        return server.completion(words, "tool_calls" if calls else "stop", message={"tool_calls": calls or None})

    server.will(*map(spoken, scripted.turns))
    episode = run(f"openai:m@{server.url}/v1", "native", quick)
    assert did(episode) == did(scripted)
    assert (episode.answer, episode.error_code) == (scripted.answer, scripted.error_code)
    assert {tool["function"]["name"] for tool in server.requests[0]["tools"]} >= {"robot__capture_image"}


def test_native_calls_of_anthropic_do_what_written_calls_do(scripted, server, quick):
    def spoken(turn):
        content = [{"type": "text", "text": turn.parsed.answer or turn.thought}]
        content += [
            {"type": "tool_use", "id": "x", "name": sent(call.name), "input": call.arguments}
            for call in turn.parsed.calls
        ]
        return server.json({"type": "message", "content": content, "stop_reason": "end_turn", "usage": {}})

    server.will(*map(spoken, scripted.turns))
    episode = run(f"anthropic:m@{server.url}", "native", quick)
    assert did(episode) == did(scripted)
    assert episode.answer == scripted.answer


def test_a_server_that_dies_in_a_command_ends_it_with_a_sentence_and_no_further_call(scripted, server, quick):
    server.will(server.completion(scripted.turns[0].text), server.hang_up)
    episode = run(f"openai:m@{server.url}/v1", "spacetools", quick)
    assert (episode.success, episode.error_code) == (False, ErrorCode.UNAVAILABLE)
    assert "The model server 127.0.0.1" in episode.answer
    assert did(episode) == did(scripted)[: len(scripted.turns[0].calls)]
