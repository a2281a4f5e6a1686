"""The frame of the pages: header, theme, and no sideways scrolling from 360 px to 4K."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.console.browser.conftest import Served


@pytest.mark.parametrize("width", [360, 720, 1280, 3840])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_is_as_wide_as_the_window(
    console: Served, open_page: Callable[..., Any], width: int, dark: bool
) -> None:
    page = open_page(console.url, width=width, height=800, dark=dark)
    page.get_by_test_id("page-talk").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")


def test_the_theme_is_chosen_and_kept(console: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(console.url)
    page.get_by_test_id("page-talk").wait_for()
    page.get_by_test_id("theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    page.get_by_test_id("page-talk").wait_for()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_one_page_operates_and_another_gets_the_seat_by_asking(console: Served, open_page: Callable[..., Any]) -> None:
    first, second = open_page(console.url), open_page(console.url)
    first.get_by_test_id("role").filter(has_text="operator").wait_for()
    second.get_by_test_id("role").filter(has_text="observer").wait_for()
    second.get_by_test_id("seat-ask").click()
    first.get_by_test_id("seat-give").click()
    second.get_by_test_id("role").filter(has_text="operator").wait_for()
    first.get_by_test_id("role").filter(has_text="observer").wait_for()


def test_a_reload_keeps_the_seat(console: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(console.url)
    page.get_by_test_id("role").filter(has_text="operator").wait_for()
    page.reload()
    page.get_by_test_id("role").filter(has_text="operator").wait_for()
