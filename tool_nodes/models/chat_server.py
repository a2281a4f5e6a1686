"""One question about one picture to a server that speaks OpenAI's chat completions: vLLM, SGLang, llama.cpp, TGI.

Python's own http.client: one POST with a deadline of its own and a bound on the answer. No proxy of the environment
is used: such a server stands in one's own network.
"""

from __future__ import annotations

import base64
import http.client
import io
import json
import os
import ssl
import time
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tool_nodes.results import unavailable

KEY = "TOOLHAND_MODELS_KEY"
"""Environment variable with the key that servers of models are sent; only over https, or to this very machine."""
MAX_BYTES = 4 * 2**20
"""Longest answer [bytes]: a thousand times what points take."""
_CHUNK = 2**16
"""Bytes of an answer that are read before the deadline is checked again."""
_SHOWN = 160
"""Characters of a server's answer that a message repeats."""


def ask(url: str, model: str, question: str, rgb: NDArray[np.uint8], tokens: int, deadline_s: float) -> str:
    """What the model writes about a picture uint8 (H, W, 3).

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
    server = urlsplit(url).netloc
    try:
        status, answer = _post(f"{url}/chat/completions", json.dumps(body).encode(), time.monotonic() + deadline_s)
    except TimeoutError as error:
        raise unavailable(f"{server} did not answer within {deadline_s:g} s.") from error
    except (OSError, http.client.HTTPException) as error:
        raise unavailable(f"{server} does not answer: {_line(f'{type(error).__name__}: {error}')}.") from error
    if status != 200:
        raise unavailable(f"{server} answers with status {status}: {_line(answer.decode(errors='replace'))}")
    try:
        text: Any = json.loads(answer)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise unavailable(f"{server} answers with what is no chat completion: {_line(answer.decode(errors='replace'))}")
    return text


def _post(url: str, body: bytes, deadline: float) -> tuple[int, bytes]:
    parts = urlsplit(url)
    host, left = parts.hostname or "", _left(deadline)
    connection = (
        http.client.HTTPSConnection(host, parts.port, timeout=left, context=ssl.create_default_context())
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, parts.port, timeout=left)
    )
    headers = {"Content-Type": "application/json", "Connection": "close"}
    key = os.environ.get(KEY, "")
    if key and (parts.scheme == "https" or parts.hostname in ("localhost", "127.0.0.1", "::1")):
        headers["Authorization"] = f"Bearer {key}"
    try:
        connection.connect()
        connection.sock.settimeout(_left(deadline))
        connection.request("POST", parts.path, body, headers)
        connection.sock.settimeout(_left(deadline))
        socket = connection.sock  # the response lets go of it
        response = connection.getresponse()
        answer = b""
        while chunk := response.read1(_CHUNK):
            answer += chunk
            if len(answer) > MAX_BYTES:
                raise http.client.HTTPException(f"the answer has more than {MAX_BYTES:,} bytes")
            socket.settimeout(_left(deadline))
        return response.status, answer
    finally:
        connection.close()


def _left(deadline: float) -> float:
    """Seconds until a deadline. Raises TimeoutError."""
    left = deadline - time.monotonic()
    if left <= 0.0:
        raise TimeoutError
    return left


def _png(rgb: NDArray[np.uint8]) -> str:
    packed = io.BytesIO()
    Image.fromarray(rgb).save(packed, "PNG", compress_level=1)
    return base64.b64encode(packed.getvalue()).decode()


def _line(text: str) -> str:
    """Foreign text as it may stand in a sentence."""
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 10 * _SHOWN]).split())
    return plain if len(plain) <= _SHOWN else plain[: _SHOWN - 3] + "..."
