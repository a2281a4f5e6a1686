"""Parts that the pages of the history share. Everything that somebody else wrote goes into them as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from nicegui import run, ui

from toolhand.console.pages.frame import PageContext
from toolhand.console.pages.routes import address
from toolhand.tool_nodes.results import ToolError

Found = TypeVar("Found")


def with_style() -> None:
    """Give the page the style of the history."""
    ui.add_head_html('<link rel="stylesheet" href="/assets/history.css">')


def asked(name: str) -> str:
    """A parameter of the page's address; empty without one."""
    request = ui.context.client.request
    value = request.path_params.get(name) or request.query_params.get(name) or ""
    return str(value)[:2000]


def asked_all(name: str) -> list[str]:
    """All values of a parameter of the page's address."""
    return [value[:2000] for value in ui.context.client.request.query_params.getlist(name)][:20]


def say(text: str, kind: str = "", testid: str = "") -> ui.label:
    """A notice."""
    label = ui.label(text).classes(f"notice {kind}")
    return label.props(f'data-testid="{testid}"') if testid else label


def words(text: str, classes: str = "", tag: str = "span", testid: str = "") -> ui.label:
    """A text in an element of HTML."""
    label = ui.label(text).classes(classes)
    label.tag = tag
    return label.props(f'data-testid="{testid}"') if testid else label


def link(text: str, target: str, classes: str = "", testid: str = "") -> ui.link:
    """A link within the console."""
    found = ui.link(text, target).classes(classes)
    return found.props(f'data-testid="{testid}"') if testid else found


def filled(work: Callable[[], Found], draw: Callable[[Found], None]) -> ui.element:
    """A place that is drawn once something has been read in another thread; an error is a sentence in it.

    Args:
        work: Reads; may raise ToolError.
        draw: Draws what it has read into the place.
    """
    with ui.element("div") as place:
        words("Reading ...", "muted", "p")

    async def load() -> None:
        try:
            found = await run.io_bound(work)
        except ToolError as error:
            place.clear()
            with place:
                say(error.message, "bad", "problem")
            return
        place.clear()
        with place:
            draw(found)

    ui.timer(0.0, load, once=True)
    return place


def form(target: str, testid: str) -> ui.element:
    """A form of plain HTML that opens an address with its fields."""
    element = ui.element("form").classes("fields")
    element.props["action"], element.props["method"] = target, "get"
    element.props["data-testid"] = testid
    return element


def field(label: str, name: str, value: str = "", kind: str = "text", testid: str = "") -> None:
    """A labelled field of a form."""
    with ui.element("label").classes("field"):
        words(label)
        box = ui.element("input")
        box.props.update({"name": name, "value": value, "type": kind, "data-testid": testid or f"field-{name}"})


def choice(label: str, name: str, options: Mapping[str, str], value: str = "") -> None:
    """A labelled choice of a form: texts by value."""
    with ui.element("label").classes("field"):
        words(label)
        with ui.element("select") as box:
            box.props.update({"name": name, "data-testid": f"field-{name}"})
            for each, text in options.items():
                option = ui.label(text)
                option.tag = "option"
                option.props["value"] = each
                if each == value:
                    option.props["selected"] = True


def submit(text: str, testid: str = "", name: str = "", value: str = "") -> None:
    """The button of a form."""
    button = ui.label(text).classes("button")
    button.tag = "button"
    button.props.update({"type": "submit", "data-testid": testid or "submit"})
    if name:
        button.props.update({"name": name, "value": value})


def facts(rows: Iterable[tuple[str, str]]) -> None:
    """Names and values."""
    with ui.element("dl").classes("facts"):
        for name, value in rows:
            if value:
                words(name, tag="dt")
                words(value, tag="dd")


def scrolling(name: str, classes: str = "scroll") -> ui.element:
    """A place that scrolls within itself, which the keyboard reaches by its name."""
    place = ui.element("div").classes(classes)
    place.props.update({"tabindex": 0, "role": "region", "aria-label": name})
    return place


def local_time(began: str) -> str:
    """An ISO 8601 time in this machine's own zone, which is named; a text that is none as it is."""
    try:
        return f"{datetime.fromisoformat(began).astimezone():%Y-%m-%d %H:%M %Z}"
    except (ValueError, OverflowError):
        return began[:60]


def counted(count: int, name: str) -> str:
    """A number of objects in words: 1 result, 2 results."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def table(name: str, head: Sequence[str], rows: Iterable[Sequence[str]], testid: str = "") -> None:
    """A table of texts that scrolls within itself."""
    with scrolling(name), ui.element("table") as drawn:
        drawn.props["data-testid"] = testid or "table"
        with ui.element("thead"), ui.element("tr"):
            for name in head:
                words(name, tag="th")
        with ui.element("tbody"):
            for row in rows:
                with ui.element("tr"):
                    for cell in row:
                        words(cell, tag="td")


def pages(target: str, first: int, count: int, found: int, **query: str) -> None:
    """Links to the page before and the page after."""
    with ui.element("nav").classes("pages").props('aria-label="More"'):
        if first > 0:
            link("Newer", address(target, **query, first=str(max(0, first - count))), "button small", "newer")
        words(f"{min(first + 1, found):,} to {min(first + count, found):,} of {found:,}", "muted", testid="shown")
        if first + count < found:
            link("Older", address(target, **query, first=str(first + count)), "button small", "older")


def number(text: str) -> int:
    """A number of the address that is 0 or more; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def refused(page: PageContext, what: str) -> str:
    """Why a page may not do something; empty where it may."""
    return "" if page.seat.operates else f"Only the operator may {what}: this page observes."
