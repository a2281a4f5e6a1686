"""The frame of every page: the safety strip, and a header with navigation, role and theme. Both are plain HTML outside
of what NiceGUI draws, so that they are there, and work, also where the rest of a page is not."""

from __future__ import annotations

import contextlib
import html
from collections.abc import Iterator
from dataclasses import dataclass

from nicegui import ui

from toolhand.console.approving import Approvals
from toolhand.console.console_state import ConsoleState
from toolhand.console.images import ImageFeeds
from toolhand.console.pages.routes import ROUTES, Route
from toolhand.console.pages.seat import Seat, SeatBar
from toolhand.console.robot import Robot
from toolhand.console.scene_view import RobotScene
from toolhand.console.seats import Seats
from toolhand.console.settings import ConsoleSettings
from toolhand.console.strip import safety_strip_html


@dataclass(frozen=True)
class PageContext:
    """What a page is built from.

    Attributes:
        settings: Settings of the console.
        console_state: State that all pages share.
        seat: Seat of the page.
        seats: All seats.
        approvals: The motion that waits, shared by all pages.
        view: The 3D view, shared likewise.
        images: Images of the cameras, shared likewise.
    """

    settings: ConsoleSettings
    console_state: ConsoleState
    seat: Seat
    seats: Seats
    approvals: Approvals
    view: RobotScene
    images: ImageFeeds

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.console_state.robot


MAIN = "content"
"""Id of the element that the link past the frame leads to."""


@contextlib.contextmanager
def page_frame(route: Route, page: PageContext, host: str) -> Iterator[None]:
    """Draw the frame; what is drawn within the block is the page. NiceGUI has the landmark main around it.

    Args:
        route: The page; its name is the heading, seen where nothing else says where one is.
        page: Settings, state and seat of the page.
        host: Header Host of the request, which the guard has checked.
    """
    title = route.title
    ui.page_title(f"{title} - Toolhand")
    ui.add_head_html(
        '<link rel="stylesheet" href="/assets/console.css"><script src="/assets/frame.js"></script>'
        '<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">'
    )
    ui.add_body_html(safety_strip_html(page.settings, host, page.seat.name) + header_html(title))
    with ui.element("div").classes("page").props(f'id="{MAIN}" tabindex=-1 data-testid="page-{title.lower()}"'):
        SeatBar(page.seat, page.seats, ui.context.client, lambda: _word(page, title))
        heading = ui.label(title).classes("" if route.listed and route.path != "/" else "unseen")
        heading.tag = "h1"
        yield


def _word(page: PageContext, title: str) -> dict[str, str]:
    """What every page says of approvals: `strip` beside the stop button, `text` above the page, and where to go."""
    refusal, card = page.robot.state().unapproved, page.approvals.card
    if refusal:
        return {"strip": "Motions cannot be approved here.", "text": refusal}
    if not card.may_be_answered:
        return {}
    word = {"strip": "A motion waits for approval."}
    if title != ROUTES[0].title:
        word |= {"text": f"A motion waits for approval, {page.approvals.left_s():.0f} s more.", "href": ROUTES[0].path}
    return word


def header_html(title: str) -> str:
    """The header below the safety strip: navigation, role and theme.

    Args:
        title: Name of the page that is shown.
    """
    links = "".join(
        f'<a href="{html.escape(route.path)}" data-testid="nav-{html.escape(route.title.lower())}"'
        f"{' aria-current=page' if route.title == title else ''}>{html.escape(route.title)}</a>"
        for route in ROUTES
        if route.listed
    )
    return (
        f'<a class="skip" href="#{MAIN}">Skip to the page</a>'
        '<header class="frame" data-testid="header">'
        '<a class="frame-brand" href="/">Toolhand</a>'
        f'<nav aria-label="Pages">{links}</nav>'
        '<span class="frame-role" data-testid="role" data-role=""></span>'
        '<button type="button" class="frame-theme" data-testid="theme" aria-label="Dark or light"></button>'
        "</header>"
    )
