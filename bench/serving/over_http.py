"""Tools behind an HTTP server that speaks JSON, with pictures as base64: how verl-tool calls its tools.

Pixels travel as they are: packing them as PNG would take many times as long.
"""

from __future__ import annotations

import base64
import json
import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from tool_nodes.results import ErrorCode, ToolError, unavailable
from tool_nodes.serve.config import ServedEntry
from tool_nodes.serve.runner import make_backend
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.types import Frame

COPIES = 7
"""Copies of a picture on its way: base64, its text, the document, the document in bytes, what the server reads, the
text in the document that it parses, and pixels. What the system's sockets copy is not counted."""

_START_S = 120.0
"""How long the server may take to start [s]; a round figure."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512  # 5 of the standard library would refuse what begins at once


def _serve(tool: str, ours: Connection) -> None:
    """The server's process: one backend, a thread for each connection."""
    backend = make_backend(ServedEntry("tool", "pointer", tool))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                answer = backend.point(_image(document), document["text"])
                reply = {"points": answer.value, "backend": answer.backend}
            except ToolError as error:
                reply = {"error": error.code, "message": error.message}
            body = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: Any) -> None:
            pass

    with _Server(("127.0.0.1", 0), Handler) as server:
        ours.send(server.server_address[1])
        server.serve_forever()


@contextmanager
def http_server(tool: str) -> Iterator[tuple[int, int]]:
    """A server of one tool in a process of its own: its port and its process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(tool, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(_START_S):
            raise unavailable(f"The HTTP server did not start within {_START_S:g} s.")
        assert process.pid is not None
        yield ours.recv(), process.pid
    finally:
        process.kill()
        process.join()
        ours.close()


def http_conversation(port: int) -> Callable[[SessionImage, str], Any]:
    """Calls of one conversation, over one connection."""
    connection = HTTPConnection("127.0.0.1", port, timeout=600.0)

    def call(image: SessionImage, text: str) -> Any:
        body = json.dumps({"text": text, **_document(image)}).encode()
        connection.request("POST", "/", body, {"Content-Type": "application/json"})
        reply = json.loads(connection.getresponse().read())
        if "error" in reply:
            raise ToolError(ErrorCode(reply["error"]), reply["message"])
        return reply["points"]

    return call


def _document(image: SessionImage) -> dict[str, Any]:
    document = {"rgb": _text(image.rgb), "shape": image.rgb.shape}
    if (frame := image.frame) is not None:
        camera = {"K": frame.K.tolist(), "T_base_camera": frame.T_base_camera.tolist(), "stamp": frame.stamp}
        document |= {"depth": _text(frame.depth), **camera}
    return document


def _image(document: dict[str, Any]) -> SessionImage:
    height, width, channels = document["shape"]
    rgb = _array(document["rgb"], np.uint8).reshape(height, width, channels)
    if "depth" not in document:
        return SessionImage(rgb)
    depth = _array(document["depth"], np.float32).reshape(height, width)
    K, T = np.array(document["K"]), np.array(document["T_base_camera"])
    return SessionImage(rgb, Frame(rgb, depth, K, T, document["stamp"]))


def _text(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).data).decode()


def _array(text: str, dtype: Any) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype)
