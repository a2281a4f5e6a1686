"""The stop button in Chromium, over a simulated arm that swings: ways to press it, and what it says of what fails."""

import itertools
import re
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.console.browser.stop_rig import STILL, StopRig, until

OpenPage = Callable[..., Any]


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StopRig]:
    with StopRig(tmp_path_factory.mktemp("stop")) as rig:
        yield rig


@pytest.fixture(autouse=True)
def motions_are_allowed(rig: StopRig) -> Iterator[None]:
    """Also after a test that failed with a stop."""
    yield
    rig.reset()


@pytest.fixture
def pages(rig: StopRig) -> str:
    return rig.settings.address(rig.settings.port)


@pytest.fixture
def alone(rig: StopRig) -> str:
    return f"{rig.settings.address(rig.settings.stop_port)}/stop"


def state_is(page: Any, state: str) -> None:
    page.locator(f"#safety-strip[data-state={state}]").wait_for()


def press_stop(page: Any) -> None:
    """A click by coordinates, which waits for nothing."""
    box = page.get_by_test_id("stop").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def text(page: Any) -> str:
    return str(page.get_by_test_id("safety-text").inner_text())


@pytest.mark.parametrize("how", ["a click", "Esc twice in a text field", "Enter", "Esc twice on the page"])
def test_every_press_stops_the_arm(rig: StopRig, pages: str, open_page: OpenPage, how: str) -> None:
    page = open_page(pages)
    state_is(page, "ready")
    page.evaluate("document.body.append(Object.assign(document.createElement('input'), {id: 'typed'}))")
    rig.swing()
    began_s = time.monotonic()
    if how == "a click":
        press_stop(page)
    elif how == "Enter":
        page.get_by_test_id("stop").focus()
        page.keyboard.press("Enter")
    else:
        if "text" in how:
            page.locator("#typed").focus()
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
    state_is(page, "stopped")
    assert "measured at rest" in text(page)
    rig.rest_after(began_s)
    assert rig.samples[-1].speed < STILL
    assert page.evaluate("toolhandSafety.record.stops.length") == 1, "one gesture is one stop"
    rig.reset()
    state_is(page, "ready")


def test_esc_once_or_slowly_stops_nothing(rig: StopRig, pages: str, open_page: OpenPage) -> None:
    page = open_page(pages)
    state_is(page, "ready")
    page.keyboard.press("Escape")
    assert "again" in text(page)
    page.wait_for_timeout(1300)
    page.keyboard.press("Escape")
    page.wait_for_timeout(500)
    assert page.evaluate("toolhandSafety.record.stops.length") == 0
    state_is(page, "ready")


def test_a_reset_is_the_operators_and_asks_once_more(rig: StopRig, pages: str, open_page: OpenPage) -> None:
    operator = open_page(pages)
    operator.locator("[data-testid=role][data-role=operator]").wait_for()
    observer = open_page(pages)
    state_is(observer, "ready")
    press_stop(observer)  # to stop is for all
    for page in (operator, observer):
        state_is(page, "stopped")
    operator.get_by_test_id("reset").wait_for()
    assert not observer.get_by_test_id("reset").is_visible()
    refused = observer.evaluate(
        "fetch('/safety/ticket', {method: 'POST', body: document.getElementById('safety-strip').dataset.page})"
        ".then(answer => answer.status)"
    )
    assert refused == 403
    operator.get_by_test_id("reset").click()
    operator.get_by_test_id("reset-no").click()
    state_is(operator, "stopped")
    operator.get_by_test_id("reset").click()
    operator.get_by_test_id("reset-yes").click()
    for page in (operator, observer):
        state_is(page, "ready")


@pytest.mark.parametrize("which", ["pages", "alone"])
def test_it_fits_every_window(rig: StopRig, pages: str, alone: str, open_page: OpenPage, which: str) -> None:
    for width, height in ((360, 640), (1280, 800), (3840, 2160)):
        page = open_page(pages if which == "pages" else alone, width=width, height=height)
        state_is(page, "ready")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        box = page.get_by_test_id("stop").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height
        assert box["height"] >= 44, "a finger hits it"


def test_states_differ_in_lightness_words_and_signs(pages: str, open_page: OpenPage) -> None:
    page = open_page(pages)
    state_is(page, "ready")
    found = {}
    for state in ("ready", "sending", "stopped", "unconfirmed", "unreachable"):
        red, green, blue = page.evaluate(
            "state => {const strip = document.getElementById('safety-strip').cloneNode(true);"
            "strip.dataset.state = state; document.body.append(strip);"
            "const colour = getComputedStyle(strip).backgroundColor; strip.remove();"
            "return colour.match(/[0-9]+/g).map(Number)}",
            state,
        )[:3]
        found[state] = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    lightness = sorted(found.values())
    assert min(b - a for a, b in itertools.pairwise(lightness)) > 20, found


def test_without_scripts_the_button_is_a_form(rig: StopRig, pages: str, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages)
    rig.swing()
    with context.expect_page() as opened:
        press_stop(page)
    answer = opened.value
    answer.wait_for_load_state()
    assert "Stopped." in answer.inner_text("h1")
    context.close()
    rig.reset()


def test_nothing_leaves_the_machine_and_no_script_is_foreign(rig: StopRig, pages: str, browser: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    asked: set[str] = set()
    complaints: list[str] = []
    page.on("request", lambda request: asked.add(re.sub(r"^(\w+://[^/]*).*", r"\1", request.url)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(pages)
    state_is(page, "ready")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\">')")
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))")
    page.wait_for_timeout(500)
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in complaint for complaint in complaints)
    addresses = {rig.settings.address(port) for port in (rig.settings.port, rig.settings.stop_port)}
    assert {address for address in asked if address.startswith("http")} <= addresses
    context.close()


def test_the_pages_may_hang(rig: StopRig, pages: str, open_page: OpenPage) -> None:
    page = open_page(pages)
    state_is(page, "ready")
    rig.pages.send_signal(signal.SIGSTOP)
    try:
        rig.swing()
        press_stop(page)
        state_is(page, "stopped")
    finally:
        rig.pages.send_signal(signal.SIGCONT)
    rig.reset()


def test_a_page_is_only_left_for_one_that_comes(rig: StopRig, pages: str, open_page: OpenPage) -> None:
    page = open_page(pages)
    state_is(page, "ready")
    rig.pages.send_signal(signal.SIGSTOP)
    try:
        page.evaluate("document.documentElement.dataset.old = '1'; setTimeout(() => location.reload(), 0)")
        page.get_by_text("The pages do not answer").wait_for()
        press_stop(page)
        until(lambda: page.evaluate("toolhandSafety.record.stops.at(-1)?.state") == "stopped", "a stop")
        assert page.evaluate("document.documentElement.dataset.old") == "1"
    finally:
        rig.pages.send_signal(signal.SIGCONT)
    page.locator("html:not([data-old])").wait_for()
    state_is(page, "stopped")
    page.get_by_role("link", name="Toolhand", exact=True).click()
    state_is(page, "stopped")


def test_a_motion_node_that_hangs_leaves_it_unconfirmed_and_one_that_is_gone_unreachable(
    rig: StopRig, pages: str, open_page: OpenPage
) -> None:
    page = open_page(pages)
    state_is(page, "ready")
    rig.motion.send_signal(signal.SIGSTOP)
    press_stop(page)
    page.get_by_text("Use the emergency stop").wait_for()
    assert page.locator("#safety-strip").get_attribute("data-state") == "sending"
    rig.motion.send_signal(signal.SIGCONT)
    state_is(page, "stopped")
    rig.motion.kill()
    state_is(page, "unreachable")
    assert "nobody serves /stop" in text(page)
    press_stop(page)
    page.get_by_text("It was not delivered").wait_for()
    rig.start_motion_node()
    page.get_by_text("press STOP once more").wait_for()
    press_stop(page)
    state_is(page, "stopped")
    rig.reset()
    state_is(page, "ready")


def test_a_stop_server_that_is_gone_is_seen_and_one_that_is_back_is_used(
    rig: StopRig, pages: str, open_page: OpenPage
) -> None:
    page = open_page(pages)
    state_is(page, "ready")
    rig.stop_server.kill()
    state_is(page, "unreachable")
    assert "Use the emergency stop." in text(page)
    press_stop(page)
    page.get_by_text("The stop was not delivered").wait_for()
    rig.start_stop_server()
    page.get_by_text("press STOP once more").wait_for()
    rig.swing()
    press_stop(page)
    state_is(page, "stopped")
    until(lambda: rig.samples[-1].speed < STILL, "rest")
    rig.reset()
    state_is(page, "ready")
