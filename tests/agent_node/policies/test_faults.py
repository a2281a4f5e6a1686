"""What a broken, slow or hostile model server can do to a command: end it with one sentence, in time, and no more."""

import socket
import threading
from dataclasses import replace
from email.utils import formatdate

import pytest

from toolhand.agent_node.policies import transport
from toolhand.agent_node.policies.openai_chat import OpenAIChat
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError

SPACETOOLS, NATIVE = load_protocol("spacetools"), load_protocol("native")


@pytest.fixture
def refused(server, schemas, quick, conversation, within):
    """The error that a policy ends with."""

    def ask(*answers, protocol=SPACETOOLS, url=None, **options):
        server.will(*answers)
        policy = OpenAIChat("m", url or f"{server.url}/v1", protocol, schemas, replace(quick, **options), "sk-secret")
        with within(15), pytest.raises(ToolError) as raised:
            policy.respond(conversation)
        sentence = str(raised.value)
        assert "\n" not in sentence
        assert len(sentence) < 500
        assert "sk-secret" not in sentence
        return raised.value

    return ask


def test_nobody_listens(refused):
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    error = refused(url=f"http://127.0.0.1:{port}/v1", attempts=2)
    assert error.code is ErrorCode.UNAVAILABLE
    assert "cannot be reached" in str(error)
    assert "Tried 2 times" in str(error)


def test_a_name_that_is_no_machine(refused, monkeypatch):
    def unknown(*args, **kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = refused(url="http://nobody.invalid/v1", attempts=1)
    assert error.code is ErrorCode.UNAVAILABLE
    assert "cannot be reached: Name or service not known" in str(error)


def test_a_name_that_nobody_looks_up_in_time(refused, server, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: server.released.wait(20))
    error = refused(url="http://nobody.invalid/v1", connect_s=0.2, attempts=1)
    assert error.code is ErrorCode.TIMEOUT
    assert "could not be reached within 0.2 s" in str(error)


def test_a_server_without_tls_behind_https(refused, server):
    error = refused(server.completion("x"), url=server.url.replace("http:", "https:") + "/v1")
    assert error.code is ErrorCode.UNAVAILABLE
    assert not server.requests


def test_a_proxy_of_the_environment_is_asked_for_other_machines_only(
    server, schemas, quick, conversation, monkeypatch, refused
):
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.will(server.completion("<answer>x"))
    for url in ("http://model.invalid/v1", f"{server.url}/v1"):
        assert OpenAIChat("m", url, SPACETOOLS, schemas, quick).respond(conversation).text == "<answer>x</answer>"
    assert server.paths == ["http://model.invalid/v1/chat/completions", "/v1/chat/completions"]
    assert "Tunnel" in str(refused(server.completion("x"), url="https://model.invalid/v1", attempts=1))
    assert server.paths[2:] == ["model.invalid:443"]


def test_a_server_that_never_begins_to_answer(refused, server):
    error = refused(server.silence(), deadline_s=0.2)
    assert (error.code, "within 0.2 s" in str(error)) == (ErrorCode.TIMEOUT, True)


def test_no_first_word_of_a_stream_in_time(refused, server):
    error = refused(server.stream([], then="stall"), stream=True, first_token_s=0.2)
    assert error.code is ErrorCode.TIMEOUT
    assert "did not begin to answer within 0.2 s" in str(error)


@pytest.mark.parametrize("then", ["stall", "drip"])
def test_a_stream_that_stands_still_or_drips_without_end(refused, server, then):
    error = refused(server.stream([server.delta(content="<think>")], then=then), stream=True, deadline_s=0.4)
    assert error.code is ErrorCode.TIMEOUT
    assert "did not finish its turn within 0.4 s" in str(error)


def test_headers_that_drip_without_end(refused, server):
    def drip(handler):
        while not server.released.wait(0.02):
            handler.wfile.write(b"X")
            handler.wfile.flush()

    assert refused(drip, deadline_s=0.3).code is ErrorCode.TIMEOUT


def test_a_server_that_dies_in_mid_sentence(refused, server):
    heard = []
    error = refused(server.stream([server.delta(content="<think>I will")]), on_piece=heard.append)
    assert error.code is ErrorCode.UNAVAILABLE
    assert "in the middle of its answer" in str(error)
    assert heard == ["<think>I will"]
    assert len(server.requests) == 1, "words that the operator has heard are not said twice"


def test_a_server_that_dies_before_its_first_word_is_asked_again(server, schemas, quick, conversation):
    server.will(server.hang_up, server.stream([]), server.raw(b'{"choi', length="4000"), server.completion("<answer>x"))
    policy = OpenAIChat("m", f"{server.url}/v1", SPACETOOLS, schemas, quick)
    reply = policy.respond(conversation)
    assert (reply.text, reply.details["attempts"]) == ("<answer>x</answer>", 4)
    assert all(request == server.requests[0] for request in server.requests)


def test_a_whole_answer_that_is_cut_off(refused, server):
    error = refused(server.raw(b'{"choices": [{"mess', length="4000"), attempts=1)
    assert error.code is ErrorCode.UNAVAILABLE
    assert "in the middle of its answer" in str(error)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_a_busy_server_is_asked_again_and_then_given_up(refused, server, status):
    error = refused(server.json({"error": {"message": "Over capacity."}}, status), attempts=3)
    assert error.code is ErrorCode.UNAVAILABLE
    assert f"answered {status}: Over capacity" in str(error)
    assert len(server.requests) == 3


def test_retry_after_is_waited_for(server, schemas, quick, conversation, monkeypatch):
    slept = []
    monkeypatch.setattr(transport.Client, "_rest", lambda self, pause: slept.append(pause))
    server.will(
        server.json({}, 429, Retry_After="7"),
        server.json({}, 503, Retry_After=formatdate(0, usegmt=True)),
        server.json({}, 503, Retry_After="soon"),
        server.completion("<answer>x"),
    )
    policy = OpenAIChat("m", f"{server.url}/v1", SPACETOOLS, schemas, replace(quick, deadline_s=60.0, backoff_s=0.5))
    policy.respond(conversation)
    assert slept[:2] == [7.0, 0.0]
    assert 1.0 <= slept[2] <= 2.0, "words are no time: the third pause is our own"


def test_the_pauses_double_and_come_from_the_seed(server, schemas, quick, conversation, monkeypatch):
    def pauses(seed):
        slept = []
        monkeypatch.setattr(transport.Client, "_rest", lambda self, pause: slept.append(pause))
        server.will(server.json({}, 500))
        options = replace(quick, seed=seed, attempts=6, backoff_s=1.0, longest_pause_s=4.0, deadline_s=100.0)
        with pytest.raises(ToolError):
            OpenAIChat("m", f"{server.url}/v1", SPACETOOLS, schemas, options).respond(conversation)
        return slept

    first = pauses(1)
    assert first == pauses(1) != pauses(2)
    assert all(longest / 2 <= pause <= longest for pause, longest in zip(first, [1, 2, 4, 4, 4], strict=True))


@pytest.mark.parametrize(("asked_s", "deadline_s"), [(86400, 20.0), (31, 1000.0), (25, 20.0)])
def test_a_server_that_asks_for_too_long_a_pause_is_given_up_at_once(refused, server, asked_s, deadline_s):
    busy = server.json({"error": {"message": "Slow down."}}, 429, Retry_After=str(asked_s))
    error = refused(busy, deadline_s=deadline_s)
    assert error.code is ErrorCode.UNAVAILABLE
    assert f"asks to wait {asked_s} s" in str(error)
    assert len(server.requests) == 1


def test_no_money_left_is_not_asked_about_twice(refused, server):
    refused(server.json({"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}, 429))
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_never_shown(refused, server, status):
    error = refused(server.json({"error": {"message": "Bad key sk-secret given."}}, status))
    assert "refuses the key" in str(error)
    assert "***" in str(error)
    assert len(server.requests) == 1


def test_an_unknown_model_is_named_by_the_server(refused, server):
    error = refused(server.json({"error": {"message": "The model `m` does not exist."}}, 404))
    assert error.code is ErrorCode.UNAVAILABLE
    assert "The model `m` does not exist" in str(error)


def test_a_conversation_that_is_too_long_for_the_model_is_a_spent_budget(refused, server):
    sentence = "This model's maximum context length is 4096 tokens."
    error = refused(server.json({"error": {"message": sentence}}, 400))
    assert error.code is ErrorCode.TURN_BUDGET


def test_a_redirect_is_not_followed_with_the_key(refused, server):
    error = refused(server.raw(b"", 307, Location="http://192.0.2.1/"))
    assert "not followed" in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"OK",
        b"[]",
        b"null",
        b"{}",
        b'{"choices": 3}',
        b'{"choices": [3]}',
        b'{"choices": [{}]}',
        b"\xff\xfe\x00",
        b'{"choices": [{"message": {"content": {"a": 1}}}]}',
        b"[" * 100_000,
        b"<html><h1>502</h1></html>",
        b'{"choices": [{"message": {"content": "x", "tool_calls": "y"}}]}',
        b'{"choices": [{"message": {"content": "x", "tool_calls": [{"function": 1}]}}]}',
        b'{"error": {"message": "out of memory"}}',
        b'{"error": "\\u001b[2J"}',
    ],
)
def test_an_answer_that_is_none(refused, server, body):
    error = refused(server.raw(body), attempts=1)
    assert error.code is ErrorCode.UNAVAILABLE
    assert str(error).isprintable()


@pytest.mark.parametrize(
    "events",
    [
        ["not json"],
        ["{}"],
        ["[1]"],
        [b"data: \xff\xfe\n\n"],
        [{"error": {"message": "CUDA out of memory"}}],
        [b"<html>\n", b"</html>\n"],
        ["[DONE"],
    ],
)
def test_a_stream_of_garbage(refused, server, events):
    assert refused(server.stream(events), stream=True, attempts=1).code is ErrorCode.UNAVAILABLE


def test_an_html_page_for_an_error_is_not_read_out(refused, server):
    error = refused(server.raw(b"<html><body>Bad gateway</body></html>", 502, "text/html"), attempts=1)
    assert str(error).endswith("answered 502.")


def test_a_whole_answer_where_a_stream_was_asked_for_is_read(server, schemas, quick, conversation):
    server.will(server.completion("<answer>x"))
    policy = OpenAIChat("m", f"{server.url}/v1", SPACETOOLS, schemas, replace(quick, stream=True))
    assert policy.respond(conversation).text == "<answer>x</answer>"


def test_a_body_without_end(refused, monkeypatch):
    monkeypatch.setattr(transport, "MAX_BYTES", 2**20)

    def pour(handler):
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b"x" * 65536)

    assert "more than 1 MiB" in str(refused(pour))


def test_an_event_without_end(refused, monkeypatch, server):
    monkeypatch.setattr(transport, "MAX_LINE", 2**20)
    error = refused(server.stream([b"data: " + b"x" * (2 * 2**20)]), stream=True)
    assert "an event of more than 1 MiB" in str(error)


def test_a_turn_without_end(refused, server):
    events = [server.delta(content="la" * 50_000)] * 5
    assert "more than 400000 characters" in str(refused(server.stream(events), stream=True))


def test_a_filtered_turn_is_no_turn(refused, server):
    assert "withheld" in str(refused(server.completion("", "content_filter")))


def test_a_stop_of_the_operator_ends_the_waiting(refused, server):
    stop = threading.Event()
    server_hears = server.silence()

    def answer(handler):
        stop.set()
        server_hears(handler)

    assert refused(answer, stopped=stop.is_set).code is ErrorCode.STOPPED


def test_a_stop_of_the_operator_ends_the_pauses(refused, server):
    stop = threading.Event()

    def busy(handler):
        server.json({}, 503, Retry_After="14")(handler)
        stop.set()

    assert refused(busy, stopped=stop.is_set).code is ErrorCode.STOPPED


def test_no_thread_outlives_its_turn(refused, server, within):
    refused(server.stream([server.delta(content="<think>")], then="stall"), stream=True, deadline_s=0.2)
    with within(10):
        for thread in threading.enumerate():
            if thread.name == "model-request":
                thread.join()


@pytest.mark.parametrize("text", ["cut short", "", "<think>only a thought</think>"])
def test_a_turn_of_a_model_that_says_too_little_is_the_parsers_to_judge(server, schemas, quick, conversation, text):
    server.will(server.completion(text, "length"))
    reply = OpenAIChat("m", f"{server.url}/v1", SPACETOOLS, schemas, quick).respond(conversation)
    assert reply.text == text
    assert SPACETOOLS.parse(reply.text).problem


def test_a_call_with_broken_json_is_the_parsers_to_judge(server, schemas, quick, conversation):
    call = {"id": "x", "function": {"name": "roborefer__detect_one", "arguments": '{"obj_name": "can'}}
    server.will(server.completion(None, "tool_calls", message={"tool_calls": [call]}))
    reply = OpenAIChat("m", f"{server.url}/v1", NATIVE, schemas, quick).respond(conversation)
    (call,) = NATIVE.parse(reply.text).calls
    assert "not valid JSON" in call.problem
