"""A robot that does as it is told, at the moment it is told, and clients of every transport."""

import contextlib
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import anyio
import httpx2
import numpy as np
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from toolhand.agent_node.mcp.http import ADDRESS, PATH, HttpSettings, listening_server
from toolhand.agent_node.mcp.sessions import SharedRobot
from toolhand.agent_node.web_gate import listening
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import Data, ImageIndex, Text
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool
from toolhand.tool_nodes.types import Frame

ROOT = Path(__file__).parents[3]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class FakeArm:
    """An arm whose motion lasts until it is stopped or let go."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.moving = threading.Event()
        self.release = threading.Event()
        self.motions = 0
        self.on_stage: Callable[[str], None] = lambda stage: None

    def stop(self) -> None:
        self.stopped.set()

    def reset_stop(self) -> None:
        self.stopped.clear()

    def move(self) -> None:
        if self.stopped.is_set():
            raise ToolError(ErrorCode.STOPPED, "A stop is latched.")
        self.motions += 1
        for stage in ("planning", "planning", "opening", "the approach", "the retreat", "closing", "the approach"):
            self.on_stage(stage)
        self.moving.set()
        while not self.release.wait(0.001):
            if self.stopped.is_set():
                self.moving.clear()
                raise ToolError(ErrorCode.STOPPED, "The arm was stopped.")
        self.moving.clear()


class FakeTools:
    """Looks, keeps, moves, waits and fails."""

    suite = "fake"

    def __init__(self, arm: FakeArm) -> None:
        self._arm = arm

    @tool("robot.capture_image", aliases=["robot.look"], repeatable=True)
    def look(self) -> ToolResult:
        """Look."""
        rgb = np.full((6, 8, 3), 77, np.uint8)
        frame = Frame(rgb, np.ones((6, 8), np.float32), np.eye(3), np.eye(4), 0.0)
        return ToolResult(text="Looked.", image=rgb, variables={"captured_image": SessionImage(rgb, frame)})

    @tool("fake.keep")
    def keep(self, name: Text) -> ToolResult:
        """Keep a variable."""
        return ToolResult(text=f"Kept ${name}.", variables={name: np.arange(6.0).reshape(2, 3)})

    @tool("fake.shape")
    def shape(self, data: Data) -> ToolResult:
        """Tell the shape of a variable."""
        return ToolResult(text=f"{data.shape}")

    @tool("fake.size", repeatable=True)
    def size(self, image_index: ImageIndex) -> ToolResult:
        """Tell the size of a picture."""
        return ToolResult(text=f"{image_index.size}")

    @tool("fake.move", motion=True, timeout_s=None)
    def move(self) -> ToolResult:
        """Move until stopped."""
        self._arm.move()
        return ToolResult(text="Moved.")

    @tool("fake.ask", motion=True, timeout_s=None)
    def ask(self) -> ToolResult:
        """Ask for a motion that nobody approves."""
        raise ToolError(ErrorCode.NOT_APPROVED, "Nobody can be asked.")

    @tool("fake.wait", timeout_s=None, repeatable=True)
    def wait(self) -> ToolResult:
        """Wait until let go."""
        self._arm.moving.set()
        self._arm.release.wait(20)
        return ToolResult(text="Waited.")

    @tool("fake.picture", repeatable=True)
    def image(self, name: Text) -> ToolResult:
        """A picture that PNG cannot make small."""
        noise = np.random.default_rng(0).integers(0, 256, (1200, 1800, 3), np.uint8)
        return ToolResult(text="Noise.", image=noise)


@pytest.fixture
def arm() -> Iterator[FakeArm]:
    arm = FakeArm()
    yield arm
    arm.release.set()


@pytest.fixture
def fake_toolbox(arm: FakeArm) -> Toolbox:
    return Toolbox([FakeTools(arm)])


@pytest.fixture
def closing() -> Iterator[Callable[[SharedRobot], SharedRobot]]:
    """Ends the robots that it is given after the test."""
    robots: list[SharedRobot] = []

    def close_later(robot: SharedRobot) -> SharedRobot:
        robots.append(robot)
        return robot

    yield close_later
    for robot in robots:
        robot.shut_down()
        assert robot.join(5)


@pytest.fixture
def robot(arm: FakeArm, closing: Callable[[SharedRobot], SharedRobot]) -> SharedRobot:
    shared = closing(SharedRobot(Toolbox([FakeTools(arm)]), arm))
    arm.on_stage = shared.enter
    return shared


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], object]:
    async def wait(condition: Callable[[], bool]) -> None:
        with anyio.fail_after(10):
            while not condition():
                await anyio.sleep(0.002)

    return wait


class HttpServer:
    """A server in this process, and its clients."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token, self.url = port, token, f"http://{ADDRESS}:{port}{PATH}"
        self.headers = {"Authorization": f"Bearer {token}"}

    @contextlib.asynccontextmanager
    async def client(self, mode: str = "legacy") -> AsyncIterator[Client]:
        async with (
            httpx2.AsyncClient(headers=self.headers, timeout=20) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield client


@pytest.fixture
def http_server() -> Callable[..., object]:
    @contextlib.asynccontextmanager
    async def serve(robot: SharedRobot, **settings: object) -> AsyncIterator[HttpServer]:
        token = "a-token-of-the-tests"
        (made,) = listening(ADDRESS, 0, "")
        with made:
            port = made.getsockname()[1]
            async with (
                listening_server(robot, HttpSettings(**settings), port, token) as server,
                anyio.create_task_group() as group,
            ):
                group.start_soon(server.serve, [made])
                try:
                    yield HttpServer(port, token)
                finally:
                    server.should_exit = True

    return serve


class Process:
    """`toolhand mcp` as another program starts it."""

    def __init__(self, *arguments: str) -> None:
        code = "import sys, toolhand\nfrom toolhand.cli.mcp import mcp\nimport tyro\nsys.exit(tyro.cli(mcp))"
        command = [sys.executable, "-c", code, *arguments]
        pipe = subprocess.PIPE
        self.popen = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe)

    def announced(self) -> tuple[str, str]:
        """The address and the token of an HTTP server."""
        assert self.popen.stderr is not None
        address = re.search(rb"http://\S+?(?=;)", self.popen.stderr.readline())
        assert address is not None
        return address[0].decode(), self.popen.stderr.readline().split()[-1].decode()


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def one(*arguments: str) -> Process:
        started.append(Process(*arguments))
        return started[-1]

    yield one
    for process in started:
        process.popen.kill()
        process.popen.communicate()
