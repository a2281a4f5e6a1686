"""Whether memory grows: `python -m tests.console.browser.soak --commands 1000 --reloads 200`.

Commands are given over the page to a simulated graph in lockstep: words that are refused, questions, the gripper, and
objects that are picked up and put down; the page is loaded again after every few. With --double a robot of the tests
answers instead of a graph, in a tenth of the time, and there is no stop server. A line of JSON is printed at the end of
the warm-up and ten times from then on: memory of the processes of the console [MB], heap of the tab after a collection
[MB], and the load of the machine.
"""

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.console.browser.conftest import CHROMIUM, FLAGS, serving
from tests.console.browser.graph_rig import GraphRig
from tests.console.browser.test_talk import say

LONGEST_MS = 300_000
"""Longest wait for the end of a command on a busy machine [ms]."""

WORDS = (
    *("what a lovely day", "where is the red box?", "what did you do?", "pick up the moon"),
    *("what are you holding?", "close the gripper", "what a lovely day", "open the gripper"),
)
"""What is said over and over: two of eight move the jaws, none moves the arm."""
WORDS_OF_DOUBLE = ("hello", "pick up the can", "fail to find it", "put it down")
"""The same for a robot of the tests: answers, events with an image, and refusals."""
ARM_EVERY = 50
"""After so many of them something is picked up and put down [-]."""

ENDED = """(last) => {
  const newest = (kind) => Number([...document.querySelectorAll('.entry.' + kind)].at(-1)?.dataset.number ?? 0);
  return newest('said') > last && newest('ended') > newest('said');
}"""


def sentence(number: int, double: bool) -> str:
    """The command of a number."""
    if double:
        return WORDS_OF_DOUBLE[number % len(WORDS_OF_DOUBLE)]
    if number % ARM_EVERY == ARM_EVERY - 2:
        return "pick up the red box"
    if number % ARM_EVERY == ARM_EVERY - 1:
        return "put it on the left"
    return WORDS[number % len(WORDS)]


def give(page: Page, text: str) -> str:
    """Say something and wait for its end; the code that it ended with, "done" where there is none."""
    last = page.evaluate("Number([...document.querySelectorAll('.entry.said')].at(-1)?.dataset.number ?? 0)")
    say(page, text)
    page.wait_for_function(ENDED, arg=last, timeout=LONGEST_MS)
    code = page.get_by_test_id("entry-ended").last.locator(".chip")
    return code.inner_text() if code.count() else "done"


def resident_mb(pid: int) -> float:
    """Memory of a process [MB]."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def console_of(folder: Path, double: bool) -> Iterator[tuple[str, Callable[[], dict[str, int]]]]:
    """A console until the block ends: the address of its pages, and what says the numbers of its processes."""
    if double:
        with serving(folder) as served:
            yield served.url, lambda: {"pages": served.process.pid}
    else:
        with GraphRig(folder, {"lockstep": "true"}) as rig:
            yield rig.url, rig.console_pids


def memory(pids: dict[str, int], session: Any) -> dict[str, float]:
    """What the console takes now [MB]."""
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    taken = {name: resident_mb(pid) for name, pid in pids.items()}
    return {name: round(value, 1) for name, value in {**taken, "heap of the tab": heap}.items()}


def soak(commands: int, reloads: int, warm_up: int, double: bool) -> None:
    """Give so many commands, and print what was taken."""
    every = max(1, commands // max(1, reloads))
    with (
        tempfile.TemporaryDirectory() as folder,
        console_of(Path(folder), double) as (url, pids),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(LONGEST_MS)
        page.goto(url)
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.enable")
        session.send("Runtime.enable")
        codes: Counter[str] = Counter()
        began_s, loaded, first = time.monotonic(), 0, dict[str, float]()
        for number in range(warm_up + commands):
            codes[give(page, sentence(number, double))] += 1
            given = number + 1 - warm_up
            if (number + 1) % every == 0:
                page.reload()
                page.get_by_test_id("composer").wait_for()
                loaded += given > 0
            if given == 0 or (given > 0 and (given % max(1, commands // 10) == 0 or given == commands)):
                now = memory(pids(), session)
                first = first or now
                line = {"commands": given, "reloads": loaded, "minutes": round((time.monotonic() - began_s) / 60, 1)}
                grown = {f"{name} [%]": round(100 * (now[name] / first[name] - 1), 1) for name in now}
                print(json.dumps(line | now | grown | {"load": os.getloadavg()[0], "ends": dict(codes)}), flush=True)
        browser.close()


def main() -> None:
    """Read the arguments, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", type=int, default=1000, help="commands after the warm-up")
    parser.add_argument("--reloads", type=int, default=200, help="reloads among them")
    parser.add_argument("--warm-up", type=int, default=100, help="commands before the first look")
    parser.add_argument("--double", action="store_true", help="a robot of the tests instead of a graph")
    given = parser.parse_args()
    soak(given.commands, given.reloads, given.warm_up, given.double)


if __name__ == "__main__":
    main()
