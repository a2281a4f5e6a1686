"""Which pages there are; a page is a function that fills the frame."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode


@dataclass(frozen=True)
class Route:
    """A page.

    Attributes:
        path: Its path.
        title: Its name in the header.
        builder: "module:function"; the function gets a `toolhand.console.pages.frame.PageContext` and fills the page.
        listed: It has a link in the header of its own.
    """

    path: str
    title: str
    builder: str
    listed: bool = True


ROUTES = (
    Route("/", "Talk", "toolhand.console.pages.talk:talk_page"),
    Route("/runs", "Runs", "toolhand.console.pages.runs:runs_page"),
    Route("/runs/{run}", "Runs", "toolhand.console.pages.run:run_page", listed=False),
    Route("/compare", "Runs", "toolhand.console.pages.compare:compare_page", listed=False),
    Route("/benchmarks", "Benchmarks", "toolhand.console.pages.benches:benches_page"),
    Route("/benchmarks/{file}", "Benchmarks", "toolhand.console.pages.benches:bench_page", listed=False),
    Route("/training", "Training", "toolhand.console.pages.training:training_page"),
    Route("/training/rollouts", "Training", "toolhand.console.pages.training:rollouts_page", listed=False),
)
"""The pages in the order of the header."""


def address(path: str, *parts: str, **query: str) -> str:
    """An address of this console: names in it are quoted, and empty parameters left out."""
    named = "/".join([path, *(quote(part, safe="") for part in parts)])
    kept = {name: value for name, value in query.items() if value}
    return f"{named}?{urlencode(kept)}" if kept else named
