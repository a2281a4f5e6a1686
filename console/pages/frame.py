"""The frame of every page: header with navigation, role, theme and the safety strip. It is plain HTML outside of what
NiceGUI draws, so that it is there, and works, also where the rest of a page is not."""

from __future__ import annotations

import contextlib
import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nicegui import ui

from console.approving import Approvals
from console.hub import Hub
from console.pages.routes import ROUTES
from console.robot import Robot
from console.settings import ConsoleSettings


@dataclass(frozen=True)
class Seat:
    """Who has opened a page: a name that is the same for all pages of a browser, and what they may do."""

    name: str
    role: Literal["operator", "observer"]

    @property
    def operates(self) -> bool:
        """They may command, approve and reset."""
        return self.role == "operator"


@dataclass(frozen=True)
class PageContext:
    """What a page is built from.

    Attributes:
        settings: Settings of the console.
        hub: State that all pages share.
        seat: Who has opened the page.
        approvals: The motion that waits, shared by all pages.
    """

    settings: ConsoleSettings
    hub: Hub
    seat: Seat
    approvals: Approvals

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.hub.robot


@contextlib.contextmanager
def page_frame(title: str, page: PageContext, strip: str = "") -> Iterator[None]:
    """Draw the frame; what is drawn within the block is the page.

    Args:
        title: Name of the page, as in the table of routes.
        page: What the page is built from.
        strip: HTML of the safety strip.
    """
    ui.page_title(f"{title} - Toolhand")
    ui.add_head_html('<link rel="stylesheet" href="/assets/console.css"><script src="/assets/frame.js"></script>')
    ui.add_body_html(header_html(title, page.seat, strip))
    with ui.element("main").classes("page").props(f'data-testid="page-{title.lower()}"'):
        yield


def header_html(title: str, seat: Seat, strip: str) -> str:
    """The header.

    Args:
        title: Name of the page that is shown.
        seat: Who has opened it.
        strip: HTML of the safety strip.
    """
    links = "".join(
        f'<a href="{html.escape(route.path)}" data-testid="nav-{html.escape(route.title.lower())}"'
        f"{' aria-current=page' if route.title == title else ''}>{html.escape(route.title)}</a>"
        for route in ROUTES
    )
    return (
        '<header class="frame" data-testid="header">'
        '<a class="frame-brand" href="/">Toolhand</a>'
        f'<nav aria-label="Pages">{links}</nav>'
        f'<span class="frame-role" data-testid="role" data-role="{seat.role}">{seat.role}</span>'
        '<button type="button" class="frame-theme" data-testid="theme" aria-label="Dark or light"></button>'
        f'<div class="frame-strip" data-testid="strip">{strip}</div>'
        "</header>"
    )
