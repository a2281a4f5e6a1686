"""Approvals in the browser: what runs is what was drawn, one answer each, and another object by a click.

How many requests are tried is APPROVALS, and how many clicks on another object POINTED, from the environment.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.console.browser.conftest import Served, serving
from tests.console.browser.test_talk import MARKUP, say
from tests.waiting import until

APPROVALS = int(os.environ.get("APPROVALS", "10"))
"""Requests that are approved one after the other."""
POINTED = int(os.environ.get("POINTED", "5"))
"""Requests that are rejected for another object."""
IMAGES = os.environ.get("PICTURES", "")
"""Folder that screenshots are written to; none where it is empty."""


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Served]:
    """A console of one test."""
    with serving(tmp_path) as served:
        yield served


def click(page: Any, test_id: str) -> None:
    """Click the middle of an element, by coordinates."""
    element = page.get_by_test_id(test_id)
    element.scroll_into_view_if_needed()
    box = element.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def card(page: Any, other_than: str = "") -> str:
    """Wait for the card of another motion than one; its hash."""
    found = page.get_by_test_id("approval-hash")

    def read() -> str:
        title = found.get_attribute("title") if found.count() else ""
        return title if title and title != other_than else ""

    found_hash = str(until(read))
    time.sleep(0.8)  # until a card that has just appeared takes an answer
    return found_hash


def save(page: Any, name: str) -> None:
    if IMAGES:
        page.screenshot(path=f"{IMAGES}/{name}.png")


def test_what_runs_is_what_was_drawn_and_each_answer_counts_once(fresh: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(fresh.url)
    page.get_by_test_id("sentence").wait_for()
    seen: list[str] = []
    for number in range(APPROVALS):
        say(page, f"move the lemon {number}")
        drawn = card(page, seen[-1] if seen else "")
        assert page.get_by_test_id("approval-what").text_content() == f"Grasp number {number + 1}"
        assert page.get_by_test_id("approval-steps").locator("li").count() == 4
        if number == 0:
            save(page, "approval")
        page.get_by_test_id("approval-approve").scroll_into_view_if_needed()
        box = page.get_by_test_id("approval-approve").bounding_box()
        for _ in range(2):  # a double click
            page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        until(lambda number=number: len(fresh.asked("ran")) == number + 1)
        seen.append(drawn)
    ran = [each["hash"] for each in fresh.asked("ran")]
    assert ran == seen
    assert len(set(ran)) == APPROVALS
    assert [each["hash"] for each in fresh.asked("decide") if not each["refusal"]] == seen
    print(f"approved {APPROVALS} of {APPROVALS}: what ran is what was drawn; second answers taken: 0")


def test_a_rejection_carries_its_reason_and_its_words_are_no_markup(
    fresh: Served, open_page: Callable[..., Any]
) -> None:
    page = open_page(fresh.url)
    say(page, f"move {MARKUP}")
    card(page)
    assert page.get_by_test_id("approval-for").inner_text() == f"Move {MARKUP}"
    page.get_by_test_id("approval-reason").fill(f"not there {MARKUP}")
    click(page, "approval-reject")
    (told,) = until(lambda: fresh.asked("not run"))
    assert "not there" in told["message"]
    page.get_by_test_id("approval-card").wait_for(state="detached")
    assert page.evaluate("window.hit") is None
    assert fresh.asked("ran") == []


def test_another_object_is_meant_by_a_click(fresh: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(fresh.url)
    rng = np.random.default_rng(0)
    last, right = "", 0
    for number in range(POINTED):
        say(page, f"move the can {number}")
        last = card(page, last)
        click(page, "approval-that-one")
        page.get_by_test_id("approval-pointing").wait_for()
        image = page.get_by_test_id("approval-picture").locator("img")
        until(lambda image=image: image.evaluate("img => img.naturalWidth") == 640)
        image.scroll_into_view_if_needed()
        box = image.bounding_box()
        x, y = rng.uniform(0.1, 0.9, 2)
        if number == 0:
            save(page, "that_one")
        page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
        second = card(page, last)
        pointed = fresh.asked("said")[-1]
        assert pointed["text"] == "not that: this one"
        np.testing.assert_allclose(pointed["points"][0], (x, y), atol=0.5 / 480 + 1e-3)
        reason = [each["reason"] for each in fresh.asked("decide")][-1]
        assert reason.startswith("not this: the thing at (")
        at = page.get_by_test_id("approval-what").text_content()
        assert f"at ({pointed['points'][0][0]:.3f}, {pointed['points'][0][1]:.3f})" in at
        click(page, "approval-approve")
        until(lambda number=number: len(fresh.asked("ran")) == number + 1)
        right += fresh.asked("ran")[-1]["hash"] == second
        last = second
    assert right == POINTED
    print(f"not this: that one ended right in {right} of {POINTED}")


def test_the_keyboard_alone_approves_rejects_and_points(fresh: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(fresh.url)
    say(page, "move one")
    first = card(page)
    page.get_by_test_id("approval-that-one").focus()
    page.keyboard.press("Enter")
    page.get_by_test_id("approval-pointing").wait_for()
    until(lambda: page.evaluate("document.activeElement.dataset.testid") == "approval-picture")
    for key in ("Shift+ArrowRight", "ArrowRight", "ArrowUp", "Enter"):
        page.keyboard.press(key)
        time.sleep(0.3)
    second = card(page, first)
    np.testing.assert_allclose(fresh.asked("said")[-1]["points"][0], (0.61, 0.49), atol=1e-6)
    page.get_by_test_id("approval-approve").focus()
    page.keyboard.press("Enter")
    (ran,) = until(lambda: fresh.asked("ran"))
    assert ran["hash"] == second


def test_an_observer_sees_the_motion_and_has_no_button(fresh: Served, open_page: Callable[..., Any]) -> None:
    operator, observer = open_page(fresh.url), open_page(fresh.url, width=360)
    operator.get_by_test_id("role").filter(has_text="operator").wait_for()
    observer.get_by_test_id("role").filter(has_text="observer").wait_for()
    say(operator, "move the lemon")
    assert card(operator) == card(observer)
    for name in ("approve", "reject", "that-one", "reason", "slider"):
        assert observer.get_by_test_id(f"approval-{name}").count() == 0
    assert observer.evaluate("document.documentElement.scrollWidth") <= 360
    save(observer, "approval_360")
    operator.get_by_test_id("approval-numbers").locator("summary").click()
    operator.get_by_test_id("approval-slider").focus()
    operator.keyboard.press("ArrowRight")
    until(lambda: "step 2" in operator.get_by_test_id("approval-where").inner_text() or None)
    click(operator, "approval-approve")
    until(lambda: fresh.asked("ran"))
    observer.get_by_test_id("approval-card").wait_for(state="detached")


IN_SIGHT = """(element) => {
  const box = element.getBoundingClientRect();
  const above = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return box.top >= 0 && box.bottom <= innerHeight && element.contains(above);
}"""
"""Whether an element is in the window, and nothing lies over its middle."""


@pytest.mark.parametrize(("width", "height"), [(390, 844), (390, 560), (1280, 800)])
def test_a_motion_that_waits_opens_where_the_person_is_and_is_over_when_it_begins(
    fresh: Served, open_page: Callable[..., Any], width: int, height: int
) -> None:
    page = open_page(fresh.url, width=width, height=height)
    page.get_by_test_id("sentence").wait_for()
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    say(page, "move the orange")
    card(page)
    for name in ("approve", "left", "for"):
        assert page.get_by_test_id(f"approval-{name}").evaluate(IN_SIGHT), name
    assert page.get_by_test_id("approval-for").inner_text() == "Move the orange"
    for name in ("what", "hash", "where"):
        assert not page.get_by_test_id(f"approval-{name}").is_visible(), name
    image = page.get_by_test_id("approval-picture").bounding_box()
    place = page.get_by_test_id("approval-card").bounding_box()
    assert image["width"] > 0.6 * place["width"] or image["height"] > 0.4 * height
    images: list[int] = []
    page.on("response", lambda answer: images.append(answer.status) if "motion.jpg" in answer.url else None)
    page.get_by_test_id("approval-approve").click()
    until(lambda: fresh.asked("ran"))
    page.get_by_test_id("approval-card").wait_for(state="detached")
    assert page.get_by_test_id("approval-said").count() == 0
    assert images == []  # an image that is asked for again has gone with its motion


def test_other_pages_say_that_a_motion_waits_and_lead_to_it(fresh: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(fresh.url)
    say(page, "move the lemon")
    card(page)
    page.goto(fresh.url + "/runs")
    word = page.get_by_test_id("word").filter(has_text="A motion waits for approval")
    word.get_by_role("link").click()
    card(page)
    page.get_by_test_id("approval-reject").click()
    until(lambda: fresh.asked("not run"))


def test_without_a_page_nothing_is_listened_to(fresh: Served, open_page: Callable[..., Any]) -> None:
    assert fresh.asked("listening") == []
    page = open_page(fresh.url)
    until(lambda: fresh.asked("listening") and fresh.asked("listening")[-1].get("motions") == 1)
    until(lambda: fresh.asked("listening")[-1].get("pictures/scene") == 1)
    page.close()
    until(lambda: not any(value for key, value in fresh.asked("listening")[-1].items() if key not in ("what", "at")))
