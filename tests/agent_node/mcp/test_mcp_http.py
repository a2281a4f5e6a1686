"""The server over HTTP: who is let in, what a session holds, and what a client leaves behind."""

import contextlib
import functools
import json
import logging
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from toolhand.agent_node.mcp.sessions import SharedRobot

pytestmark = pytest.mark.anyio

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_lists_calls_and_keeps_its_variables(
    robot: SharedRobot, http_server: Any, mode: str
) -> None:
    async with http_server(robot) as server, server.client(mode) as client:
        assert len((await client.list_tools()).tools) == 8
        looked = await client.call_tool("robot-capture_image", {})
        assert [part.type for part in looked.content] == ["text", "image"]
        await client.call_tool("fake-keep", {"name": "mine"})
        assert (await client.call_tool("fake-shape", {"data": "$mine"})).content[0].text == "(2, 3)"
        assert (await client.call_tool("fake-shape", {"data": "$other"})).is_error


async def test_two_sessions_share_no_variable(robot: SharedRobot, http_server: Any) -> None:
    async with http_server(robot) as server, server.client() as one, server.client() as other:
        await one.call_tool("fake-keep", {"name": "mine"})
        refused = await other.call_tool("fake-shape", {"data": "$mine"})
        assert refused.structured_content["error"]["code"] == "INVALID_ARGUMENT"
        assert not (await one.call_tool("fake-shape", {"data": "$mine"})).is_error


async def test_a_client_without_sessions_is_told_which_versions_have_them(robot: SharedRobot, http_server: Any) -> None:
    async with http_server(robot) as server:
        with pytest.raises(ExceptionGroup) as found:
            async with server.client("2026-07-28") as client:
                await client.call_tool("robot-capture_image", {})
    problem: BaseException = found.value
    while isinstance(problem, ExceptionGroup):
        problem = problem.exceptions[0]
    assert isinstance(problem, MCPError)
    assert "2025-11-25" in problem.error.data["supported"]


WHO = [
    ({"Host": "evil.example"}, 421),
    ({"Host": "evil.example:{port}"}, 421),
    ({"Host": "127.0.0.1"}, 421),
    ({"Host": "127.0.0.1:1"}, 421),
    ({"Host": "127.0.0.1:{port}.evil.example"}, 421),
    ({"Host": "localhost:{port}"}, 200),
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://127.0.0.1:{port}.evil.example"}, 403),
    ({"Origin": "https://127.0.0.1:{port}"}, 403),
    ({"Origin": "http://127.0.0.1:{port}"}, 200),
    ({"Authorization": ""}, 401),
    ({"Authorization": "Bearer"}, 401),
    ({"Authorization": "Bearer a-token-of-the-test"}, 401),
    ({"Authorization": "Bearer a-token-of-the-testss"}, 401),
    ({"Authorization": "Basic a-token-of-the-tests"}, 401),
    ({"Authorization": "Bearer A-TOKEN-OF-THE-TESTS"}, 401),
    ({"Authorization": "bearer a-token-of-the-tests"}, 200),
    ({"Content-Type": "text/plain"}, 400),
]


async def test_only_the_right_host_origin_and_token_are_let_in(robot: SharedRobot, http_server: Any) -> None:
    async with http_server(robot, sessions=len(WHO)) as server, httpx2.AsyncClient() as http:
        for changed, status in WHO:
            named = {key: value.format(port=server.port) for key, value in changed.items()}
            response = await http.post(server.url, headers=HEADERS | server.headers | named, json=HELLO)
            assert response.status_code == status, changed
            assert ("mcp-session-id" in response.headers) == (status == 200), changed


async def test_names_that_were_allowed_are_let_in(robot: SharedRobot, http_server: Any) -> None:
    async with (
        http_server(robot, hosts=("robot.example:8000",), origins=("https://panel.example",)) as server,
        httpx2.AsyncClient() as http,
    ):
        named = {"Host": "robot.example:8000", "Origin": "https://panel.example"}
        assert (await http.post(server.url, headers=HEADERS | server.headers | named, json=HELLO)).status_code == 200
        named["Origin"] = "https://panel.example.evil"
        assert (await http.post(server.url, headers=HEADERS | server.headers | named, json=HELLO)).status_code == 403


async def test_two_host_headers_or_two_tokens_are_refused(robot: SharedRobot, http_server: Any) -> None:
    async with http_server(robot) as server:
        for twice in (f"Host: 127.0.0.1:{server.port}", f"Authorization: Bearer {server.token}"):
            request = (
                f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
                f"{twice}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            stream = await anyio.connect_tcp("127.0.0.1", server.port)
            async with stream:
                await stream.send(request.encode())
                assert (await stream.receive()).split()[1] in (b"400", b"401", b"421")


async def test_nothing_else_is_served_and_strangers_are_not_told_what_is(robot: SharedRobot, http_server: Any) -> None:
    async with http_server(robot) as server, httpx2.AsyncClient() as http:
        root = server.url.removesuffix("/mcp")
        for path in ("/", "/docs", "/openapi.json", "/mcp/", "/mcp/../etc"):
            assert (await http.get(root + path)).status_code == 401
            assert (await http.get(root + path, headers=server.headers)).status_code == 404


async def test_bodies_that_are_too_large_or_no_message_are_refused(robot: SharedRobot, http_server: Any) -> None:
    async with http_server(robot, body_bytes=2000) as server, httpx2.AsyncClient() as http:
        headers = HEADERS | server.headers
        session = (await http.post(server.url, headers=headers, json=HELLO)).headers["mcp-session-id"]
        headers |= {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}

        async def parts() -> Any:
            for _ in range(10):
                yield b"x" * 500

        for body, status in (
            (b"x" * 2001, 413),
            (parts(), 413),
            (b"{", 400),
            (b"", 400),
            (b"null", 400),
            (b"[1, 2]", 400),
            (b'{"jsonrpc": "2.0"}', 400),
            (b"[" * 1900, 400),
            (b"\xff", 400),
        ):
            response = await http.post(server.url, headers=headers, content=body)
            assert response.status_code == status, body
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "robot-look", "arguments": [1]}}
        assert '"code":-32602' in (await http.post(server.url, headers=headers, json=call)).text
        call["params"] = {"name": "robot-look", "arguments": {}}
        assert "Looked." in (await http.post(server.url, headers=headers, json=call)).text


async def test_session_ids_cannot_be_guessed_and_end_with_the_session(robot: SharedRobot, http_server: Any) -> None:
    async with http_server(robot) as server, httpx2.AsyncClient() as http:
        headers = HEADERS | server.headers
        hellos = [await http.post(server.url, headers=headers, json=HELLO) for _ in range(3)]
        sessions = {hello.headers["mcp-session-id"] for hello in hellos}
        assert len(sessions) == 3
        assert all(len(session) == 32 and int(session, 16) for session in sessions)
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        for wrong in ("0" * 32, "", "../x", "x" * 5000):
            response = await http.post(server.url, headers=headers | {"mcp-session-id": wrong}, json=listing)
            assert response.status_code in (400, 404)
        mine = headers | {"mcp-session-id": sessions.pop()}
        assert (await http.post(server.url, headers=mine, json=listing)).status_code == 200
        assert (await http.delete(server.url, headers=mine)).status_code == 200
        assert (await http.post(server.url, headers=mine, json=listing)).status_code == 404


async def test_a_session_that_is_not_used_is_forgotten(robot: SharedRobot, http_server: Any) -> None:
    async with http_server(robot, idle_s=1.0) as server, httpx2.AsyncClient() as http:
        headers = HEADERS | server.headers
        session = (await http.post(server.url, headers=headers, json=HELLO)).headers["mcp-session-id"]
        await anyio.sleep(1.5)
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        response = await http.post(server.url, headers=headers | {"mcp-session-id": session}, json=listing)
        assert response.status_code == 404


LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


async def opened(http: httpx2.AsyncClient, url: str) -> dict[str, str]:
    """The header of a new session."""
    return {"mcp-session-id": (await http.post(url, json=HELLO)).headers["mcp-session-id"]}


async def is_there(http: httpx2.AsyncClient, url: str, session: dict[str, str]) -> bool:
    status = (await http.post(url, headers=session, json=LISTING)).status_code
    assert status in (200, 404)
    return status == 200


async def test_clients_that_leave_without_a_word_keep_nobody_out(robot: SharedRobot, http_server: Any) -> None:
    async with http_server(robot, sessions=2) as server:
        for _ in range(10):
            async with httpx2.AsyncClient(headers=HEADERS | server.headers) as http:
                assert (await http.post(server.url, json=HELLO)).status_code == 200


async def test_the_session_that_was_idle_longest_makes_room(robot: SharedRobot, http_server: Any) -> None:
    async with http_server(robot, sessions=3) as server, httpx2.AsyncClient(headers=HEADERS | server.headers) as http:
        sessions = [await opened(http, server.url) for _ in range(3)]
        assert await is_there(http, server.url, sessions[0])
        sessions += [await opened(http, server.url)]
        assert [await is_there(http, server.url, session) for session in sessions] == [True, False, True, True]


async def test_a_session_that_listens_goes_after_those_that_do_not(robot: SharedRobot, http_server: Any) -> None:
    async with http_server(robot, sessions=2) as server, httpx2.AsyncClient(headers=HEADERS | server.headers) as http:
        first = await opened(http, server.url)
        async with http.stream("GET", server.url, headers=first | {"Accept": "text/event-stream"}) as listening:
            assert listening.status_code == 200
            second = await opened(http, server.url)
            third = await opened(http, server.url)
            assert [await is_there(http, server.url, one) for one in (first, second, third)] == [True, False, True]


async def test_a_session_with_a_call_stays_and_where_all_have_one_a_client_is_told_to_wait(
    robot: SharedRobot, http_server: Any, arm: Any, until: Any
) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fake-wait", "arguments": {}}}
    async with http_server(robot, sessions=2) as server, httpx2.AsyncClient(headers=HEADERS | server.headers) as http:
        busy = [await opened(http, server.url)]
        for session in busy:
            await http.post(server.url, headers=session, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        async with anyio.create_task_group() as group:
            group.start_soon(functools.partial(http.post, server.url, headers=busy[0], json=call, timeout=20))
            await until(arm.moving.is_set)
            idle = await opened(http, server.url)
            busy.append(await opened(http, server.url))
            assert not await is_there(http, server.url, idle)
            group.start_soon(functools.partial(http.post, server.url, headers=busy[1], json=call, timeout=20))
            await until(lambda: robot._jobs.qsize() > 0)
            refused = await http.post(server.url, json=HELLO)
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "10"
            arm.release.set()
        assert [await is_there(http, server.url, session) for session in busy] == [True, True]


async def half_open(port: int, said: bytes) -> Any:
    stream = await anyio.connect_tcp("127.0.0.1", port)
    await stream.send(said)
    return stream


async def ended(stream: Any) -> bool:
    """Wait until the server has closed a connection."""
    with anyio.fail_after(20):
        try:
            while True:
                await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return True


async def test_requests_that_never_come_keep_nobody_out(robot: SharedRobot, http_server: Any) -> None:
    async with http_server(robot, sessions=1) as server, anyio.create_task_group() as group:
        begun = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        streams = [await half_open(server.port, begun) for _ in range(200)]
        async with httpx2.AsyncClient(headers=HEADERS | server.headers) as http:
            session = await opened(http, server.url)
            for _ in range(3):
                assert await is_there(http, server.url, session)
        assert await ended(streams[0])
        for stream in streams:
            group.start_soon(stream.aclose)


@pytest.mark.parametrize("said", ["", "POST /mcp HTTP/1.1\r\nHost: ", "{head}Content-Length: 9\r\n\r\nabc"])
async def test_a_connection_that_does_not_show_the_token_in_time_is_closed(
    robot: SharedRobot, http_server: Any, said: str
) -> None:
    async with http_server(robot, header_s=0.2) as server:
        head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        stream = await half_open(server.port, said.format(head=head).encode())

        async def drip() -> None:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                while said:
                    await stream.send(b"x")
                    await anyio.sleep(0.02)

        async with anyio.create_task_group() as group:
            group.start_soon(drip)
            assert await ended(stream)
            await stream.aclose()


@pytest.mark.parametrize("rest", ["", "\r\n{"], ids=["headers", "body"])
async def test_a_request_of_a_known_client_has_a_deadline_too(robot: SharedRobot, http_server: Any, rest: str) -> None:
    async with http_server(robot, header_s=0.2, body_s=0.2) as server:
        lines = [
            "POST /mcp HTTP/1.1",
            f"Host: 127.0.0.1:{server.port}",
            "Content-Length: 20",
            *(f"{name}: {value}" for name, value in (HEADERS | server.headers).items()),
            "",
        ]
        stream = await half_open(server.port, ("\r\n".join(lines) + rest).encode())
        assert await ended(stream)
        await stream.aclose()
        async with httpx2.AsyncClient(headers=HEADERS | server.headers) as http:
            assert (await http.post(server.url, json=HELLO)).status_code == 200


async def test_a_client_with_the_token_is_no_stranger_however_many_come_after_it(
    robot: SharedRobot, http_server: Any
) -> None:
    async with http_server(robot, strangers=2, header_s=0.2) as server, server.client() as client:
        streams = [await half_open(server.port, b"GET /") for _ in range(5)]
        assert await ended(streams[0])
        assert not (await client.call_tool("robot-look", {})).is_error
        for stream in streams:
            assert await ended(stream)
            await stream.aclose()
        assert not (await client.call_tool("robot-look", {})).is_error


async def test_a_client_that_vanishes_in_a_motion_leaves_a_braked_arm(
    robot: SharedRobot, http_server: Any, arm: Any, until: Any
) -> None:
    async with http_server(robot) as server, httpx2.AsyncClient(headers=HEADERS | server.headers) as http:
        session = {"mcp-session-id": (await http.post(server.url, json=HELLO)).headers["mcp-session-id"]}
        await http.post(server.url, headers=session, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fake-move", "arguments": {}}}
        body = json.dumps(call)
        lines = [
            "POST /mcp HTTP/1.1",
            f"Host: 127.0.0.1:{server.port}",
            f"Content-Length: {len(body)}",
            *(f"{name}: {value}" for name, value in (HEADERS | server.headers | session).items()),
            "",
            body,
        ]
        stream = await anyio.connect_tcp("127.0.0.1", server.port)
        await stream.send("\r\n".join(lines).encode())
        await until(arm.moving.is_set)
        await stream.aclose()
        await until(lambda: not arm.moving.is_set())
        call["params"] = {"name": "robot-look", "arguments": {}}
        assert "Looked." in (await http.post(server.url, headers=session, json=call)).text
        assert not arm.stopped.is_set()


async def test_a_session_that_is_ended_in_a_motion_leaves_a_braked_arm(
    robot: SharedRobot, http_server: Any, arm: Any, until: Any
) -> None:
    async with http_server(robot) as server, httpx2.AsyncClient(headers=HEADERS | server.headers) as http:
        session = {"mcp-session-id": (await http.post(server.url, json=HELLO)).headers["mcp-session-id"]}
        await http.post(server.url, headers=session, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fake-move", "arguments": {}}}
        async with anyio.create_task_group() as group:
            group.start_soon(functools.partial(http.post, server.url, headers=session, json=call))
            await until(arm.moving.is_set)
            assert (await http.delete(server.url, headers=session)).status_code == 200
            await until(lambda: not arm.moving.is_set())


async def test_a_cancelled_motion_is_braked(robot: SharedRobot, http_server: Any, arm: Any, until: Any) -> None:
    async with http_server(robot) as server, server.client() as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "fake-move", {})
            await until(arm.moving.is_set)
            group.cancel_scope.cancel()
        await until(lambda: not arm.moving.is_set())
        assert not (await client.call_tool("robot-look", {})).is_error


async def test_refused_requests_are_logged_without_what_they_sent(
    robot: SharedRobot, http_server: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with http_server(robot) as server, httpx2.AsyncClient() as http:
        with caplog.at_level(logging.WARNING, logger="toolhand.mcp"):
            await http.post(server.url, headers=HEADERS | {"Authorization": "Bearer secret"}, json=HELLO)
    assert [record.getMessage() for record in caplog.records if record.name == "toolhand.mcp"] == [
        "Refused a request: The bearer token is missing or wrong."
    ]


async def test_the_command_prints_its_address_and_token_and_ends_with_sigterm(start: Callable[..., Any]) -> None:
    process = start("--transport", "http", "--station", "mock")
    url, token = await anyio.to_thread.run_sync(process.announced)
    assert len(token) >= 40
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        assert len((await client.list_tools()).tools) > 15
        port = int(url.split(":")[2].split("/")[0])
        waiting = [await half_open(port, b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n") for _ in range(3)]
        process.popen.send_signal(signal.SIGTERM)
        began = time.monotonic()
        while process.popen.poll() is None and time.monotonic() < began + 10:
            await anyio.sleep(0.02)
        for stream in waiting:
            assert await ended(stream)
            await stream.aclose()
    assert process.popen.returncode == 0
    assert process.popen.stdout.read() == b""
    assert process.popen.stderr.read() == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
