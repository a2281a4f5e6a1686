"""The page on which the robot is spoken to."""

from __future__ import annotations

from nicegui import ui

from console.pages.frame import PageContext


def talk_page(page: PageContext) -> None:
    """Fill the page.

    Args:
        page: What the page is built from.
    """
    ui.label("The robot is spoken to here.")
