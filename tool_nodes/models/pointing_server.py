"""The pointers `roborefer` and `pointing`: vision-language models behind a server, `NAME:MODEL@URL`.

RoboRefer (Zhou et al. 2025, arXiv 2506.04308) is no class of transformers, and runs in an environment of its own
behind a server with OpenAI's chat completions. `pointing` is any other model that writes points, whichever form it
has.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from toolhand.tool_nodes.models.batched import BatchingBackend
from toolhand.tool_nodes.models.chat_server import ask
from toolhand.tool_nodes.models.points import ModelPoints, any_points, no_points
from toolhand.tool_nodes.models.spec import NumberOptions, Option, parse_server
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage

DEADLINE_S = 25.0
"""Longest wait for an answer [s]: a tool's call may take 30."""
LONGEST = 512
"""Longest answer [tokens]; 40 points take fewer."""


_PAIRS = (
    "Your answer should be formatted as a list of tuples, i.e. [(x1, y1), (x2, y2), ...], where each tuple contains "
    "the x and y coordinates of a point satisfying the conditions above. The coordinates should be "
)


class PointingServer(BatchingBackend[ModelPoints]):
    """A Pointer over a server.

    Args:
        model: `MODEL@URL`, and behind a question mark `scale` (what coordinates go up to: 1, 100 or 1000, say; tags of
            Molmo have their own), `deadline` [s], `tokens` and `batch`.

    Raises:
        ToolError: INVALID_ARGUMENT for what is none of that; the server is asked only when something is pointed at.
    """

    backend = "pointing"
    OPTIONS: ClassVar[NumberOptions] = {
        "scale": Option(1.0, 1e-3, 1e5),
        "deadline": Option(DEADLINE_S, 0.1, 600.0),
        "tokens": Option(LONGEST, 1, 8192),
    }

    def __init__(self, model: str) -> None:
        self.spec = parse_server(self.backend, model, self.OPTIONS)
        self.batch_size = self.spec.batch

    def point(self, image: SessionImage, text: str) -> Answer[ModelPoints]:
        """See ports.Pointer."""
        return self.one(image, text)

    def _answer(self, requests: Sequence[tuple[Any, ...]]) -> list[ModelPoints | ToolError]:
        if len(requests) == 1:
            return [self._found(*requests[0])]
        with ThreadPoolExecutor(len(requests)) as pool:  # the server makes the batch
            return list(pool.map(lambda request: self._found(*request), requests))

    def _found(self, image: SessionImage, text: str) -> ModelPoints | ToolError:
        numbers = self.spec.numbers
        question = self._question(text)
        try:
            written = ask(
                self.spec.url, self.spec.model, question, image.rgb, int(numbers["tokens"]), numbers["deadline"]
            )
        except ToolError as error:
            return error
        return any_points(written, numbers["scale"]) or no_points(text, written)

    def _question(self, text: str) -> str:
        scale = self.spec.numbers["scale"]
        return f"Point to every instance of: {text}. {_PAIRS}between 0 and {scale:g} along either side of the image."


class RoboRefer(PointingServer):
    """RoboRefer, asked in the words that it was trained on."""

    backend = "roborefer"

    def _question(self, text: str) -> str:
        return f"Please point out {text}. {_PAIRS}between 0 and 1, the normalized pixel locations of the points."
