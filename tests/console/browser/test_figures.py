"""How soon the page shows what comes, and what it costs. The figures are printed (`-s`) and bounded only where nothing
depends on how busy the machine is."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from tests.console.browser.conftest import Served, serving
from tests.waiting import until

SHOWN_S = 20.0
"""How long images are shown while the cost is measured [s]."""

WATCH = """() => {
  window.delays = [];
  new MutationObserver((changes) => {
    for (const change of changes) for (const node of change.addedNodes) {
      const sent = /thought \\d+ at ([\\d.]+)/.exec(node.textContent ?? '');
      if (sent) window.delays.push(Date.now() / 1000 - Number(sent[1]));
    }
  }).observe(document.querySelector('[data-testid=log]'), { childList: true });
}"""


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Served]:
    """A console of one test."""
    with serving(tmp_path) as served:
        yield served


def test_feedback_reaches_the_page(fresh: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(fresh.url)
    page.get_by_test_id("composer").wait_for()
    page.evaluate(WATCH)
    page.get_by_test_id("sentence").fill("flood me")
    page.get_by_test_id("sentence").press("Enter")
    page.get_by_test_id("entry-ended").wait_for()
    delays = np.array(page.evaluate("window.delays"))
    assert len(delays) == 200, "each is shown, and once"
    print(f"feedback to page: p50 {1000 * np.median(delays):.0f} ms, p95 {1000 * np.percentile(delays, 95):.0f} ms")


def test_the_first_image_comes_and_nothing_is_asked_of_another_machine(
    fresh: Served, open_page: Callable[..., Any]
) -> None:
    began = time.monotonic()
    page = open_page("about:blank")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).hostname or ""))
    began = time.monotonic()
    page.goto(fresh.url)
    page.get_by_test_id("picture-img").wait_for()
    print(f"first picture: {time.monotonic() - began:.2f} s")
    until(lambda: int(page.locator(".picture").get_attribute("data-pictures") or 0) > 5)
    assert set(asked) <= {"127.0.0.1", ""}


def cost(pid: int) -> tuple[float, float]:
    """(processor time [s], resident memory [MB]) of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(fields[21]) * os.sysconf(
        "SC_PAGE_SIZE"
    ) / 1e6


def images_cost(page: Any, pid: int, seconds: float) -> tuple[float, float, float]:
    """(images a second, share of a core, resident memory [MB]) of a process while a page shows images."""
    shown = page.locator(".picture")
    before, first, began = cost(pid), int(shown.get_attribute("data-pictures") or 0), time.monotonic()
    page.wait_for_timeout(1000 * seconds)
    after, last, took = cost(pid), int(shown.get_attribute("data-pictures") or 0), time.monotonic() - began
    return (last - first) / took, (after[0] - before[0]) / took, after[1]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor time is read from /proc")
def test_what_ten_images_a_second_cost(fresh: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(fresh.url)
    page.get_by_test_id("picture-img").wait_for()
    rate, share, memory_mb = images_cost(page, fresh.process.pid, SHOWN_S)
    print(f"{rate:.1f} pictures/s of 640x480: {100 * share:.0f} % of a core, {memory_mb:.0f} MB")
    assert rate > 0
