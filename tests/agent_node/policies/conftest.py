"""Conversations, tools, and a model server that does whatever a test asks of it."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.random_qwen import (
    CONTROL,
    byte_tokenizer,
    image_processor,
    random_qwen,
    spread_weights,
    text_settings,
)
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import load_protocol

Answer = Callable[[BaseHTTPRequestHandler], None]


def schema(name: str, **arguments: str) -> dict[str, Any]:
    properties = {argument: {"type": kind} for argument, kind in arguments.items()}
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "description": f"{name}.", "parameters": parameters}}


class FaultServer:
    """Answers each request with the next of the given answers; the last one is repeated."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answers: list[Answer] = []
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.requests.append(json.loads(body))
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                outer.paths.append(self.path)
                answer = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                self.close_connection = True
                with contextlib.suppress(OSError):
                    answer(self)

            def do_CONNECT(self) -> None:
                outer.paths.append(self.path)
                self.send_error(502)

            def log_message(self, format: str, *args: Any) -> None:
                """Tests are quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def will(self, *answers: Answer) -> FaultServer:
        self.answers = list(answers)
        return self

    @staticmethod
    def raw(body: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> Answer:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            handler.send_header("Content-Type", kind)
            handler.send_header("Content-Length", headers.pop("length", str(len(body))))
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(body)

        return answer

    @classmethod
    def json(cls, document: Any, status: int = 200, **headers: str) -> Answer:
        return cls.raw(json.dumps(document).encode(), status, **headers)

    def stream(self, events: Sequence[Any], then: str = "end") -> Answer:
        """Server-sent events, and then an `end`, a `stall` until the test is over, or a slow `drip` of comments."""

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
            handler.end_headers()
            for event in events:
                data = (
                    event
                    if isinstance(event, bytes)
                    else f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()
                )
                handler.wfile.write(data)
                handler.wfile.flush()
            if then == "stall":
                self.released.wait(20)
            while then == "drip" and not self.released.wait(0.02):
                handler.wfile.write(b": \n")
                handler.wfile.flush()

        return answer

    def silence(self) -> Answer:
        return lambda handler: self.released.wait(20) and None

    @staticmethod
    def hang_up(handler: BaseHTTPRequestHandler) -> None:
        """Closes the connection without a word."""

    @classmethod
    def completion(cls, content: Any, finish: str | None = "stop", **more: Any) -> Answer:
        message = {"role": "assistant", "content": content} | more.pop("message", {})
        choice = {"index": 0, "message": message, "finish_reason": finish} | more.pop("choice", {})
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        return cls.json({"object": "chat.completion", "choices": [choice], "usage": usage} | more)

    @staticmethod
    def delta(finish: str | None = None, **delta: Any) -> dict[str, Any]:
        return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


@pytest.fixture
def server() -> Iterator[FaultServer]:
    fault_server = FaultServer()
    yield fault_server
    fault_server.close()


@pytest.fixture
def quick() -> PolicyOptions:
    """Deadlines and pauses for a server on this machine."""
    return PolicyOptions(connect_s=5.0, first_token_s=10.0, deadline_s=20.0, backoff_s=0.001, seed=7)


@pytest.fixture(scope="session")
def schemas() -> list[dict[str, Any]]:
    return [schema("robot.capture_image"), schema("roborefer.detect_one", obj_name="string", image_index="integer")]


@pytest.fixture
def image() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, (12, 16, 3), dtype=np.uint8)


@pytest.fixture
def conversation(schemas: list[dict[str, Any]], image: np.ndarray) -> list[Message]:
    """A task, an image taken and shown, and a detection that failed."""
    protocol = load_protocol("spacetools")
    return [
        Message("system", protocol.system_prompt(schemas)),
        Message("user", "Pick up the can", words="Pick up the can"),
        Message(
            "assistant",
            '<think>Look.</think>\n<tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>\n'
            '<tool_call>{"name": "roborefer.detect_one", '
            '"arguments": {"obj_name": "can", "image_index": 0}}</tool_call>',
        ),
        Message("tool", "<tool_response>Captured. <image 0></tool_response>", "Captured.", 0, image),
        Message(
            "tool", "<tool_response>Error OBJECT_NOT_FOUND: no can.</tool_response>", "Error OBJECT_NOT_FOUND: no can."
        ),
    ]


@pytest.fixture
def within() -> Callable[[float], contextlib.AbstractContextManager[None]]:
    """Fails a block that takes longer than it may wait; generous, since it tells a deadline from a hang."""

    @contextlib.contextmanager
    def limit(seconds: float) -> Iterator[None]:
        began = time.monotonic()
        yield
        assert time.monotonic() - began < seconds, "it hung"

    return limit


SPREAD = 0.3
"""Of the random weights."""


def make_tiny_model(kind: str, folder: Path, lessons: Sequence[tuple[list[dict[str, Any]], str]] = ()) -> Path:
    """A model of random weights with its tokenizer (bytes and control tokens) and a chat template, in a folder.

    Nothing is downloaded. KIND is text (Qwen2), qwen2_5_vl or qwen3_vl; about 60 000 weights. A lesson is a
    conversation and the turn that follows, which the model learns by heart.
    """
    import torch
    import transformers

    tokenizer = byte_tokenizer(control=[*CONTROL, "[INST]"])
    if kind == "text":
        torch.set_num_threads(1)
        torch.manual_seed(0)
        model: Any = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**text_settings(tokenizer)))
        spread_weights(model, SPREAD)
        model.generation_config.eos_token_id = tokenizer.eos_token_id
    else:
        model = random_qwen(kind, tokenizer, SPREAD)
        image_processor(kind).save_pretrained(folder)
    if lessons:
        teach(model, tokenizer, lessons)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def teach(model: Any, tokenizer: Any, lessons: Sequence[tuple[list[dict[str, Any]], str]]) -> None:
    """Repeat the lessons until each turn is known by heart."""
    import torch

    rows = []
    for messages, turn in lessons:
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        before, after = tokenizer(prompt)["input_ids"], [*tokenizer(turn)["input_ids"], tokenizer.eos_token_id]
        rows.append((torch.tensor([before + after]), torch.tensor([[-100] * len(before) + after])))
    spread_weights(model, 0.05)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(600):
        losses = [model(input_ids=ids, labels=labels).loss for ids, labels in rows]
        optimizer.zero_grad()
        sum(losses).backward()
        optimizer.step()
        if max(loss.item() for loss in losses) < 0.05:
            return
    raise AssertionError(f"the model learns nothing: {losses}")


@pytest.fixture(scope="session")
def tiny_model() -> Callable[..., Path]:
    """Makes a model of a kind in a folder."""
    return make_tiny_model
