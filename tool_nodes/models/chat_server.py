"""One question about one image to a server that speaks OpenAI's chat completions: vLLM, SGLang, llama.cpp, TGI.

No proxy of the environment is used: such a server stands in one's own network.
"""

from __future__ import annotations

import base64
import io
import json
import os
import time
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from toolhand.tool_nodes.http_request import Fault, HttpRequest, is_private, plain_line
from toolhand.tool_nodes.results import unavailable

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
