"""The pointers `roborefer` and `pointing`: vision-language models behind a server, `NAME:MODEL@URL`.

RoboRefer (Zhou et al. 2025, arXiv 2506.04308) is no class of transformers, and runs in an environment of its own
behind a server with OpenAI's chat completions. `pointing` is any other model that writes points, whichever form it
has.
"""

from __future__ import annotations

import base64
import io
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from toolhand.tool_nodes.http_request import Fault, HttpRequest, is_private, plain_line
from toolhand.tool_nodes.models.batched import BatchingBackend
from toolhand.tool_nodes.models.points import ModelPoints, any_points, no_points
from toolhand.tool_nodes.models.spec import NumberOptions, Option, parse_server
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ToolError, unavailable
from toolhand.tool_nodes.toolbox.images import SessionImage

KEY = "TOOLHAND_MODELS_KEY"
"""Environment variable with the key that servers of models are sent; only over https, or to this very machine."""
MAX_BYTES = 4 * 2**20
"""Longest answer [bytes]: a thousand times what points take."""
_SHOWN = 160
"""Characters of a server's answer that a message repeats."""


def ask(url: str, model: str, question: str, rgb: NDArray[np.uint8], tokens: int, deadline_s: float) -> str:
    """What the model writes about an image uint8 (H, W, 3).

    Args:
        url: Base URL, e.g. "http://localhost:8000/v1".
        model: Name of the model on the server.
        question: In words.
        rgb: Sent as PNG.
        tokens: Longest answer.
        deadline_s: For all of it [s].

    Raises:
        ToolError: UNAVAILABLE where the server does not answer in time, refuses, or says what is no completion.
    """
    content = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_png(rgb)}"}},
        {"type": "text", "text": question},
    ]
    body = {
        "model": model,
        "messages": [{"role": "user", "content": content}],
        "max_tokens": tokens,
        "temperature": 0.0,
        "stream": False,
    }
    server, key = urlsplit(url).netloc, os.environ.get(KEY, "")
    headers = {"Authorization": f"Bearer {key}"} if key and is_private(url) else {}
    until, answer = time.monotonic() + deadline_s, b""
    request = HttpRequest(
        f"{url}/chat/completions", headers, json.dumps(body).encode(), deadline_s, MAX_BYTES, proxies=False
    )
    try:
        status, _ = request.next(until)
        while chunk := request.next(until):
            answer += chunk
    except TimeoutError as error:
        raise unavailable(f"{server} did not answer within {deadline_s:g} s.") from error
    except Fault as fault:
        raise unavailable(f"{server} {fault}{': ' * bool(fault.said)}{plain_line(fault.said, _SHOWN)}.") from fault
    finally:
        request.close()
    shown = plain_line(answer.decode(errors="replace"), _SHOWN)
    if status != 200:
        raise unavailable(f"{server} answers with status {status}: {shown}")
    try:
        text: Any = json.loads(answer)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise unavailable(f"{server} answers with what is no chat completion: {shown}")
    return text


def _png(rgb: NDArray[np.uint8]) -> str:
    packed = io.BytesIO()
    Image.fromarray(rgb).save(packed, "PNG", compress_level=1)
    return base64.b64encode(packed.getvalue()).decode()


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
