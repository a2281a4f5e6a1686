"""The way to viser through the address of the pages, whose gate holds for it; its own port answers nobody else."""

from __future__ import annotations

import asyncio
import contextlib

import httpx
import websockets.asyncio.client
from fastapi import FastAPI, WebSocket
from fastapi.responses import Response
from starlette.websockets import WebSocketDisconnect
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.typing import Subprotocol

from toolhand.console.guarding import content_policy
from toolhand.console.scene_view import SECRET_HEADER, RobotScene
from toolhand.tool_nodes.results import ToolError

POLICY = content_policy(
    {
        "script-src": "'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:",
        "style-src": "'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "data:",
        "worker-src": "blob:",
        "connect-src": "'self' data: blob:",
    }
)
"""What viser's page may do: it is one file that unpacks itself, and has no word of a tool, model or user in it."""

LONGEST_S = 10.0
"""Longest wait for viser [s]."""

MOST_BYTES = 50 * 1024 * 1024
"""Longest message that viser sends [bytes], its own bound."""


def add_scene_routes(app: FastAPI, view: RobotScene) -> None:
    """Add the page of viser and its websocket.

    Args:
        app: Gets them.
        view: The scene, which is started by the first request.
    """

    @app.get("/scene/")
    async def scene_page() -> Response:
        try:
            port = await asyncio.to_thread(lambda: view.port)
            async with httpx.AsyncClient(timeout=LONGEST_S, trust_env=False) as client:
                answer = await client.get(f"http://127.0.0.1:{port}/", headers={SECRET_HEADER: view.secret})
        except (ToolError, httpx.HTTPError) as error:
            return Response(f"There is no 3D view: {error}", status_code=503, media_type="text/plain")
        headers = {"content-security-policy": POLICY, "cache-control": "no-cache"}
        return Response(answer.content, answer.status_code, headers, media_type="text/html")

    @app.websocket("/scene")
    async def scene_socket(browser: WebSocket) -> None:
        offered = [Subprotocol(name) for name in browser.scope.get("subprotocols", [])]
        try:
            port = await asyncio.to_thread(lambda: view.port)
            viser = await websockets.asyncio.client.connect(
                f"ws://127.0.0.1:{port}/",
                additional_headers={SECRET_HEADER: view.secret},
                subprotocols=offered or None,
                max_size=MOST_BYTES,
                compression=None,
                open_timeout=LONGEST_S,
                close_timeout=1.0,
                proxy=None,
            )
        except (ToolError, OSError, TimeoutError, InvalidHandshake):
            await browser.close(1011)
            return
        await browser.accept(viser.subprotocol)
        ways = [asyncio.create_task(_to_viser(browser, viser)), asyncio.create_task(_to_browser(browser, viser))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        await viser.close()
        with contextlib.suppress(RuntimeError, WebSocketDisconnect):  # the browser has closed it already
            await browser.close()


async def _to_viser(browser: WebSocket, viser: websockets.asyncio.client.ClientConnection) -> None:
    with contextlib.suppress(WebSocketDisconnect, ConnectionClosed, RuntimeError):
        while True:
            message = await browser.receive()
            if message["type"] == "websocket.disconnect":
                return
            content = message.get("bytes")
            await viser.send(message["text"] if content is None else content)


async def _to_browser(browser: WebSocket, viser: websockets.asyncio.client.ClientConnection) -> None:
    with contextlib.suppress(WebSocketDisconnect, ConnectionClosed, RuntimeError):
        async for message in viser:
            await (browser.send_text(message) if isinstance(message, str) else browser.send_bytes(message))
