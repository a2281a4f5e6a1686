"""The console in headless Chromium: pages over a robot of the tests, served by a process of its own."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LONGEST_S
from toolhand.console.settings import ConsoleSettings

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-dev-shm-usage"]
"""Flags of Chromium: root needs the first, and 3D without a GPU the next two."""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class Served:
    """A console that is served.

    Attributes:
        url: Address of its pages, without a slash at the end.
        process: Process of the pages.
        log: What the robot of the tests was asked, a line of JSON each.
        settings: Settings that it was started with.
    """

    url: str
    process: subprocess.Popen[str]
    log: Path
    settings: ConsoleSettings

    def asked(self, what: str) -> list[dict[str, Any]]:
        """What the robot was asked of one kind, in order."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [line for line in map(json.loads, lines) if line["what"] == what]


@contextmanager
def serving(
    folder: Path, environment: dict[str, str] | None = None, script: str = "serving.py", **settings: Any
) -> Iterator[Served]:
    """Serve a console over the robot of the tests.

    Args:
        folder: Folder for its log and its runs.
        environment: Further variables of its process.
        script: File beside this one that is run: it serves the pages, or keeps who does.
        settings: Settings beside the ports and folders.
    """
    port = free_port()
    chosen = ConsoleSettings(
        port=port,
        stop_port=free_port(),
        runs_dir=folder / "runs",
        bench_dir=folder / "bench",
        training_dir=folder / "training",
        **settings,
    )
    log = folder / "robot.jsonl"
    command = [sys.executable, str(Path(__file__).with_name(script))]
    more = {**os.environ, "FAKE_ROBOT_LOG": str(log), **(environment or {})}
    errors = (folder / "errors.txt").open("w", encoding="utf-8")
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=more
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(chosen.to_line() + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line == "ready\n" or line.strip().isdigit(), (folder / "errors.txt").read_text(encoding="utf-8")
        yield Served(chosen.address(port), process, log, chosen)
    finally:
        process.stdin.close()  # its input ends, and so does it
        try:
            process.wait(15.0)
        except subprocess.TimeoutExpired:
            process.kill()
        errors.close()


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A console of a module's tests."""
    with serving(tmp_path_factory.mktemp("console")) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window; it ends with the module, because its event loop runs in the tests' own thread."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages, each in a browser context of its own, which are closed after the test.

    Its function takes an address, and `width`, `height`, `ratio` (device pixel ratio) and `dark` where they matter.
    """
    contexts = []

    def open_one(url: str, width: int = 1280, height: int = 800, ratio: float = 1.0, dark: bool = False) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            device_scale_factor=ratio,
            color_scheme="dark" if dark else "light",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * LONGEST_S)
        page.goto(url)
        return page

    yield open_one
    for context in contexts:
        context.close()
