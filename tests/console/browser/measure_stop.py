"""How soon a click on STOP arrives, and how soon the arm is at rest: `python -m tests.console.browser.measure_stop`.

The first joint of the simulated arm swings at up to 0.42 rad/s in real time. Chromium is clicked by coordinates. Times
are of one clock. They begin before the click is handed to Playwright, so that they contain its way to the browser, and
last until the stop server has the request, until it answers that all joints were measured at rest, and until the first
of three measurements at rest. Beside them stands the time from the moment that the browser gives to the press itself.
"""

import argparse
import json
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

from tests.console.browser.conftest import CHROMIUM, FLAGS
from tests.console.browser.stop_rig import StopRig, until

WAYS = ("click", "escape", "stop page", "pages stopped", "pages busy", "no WebGL", "after a reload")


@contextmanager
def chromium(webgl: bool) -> Iterator[Page]:
    """A page in Chromium without a window."""
    with sync_playwright() as playwright:
        flags = FLAGS if webgl else [*FLAGS, "--disable-3d-apis"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(90_000)
        yield page
        browser.close()


def ready(page: Page) -> tuple[float, float]:
    """Wait until the button is ready; its middle [px]."""
    page.locator("#safety-strip[data-state=ready]").wait_for()
    box = page.get_by_test_id("stop").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


class Clicks:
    """Stops the swinging arm again and again in one way.

    Args:
        rig: What is stopped.
        page: A page with the button.
        way: One of WAYS.
        seed: Seeds the moments.
    """

    def __init__(self, rig: StopRig, page: Page, way: str, seed: int) -> None:
        self._rig, self._page, self._way = rig, page, way
        self._moments = random.Random(seed)
        self.times_ms: dict[str, list[float]] = {"press_to_request": [], "request": [], "answer": [], "rest": []}
        self.states: list[str] = []

    def once(self) -> None:
        """Swing, stop, and note how soon."""
        rig, page = self._rig, self._page
        if self.states:
            if self.states[-1] != "stopped":
                rig.stop_until_confirmed()
            rig.reset()
        if self._way == "after a reload":
            page.reload()
        page.mouse.move(*ready(page))
        rig.swing()
        time.sleep(self._moments.uniform(0.0, 0.4))
        speed = rig.samples[-1].speed
        before = self._answers()
        if self._way == "escape":
            page.keyboard.press("Escape")
            began_s = time.monotonic()
            page.keyboard.press("Escape")
        else:
            began_s = time.monotonic()
            page.mouse.down()
            page.mouse.up()
        until(lambda: self._answers() > before, "an answer")
        stop = page.evaluate("toolhandSafety.record.stops.at(-1)")
        self.states.append(stop["state"])
        shown = ""
        if stop["state"] == "stopped":
            received_s, answered_s = stop["received_s"], stop["answered_s"]
            took_s = {
                "press_to_request": received_s - (self._clock_offset_s() + stop["pressedMs"] / 1e3),
                "request": received_s - began_s,
                "answer": answered_s - began_s,
                "rest": rig.rest_after(began_s) - began_s,
            }
            for name, seconds in took_s.items():
                self.times_ms[name].append(1e3 * seconds)
                shown += f" {name} {1e3 * seconds:.0f} ms"
        print(f"{self._way} {len(self.states)}: {speed:.2f} rad/s {stop['state']}{shown}", file=sys.stderr)

    def _clock_offset_s(self) -> float:
        """This machine's monotonic clock less that of the page [s]: of 20 looks that with the least time between."""
        looks = []
        for _ in range(20):
            before_s = time.monotonic()
            page_s = self._page.evaluate("performance.now()") / 1e3
            after_s = time.monotonic()
            looks.append((after_s - before_s, (before_s + after_s) / 2 - page_s))
        return min(looks)[1]

    def _answers(self) -> int:
        return int(self._page.evaluate("toolhandSafety.record.stops.length"))


def measure(way: str, clicks: int, seed: int) -> dict[str, Any]:
    """Stop so often in one way; figures in milliseconds."""
    with (
        tempfile.TemporaryDirectory() as folder,
        StopRig(Path(folder), busy=way == "pages busy", pages=way != "stop page") as rig,
        chromium(webgl=way != "no WebGL") as page,
    ):
        settings = rig.settings
        alone = f"{settings.address(settings.stop_port)}/stop"
        page.goto(alone if way == "stop page" else settings.address(settings.port))
        ready(page)
        if way == "pages stopped":
            rig.pages.send_signal(signal.SIGSTOP)
        stops = Clicks(rig, page, way, seed)
        for _ in range(clicks):
            stops.once()
    row: dict[str, Any] = {"way": way, "n": clicks, "confirmed": stops.states.count("stopped")}
    for name, values in stops.times_ms.items():
        row |= {f"{name}_p{p}_ms": round(float(np.percentile(values, p)), 1) for p in (50, 99)}
        row[f"{name}_max_ms"] = round(max(values), 1)
    return row


def main() -> None:
    """Measure and print rows as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=200, help="clicks in the first way")
    parser.add_argument("--others", type=int, default=40, help="clicks in each other way")
    parser.add_argument("--ways", nargs="*", default=WAYS, choices=WAYS)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for way in given.ways:
        print(json.dumps(measure(way, given.clicks if way == "click" else given.others, given.seed)), flush=True)


if __name__ == "__main__":
    main()
