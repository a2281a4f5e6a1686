"""The frame of the pages: header, theme, and no sideways scrolling from 360 px to 4K."""

from __future__ import annotations

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
