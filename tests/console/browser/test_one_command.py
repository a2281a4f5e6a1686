"""One command starts a robot that asks, and the console in which it is answered, as the guide has it typed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.console.browser.conftest import free_port
from tests.console.browser.graph_rig import LONGEST_S, ROOT, wait_for
from tests.console.browser.test_approval import IN_SIGHT, card
from tests.console.browser.test_talk import say
from tests.waiting import until as wait_until
from toolhand.tool_nodes.ros.proofs import TOKEN_VARIABLE


@dataclass(frozen=True)
class Typed:
    """What was typed in a folder, and where its console is."""

    folder: Path
    environment: dict[str, str]
    url: str


@contextmanager
def typed(environment: dict[str, str], folder: Path, *words: str) -> Iterator[None]:
    """A command of `toolhand` at a terminal of its own, ended by Ctrl-C."""
    command = [sys.executable, "-m", "toolhand", *words]
    with (folder / f"{words[0]}.txt").open("w", encoding="utf-8") as shown:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=shown, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60.0)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Typed]:
    folder = tmp_path_factory.mktemp("typed")
    (folder / "run").mkdir(mode=0o700)
    router = free_port()
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "ROS_DOMAIN_ID": str(1 + os.getpid() % 200),
        "RCLPY_ZENOH_ROUTER": f"tcp/127.0.0.1:{router}",
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "OMP_NUM_THREADS": "1",
    }
    environment.pop(TOKEN_VARIABLE, None)
    port = free_port()
    words = ("console:=true", "approval:=ask-motion", f"console_port:={port}", f"console_stop_port:={free_port()}")
    with typed(environment, folder, "up", "--router-port", str(router), "sim", *words):
        yield Typed(folder, environment, f"http://127.0.0.1:{port}")


def opened(open_page: Any, robot: Typed, url: str, width: int = 390, height: int = 844) -> Any:
    """A page of a console that may still be starting, by default at the phone of who operates."""

    def answers() -> bool:  # not by a page: one that finds nobody loads itself again later, and would take the seat
        up = (robot.folder / "up.txt").read_text(encoding="utf-8")
        assert "did not start" not in up, up
        try:
            with urlopen(url, timeout=5.0) as answer:
                return answer.status == 200
        except OSError:
            return False

    wait_until(answers, LONGEST_S)
    page = open_page(url, width=width, height=height)
    page.set_default_timeout(1000 * LONGEST_S)
    page.get_by_test_id("composer").wait_for()
    page.get_by_test_id("graph").filter(has_text="robot reached").wait_for()
    return page


def test_the_image_of_the_guide_is_the_page_as_it_is(robot: Typed, open_page: Any, tmp_path: Path) -> None:
    """With PICTURES=docs it is made anew: docs/console.jpg."""
    page = opened(open_page, robot, robot.url, 1280, 800)
    say(page, "pick up the coconut water")
    page.get_by_test_id("question").wait_for()
    page.get_by_test_id("candidate-mark-2").wait_for()
    page.get_by_test_id("picture-age").filter(has_text="live").wait_for()
    page.locator("#safety-strip[data-state=ready]").wait_for()
    image = Path(os.environ.get("PICTURES", tmp_path)) / "console.jpg"
    page.screenshot(path=image, type="jpeg", quality=80)
    assert image.stat().st_size > 30_000
    page.get_by_test_id("cancel").click()
    page.get_by_test_id("running").wait_for(state="detached")


def test_one_command_starts_a_robot_that_asks_and_the_page_in_which_it_is_answered(
    robot: Typed, open_page: Any
) -> None:
    page = opened(open_page, robot, robot.url)
    before = page.get_by_test_id("entry-ended").count()
    say(page, "pick up the red box")
    card(page)
    assert page.get_by_test_id("approval-for").inner_text() == "Pick up the red box"
    assert page.get_by_test_id("approval-approve").evaluate(IN_SIGHT)
    page.get_by_test_id("approval-approve").click()
    page.get_by_test_id("approval-card").wait_for(state="detached")
    ended = page.get_by_test_id("entry-ended")
    wait_for(page, lambda: ended.count() > before, "the end")
    assert "Picked up the red box" in ended.last.inner_text()


@pytest.mark.parametrize("token", ["", "a token of somebody else's"], ids=["its own", "another"])
def test_a_console_that_is_started_apart_finds_the_token_or_says_what_to_do(
    robot: Typed, open_page: Any, token: str
) -> None:
    port = free_port()
    environment = robot.environment | ({TOKEN_VARIABLE: token} if token else {})
    with typed(environment, robot.folder, "console", "--port", str(port), "--stop-port", str(free_port())):
        page = opened(open_page, robot, f"http://127.0.0.1:{port}")
        if not token:
            say(page, "place it on the left")
            card(page)
            page.get_by_test_id("approval-reject").click()
            page.get_by_test_id("approval-card").wait_for(state="detached")
            assert page.get_by_test_id("word").count() == 0
            return
        page.get_by_test_id("word").filter(has_text="toolhand console --token-file FILE").wait_for()
        page.locator("#safety-strip").filter(has_text="Motions cannot be approved here.").wait_for()
