"""The safety strip: the stop button and what is known of the arm's stop, on top of every page.

Its HTML needs nothing of what makes the pages: plain elements, one script and one style sheet of its own. The button is
a form, so that it stops the arm also where no script runs; with the script it asks the stop server by `fetch`.
"""

from __future__ import annotations

import html
import json
from importlib.resources import files

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from toolhand.console.guarding import read_body
from toolhand.console.seats import Seats
from toolhand.console.settings import ConsoleSettings
from toolhand.console.tickets import Tickets
from toolhand.tool_nodes.results import ToolError

SCRIPT_PATH, STYLE_PATH = "/safety/strip.js", "/safety/strip.css"
TICKET_PATH = "/safety/ticket"
STOP_PATH, RESET_PATH, BEAT_PATH = "/api/stop", "/api/reset", "/api/beat"

_PAGE_BYTES = 200
"""Longest name of a page [bytes]."""

_ASSETS = {SCRIPT_PATH: ("strip.js", "text/javascript"), STYLE_PATH: ("strip.css", "text/css")}


def safety_strip_html(settings: ConsoleSettings, host: str, page: str = "") -> str:
    """The strip, to stand first in the body of a page and outside of everything that a framework draws.

    Args:
        settings: The console.
        host: Header Host of the request for the page, which the guard has checked.
        page: Name of the page in `Seats`; the page of the operator can reset a stop with it. Empty: no reset.
    """
    name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
    stop = html.escape(f"{settings.scheme}://{name}:{settings.stop_port}", quote=True)
    return f"""<link rel="stylesheet" href="{STYLE_PATH}">
<section id="safety-strip" aria-label="Stop" data-testid="safety-strip" data-state="waiting"
 data-stop="{stop}" data-page="{html.escape(page, quote=True)}">
<div class="safety-said"><strong data-testid="safety-state">Connecting</strong>
<span role="status" aria-live="assertive" data-testid="safety-text">Asking the stop server.</span></div>
<div class="safety-reset" hidden>
<button type="button" data-testid="reset">Reset the stop</button>
<span class="safety-again" hidden><span>May the arm move again?</span>
<button type="button" data-testid="reset-yes">Allow motions</button>
<button type="button" data-testid="reset-no">Keep it stopped</button></span></div>
<form method="post" action="{stop}{STOP_PATH}" target="_blank">
<button type="submit" class="safety-stop" data-testid="stop" aria-keyshortcuts="Escape Escape"
 title="Stops the arm">STOP</button></form>
</section>
<script src="{SCRIPT_PATH}"></script>
"""


def asset(path: str) -> Response | None:
    """The strip's script or style sheet, None for another path."""
    if path not in _ASSETS:
        return None
    name, kind = _ASSETS[path]
    text = files("toolhand.console").joinpath("assets", name).read_text(encoding="utf-8")
    return Response(text, media_type=kind, headers={"cache-control": "no-cache"})


class SafetyRoutes:
    """Answers what the strip asks the pages' process for, before the pages see a request.

    Args:
        app: The pages.
        seats: Who operates.
        tickets: Issues what the stop server wants to see before a reset.
    """

    def __init__(self, app: ASGIApp, seats: Seats, tickets: Tickets) -> None:
        self._app = app
        self._seats = seats
        self._tickets = tickets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http" or not scope["path"].startswith("/safety/"):
            await self._app(scope, receive, send)
            return
        answer = asset(scope["path"]) if scope["method"] in ("GET", "HEAD") else None
        if scope["path"] == TICKET_PATH and scope["method"] == "POST":
            answer = self._ticket(await read_body(receive, _PAGE_BYTES))
        await (answer or said(404, "There is nothing here."))(scope, receive, send)

    def _ticket(self, body: bytes | None) -> Response:
        try:
            self._seats.require_operator((body or b"").decode("utf-8", errors="replace"))
        except ToolError as error:
            return said(403, str(error))
        return JSONResponse({"ticket": self._tickets.issue()}, headers={"cache-control": "no-store"})


def said(status: int, message: str) -> Response:
    """An answer of one sentence in JSON, as the strip reads it."""
    body = json.dumps({"message": message})
    return Response(body, status, {"cache-control": "no-store"}, media_type="application/json")
