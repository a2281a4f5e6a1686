"""The server as a program that a client starts: its stdin, its stdout, its end."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from toolhand.agent_node.mcp.server import read_lines, serve_pipes
from toolhand.agent_node.mcp.sessions import SharedRobot

PROGRAM = """
import sys, time
from toolhand.agent_node.mcp.sessions import SharedRobot
from toolhand.agent_node.mcp.server import serve_stdio
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool

class Arm:
    stopped = False
    def stop(self):
        self.stopped = True
    def reset_stop(self):
        self.stopped = False

arm = Arm()

class Tools:
    @tool("chatter")
    def chatter(self) -> ToolResult:
        '''Print.'''
        print("printed by the tool", flush=True)
        return ToolResult(text="Printed.")

    @tool("move", motion=True, timeout_s=None)
    def move(self) -> ToolResult:
        '''Move.'''
        print("moving", flush=True)
        while not arm.stopped:
            time.sleep(0.001)
        print("braked", flush=True)
        raise ToolError(ErrorCode.STOPPED, "Stopped.")

sys.exit(serve_stdio(SharedRobot(Toolbox([Tools()]), arm)))
"""


class Talk:
    """A client that writes and reads lines."""

    def __init__(self, to_server: BinaryIO, from_server: BinaryIO) -> None:
        self.to_server, self.from_server = to_server, from_server

    def send(self, line: bytes) -> None:
        self.to_server.write(line + b"\n")
        self.to_server.flush()

    def tell(self, method: str, number: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.send(json.dumps(message | ({} if number is None else {"id": number})).encode())

    def answer(self) -> Any:
        return json.loads(self.from_server.readline())

    def ask(self, method: str, number: int, **params: Any) -> Any:
        self.tell(method, number, **params)
        return self.answer()

    def begin(self) -> None:
        who = {"name": "test", "version": "1"}
        hello = self.ask("initialize", 0, protocolVersion="2025-11-25", capabilities={}, clientInfo=who)
        assert hello["result"]["serverInfo"]["name"] == "toolhand"
        self.tell("notifications/initialized")


@pytest.fixture
def talking(robot: SharedRobot) -> Callable[[Callable[[Talk], None]], Any]:
    """Runs what a client does, in a thread, against a server in this process; gives what the server returned."""

    async def run(script: Callable[[Talk], None]) -> int:
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        ended: list[int] = []
        with open(to_write, "wb") as writing, open(from_read, "rb") as reading:

            async def serve() -> None:
                ended.append(await serve_pipes(robot, to_read, from_write))
                os.close(from_write)

            def client() -> None:
                try:
                    script(Talk(writing, reading))
                finally:
                    with contextlib.suppress(OSError):
                        writing.close()

            with anyio.fail_after(15):
                async with anyio.create_task_group() as group:
                    group.start_soon(serve)
                    await anyio.to_thread.run_sync(client)
        os.close(to_read)
        return ended[0]

    return run


@pytest.mark.anyio
async def test_what_is_no_message_is_answered_and_the_next_message_is_served(talking: Any) -> None:
    lines = (b"{", b"null", b"[]", b"\xff\xfe", b'{"jsonrpc": "2.0"}', b"[" * 100_000, b'{"a": ' + b"9" * 9999 + b"}")

    def client(talk: Talk) -> None:
        talk.begin()
        for line in lines:
            talk.send(line)
            problem = talk.answer()
            assert problem["id"] is None
            assert problem["error"]["code"] in (-32700, -32600)
        talk.send(b"  ")
        assert talk.ask("tools/call", 1, name="robot-look", arguments={})["result"]["isError"] is False
        assert talk.ask("nothing/like/this", 2)["error"]["code"] == -32601
        assert talk.ask("tools/call", 3, name=["robot-look"])["error"]["code"] == -32602
        assert talk.ask("tools/call", 4, name="robot-look", arguments=[1])["error"]["code"] == -32602

    assert await talking(client) == 0


@pytest.mark.anyio
async def test_numbers_that_json_does_not_have_are_refused(talking: Any) -> None:
    def client(talk: Talk) -> None:
        talk.begin()
        for number in (b"NaN", b"Infinity", b"-Infinity", b"1e999"):
            talk.send(
                b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fake-size","arguments":'
                b'{"image_index":' + number + b"}}}"
            )
            told = talk.answer()
            assert "error" in told or told["result"]["isError"]

    assert await talking(client) == 0


@pytest.mark.anyio
async def test_a_message_that_is_too_long_is_refused_and_not_kept(talking: Any) -> None:
    def client(talk: Talk) -> None:
        talk.begin()
        talk.send(b"x" * (5 << 20))
        assert talk.answer()["error"]["message"] == "A message may have 4,194,304 bytes."
        assert len(talk.ask("tools/list", 1)["result"]["tools"]) == 8

    assert await talking(client) == 0


@pytest.mark.anyio
async def test_a_cancelled_motion_is_braked_and_the_server_goes_on(talking: Any, arm: Any) -> None:
    def client(talk: Talk) -> None:
        talk.begin()
        talk.tell("tools/call", 1, name="fake-move", arguments={})
        assert arm.moving.wait(5)
        talk.tell("notifications/cancelled", requestId=1)
        assert talk.ask("tools/call", 2, name="robot-look", arguments={})["id"] == 2
        assert not arm.moving.is_set()
        assert not arm.stopped.is_set()

    assert await talking(client) == 0


@pytest.mark.anyio
async def test_the_stages_of_a_motion_are_told_before_its_answer_where_a_token_is_sent(talking: Any, arm: Any) -> None:
    def client(talk: Talk) -> None:
        arm.release.set()
        talk.begin()
        for number, token in ((1, "mine"), (2, None)):
            meta = {} if token is None else {"_meta": {"progressToken": token}}
            talk.tell("tools/call", number, name="fake-move", arguments={}, **meta)
            told = []
            while (message := talk.answer()).get("id") != number:
                assert message["method"] == "notifications/progress"
                told.append(message["params"])
            assert message["result"]["content"][0]["text"] == "Moved."
            assert [one["progressToken"] for one in told] == ([] if token is None else [token] * 7)
            assert sorted({one["progress"] for one in told}) == [one["progress"] for one in told]

    assert await talking(client) == 0


@pytest.mark.anyio
async def test_a_client_that_closes_its_side_in_a_motion_leaves_a_braked_arm(talking: Any, arm: Any) -> None:
    def client(talk: Talk) -> None:
        talk.begin()
        talk.tell("tools/call", 1, name="fake-move", arguments={})
        assert arm.moving.wait(5)

    assert await talking(client) == 0
    assert not arm.moving.is_set()


@pytest.mark.anyio
async def test_a_client_that_stops_reading_in_a_motion_leaves_a_braked_arm(talking: Any, arm: Any) -> None:
    def client(talk: Talk) -> None:
        talk.begin()
        talk.tell("tools/call", 1, name="fake-move", arguments={})
        assert arm.moving.wait(5)
        talk.from_server.close()
        talk.tell("tools/list", 2)
        while arm.moving.is_set():
            arm.release.wait(0.01)

    assert await talking(client) == 0


def test_lines_come_whole_however_they_are_cut() -> None:
    read, write = os.pipe()
    os.write(write, b"one\n\ntw")
    lines = read_lines(read, 5)
    assert [next(lines), next(lines)] == [b"one", b""]
    os.write(write, b"o\n123456\n12345\n1234567890")
    os.close(write)
    assert list(lines) == [b"two", None, b"12345", None]
    os.close(read)


# -- the program -----------------------------------------------------------------------------------


@pytest.fixture
def program() -> Iterator[Any]:
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=pipe, stdout=pipe, stderr=pipe)
    yield process
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        with contextlib.suppress(OSError):
            stream.close()


def begin_motion(program: Any) -> Talk:
    talk = Talk(program.stdin, program.stdout)
    talk.begin()
    result = talk.ask("tools/call", 1, name="chatter", arguments={})["result"]
    assert result["content"] == [{"type": "text", "text": "Printed."}]
    assert program.stderr.readline() == b"printed by the tool\n"
    talk.tell("tools/call", 2, name="move", arguments={})
    assert program.stderr.readline() == b"moving\n"
    return talk


def test_nothing_but_the_protocol_is_on_stdout_and_the_end_of_the_input_ends_the_program(program: Any) -> None:
    begin_motion(program)
    program.stdin.close()
    assert program.wait(timeout=15) == 0
    assert b"braked\n" in program.stderr.read()
    assert [json.loads(line)["id"] for line in program.stdout.read().splitlines()] == [2]


def test_ctrl_c_ends_the_program_even_if_its_client_reads_nothing(program: Any) -> None:
    talk = begin_motion(program)
    for number in range(3, 200):
        talk.tell("tools/list", number)
    program.send_signal(signal.SIGINT)
    assert program.wait(timeout=15) == signal.SIGINT
    assert b"braked\n" in program.stderr.read()


@pytest.mark.anyio
async def test_the_official_client_starts_the_command_and_calls_a_tool() -> None:
    code = "import sys, tyro; from toolhand.cli.mcp import mcp; sys.exit(tyro.cli(mcp))"
    command = StdioServerParameters(command=sys.executable, args=["-c", code, "--station", "mock"], cwd=os.getcwd())
    async with Client(command) as client:
        assert len((await client.list_tools()).tools) > 15
        result = await client.call_tool("robot-capture_image", {})
    assert [part.type for part in result.content] == ["text", "image"]
