"""A server that repeats the key it was sent: nothing that is shown or kept holds it, whole or in parts."""

import base64
import json
from dataclasses import replace
from urllib.parse import quote

import pytest

from toolhand.agent_node.policies.anthropic_messages import AnthropicMessages
from toolhand.agent_node.policies.openai_chat import OpenAIChat
from toolhand.agent_node.policies.redaction import MASK, PieceRedactor, Redactor
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError

SPACETOOLS, NATIVE = load_protocol("spacetools"), load_protocol("native")
KEY = 'sk-proj-Ab1/+x"9Zq_Wm4Tr7-Lk2Vn8Yc5'
SAID = f"Incorrect API key provided: {KEY}. Find yours elsewhere."


def parts(text: str, length: int = 8) -> list[str]:
    """Pieces of the key that a text holds."""
    return [KEY[at : at + length] for at in range(len(KEY) - length + 1) if KEY[at : at + length] in text]


@pytest.fixture(params=["openai", "anthropic"])
def ask(request, server, schemas, quick, conversation):
    """Everything that is shown and kept of one turn."""

    def turn(*answers, stream=False, protocol=SPACETOOLS):
        server.will(*answers)
        heard = []
        options = replace(quick, stream=stream, on_piece=heard.append)
        made = OpenAIChat if request.param == "openai" else AnthropicMessages
        policy = made("m", f"{server.url}/v1", protocol, schemas, options, KEY)
        try:
            reply = policy.respond(conversation)
            return f"{reply.text}\n{json.dumps(reply.details)}\n{''.join(heard)}"
        except ToolError as error:
            return f"{error}\n{''.join(heard)}"

    turn.kind = request.param
    return turn


ERRORS = {
    "object": {"error": {"type": "authentication_error", "message": SAID}},
    "text": {"error": SAID},
    "typed": {"type": "error", "error": {"message": SAID}},
    "list": {"error": [SAID]},
    "deep": {"error": {"message": {"inner": SAID}}},
    "none": {"unknown": SAID},
    "bare": SAID,
}


@pytest.mark.parametrize("status", [200, 400, 401, 413, 429, 500])
@pytest.mark.parametrize("body", ERRORS.values(), ids=ERRORS)
def test_an_error_that_repeats_the_key_is_shown_without_it(ask, server, body, status):
    shown = ask(server.json(body, status))
    assert "server" in shown
    assert not parts(shown)


@pytest.mark.parametrize("body", ERRORS.values(), ids=ERRORS)
def test_an_event_that_repeats_the_key_is_shown_without_it(ask, server, body):
    assert not parts(ask(server.stream([body]), stream=True))


@pytest.mark.parametrize("before", [0, 30, 50, 60, 150, 180, 195, 1985, 1995, 2**16 - 10])
@pytest.mark.parametrize("filling", ["x", " ", "\n"])
def test_a_key_that_a_bound_would_cut_in_two_is_not_shown_in_halves(ask, server, before, filling):
    for body in (filling * before + KEY, json.dumps({"error": {"message": filling * before + KEY}})):
        for status in (200, 401):
            assert not parts(ask(server.raw(body.encode(), status, "text/plain")), 8)


WRITTEN = {
    "as it is": KEY,
    "quoted": quote(KEY, safe=""),
    "all quoted": "".join(f"%{ord(sign):02x}" for sign in KEY),
    "JSON in JSON": json.dumps(KEY),
    "escaped": "".join(f"\\u{ord(sign):04x}" for sign in KEY),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "basic": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "bearer": base64.urlsafe_b64encode(f"Bearer {KEY}".encode()).decode(),
    "hex": KEY.encode().hex(),
    "capitals": KEY.upper(),
    "HTML": KEY.replace('"', "&quot;"),
    "spaced": " ".join(KEY),
    "two lines": f"{KEY[:15]}\n{KEY[15:]}",
    "a prefix": KEY[:14] + "...",
    "an end": "..." + KEY[-12:],
}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_the_key_is_hidden_however_it_is_written(ask, server, written):
    shown = ask(server.json({"error": {"message": f"Bad key {written} given."}}, 401))
    assert written not in shown
    assert MASK in shown
    assert not parts(shown)


def test_a_turn_that_holds_the_key_is_kept_without_it(ask, server):
    words = f"<think>{KEY}</think><answer>It is {KEY}.</answer>"
    if ask.kind == "openai":
        answer = server.completion(words, message={"reasoning_content": KEY}, finish=KEY)
    else:
        answer = server.json({"type": "message", "content": [{"type": "text", "text": words}], "stop_reason": KEY})
    shown = ask(answer)
    assert "<answer>It is ***.</answer>" in shown
    assert not parts(shown)


def test_a_word_that_serves_as_a_key_may_be_said(server, schemas, quick, conversation):
    server.will(server.completion("<answer>none</answer>"), server.json({"error": "Bad key none."}, 401))
    policy = OpenAIChat("m", f"{server.url}/v1", SPACETOOLS, schemas, quick, "none")
    assert policy.respond(conversation).text == "<answer>none</answer>"
    with pytest.raises(ToolError, match=r"Bad key \*\*\*"):
        policy.respond(conversation)


def test_a_call_that_holds_the_key_is_kept_without_it(ask, server):
    if ask.kind == "openai":
        call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": json.dumps({"a": KEY})}}
        answer = server.completion(None, message={"tool_calls": [call]})
    else:
        block = {"type": "tool_use", "id": "1", "name": "look", "input": {"a": KEY}}
        answer = server.json({"type": "message", "content": [block], "stop_reason": "tool_use"})
    shown = ask(answer, protocol=NATIVE)
    assert "look" in shown
    assert not parts(json.loads(f'"{json.dumps(shown)[1:-1]}"'))
    assert not parts(shown.replace("\\", ""))


@pytest.mark.parametrize("size", [1, 3, 7, 20, 100])
def test_a_key_that_is_streamed_in_pieces_reaches_nobody(ask, server, size):
    words = f"<think>Hm. {KEY} </think><answer>{KEY[:20]}, {KEY[10:]}</answer>"
    pieces = [words[at : at + size] for at in range(0, len(words), size)]
    if ask.kind == "openai":
        events = [server.delta(content=piece) for piece in pieces] + [server.delta(finish="stop")]
    else:
        events = [{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}]
        events += [
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": p}} for p in pieces
        ]
        events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]
    shown = ask(server.stream(events), stream=True)
    assert "Hm. " in shown
    assert shown.count(MASK) >= 6
    assert not parts(shown)


@pytest.mark.parametrize("secret", ["", "EMPTY", "y", KEY])
@pytest.mark.parametrize("text", ["", "a", "The apple, 12 % of <b>it</b> \\u0041.", "sk-", "sk-proj", "x" * 3000])
def test_other_words_stay_as_they_are(secret, text):
    redact = Redactor(secret)
    assert redact(text) == text
    pieces = PieceRedactor(redact)
    assert "".join([pieces.add(text[at : at + 2]) for at in range(0, len(text), 2)] + [pieces.end()]) == text


def test_a_short_key_is_hidden_as_a_whole():
    assert Redactor("abc")("x abc, abcd") == "x ***, ***d"


@pytest.mark.parametrize("url", [f"http://user:{KEY}@host/v1", f"ftp://{KEY}@host", f"http://host/v1?key={KEY}"])
@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"])
def test_a_password_in_an_address_that_is_refused_is_not_repeated(schemas, quick, monkeypatch, url, name):
    monkeypatch.setenv(name, url.replace('"', ""))
    with pytest.raises(ToolError) as raised:
        make_policy(f"{name.split('_')[0].lower()}:m", SPACETOOLS, schemas, quick)
    assert raised.value.code is ErrorCode.INVALID_ARGUMENT
    assert not parts(str(raised.value))
