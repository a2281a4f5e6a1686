"""Which pages there are; a page is a function that fills the frame."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Route:
    """A page.

    Attributes:
        path: Its path.
        title: Its name in the header.
        builder: "module:function"; the function gets a `console.pages.frame.PageContext` and fills the page.
    """

    path: str
    title: str
    builder: str


ROUTES = (Route("/", "Talk", "console.pages.talk:talk_page"),)
"""The pages in the order of the header."""
