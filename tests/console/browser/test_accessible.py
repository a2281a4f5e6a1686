"""What a screen reader and a keyboard find: axe-core has nothing serious to say of any page."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.console.browser.conftest import Served, serving
from tests.console.browser.history_data import fill
from tests.console.browser.test_approval import card
from tests.console.browser.test_history import PATHS
from tests.console.browser.test_talk import say
from tests.waiting import until

GRAVE = ("serious", "critical")
"""What is looked for of axe's four degrees; the lesser ones are hints that a design may leave."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A console with a history."""
    folder = tmp_path_factory.mktemp("accessible")
    fill(folder)
    with serving(folder) as found:
        yield found


def faults(page: Any) -> list[str]:
    """What axe-core finds on a page, as `degree rule: element`."""
    axe = pytest.importorskip("axe_core_python.base")
    page.evaluate(axe.AXE_SCRIPT)
    found = page.evaluate("axe.run()")["violations"]
    return [
        f"{each['impact']} {each['id']}: {node['html'][:200]}"
        for each in found
        if each["impact"] in GRAVE
        for node in each["nodes"]
    ]


def drawn(page: Any) -> None:
    page.get_by_test_id("role").filter(has_text="o").wait_for()
    until(lambda: page.get_by_text("Reading ...").count() == 0)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)], ids=["wide and light", "narrow and dark"])
def test_axe_finds_nothing_serious_on_any_page(
    served: Served, open_page: Callable[..., Any], width: int, dark: bool
) -> None:
    page = open_page(served.url, width=width, dark=dark)
    for path in ("/", *PATHS):
        page.goto(served.url + path)
        drawn(page)
        assert faults(page) == [], path
        assert page.locator("h1").count() == 1, path
        assert page.locator("main, [role=main]").count() == 1, path
        assert page.evaluate("document.documentElement.lang").startswith("en"), path


def test_axe_finds_nothing_serious_where_a_motion_and_a_question_wait(
    served: Served, open_page: Callable[..., Any]
) -> None:
    page = open_page(served.url)
    say(page, "pick the lemon")
    say(page, "move the lemon")
    card(page)
    drawn(page)
    assert faults(page) == []
    # A busy page may have lost its seat meanwhile, which ends what it had begun.
    page.get_by_test_id("role").filter(has_text="operator").wait_for()
    page.evaluate("document.querySelector('[data-testid=approval-reject]')?.click()")
    page.get_by_test_id("running").wait_for(state="detached")
    say(page, "ask which can")
    page.get_by_test_id("question").wait_for()
    assert faults(page) == []


def test_tab_passes_the_conversation_by_a_link_and_comes_to_the_motion_before_the_image(
    served: Served, open_page: Callable[..., Any]
) -> None:
    page = open_page(served.url)
    for _ in range(3):
        say(page, "pick the lemon")
    page.get_by_test_id("entry-call").nth(2).wait_for()

    def focused() -> str:
        return str(page.evaluate("document.activeElement?.closest('[data-testid]')?.dataset.testid ?? ''"))

    page.get_by_test_id("skip").focus()
    page.keyboard.press("Enter")
    passed = []
    while focused() != "sentence":
        page.keyboard.press("Tab")
        passed.append(focused())
        assert len(passed) < 5, passed
    say(page, "move the lemon")
    card(page)
    first = page.evaluate(
        "[...document.querySelectorAll('[data-testid=approval-approve], [data-testid=camera]')][0].dataset.testid"
    )
    assert first == "approval-approve"
    page.get_by_test_id("approval-reject").click()


def test_the_strip_is_as_dark_as_the_page_and_names_no_key_that_a_phone_has_not(
    served: Served, browser: Any, open_page: Callable[..., Any]
) -> None:
    shades = {}
    for dark in (False, True):
        page = open_page(served.url, dark=dark)
        page.get_by_test_id("safety-state").wait_for()
        page.evaluate("document.getElementById('safety-strip').dataset.state = 'ready'")
        style = "getComputedStyle(document.getElementById('safety-strip')).backgroundColor"
        shades[dark] = sum(map(int, page.evaluate(style)[4:-1].split(",")))
    assert shades[False] > 600 > 200 > shades[True]
