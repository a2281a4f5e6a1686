"""What a server is sent over a long conversation: how much of it is what it was sent before, and how large it is."""

import base64
import io
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.agent_node.policies.conftest import FaultServer
from toolhand.agent_node.conversation import Conversation
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.policies.anthropic_messages import AnthropicMessages
from toolhand.agent_node.policies.chat import IMAGE_BYTES, NO_LONGER_SHOWN, ImageParts, text_turns
from toolhand.agent_node.policies.openai_chat import OpenAIChat
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policy import Policy, Reply
from toolhand.agent_node.protocol import Protocol, load_protocol
from toolhand.tool_nodes.results import ToolResult
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool
from toolhand.tool_nodes.types import Frame

TURNS = 15
SPACETOOLS, NATIVE = load_protocol("spacetools"), load_protocol("native")
MARK = "cache_control"


class Camera:
    """Takes pictures of a noisy scene, 640x480."""

    def __init__(self) -> None:
        self.taken = 0
        self._noise = np.random.default_rng(3)
        rows, columns = np.mgrid[0:480, 0:640]
        self._scene = np.stack([rows // 2, columns // 3, (rows + columns) % 251], axis=-1)

    @tool("robot.capture_image", repeatable=True)
    def capture(self) -> ToolResult:
        """Look."""
        self.taken += 1
        noisy = self._scene + self._noise.normal(0, 12, self._scene.shape)
        rgb = np.clip(noisy, 0, 255).astype(np.uint8)
        seen = Frame(rgb, np.ones((480, 640), np.float32), np.eye(3), np.eye(4), 0.0)
        return ToolResult(seen, f"Picture {self.taken}, 640x480.", rgb, {"captured_image": SessionImage(rgb, seen)})


LOOK = '<tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>'
Make = Callable[..., Policy]


@pytest.fixture
def make(server: FaultServer, quick: PolicyOptions) -> Make:
    def of(api: str, protocol: Protocol, schemas: Sequence[dict[str, Any]], **options: Any) -> Policy:
        settings = replace(quick, **options)
        if api == "openai":
            return OpenAIChat("m", f"{server.url}/v1", protocol, schemas, settings)
        return AnthropicMessages("m", server.url, protocol, schemas, settings)

    return of


def answer_of(server: FaultServer, api: str, usage: dict[str, Any] | None = None) -> Any:
    if api == "openai":
        return server.completion("Done.", **({"usage": usage} if usage else {}))
    text = {"type": "text", "text": "Done."}
    return server.json({"type": "message", "content": [text], "stop_reason": "end_turn", "usage": usage or {}})


def conversed(server: FaultServer, make: Make, api: str, protocol: Protocol) -> tuple[Conversation, list[Any]]:
    """A conversation of TURNS turns with a picture or two in each, and the request before each of them."""
    toolbox = Toolbox([Camera()])
    policy = make(api, protocol, toolbox.schemas())
    server.will(answer_of(server, api))
    conversation = Conversation("Look around.", toolbox, ConversationSettings(turn_budget=99, protocol=protocol))
    for turn in range(TURNS):
        policy.respond(conversation.messages)
        conversation.step(Reply(f"Turn {turn}.{LOOK * (1 + turn % 2)}"))
    return conversation, server.requests


def stretch(request: Any) -> str:
    """What the model reads of a request, in the order in which it does, without marks."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(inner) for key, inner in value.items() if key != MARK}
        return [bare(inner) for inner in value] if isinstance(value, list) else value

    parts = [request.get("tools", []), request.get("system", []), *request["messages"]]
    return "".join(json.dumps(bare(part)) for part in parts)


def repeated(before: str, now: str) -> float:
    """Share of what was sent before with which the next request begins."""
    same = next((k for k, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), min(len(before), len(now)))
    return same / len(before)


@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize("protocol", [SPACETOOLS, NATIVE], ids=lambda protocol: protocol.name)
def test_a_request_begins_with_the_one_before_until_pictures_are_trimmed_in_blocks(
    server: FaultServer, make: Make, api: str, protocol: Protocol
) -> None:
    conversation, requests = conversed(server, make, api, protocol)
    sent = [stretch(request) for request in requests]
    shares = [repeated(before, now) for before, now in itertools.pairwise(sent)]
    assert sum(share < 0.99 for share in shares) == 1, "22 pictures: one trim"
    assert sum(shares) / len(shares) > 0.9
    assert max(len(json.dumps(request)) for request in requests) <= 600_000
    shown = [text.count("base64") for text in sent]
    assert max(shown) <= 16
    assert "no longer shown" not in sent[shown.index(max(shown))]
    assert sent[-1].count(NO_LONGER_SHOWN) == 8
    given = [message.image is not None for message in conversation.episode.given(5)]
    assert sum(given) == shown[5], "the record knows what was shown then"


@pytest.mark.parametrize("protocol", [SPACETOOLS, NATIVE], ids=lambda protocol: protocol.name)
def test_at_most_four_marks_end_what_the_next_request_shares(
    server: FaultServer, make: Make, protocol: Protocol
) -> None:
    for request in conversed(server, make, "anthropic", protocol)[1]:
        told = [message["content"] for message in request["messages"] if message["role"] == "user"]
        marked = [request["system"][-1], *(content[-1] for content in told[-2:])]
        marked += [request["tools"][-1]] if protocol is NATIVE else []
        assert all(block[MARK] == {"type": "ephemeral"} for block in marked)
        assert json.dumps(request).count(MARK) == len(marked) <= 4


def test_a_server_that_refuses_marks_is_sent_none(server: FaultServer, make: Make) -> None:
    error = {"message": f"tools.0.{MARK}: Extra inputs are not permitted"}
    server.will(server.json({"error": error}, 400), answer_of(server, "anthropic"))
    toolbox = Toolbox([Camera()])
    policy = make("anthropic", NATIVE, toolbox.schemas())
    for _ in range(2):
        policy.respond(Conversation("Look.", toolbox).messages)
    assert [MARK in json.dumps(request) for request in server.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("api", "usage"),
    [
        ("openai", {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 60}}),
        ("anthropic", {"input_tokens": 30, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 60}),
    ],
)
@pytest.mark.parametrize(("price", "cost"), [(None, 100 * 10), (1.0, 40 * 10 + 60)])
def test_what_the_server_had_in_its_cache_is_counted_and_has_its_own_price(
    server: FaultServer, make: Make, api: str, usage: dict[str, Any], price: float | None, cost: float
) -> None:
    server.will(answer_of(server, api, usage))
    policy = make(api, SPACETOOLS, (), price_prompt=10.0, price_cached=price)
    reply = policy.respond(Conversation("Look.", Toolbox([Camera()])).messages)
    assert (reply.prompt_tokens, reply.details["cached_tokens"]) == (100, 60)
    assert reply.cost == pytest.approx(cost / 1e6)


def noise(width: int, height: int, kind: str) -> np.ndarray:
    if kind == "plain":
        return np.full((height, width, 3), 200, np.uint8)
    return np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    ("width", "height", "kind", "same_size"),
    [(640, 480, "plain", True), (64, 48, "noise", True), (640, 480, "noise", False), (1920, 1080, "noise", False)],
)
def test_a_picture_is_bounded_by_its_bytes_and_loses_pixels_only_if_it_must(
    width: int, height: int, kind: str, same_size: bool
) -> None:
    picture = noise(width, height, kind)
    first = ImageParts("jpeg").base64(picture)
    data = base64.b64decode(first)
    decoded = Image.open(io.BytesIO(data))
    assert len(data) <= IMAGE_BYTES
    assert decoded.format == "JPEG"
    assert (decoded.size == (width, height)) is same_size
    assert abs(decoded.width / decoded.height - width / height) < 0.02
    assert first == ImageParts("jpeg").base64(picture.copy()), "the same bytes whenever it is sent"


def test_a_picture_that_left_the_window_is_said_to_in_text_and_in_results() -> None:
    toolbox = Toolbox([Camera()])
    conversation = Conversation("Look.", toolbox, ConversationSettings(turn_budget=99))
    for _ in range(18):
        conversation.step(Reply(LOOK))
    words = [part for turn in text_turns(conversation.messages) for part in turn.parts if isinstance(part, str)]
    assert f"<image 1> {NO_LONGER_SHOWN}</tool_response>" in "".join(words)
    assert "<image 0></tool_response>" in "".join(words)
