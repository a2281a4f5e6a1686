"""Paths that are not there reach no page, and pages are made one after the other."""

import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from tests.console.asgi import ask
from toolhand.console.known_paths import MOST_WAITING, KnownPaths


class Counting:
    """Pages that take a moment each, and say how many were made at a time."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.now = self.most = 0
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await self.go_on.wait()
        self.made.append(scope["path"])
        self.now -= 1
        await PlainTextResponse("made")(scope, receive, send)


async def nothing(request: Any) -> None:
    """Answers nothing: what is asked for here is whether a path is known."""


def behind() -> tuple[KnownPaths, Counting]:
    pages = Counting()
    routes = [Mount("/assets", Starlette()), Route("/pictures/{name}.jpg", nothing)]
    return KnownPaths(pages, routes, [Route("/", nothing), Route("/runs/{run}", nothing)]), pages


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nothing"),
        ("GET", "/\x1b[2K"),
        ("GET", "/runs/a/b"),
        ("GET", "//"),
        ("GET", "/runs"),
        ("GET", "/../assets/x"),
        ("GET", "/_nicegui_ws/socket.io/"),
        ("POST", "/_nicegui_ws/socket.io/"),
        ("POST", "/"),
        ("POST", "/nothing"),
        ("GET", "/" + "x" * 8000),
        ("GET", "/favicon.ico"),
        ("GET", "/docs"),
        ("GET", "/openapi.json"),
    ],
)
def test_a_path_that_is_not_there_is_answered_in_a_line_and_makes_no_page(method: str, path: str) -> None:
    known, pages = behind()
    answer = ask(known, method, path)
    assert answer.status == 404
    assert len(answer.body) < 100
    assert pages.made == []


def test_files_images_and_pages_are_there() -> None:
    known, pages = behind()
    paths = ["/", "/runs/x", "/assets/console.css", "/pictures/scene.jpg"]
    assert [ask(known, path=path).body for path in paths] == [b"made"] * 4
    assert pages.made == paths


def test_of_a_flood_one_page_is_made_at_a_time_a_few_wait_and_images_go_in_between() -> None:
    known, pages = behind()

    async def one(path: str) -> int:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b""}
        await known(scope, receive, send)
        return int(sent[0]["status"])

    async def flood() -> list[int]:
        pages.go_on.clear()
        asked = [asyncio.create_task(one("/")) for _ in range(1000)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert pages.most == 1
        image = asyncio.create_task(one("/pictures/scene.jpg"))
        await asyncio.sleep(0)
        assert pages.now == 2, "a picture waits for no page"
        pages.go_on.set()
        assert await image == 200
        return [await each for each in asked]

    statuses = asyncio.run(flood())
    assert statuses.count(200) == MOST_WAITING
    assert statuses.count(503) == 1000 - MOST_WAITING
    assert pages.most == 2
