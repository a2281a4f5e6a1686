"""What an operator points at reaches models in words, whatever the protocol, and marked in an image."""

import base64
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

from toolhand.agent_node.conversation import Conversation
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.opening import ShownToPolicy
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.policies.anthropic_messages import AnthropicMessages
from toolhand.agent_node.policies.openai_chat import OpenAIChat
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import sees_images
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ToolResult
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool
from toolhand.tool_nodes.types import Frame

POINTED = (PointedPoint((0.25, 0.5), label="1"), PointedPoint((0.75, 0.25), label="2"))
SENTENCE = "put this one here"
GREY = 120


class Camera:
    """A camera of a grey scene."""

    taken = 0

    @tool("robot.capture_image")
    def look(self) -> ToolResult:
        """Look."""
        frame = self.capture()
        return ToolResult(text="Captured.", image=frame.rgb, variables={"image": SessionImage(frame.rgb, frame)})

    def capture(self) -> Frame:
        self.taken += 1
        rgb = np.full((96, 128, 3), GREY, np.uint8)
        return Frame(rgb, np.ones((96, 128), np.float32), np.diag([100.0, 100.0, 1.0]), np.eye(4), 1.0)


def texts_and_images(content: Any) -> Iterator[str | np.ndarray]:
    """The words and images of a request's message, in order."""
    for part in [content] if isinstance(content, str) else content:
        if isinstance(part, str) or part["type"] == "text":
            yield part if isinstance(part, str) else part["text"]
            continue
        data = part["source"]["data"] if part["type"] == "image" else part["image_url"]["url"].partition(",")[2]
        yield np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))


@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize("name", ["spacetools", "spacetools_pointing", "native", "peria", "evic", "last"])
def test_a_model_is_given_the_points_in_words_and_marked_in_an_image(
    server: Any, quick: Any, api: str, name: str
) -> None:
    camera, protocol = Camera(), load_protocol(name)
    toolbox = Toolbox([camera])
    settings = ConversationSettings(4, protocol)
    conversation = Conversation(
        SENTENCE, toolbox, settings, shown=ShownToPolicy((), True, POINTED), memory="A can fell."
    )
    assert conversation.episode.session.images[0].frame is not None, "calls may name the picture"
    if api == "openai":
        policy: Any = OpenAIChat("m", f"{server.url}/v1", protocol, toolbox.schemas(), quick)
        server.will(server.completion("<answer>x</answer>"))
    else:
        policy = AnthropicMessages("m", server.url, protocol, toolbox.schemas(), quick, "key")
        said = {"type": "text", "text": "<answer>x</answer>"}
        server.will(server.json({"type": "message", "content": [said], "usage": {}, "stop_reason": "end_turn"}))
    assert sees_images(policy)
    policy.respond(conversation.messages)
    asked = [message for message in server.requests[0]["messages"] if message["role"] == "user"]
    parts = list(texts_and_images(asked[0]["content"]))
    shown = [part for part in parts if not isinstance(part, str)]
    assert len(shown) == 1
    for (u, v), marked in (((32, 48), True), ((96, 24), True), ((64, 80), False)):
        red, green, blue = shown[0][v, u].astype(int)
        assert bool(red - max(green, blue) > 100) is marked, (u, v)
    words = "\n".join(part for part in parts if isinstance(part, str))
    assert words.startswith("<image 0>")
    assert SENTENCE in words
    assert "1 at (0.250, 0.500), 2 at (0.750, 0.250)" in words
    assert "A can fell." in words


def test_what_is_pointed_at_is_said_where_no_picture_can_be_had() -> None:
    conversation = Conversation(SENTENCE, Toolbox([]), shown=ShownToPolicy((), True, POINTED))
    assert [message.image for message in conversation.messages] == [None, None]
    assert "1 at (0.250, 0.500)" in conversation.messages[-1].text
    assert conversation.messages[-1].words == SENTENCE


def test_the_rules_read_words_alone() -> None:
    assert not sees_images(ScriptedPolicy())
