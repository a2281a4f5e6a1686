"""Native turns that go wrong: what the model reads of its own words, and of what was wrong with them."""

import json
from typing import Any

import pytest

from tests.agent_node.policies.conftest import FaultServer
from toolhand.agent_node.conversation import Conversation
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.episode import coded_answer
from toolhand.agent_node.policies.anthropic_messages import AnthropicMessages
from toolhand.agent_node.policies.openai_chat import OpenAIChat
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolResult
from toolhand.tool_nodes.toolbox.arguments import Unit
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool

NATIVE = ConversationSettings(protocol=load_protocol("native"))


class Pointing:
    @tool("test.point")
    def point(self, x: Unit, y: Unit) -> ToolResult:
        """Point there."""
        return ToolResult(text=f"Pointed at {x:g}, {y:g}.")


TOOLBOX = Toolbox([Pointing()])
NAME = "test__point"


def say(words: str | None, *calls: tuple[str, str], finish: str = "stop") -> Any:
    made = [
        {"id": f"c{k}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for k, (name, arguments) in enumerate(calls)
    ]
    return FaultServer.completion(words, finish, message={"tool_calls": made} if made else {})


BROKEN = [
    ("a bracket is missing", '{"x": 0.5, "y": 0.5', 'delimiter after {"x": 0.5, "y": 0.5'),
    ("a trailing comma", '{"x": 0.5, "y": 0.5,}', 'after {"x": 0.5, "y": 0.5,'),
    ("single quotes", "{'x': 0.5, 'y': 0.5}", "property name enclosed in double quotes after"),
    ("no comma", '{"x": 0.5 "y": 0.5}', '"x": 0.5'),
    ("no number", '{"x": NaN, "y": 0.5}', "NaN is not JSON"),
    ("a key twice", '{"x": 0.5, "x": 0.6}', "given twice"),
    ("words behind it", '{"x": 0.5, "y": 0.5} please', '"y": 0.5}'),
    ("a word", "left", "Expecting value at its beginning"),
    ("a list", "[0.5, 0.5]", "must be a JSON object"),
    ("a tag in it", '{"x": "</tool_call>"', "x"),
]


@pytest.mark.parametrize(("written", "fault"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_call_that_cannot_be_read_stays_as_it_was_written_beside_what_is_wrong(
    server: FaultServer, quick: PolicyOptions, api: str, written: str, fault: str
) -> None:
    policy = OpenAIChat("m", f"{server.url}/v1", NATIVE.protocol, TOOLBOX.schemas(), quick)
    reader = AnthropicMessages("m", server.url, NATIVE.protocol, TOOLBOX.schemas(), quick)
    done = server.json({"type": "message", "content": [], "stop_reason": "end_turn"})
    server.will(say("I point.", (NAME, written)), say("Done.") if api == "openai" else done)
    conversation = Conversation("Point.", TOOLBOX, NATIVE)
    conversation.step(policy.respond(conversation.messages))
    (policy if api == "openai" else reader).respond(conversation.messages)
    *_, assistant, result = server.requests[-1]["messages"]
    if api == "openai":
        (call,) = assistant["tool_calls"]
        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
        said, read = assistant["content"], result["content"]
        assert result["tool_call_id"] == call["id"]
    else:
        words, call = assistant["content"]
        name, arguments, said = call["name"], call["input"], words["text"]
        read = result["content"][0]["content"][0]["text"]
    assert (said, name, arguments) == ("I point.", NAME, {"malformed_call": written})
    assert read.startswith("Error INVALID_ARGUMENT: ")
    assert fault in read
    assert "column" not in read
    assert conversation.episode.tool_calls == (written[0] == "[")


PLAIN = [
    ("nothing", say(None), "(empty)", "the turn is empty"),
    ("white space", say(" \n"), "(empty)", "the turn is empty"),
    ("only a thought", say("<think>Hm.</think>"), "Hm.", "the turn is empty"),
    ("cut in a thought", say("I think that", finish="length"), "I think that", "in the middle of"),
    (
        "cut in a call",
        say("I point.", (NAME, '{"x": 0.'), finish="length"),
        'I point.\n{"name": "test.point"',
        "middle",
    ),
    ("an open tag", say('<tool_call>{"name": "test.po'), "", "in the middle of"),
]


@pytest.mark.parametrize(("turn", "own", "fault"), [case[1:] for case in PLAIN], ids=[case[0] for case in PLAIN])
def test_a_turn_that_is_none_is_answered_by_one_sentence_without_tags(
    server: FaultServer, quick: PolicyOptions, turn: Any, own: str, fault: str
) -> None:
    policy = OpenAIChat("m", f"{server.url}/v1", NATIVE.protocol, TOOLBOX.schemas(), quick)
    server.will(turn, say("Done."))
    conversation = Conversation("Point.", TOOLBOX, NATIVE)
    conversation.step(policy.respond(conversation.messages))
    policy.respond(conversation.messages)
    *_, assistant, told = server.requests[-1]["messages"]
    assert (assistant["role"], told["role"]) == ("assistant", "user")
    assert assistant["content"].startswith(own)
    assert told["content"].startswith("Error INVALID_ARGUMENT: ")
    assert fault in told["content"]
    assert "<" not in assistant["content"] + told["content"]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("I will first look at the scene.", "I will first look at the scene."),
        ("<answer>Done.</answer>", "Done."),
        ("<think>Two boxes.</think>AMBIGUOUS: Which box?", "AMBIGUOUS: Which box?"),
        ("OBJECT_NOT_FOUND: There is no lemon.", "OBJECT_NOT_FOUND: There is no lemon."),
    ],
)
def test_prose_without_a_call_is_the_answer_as_it_was_said(
    server: FaultServer, quick: PolicyOptions, words: str, answer: str
) -> None:
    policy = OpenAIChat("m", f"{server.url}/v1", NATIVE.protocol, TOOLBOX.schemas(), quick)
    server.will(say(words))
    conversation = Conversation("Point.", TOOLBOX, NATIVE, asks=True)
    turn = conversation.step(policy.respond(conversation.messages))
    assert turn.parsed.answer == answer
    coded = coded_answer(answer)
    if coded is not None and coded[0] is ErrorCode.AMBIGUOUS:
        assert conversation.question is not None
        assert conversation.question.text == "Which box?"
