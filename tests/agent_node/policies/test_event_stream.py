"""Streams as gateways really send them: what carries nothing is passed over, and the turn that was sent is read."""

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest

from tests.agent_node.policies.conftest import FaultServer
from tests.refusals import refused
from toolhand.agent_node.policies.anthropic_messages import AnthropicMessages
from toolhand.agent_node.policies.event_stream import stream_data
from toolhand.agent_node.policies.openai_chat import OpenAIChat
from toolhand.agent_node.policies.transport import Fault
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError

NATIVE = load_protocol("native")
LOOK = {"index": 0, "id": "a", "function": {"name": "robot__capture_image", "arguments": "{}"}}
CALLED = FaultServer.delta(tool_calls=[LOOK])
ENDED = FaultServer.delta("tool_calls")


def _choice(**choice: Any) -> dict[str, Any]:
    return {"choices": [choice]}


CARRY_NOTHING = {
    "null delta": _choice(index=0, delta=None),
    "no delta": _choice(index=0, finish_reason=None),
    "null choices": {"choices": None},
    "no choices": {"id": "x"},
    "empty choices and usage": {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}},
    "usage alone": {"usage": {"prompt_tokens": 7, "completion_tokens": 2}},
    "null in choices": {"choices": [None]},
    "null data": "null",
    "empty data": "",
    "keep-alive words": "keep-alive",
    "keep-alive comment as data": ": OPENROUTER PROCESSING",
    "keep-alive object": {"type": "ping"},
    "piece of a call without a function": FaultServer.delta(tool_calls=[{"index": 0, "id": "a"}]),
    "tool_calls as an object": FaultServer.delta(tool_calls={}),
}


def _framed(document: Any) -> bytes:
    return f"data: {document if isinstance(document, str) else json.dumps(document)}\n\n".encode()


def _calls(server: FaultServer, settings: Any, schemas: Any, conversation: Any) -> list[str]:
    policy = OpenAIChat("m", f"{server.url}/v1", NATIVE, schemas, replace(settings, stream=True, attempts=1))
    return [call.name or call.problem for call in NATIVE.parse(policy.respond(conversation).text).calls]


@pytest.mark.parametrize("place", ["first", "in the middle", "last"])
@pytest.mark.parametrize("form", list(CARRY_NOTHING))
def test_an_event_that_carries_nothing_loses_no_turn(server, quick, schemas, conversation, form, place) -> None:
    sent = [CALLED, ENDED]
    sent.insert(["first", "in the middle", "last"].index(place), CARRY_NOTHING[form])
    server.will(server.stream([*sent, "[DONE]"]))
    assert _calls(server, quick, schemas, conversation) == ["robot.capture_image"]


SPREAD = json.dumps(CALLED, indent=1).replace("\n", "\ndata: ")
WHOLE = b"".join(map(_framed, (CALLED, ENDED, "[DONE]")))
FRAMES = {
    "JSON over several lines": _framed(SPREAD) + _framed(ENDED),
    "CR alone": WHOLE.replace(b"\n", b"\r"),
    "CRLF": WHOLE.replace(b"\n", b"\r\n"),
    "no empty lines": WHOLE.replace(b"\n\n", b"\n"),
    "byte order mark": b"\xef\xbb\xbf" + WHOLE,
    "comments first": b": hello\n\n" + WHOLE,
    "events with names": WHOLE.replace(b"data:", b"event: chunk\nid: 3\ndata:"),
    "no last line end": WHOLE.rstrip(),
}


@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain", "application/json", ""])
@pytest.mark.parametrize("form", list(FRAMES))
def test_a_stream_is_known_by_its_beginning_and_read_in_any_frame(
    server, quick, schemas, conversation, form, kind
) -> None:
    server.will(server.raw(FRAMES[form], kind=kind))
    assert _calls(server, quick, schemas, conversation) == ["robot.capture_image"]


@pytest.mark.parametrize("form", list(FRAMES))
def test_lines_are_found_wherever_the_chunks_are_cut(form: str) -> None:
    data = FRAMES[form].removeprefix(b"\xef\xbb\xbf")
    whole = list(stream_data([data], 2**20))
    for size in (1, 2, 3, 7):
        assert list(stream_data([data[k : k + size] for k in range(0, len(data), size)], 2**20)) == whole
    assert json.loads(whole[0]) == CALLED


def test_a_whole_answer_that_is_called_a_stream_is_read(server, quick, schemas, conversation) -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [LOOK]}
    body = json.dumps(_choice(message=message, finish_reason="tool_calls")).encode()
    server.will(server.raw(body, kind="text/event-stream"))
    assert _calls(server, quick, schemas, conversation) == ["robot.capture_image"]


def test_an_answer_that_is_compressed_unasked_is_unfolded_or_refused_by_name(
    server, quick, schemas, conversation
) -> None:
    server.will(server.raw(gzip.compress(WHOLE), kind="text/event-stream", Content_Encoding="gzip"))
    assert _calls(server, quick, schemas, conversation) == ["robot.capture_image"]
    server.will(server.raw(b"x" * 40, kind="text/event-stream", Content_Encoding="br"))
    with pytest.raises(ToolError, match=r"compressed its answer .*: br"):
        _calls(server, quick, schemas, conversation)


@pytest.mark.parametrize("ending", ["error", "content_filter", "abort", "malformed_function_call"])
def test_a_call_of_a_turn_that_failed_on_its_way_is_not_run(server, quick, schemas, conversation, ending) -> None:
    for events in ([CALLED, FaultServer.delta(ending)], [FaultServer.delta(ending, tool_calls=[LOOK])]):
        server.will(server.stream([*events, "[DONE]"]))
        with refused(ErrorCode.UNAVAILABLE) as caught:
            _calls(server, quick, schemas, conversation)
        assert ending in str(caught.value)


def test_a_broken_piece_is_never_passed_over(server, quick, schemas, conversation) -> None:
    server.will(server.stream([CALLED, b'data: {"choices": [{"del\n\n', ENDED]))
    with refused(ErrorCode.UNAVAILABLE):
        _calls(server, quick, schemas, conversation)


def _block(number: int, index: int = 0) -> list[dict[str, Any]]:
    begun = {"type": "tool_use", "id": "a", "name": "roborefer__detect_one", "input": {}}
    written = json.dumps({"obj_name": "can", "image_index": number})
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        {"type": "content_block_delta", "index": index, "delta": {"partial_json": written}},
        {"type": "content_block_stop", "index": index},
    ]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (["", "null", *_block(0), "ping", {"type": "content_block_delta", "index": 0, "delta": None}], 1),
        ([*_block(0), *_block(0)], 1),
        ([*_block(0), *_block(0, 1)], 1),
        ([*_block(0), *_block(1)], 0),
    ],
)
def test_a_block_of_messages_that_is_sent_again_is_one_call(
    server, quick, schemas, conversation, sent, expected
) -> None:
    ending = [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]
    server.will(server.stream([*sent, *ending]))
    policy = AnthropicMessages("m", f"{server.url}/v1", NATIVE, schemas, replace(quick, stream=True))
    calls = NATIVE.parse(policy.respond(conversation).text).calls
    assert sum(not call.problem for call in calls) == expected
    assert calls


def test_a_message_that_the_model_refused_to_finish_is_not_run(server, quick, schemas, conversation) -> None:
    server.will(server.stream([*_block(0), {"type": "message_delta", "delta": {"stop_reason": "refusal"}}]))
    policy = AnthropicMessages("m", f"{server.url}/v1", NATIVE, schemas, replace(quick, stream=True))
    with pytest.raises(ToolError, match="refusal"):
        policy.respond(conversation)


def test_an_event_that_is_too_long_is_refused() -> None:
    with pytest.raises(Fault, match="an event of more than 1 MiB"):
        list(stream_data([b"data: {" + b" " * 2**21], 2**20))
