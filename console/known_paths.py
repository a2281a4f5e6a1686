"""What stands between the gate and the pages: paths that are not there end here, and pages are made one at a time.

NiceGUI answers a path that is not there with a page of its own, which takes as long as any other. A page that somebody
asks for a thousand times would be made a thousand times before an open page is heard again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_WAITING = 32
"""Pages that are asked for and wait to be made [-]: half as many as may be open."""


class KnownPaths:
    """Passes on what some route answers.

    Args:
        app: The pages.
        routes: Routes of files, images and data.
        pages: Routes of pages.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute], pages: Sequence[BaseRoute]) -> None:
        self._app = app
        self._routes = routes
        self._pages = pages
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http" or _matches(self._routes, scope):
            await self._app(scope, receive, send)
        elif not _matches(self._pages, scope):
            await PlainTextResponse("There is nothing here.", 404)(scope, receive, send)
        elif self._waiting >= MOST_WAITING:
            said = "Too many pages are asked for at once. Load this one again."
            await PlainTextResponse(said, 503, {"retry-after": "1"})(scope, receive, send)
        else:
            await self._make(scope, receive, send)

    async def _make(self, scope: Scope, receive: Receive, send: Send) -> None:
        made: list[Message] = []

        async def keep(message: Message) -> None:
            made.append(message)

        self._waiting += 1
        try:
            async with self._turn:
                await self._app(scope, receive, keep)
                await asyncio.sleep(0)  # whatever has become due meanwhile goes first
        finally:
            self._waiting -= 1
        for message in made:  # not within the turn: who reads slowly holds up nobody
            await send(message)


def _matches(routes: Sequence[BaseRoute], scope: Scope) -> bool:
    return any(route.matches(scope)[0] is Match.FULL for route in routes)
