import json
from dataclasses import replace

import pytest

from toolhand.agent_node.policies.anthropic_messages import AnthropicMessages
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError

SPACETOOLS, NATIVE = load_protocol("spacetools"), load_protocol("native")
USAGE = {"input_tokens": 30, "cache_creation_input_tokens": 50, "cache_read_input_tokens": 20, "output_tokens": 10}


def message(*content, stop_reason="end_turn", stop_sequence=None):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content),
        "usage": USAGE,
        "stop_reason": stop_reason,
        "stop_sequence": stop_sequence,
    }


def events(*blocks, stop_reason="end_turn", stop_sequence=None):
    """A message as the API streams it."""
    start = {"type": "message", "role": "assistant", "content": [], "usage": USAGE | {"output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    for index, (block, *deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": stop_reason, "stop_sequence": stop_sequence}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}


@pytest.fixture
def policy(server, schemas, quick):
    def make(protocol=SPACETOOLS, **options):
        return AnthropicMessages("m", server.url, protocol, schemas, replace(quick, **options), "sk-secret")

    return make


@pytest.fixture
def refused(server, policy, conversation):
    def ask(*answers, **options):
        server.will(*answers)
        with pytest.raises(ToolError) as raised:
            policy(**options).respond(conversation)
        assert str(raised.value).isprintable()
        assert "sk-secret" not in str(raised.value)
        return raised.value

    return ask


def test_text_mode_sends_the_protocol_and_no_tools(server, policy, conversation):
    text = {"type": "text", "text": "<think>x</think><answer>done"}
    server.will(server.json(message(text, stop_reason="stop_sequence", stop_sequence="</answer>")))
    reply = policy(price_prompt=10.0, price_completion=100.0).respond(conversation)
    (request,) = server.requests
    assert reply.text == "<think>x</think><answer>done</answer>"
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost) == (100, 10, pytest.approx(0.002))
    assert server.paths == ["/v1/messages"]
    assert server.headers[0]["x-api-key"] == "sk-secret"
    assert server.headers[0]["anthropic-version"] == "2023-06-01"
    assert [block["text"] for block in request["system"]] == [conversation[0].text]
    assert request["stop_sequences"] == list(SPACETOOLS.stop)
    assert request["max_tokens"] == 2048
    assert "tools" not in request
    assert [turn["role"] for turn in request["messages"]] == ["user", "assistant", "user"]
    assert [block["type"] for block in request["messages"][2]["content"]] == ["text", "image", "text"]


def test_native_mode_ties_results_to_calls_and_keeps_their_images(server, policy, conversation, schemas):
    call = {"type": "tool_use", "id": "toolu_1", "name": "roborefer__detect_one", "input": {"obj_name": "</tool_call>"}}
    server.will(server.json(message({"type": "text", "text": "Again."}, call, stop_reason="tool_use")))
    reply = policy(NATIVE).respond(conversation)
    (request,) = server.requests
    assert request["tools"][1]["name"] == "roborefer__detect_one"
    assert request["tools"][1]["input_schema"] == schemas[1]["function"]["parameters"]
    assistant, results = request["messages"][1:]
    asked = [block["id"] for block in assistant["content"] if block["type"] == "tool_use"]
    assert asked == [block["tool_use_id"] for block in results["content"]]
    assert [block["type"] for block in results["content"][0]["content"]] == ["text", "image"]
    assert results["content"][0]["content"][0]["text"] == "Captured. <image 0>"
    assert results["content"][0]["content"][1]["source"]["media_type"] == "image/jpeg"
    turn = NATIVE.parse(reply.text)
    assert turn.thought == "Again."
    assert [(call.name, call.arguments) for call in turn.calls] == [
        ("roborefer.detect_one", {"obj_name": "</tool_call>"})
    ]


def test_native_mode_shows_the_image_that_comes_with_a_question(server, policy, image):
    server.will(server.json(message({"type": "text", "text": "Red."})))
    asked = Message("user", "<image 0>\nWhich colour?", "Which colour?", 0, image)
    policy(NATIVE).respond([Message("system", "Be brief."), asked])
    (request,) = server.requests
    assert [block["type"] for block in request["messages"][0]["content"]] == ["text", "image", "text"]


def test_a_streamed_turn_is_joined_and_heard(server, policy, conversation):
    stream = events(
        ({"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "Hm."}),
        ({"type": "text", "text": ""}, {"type": "text_delta", "text": "Aga"}, {"type": "text_delta", "text": "in."}),
        ({"type": "tool_use", "id": "a", "name": "robot__capture_image", "input": {}},),
        (
            {"type": "tool_use", "id": "a", "name": "roborefer__detect_one", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"obj_name": '},
            {"type": "input_json_delta", "partial_json": '"can"}'},
        ),
        stop_reason="tool_use",
    )
    server.will(server.stream(list(stream)))
    heard = []
    reply = policy(NATIVE, on_piece=heard.append).respond(conversation)
    turn = NATIVE.parse(reply.text)
    assert heard == ["Hm.", "Aga", "in."]
    assert turn.thought == "Hm.\nAgain."
    assert [(call.name, call.arguments) for call in turn.calls] == [
        ("robot.capture_image", {}),
        ("roborefer.detect_one", {"obj_name": "can"}),
    ]
    assert (reply.prompt_tokens, reply.completion_tokens) == (100, 10)
    assert reply.first_token_s is not None


def test_a_call_that_was_cut_for_its_length_is_malformed(server, policy, conversation):
    block = {"type": "tool_use", "id": "a", "name": "robot__capture_image", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": '{"obj'}
    server.will(server.stream(list(events((block, delta), stop_reason="max_tokens"))))
    turn = NATIVE.parse(policy(NATIVE, stream=True).respond(conversation).text)
    assert "in the middle of" in turn.problem
    assert not turn.calls


def test_a_turn_that_the_model_ended_itself_is_not_closed_for_it(server, policy, conversation):
    server.will(server.json(message({"type": "text", "text": "<answer>done"})))
    assert policy().respond(conversation).text == "<answer>done"


def test_a_parameter_that_a_model_refuses_is_left_out_from_then_on(server, policy, conversation):
    sentence = "`temperature` is deprecated for this model."
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": sentence}}
    server.will(server.json(error, 400), server.json(message({"type": "text", "text": "<answer>x</answer>"})))
    asked = policy(temperature=0.5)
    asked.respond(conversation)
    asked.respond(conversation)
    assert [request.get("temperature") for request in server.requests] == [0.5, None, None]


def test_a_temperature_is_sent_only_where_it_is_asked_for(server, policy, conversation):
    server.will(server.json(message({"type": "text", "text": "<answer>x</answer>"})))
    for asked in ({}, {"temperature": 0.0}, {"temperature": 1.0}):
        policy(**asked).respond(conversation)
    assert ["temperature" in request for request in server.requests] == [False, True, True]


def test_two_blocks_of_words_keep_their_break(server, policy, conversation):
    blocks = [{"type": "text", "text": "<think>done.</think>"}, {"type": "text", "text": "<answer>Picked up.</answer>"}]
    server.will(server.json(message(*blocks)))
    assert policy().respond(conversation).text == "<think>done.</think>\n<answer>Picked up.</answer>"
    pieces = [({"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}) for block in blocks]
    server.will(server.stream(events(*pieces)))
    heard = []
    words = policy(stream=True, on_piece=heard.append).respond(conversation).text
    assert words == "".join(heard) == "<think>done.</think>\n<answer>Picked up.</answer>"


def test_an_overloaded_server_is_asked_again(server, policy, conversation):
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server.will(server.json(error, 529), server.json(message({"type": "text", "text": "<answer>x</answer>"})))
    assert policy().respond(conversation).details["attempts"] == 2


def test_a_server_that_dies_in_mid_sentence(refused, server):
    block = ({"type": "text", "text": ""}, {"type": "text_delta", "text": "I wi"})
    error = refused(server.stream(list(events(block))[:4]), stream=True)
    assert error.code is ErrorCode.UNAVAILABLE
    assert "in the middle of its answer" in str(error)


def test_a_stream_that_stands_still(refused, server):
    error = refused(server.stream(list(events())[:1], then="stall"), stream=True, deadline_s=0.2)
    assert error.code is ErrorCode.TIMEOUT


@pytest.mark.parametrize(
    "stream",
    [
        [{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}],
        ["no json"],
        [{"no": "type"}],
        [{"type": "content_block_delta", "index": 4, "delta": {"text": "x"}}],
        [{"type": "content_block_start", "index": 0}],
        [{"type": "message_start", "message": 3}, "[DONE]"],
    ],
)
def test_a_stream_of_garbage(refused, server, stream):
    assert refused(server.stream(stream), stream=True, attempts=1).code is ErrorCode.UNAVAILABLE


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"type": "message", "content": [3]}', b"<html>", b"\xff"])
def test_an_answer_that_is_none(refused, server, body):
    assert refused(server.raw(body), attempts=1).code is ErrorCode.UNAVAILABLE


def test_a_message_of_odd_blocks_is_a_malformed_turn(server, policy, conversation):
    odd = [{"type": "text", "text": 3}, {"type": "tool_use", "name": 4, "input": "x"}, {"type": "server_tool_use"}]
    server.will(server.json(message(*odd)))
    (call,) = NATIVE.parse(policy(NATIVE).respond(conversation).text).calls
    assert call.problem


def test_a_conversation_that_is_too_long_for_the_model_is_a_spent_budget(refused, server):
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}}
    assert refused(server.json(error, 400)).code is ErrorCode.TURN_BUDGET


def test_empty_texts_are_never_sent(server, policy, conversation):
    server.will(server.json(message({"type": "text", "text": "<answer>x</answer>"})))
    emptied = [*conversation[:2], *(replace(turn, text=" ", words="") for turn in conversation[2:4]), conversation[1]]
    for protocol in (SPACETOOLS, NATIVE):
        policy(protocol).respond(emptied)
        texts = [
            block["text"] for turn in server.requests[-1]["messages"] for block in turn["content"] if "text" in block
        ]
        assert all(text.strip() for text in texts), json.dumps(texts)


CAPTURE = {"type": "tool_use", "id": "a", "name": "robot__capture_image", "input": {}}
DETECT = {"type": "tool_use", "id": "b", "name": "roborefer__detect_one", "input": {}}
CAN = {"obj_name": "can", "image_index": 0}


def _begins(block, index=0):
    return {"type": "content_block_start", "index": index, "content_block": block}


def _goes_on(text, index=0):
    return {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}}


ENDS = {"type": "content_block_stop", "index": 0}
WRITTEN = json.dumps(CAN)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param([_begins(CAPTURE), _begins(DETECT), _goes_on(WRITTEN)], id="one index for all, no ends"),
        pytest.param([_begins(CAPTURE), ENDS, _begins(DETECT), _goes_on(WRITTEN), ENDS], id="one index for all"),
        pytest.param(
            [
                _begins(CAPTURE),
                _begins(DETECT, 1),
                _goes_on(WRITTEN[:9], 1),
                _begins(DETECT, 1),
                _goes_on(WRITTEN[9:], 1),
            ],
            id="a block that is begun twice",
        ),
        pytest.param([_begins(CAPTURE), _begins(DETECT | {"input": CAN}, 1)], id="the input is there at once"),
        pytest.param([_begins(CAPTURE, None), _begins(DETECT, None), _goes_on(WRITTEN, None)], id="no index"),
    ],
)
def test_no_block_is_lost_or_given_the_input_of_another(server, policy, conversation, sent):
    ending = [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]
    server.will(server.stream([*sent, *ending]))
    calls = NATIVE.parse(policy(NATIVE, stream=True).respond(conversation).text).calls
    assert [(call.name, call.arguments, call.problem) for call in calls] == [
        ("robot.capture_image", {}, ""),
        ("roborefer.detect_one", CAN, ""),
    ]


def test_input_that_comes_after_the_end_of_a_block_is_nobodys(refused, server):
    sent = server.stream([_begins(CAPTURE), ENDS, _goes_on(WRITTEN)])
    assert refused(sent, stream=True, attempts=1).code is ErrorCode.UNAVAILABLE
