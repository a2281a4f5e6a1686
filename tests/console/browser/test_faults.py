"""What goes wrong around a page: each fault is one sentence on it, and nothing is lost that the operator said."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.console.browser.conftest import Served, serving
from tests.console.browser.history_data import fill
from tests.console.browser.lines import FAR, line
from tests.console.browser.test_talk import say
from tests.waiting import until

OpenPage = Callable[..., Any]
RUN = "20261121-100000-0"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Served]:
    """A console of one test."""
    with serving(tmp_path, names=(FAR,)) as served:
        yield served


@contextmanager
def asleep(browser: Any) -> Iterator[None]:
    """Within it the processes that draw the browser's pages stand still, as on a laptop that was closed."""
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    pids = [each["id"] for each in found if each["type"] == "renderer"]
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def test_a_browser_that_sleeps_has_its_command_cancelled_and_says_so_when_it_wakes(
    fresh: Served, browser: Any, open_page: OpenPage
) -> None:
    page = open_page(fresh.url)
    say(page, "wait for me")
    page.get_by_test_id("running").wait_for()
    with asleep(browser):
        until(lambda: fresh.asked("cancel"))
    told = page.get_by_test_id("entry-page")
    told.wait_for()
    assert "page is gone, so that what was carried out is cancelled" in told.inner_text()
    page.get_by_test_id("composer").wait_for()
    say(page, "hello again")
    page.get_by_test_id("entry-ended").filter(has_text="hello again").wait_for()


@pytest.mark.parametrize("hours", [1, -1])
def test_the_clock_of_the_browser_may_be_an_hour_off(fresh: Served, open_page: OpenPage, hours: int) -> None:
    page = open_page("about:blank")
    page.add_init_script(f"const now = Date.now; Date.now = () => now() + {hours} * 3600e3;")
    page.goto(fresh.url)
    page.get_by_test_id("composer").wait_for()
    assert abs(page.evaluate("Date.now()") / 1000 - time.time()) > 3000
    page.get_by_test_id("picture-age").filter(has_text="live").wait_for()
    say(page, "move the lemon")
    page.get_by_test_id("approval-card").wait_for()
    assert 0 <= int(page.get_by_test_id("approval-left").inner_text().split()[0]) <= 60
    assert page.get_by_test_id("role").inner_text().startswith("operator")
    page.wait_for_timeout(1000)  # until a card that has just appeared takes an answer
    page.get_by_test_id("approval-approve").focus()
    page.keyboard.press("Enter")
    until(lambda: fresh.asked("ran"))


def test_a_camera_that_is_silent_has_its_age_shown_and_is_greyed(fresh: Served, open_page: OpenPage) -> None:
    page = open_page(fresh.url)
    age, image = page.get_by_test_id("picture-age"), page.get_by_test_id("picture")
    age.filter(has_text="live").wait_for()
    assert "stale" not in image.get_attribute("class").split()
    say(page, "blind")
    age.filter(has_text="s old").wait_for()
    assert int(age.inner_text().split()[0]) >= 2
    assert "stale" in image.get_attribute("class").split()
    first = int(age.inner_text().split()[0])
    until(lambda: int(age.inner_text().split()[0]) > first)
    say(page, "see")
    age.filter(has_text="live").wait_for()
    assert "stale" not in image.get_attribute("class").split()


def test_an_approval_that_expires_is_said_and_nothing_moves(tmp_path: Path, open_page: OpenPage) -> None:
    with serving(tmp_path, {"FAKE_ROBOT_DEADLINE_S": "6"}) as served:
        page = open_page(served.url)
        say(page, "move the lemon")
        page.get_by_test_id("approval-card").wait_for()
        page.get_by_test_id("approval-card").wait_for(state="detached")
        assert page.get_by_test_id("approval-said").inner_text() == "The motion does not wait any more."
        page.get_by_test_id("entry-ended").filter(has_text="nobody answered").wait_for()
        assert served.asked("ran") == []
        assert served.asked("decide") == []


def test_a_page_that_nicegui_loads_again_keeps_the_conversation_and_the_half_written_sentence(
    fresh: Served, open_page: OpenPage
) -> None:
    """A line that is cut for longer than NiceGUI keeps a page: it loads the page again by itself."""
    settings = fresh.settings
    with line((settings.port, settings.stop_port)) as far:
        page = open_page(f"http://{FAR}:{settings.port}")
        say(page, "hello robot")
        page.get_by_test_id("entry-ended").wait_for()
        page.get_by_test_id("sentence").fill("pick up thi")
        page.evaluate("document.documentElement.dataset.old = '1'")
        far.cut()
        page.get_by_text("Trying to reconnect").wait_for()
        page.locator("#safety-strip[data-state=unreachable]").wait_for()
        page.wait_for_timeout(10_000)
        far.mend()
        page.locator("html:not([data-old])").wait_for()
        page.get_by_test_id("composer").wait_for()
        assert page.get_by_test_id("sentence").input_value() == "pick up thi"
        assert page.get_by_test_id("entry-said").inner_text().endswith("hello robot")
        page.get_by_test_id("role").filter(has_text="operator").wait_for()


def _deleted(folder: Path) -> None:
    shutil.rmtree(folder)


def _cut(folder: Path) -> None:
    path = folder / "run.mcap"
    path.write_bytes(path.read_bytes()[:100])


def _overwritten(folder: Path) -> None:
    (folder / "run.mcap").write_bytes(b"no recording at all")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_deleted, f"There is no run '{RUN}' in runs any more, or there never was."),
        (_cut, "run.mcap"),
        (_overwritten, "run.mcap"),
    ],
)
def test_a_run_that_is_damaged_or_gone_while_it_is_shown_is_one_sentence(
    tmp_path: Path, open_page: OpenPage, damage: Callable[[Path], None], said: str
) -> None:
    fill(tmp_path)
    with serving(tmp_path) as served:
        page = open_page(f"{served.url}/runs/{RUN}")
        page.get_by_test_id("step").nth(1).wait_for()
        damage(tmp_path / "runs" / RUN)
        for step in (1, 2):
            page.get_by_test_id("step").nth(step).get_by_role("button").click()
        shown = page.get_by_test_id("replay-no-picture")
        shown.filter(has_text=said).wait_for()
        assert "\n" not in shown.inner_text()
        assert str(tmp_path) not in shown.inner_text()
        page.reload()
        page.get_by_test_id("problem").filter(has_text=said).wait_for()
