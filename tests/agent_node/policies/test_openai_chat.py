import base64
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from tests.refusals import refused
from toolhand.agent_node.policies.openai_chat import OpenAIChat
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode

SPACETOOLS, NATIVE = load_protocol("spacetools"), load_protocol("native")
TURN = '<think>Look.</think>\n<tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>'


@pytest.fixture
def policy(server, schemas, quick):
    def make(protocol=SPACETOOLS, **options):
        return OpenAIChat("m", f"{server.url}/v1", protocol, schemas, replace(quick, **options), "sk-secret")

    return make


def test_text_mode_sends_the_protocol_and_no_tools(server, policy, conversation, image):
    server.will(server.completion(TURN))
    reply = policy(picture_format="png").respond(conversation)
    (request,) = server.requests
    assert reply.text == TURN
    assert (reply.prompt_tokens, reply.completion_tokens) == (100, 20)
    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["authorization"] == "Bearer sk-secret"
    assert "tools" not in request
    assert request["stop"] == list(SPACETOOLS.stop)
    assert request["messages"][0] == {"role": "system", "content": conversation[0].text}
    assert request["messages"][2] == {"role": "assistant", "content": conversation[2].text}
    url = request["messages"][3]["content"][1]["image_url"]["url"]
    assert url.startswith("data:image/png;base64,")
    shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))))
    assert np.array_equal(shown, image)


@pytest.mark.parametrize("protocol", [SPACETOOLS, NATIVE])
def test_a_model_without_eyes_is_sent_words_alone(server, policy, conversation, protocol):
    server.will(server.completion(TURN))
    blind = policy(protocol, text_only=True)
    blind.respond(conversation)
    (request,) = server.requests
    contents = [message["content"] for message in request["messages"]]
    assert all(isinstance(content, str) for content in contents)
    assert "<image 0>" in "".join(contents), "it reads what the picture is called"
    assert not blind.sees_images
    assert policy(protocol).sees_images


def test_native_mode_sends_tools_and_ids_and_the_image_after_the_results(server, policy, conversation, schemas):
    calls = [{"id": "x", "type": "function", "function": {"name": "robot__capture_image", "arguments": "{}"}}]
    server.will(server.completion("Again.", "tool_calls", message={"tool_calls": calls}))
    reply = policy(NATIVE).respond(conversation)
    (request,) = server.requests
    assert [tool["function"]["name"] for tool in request["tools"]] == ["robot__capture_image", "roborefer__detect_one"]
    assert request["tools"][1]["function"]["parameters"] == schemas[1]["function"]["parameters"]
    assert [message["role"] for message in request["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    asked = [call["id"] for call in request["messages"][2]["tool_calls"]]
    assert asked == [message["tool_call_id"] for message in request["messages"][3:5]]
    assert json.loads(request["messages"][2]["tool_calls"][1]["function"]["arguments"])["obj_name"] == "can"
    assert request["messages"][3]["content"] == "Captured. <image 0>"
    assert [part["type"] for part in request["messages"][5]["content"]] == ["text", "image_url"]
    assert NATIVE.parse(reply.text).calls[0].name == "robot.capture_image"


def test_native_mode_shows_the_image_that_comes_with_a_question(server, policy, image):
    server.will(server.completion("Red."))
    asked = Message("user", "<image 0>\nWhich colour?", "Which colour?", 0, image)
    policy(NATIVE).respond([Message("system", "Be brief."), asked])
    (request,) = server.requests
    marker, shown, words = request["messages"][1]["content"]
    assert (marker["text"], shown["type"], words["text"]) == ("<image 0>", "image_url", "Which colour?")


def test_a_streamed_turn_reaches_the_operator_piece_by_piece(server, policy, conversation):
    pieces = ["<think>Lo", "ok.</think>", "<answer>done"]
    usage = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}
    events = [*(server.delta(content=piece) for piece in pieces), server.delta("stop"), usage, "[DONE]"]
    server.will(server.stream(events))
    heard = []
    reply = policy(on_piece=heard.append).respond(conversation)
    assert heard == pieces
    assert reply.text == "<think>Look.</think><answer>done</answer>"
    assert (reply.prompt_tokens, reply.completion_tokens) == (9, 3)
    assert 0 < reply.first_token_s <= reply.latency_s
    assert server.requests[0]["stream"] is True


def test_a_server_that_does_not_heed_stop_strings_is_not_listened_to_any_longer(server, policy, conversation, within):
    events = [server.delta(content="<answer>done</answer>"), server.delta(content=" <answer>again</answer>")]
    server.will(server.stream(events, then="stall"))
    with within(10):
        assert policy(stream=True).respond(conversation).text == "<answer>done</answer>"


def test_the_pieces_of_streamed_calls_are_joined_by_their_index_whatever_their_ids(server, policy, conversation):
    def call(index, **function):
        return {"index": index, "id": "same", "type": "function", "function": function}

    events = [
        server.delta(tool_calls=[call(0, name="robot__capture_image", arguments="")]),
        server.delta(tool_calls=[call(1, name="roborefer__detect_one", arguments='{"obj_name": "c')]),
        server.delta(tool_calls=[call(0, arguments="{}"), call(1, arguments='an", "image_index": 0}')]),
        server.delta("tool_calls"),
        "[DONE]",
    ]
    server.will(server.stream(events))
    calls = NATIVE.parse(policy(NATIVE, stream=True).respond(conversation).text).calls
    assert [(call.name, call.arguments) for call in calls] == [
        ("robot.capture_image", {}),
        ("roborefer.detect_one", {"obj_name": "can", "image_index": 0}),
    ]


def test_duplicate_ids_of_a_server_make_no_duplicate_ids_of_ours(server, policy, conversation):
    names = ("robot__capture_image", "roborefer__detect_one")
    calls = [{"id": "x", "function": {"name": name, "arguments": "{}"}} for name in names]
    server.will(server.completion(None, "tool_calls", message={"tool_calls": calls}))
    reply = policy(NATIVE).respond(conversation)
    assert len(NATIVE.parse(reply.text).calls) == 2


def test_a_tool_that_nobody_offered_is_left_to_the_toolbox(server, policy, conversation):
    call = {"id": "x", "function": {"name": "robot__disable_limits", "arguments": "{}"}}
    server.will(server.completion(None, "tool_calls", message={"tool_calls": [call]}))
    (call,) = NATIVE.parse(policy(NATIVE).respond(conversation).text).calls
    assert call.name == "robot.disable_limits"


def test_reasoning_of_a_server_is_a_thought(server, policy, conversation):
    server.will(server.completion("Done.", message={"reasoning_content": "Hm."}))
    turn = NATIVE.parse(policy(NATIVE).respond(conversation).text)
    assert (turn.thought, turn.answer) == ("Hm.", "Done.")


def test_vllm_and_sglang_say_whether_the_model_ended_itself(server, policy, conversation):
    for key in ("stop_reason", "matched_stop"):
        server.will(server.completion("<answer>done", choice={key: "</answer>"}))
        assert policy().respond(conversation).text == "<answer>done</answer>"
        server.will(server.completion("<answer>done", choice={key: None}))
        assert policy().respond(conversation).text == "<answer>done"


def test_a_parameter_that_a_model_refuses_is_left_out_from_then_on(server, policy, conversation):
    def refuse(name, sentence):
        return server.json({"error": {"message": sentence, "param": name, "code": "unsupported_parameter"}}, 400)

    server.will(
        refuse("max_tokens", "Use 'max_completion_tokens' instead."),
        refuse(None, "Unsupported parameter: 'temperature' is not supported with this model."),
        server.json({"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}, 422),
        server.completion(TURN),
    )
    asked = policy(attempts=1)
    assert asked.respond(conversation).text == TURN
    asked.respond(conversation)
    assert len(server.requests) == 5
    for request in server.requests[3:]:
        assert not {"max_tokens", "temperature", "seed"} & request.keys()
        assert request["max_completion_tokens"] == 2048
        assert request["stop"]


def test_prices_make_a_cost_and_the_budget_ends_the_policy(server, policy, conversation):
    server.will(server.completion(TURN))
    asked = policy(price_prompt=10.0, price_completion=50.0, cost_budget=0.003)
    assert asked.respond(conversation).cost == pytest.approx(0.002)
    assert asked.respond(conversation).cost == pytest.approx(0.002)
    with refused(ErrorCode.TURN_BUDGET, r"budget of 0\.003 is spent"):
        asked.respond(conversation)
    assert len(server.requests) == 2


def test_the_tokens_that_are_left_are_all_that_is_asked_for(server, policy, conversation):
    server.will(server.completion(TURN))
    asked = policy(token_budget=200)
    asked.respond(conversation)
    asked.respond(conversation)
    assert [request["max_tokens"] for request in server.requests] == [200, 80]
    with refused(ErrorCode.TURN_BUDGET):
        asked.respond(conversation)


def test_a_server_that_counts_no_tokens_cannot_outlive_the_budget(server, policy, conversation):
    server.will(server.completion(TURN, usage=None))
    asked = policy(token_budget=50)
    assert asked.respond(conversation).completion_tokens > 10
    with refused(ErrorCode.TURN_BUDGET):
        asked.respond(conversation)


def test_the_key_of_the_environment_goes_to_no_plain_http_server_elsewhere(monkeypatch, quick, schemas):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    elsewhere = make_policy("openai:m@http://192.0.2.1:1/v1", SPACETOOLS, schemas, quick)
    here = make_policy("openai:m@http://127.0.0.1:1/v1", SPACETOOLS, schemas, quick)
    given = make_policy("openai:m@http://192.0.2.1:1/v1", SPACETOOLS, schemas, replace(quick, api_key="sk-given"))
    endpoints = [made._client._endpoint for made in (elsewhere, here, given)]
    assert [endpoint.headers.get("Authorization") for endpoint in endpoints] == [
        None,
        "Bearer sk-env",
        "Bearer sk-given",
    ]


def test_parts_of_a_whole_message_keep_their_break(server, policy, conversation):
    parts = [{"type": "text", "text": "<think>done.</think>"}, {"type": "text", "text": "<answer>x</answer>"}]
    server.will(server.completion(parts))
    assert policy().respond(conversation).text == "<think>done.</think>\n<answer>x</answer>"


def test_no_temperature_that_was_asked_for_is_the_likeliest_token(server, policy, conversation):
    server.will(server.completion("<answer>x</answer>"))
    policy().respond(conversation)
    assert server.requests[0]["temperature"] == 0.0


def tokens(*logprobs, ids=None):
    """The part of a choice that tells of its tokens, as vLLM sends it."""
    content = [{"token": "a", "logprob": logprob, "bytes": None, "top_logprobs": []} for logprob in logprobs]
    return {"logprobs": {"content": content}} | ({} if ids is None else {"token_ids": ids})


def test_tokens_are_asked_for_and_kept_where_the_user_wants_them(server, policy, conversation):
    server.will(server.completion(TURN, choice=tokens(-0.5, -1.5, 0.0, ids=[7, 8, 2])))
    reply = policy(logprobs=True).respond(conversation)
    assert (reply.token_ids, reply.logprobs) == ((7, 8, 2), (-0.5, -1.5, 0.0))
    assert (server.requests[0]["logprobs"], server.requests[0]["return_token_ids"]) == (True, True)
    unasked = policy().respond(conversation)
    assert (unasked.token_ids, unasked.logprobs) == ((), ())
    assert not {"logprobs", "return_token_ids"} & server.requests[1].keys()


def test_the_tokens_of_a_streamed_turn_are_joined(server, policy, conversation):
    pieces = [server.delta(content="<answer>do"), server.delta("stop", content="ne</answer>")]
    pieces[0]["choices"][0] |= tokens(-0.1, -0.2, ids=[1, 2])
    pieces[1]["choices"][0] |= tokens(-0.3, ids=[3])
    server.will(server.stream([*pieces, "[DONE]"]))
    reply = policy(stream=True, logprobs=True).respond(conversation)
    assert (reply.token_ids, reply.logprobs) == ((1, 2, 3), (-0.1, -0.2, -0.3))


def test_a_server_without_token_ids_still_gives_log_probabilities(server, policy, conversation):
    refusal = {"error": {"message": "Unrecognized request argument supplied: return_token_ids", "param": None}}
    server.will(server.json(refusal, 400), server.completion(TURN, choice=tokens(-0.5)))
    made = policy(logprobs=True)
    reply = made.respond(conversation)
    assert (reply.token_ids, reply.logprobs) == ((), (-0.5,))
    assert "return_token_ids" not in server.requests[1]
    assert server.requests[1]["logprobs"] is True


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (tokens(-0.5, ids=[1, 2]), "2 token ids and 1 log-probabilities"),
        (tokens("x"), "log-probabilities that are no numbers"),
        (tokens(-0.5, ids=["1"]), "token ids that are no numbers"),
    ],
)
def test_tokens_that_make_no_sense_are_a_fault_of_the_server(server, policy, conversation, choice, words):
    server.will(server.completion(TURN, choice=choice))
    with refused(ErrorCode.UNAVAILABLE, words):
        policy(logprobs=True).respond(conversation)


FIRST = {"index": 0, "id": "a", "function": {"name": "robot__capture_image", "arguments": ""}}
SECOND = {
    "index": 0,
    "id": "b",
    "function": {"name": "roborefer__detect_one", "arguments": '{"obj_name": "can", "image_index": 0}'},
}


@pytest.mark.parametrize("streams", [True, False])
def test_calls_of_one_index_reach_the_agent_apart(server, policy, conversation, streams) -> None:
    both = [FIRST, SECOND]
    if streams:
        events = [*(server.delta(tool_calls=[one]) for one in both), server.delta("tool_calls"), "[DONE]"]
        server.will(server.stream(events))
    else:
        server.will(server.completion(None, "tool_calls", message={"tool_calls": both}))
    calls = NATIVE.parse(policy(NATIVE, stream=streams).respond(conversation).text).calls
    assert [(call.name, call.arguments, call.problem) for call in calls] == [
        ("robot.capture_image", {}, ""),
        ("roborefer.detect_one", {"obj_name": "can", "image_index": 0}, ""),
    ]


def test_arguments_without_a_name_run_nothing_and_say_what_a_call_is(server, policy, conversation) -> None:
    pieces = [FIRST, {"index": 1, "function": SECOND["function"] | {"name": None}}]
    events = [*(server.delta(tool_calls=[one]) for one in pieces), server.delta("tool_calls"), "[DONE]"]
    server.will(server.stream(events))
    (call,) = NATIVE.parse(policy(NATIVE, stream=True).respond(conversation).text).calls
    assert call.name == ""
    assert call.problem == 'a tool call must be {"name": <func-name>, "arguments": <args-json-object>}'
