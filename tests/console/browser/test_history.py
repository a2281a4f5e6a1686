"""The history in a browser: found within three clicks, by keyboard alone, and nothing of it runs a script."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.console.browser.conftest import Served, serving
from tests.console.browser.history_data import fill
from tests.console.history.test_benches import keep
from tests.console.history.test_trainings import collected, logged
from tests.console.recordings import called, record
from tests.redteam.test_console_content import SCRIPT
from tests.waiting import until
from toolhand.agent_node.events import CommandEnded, Thought

PATHS = (
    "/runs",
    "/runs/20261121-100000-0",
    "/runs/20261123-100000-0",
    "/compare?run=20261120-100000-0&run=20261121-100000-0",
    "/benchmarks",
    "/benchmarks/20261122-100000-0-grasp.json",
    "/training?run=tiny/sft&run=tiny/long",
    "/training/rollouts?folder=tiny/rollouts",
    "/training/rollouts?folder=tiny/rollouts&group=00001",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A console with a history."""
    folder = tmp_path_factory.mktemp("history")
    fill(folder)
    with serving(folder) as found:
        yield found


def test_a_failed_run_is_found_within_three_clicks(served: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(served.url)
    page.get_by_test_id("nav-runs").click()
    page.get_by_test_id("only-failed").click()
    page.get_by_test_id("run-link").first.click()
    page.get_by_test_id("end").wait_for()
    assert page.get_by_test_id("end").inner_text() == "not done"
    assert "NO_GRASP" in page.get_by_test_id("page-runs").inner_text()


def test_a_failed_run_is_found_and_replayed_by_keyboard_alone(served: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(served.url + "/runs")
    page.get_by_test_id("runs").wait_for()

    def tab_to(testid: str) -> None:
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement?.closest('[data-testid]')?.dataset.testid") == testid:
                return
        raise AssertionError(f"Tab never comes to {testid}")

    tab_to("only-failed")
    page.keyboard.press("Enter")
    page.wait_for_url("**end=failed")
    page.get_by_test_id("run-link").wait_for()
    tab_to("run-link")
    page.keyboard.press("Enter")
    page.get_by_test_id("replay-slider").wait_for()
    before = page.get_by_test_id("replay-time").inner_text()
    tab_to("replay-slider")
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    until(lambda: page.get_by_test_id("replay-time").inner_text() != before)


def test_the_replay_shows_the_image_the_joints_and_the_step_of_a_moment(
    served: Served, open_page: Callable[..., Any]
) -> None:
    page = open_page(served.url + "/runs/20261121-100000-0")
    page.get_by_test_id("replay-picture").wait_for()
    until(lambda: page.evaluate("document.querySelector('[data-testid=replay-picture]').naturalWidth") == 32)
    assert "joint_7" in page.get_by_test_id("replay-joints").inner_text()
    page.get_by_test_id("step").nth(2).get_by_role("button").click()
    until(lambda: page.get_by_test_id("replay-step").inner_text().startswith("call look"))


def test_two_runs_are_ticked_and_compared(served: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(served.url + "/runs?text=red")
    page.get_by_test_id("runs").wait_for()
    for name in ("20261120-100000-0", "20261121-100000-0"):
        page.get_by_label(f"Compare {name}").check()
    page.get_by_test_id("compare").click()
    said = page.get_by_test_id("first-difference")
    said.wait_for()
    assert said.inner_text() == "Turn 2, call 1 (grasp): the argument approach differs: “side” in A, “top” in B."


def test_a_damaged_recording_is_said_and_what_is_left_is_shown(served: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(served.url + "/runs/20261123-100000-0")
    page.get_by_test_id("damaged").wait_for()
    assert page.get_by_test_id("damaged").inner_text().startswith("The recording run.mcap is damaged or cut short")
    assert page.get_by_test_id("step").count() > 0


def test_a_run_that_is_gone_is_one_sentence(served: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(served.url + "/runs/20261130-100000-0")
    page.get_by_test_id("problem").wait_for()
    assert page.get_by_test_id("problem").inner_text().startswith("There is no run '20261130-100000-0'")


@pytest.mark.parametrize("width", [360, 1280, 3840])
def test_no_page_of_the_history_scrolls_sideways(
    served: Served, open_page: Callable[..., Any], width: int, tmp_path: Path
) -> None:
    page = open_page(served.url, width=width, dark=width == 360)
    for path in PATHS:
        page.goto(served.url + path)
        page.locator("h1").first.wait_for()
        until(lambda: page.get_by_text("Reading ...").count() == 0)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_a_run_is_carried_out_again_in_a_simulator_of_its_own(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    record(tmp_path / "runs" / "20261120-100000-0")
    with serving(tmp_path) as served:
        page = open_page(served.url + "/runs/20261120-100000-0")
        until(lambda: page.get_by_test_id("role").first.inner_text() == "operator")
        page.get_by_test_id("again").click()
        until(lambda: "It ended with exit status" in page.get_by_test_id("again-output").inner_text(), 240.0)
        assert "pick up the red box" in page.get_by_test_id("again-output").inner_text()
        assert len(list((tmp_path / "runs").iterdir())) == 2
        assert served.asked("say") == []


def test_an_observer_cannot_run_again(served: Served, open_page: Callable[..., Any]) -> None:
    operator = open_page(served.url + "/runs")
    until(lambda: operator.get_by_test_id("role").first.inner_text() == "operator")
    page = open_page(served.url + "/runs/20261120-100000-0")
    page.get_by_test_id("again").click()
    until(lambda: page.get_by_test_id("again-said").is_visible())
    assert page.get_by_test_id("again-output").is_hidden()


def test_nothing_that_others_wrote_runs_a_script(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    runs = tmp_path / "runs"
    events = [Thought(SCRIPT), *called(SCRIPT, {SCRIPT: SCRIPT}, SCRIPT), CommandEnded(SCRIPT)]
    about = {"answer": SCRIPT, "error_code": SCRIPT, "success": False, "policy": SCRIPT, "scene": SCRIPT}
    run = record(runs / "20261120-100000-0", events, SCRIPT, **about)
    (run / "report.html").write_text(f"<body onload='parent.owned=1;top.owned=1'>{SCRIPT}<p>the report")
    shutil.copytree(run, runs / SCRIPT.replace("/", "")[:120])
    keep(
        tmp_path / "bench",
        3,
        arguments=[SCRIPT],
        version=SCRIPT,
        out=SCRIPT,
        document={
            "rows": [{"name": SCRIPT, "n": 3, "success": 1, "rate": 0.3, "low": 0.1, "high": 0.6}],
            "failures": [{SCRIPT: SCRIPT}],
        },
    )
    name = SCRIPT.replace("/", "")[:80]
    logged(tmp_path / "training" / name, json.dumps({"epoch": 1, SCRIPT: 2.0}), json.dumps({"epoch": 2, SCRIPT: 1.0}))
    shard = collected(tmp_path / "training" / "r") / "shards" / "00000.jsonl"
    line = json.loads(shard.read_text().splitlines()[0])
    hostile = {"id": SCRIPT, "text": SCRIPT, "messages": [{"role": SCRIPT, "text": SCRIPT}], "error_code": SCRIPT}
    shard.write_text(json.dumps(line | hostile) + "\n")
    with serving(tmp_path) as served:
        page = open_page(served.url)
        outside: list[str] = []
        page.on("request", lambda request: outside.append(request.url) if "127.0.0.1" not in request.url else None)
        paths = [
            "/runs",
            "/runs/20261120-100000-0",
            "/compare?run=20261120-100000-0&run=20261120-100000-0",
            "/benchmarks",
            "/benchmarks/20261120-100000-0-grasp.json",
            "/training",
            "/training/rollouts?folder=r",
            "/training/rollouts?folder=r&group=00000",
        ]
        for path in paths:
            page.goto(served.url + path)
            page.locator("h1").first.wait_for()
            until(lambda: page.get_by_text("Reading ...").count() == 0)
            page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            page.wait_for_timeout(500)
            assert page.evaluate("window.owned") is None, path
            assert page.locator("main script, main img[onerror], main svg[onload]").count() == 0, path
            if path == "/runs/20261120-100000-0":
                page.frame_locator("[data-testid=report]").get_by_text("the report").wait_for()
                assert page.evaluate("window.owned") is None
        assert [url for url in outside if not url.startswith(("data:", "blob:"))] == []
