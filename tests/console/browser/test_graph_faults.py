"""Parts of a real graph and of the console that are killed while the arm moves, a bad line, and a full disk.

Each fault is one sentence on the page, the arm comes to rest and stays there, and once the part is back the page talks
and stops as before.
"""

import os
import re
import resource
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.console.browser.graph_rig import LONGEST_S, GraphRig, wait_for
from tests.console.browser.lines import FAR, line
from tests.console.browser.test_talk import say

OpenPage = Callable[..., Any]
STAYS_RAD = 0.002
"""Joints that stay where they are are measured within this [rad]: the controllers' own deviation."""
NO_AGENT = r"No agent is found on this ROS domain\. Start it: toolhand up\."
NO_SERVER = r"The stop server does not answer\. Use the emergency stop\."
NO_STOP = r"nobody serves /stop on ROS domain \d+\. Use the emergency stop\."


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphRig]:
    with GraphRig(tmp_path_factory.mktemp("graph"), {"lockstep": "false"}) as rig:
        yield rig


@pytest.fixture
def page(rig: GraphRig, open_page: OpenPage) -> Any:
    """A page whose robot is as freshly started."""
    rig.begin_anew()
    page = open_page(rig.url)
    page.set_default_timeout(1000 * LONGEST_S)
    page.get_by_test_id("composer").wait_for()
    state_is(page, "ready")
    page.get_by_test_id("graph").filter(has_text="robot reached").wait_for()
    return page


def state_is(page: Any, state: str) -> None:
    page.locator(f"#safety-strip[data-state={state}]").wait_for()


def ends(page: Any) -> int:
    return int(page.get_by_test_id("entry-ended").count())


def begin_to_move(rig: GraphRig, page: Any) -> int:
    """Have something picked up, until the arm is under way; how many commands have ended before."""
    before = ends(page)
    say(page, "pick up the red box")

    def moves() -> bool:
        nonlocal before
        if not rig.moves() and ends(page) > before:  # a busy machine: no image came in time, or the page was late
            before = ends(page)
            say(page, "pick up the red box")
        return rig.moves()

    wait_for(page, moves, "a motion")
    return before


def late(page: Any) -> int:
    """How many commands were cancelled because a page was not heard of, as on a machine that is too busy."""
    return int(page.get_by_test_id("entry-page").filter(has_text="page is gone").count())


def said(page: Any, pattern: str) -> None:
    """Wait until the page says something, also where that is soon over."""
    wait_for(page, lambda: re.search(pattern, page.locator("body").inner_text()), pattern)


def works(rig: GraphRig, page: Any) -> None:
    """The page talks and stops."""
    page.get_by_test_id("graph").filter(has_text="robot reached").wait_for()
    state_is(page, "ready")
    before = ends(page)
    say(page, "what do you see?")
    wait_for(page, lambda: ends(page) > before, "an answer")
    assert "red box" in page.get_by_test_id("entry-ended").last.inner_text()
    page.get_by_test_id("stop").click()
    state_is(page, "stopped")
    page.get_by_test_id("reset").click()
    page.get_by_test_id("reset-yes").click()
    state_is(page, "ready")


@dataclass(frozen=True)
class Fault:
    """What is ended while the arm moves.

    Attributes:
        happens: Ends it.
        said: What the page says of it.
        mended: Brings it back; what comes back by itself is only waited for.
    """

    happens: Callable[[GraphRig], None]
    said: str
    mended: Callable[[GraphRig], None]


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _without_simulator(rig: GraphRig) -> None:
    """As `toolhand up` does: a graph ends with its simulator."""
    kill(rig.graph.pids()["sim"])
    end = rig.graph.wait(LONGEST_S)
    assert end is not None
    assert "sim" in end.reason
    rig.end_graph()


def _new_console(rig: GraphRig) -> None:
    rig.console.wait(60.0)
    rig.start_console()


FAULTS = {
    "agent": Fault(
        lambda rig: kill(rig.graph.pids()["agent"]),
        "The node that serves run_command went away while it was working",
        lambda rig: rig.wait_ready(),
    ),
    "simulator": Fault(_without_simulator, NO_AGENT, lambda rig: rig.start_graph()),
    "router": Fault(
        lambda rig: rig.end_router(), "No ROS 2 graph is found on this domain", lambda rig: rig.start_router()
    ),
    "pages": Fault(
        lambda rig: kill(rig.console_pids()["pages"]),
        "The pages had ended and were started anew: what was carried out is cancelled",
        lambda rig: None,
    ),
    "stop server": Fault(lambda rig: kill(rig.console_pids()["stop server"]), NO_SERVER, _new_console),
    "console": Fault(lambda rig: rig.console.kill(), NO_SERVER, _new_console),
}


@pytest.mark.parametrize("what", FAULTS)
def test_what_is_killed_while_the_arm_moves_is_said_and_the_arm_stays_where_it_comes_to_rest(
    rig: GraphRig, page: Any, what: str
) -> None:
    fault = FAULTS[what]
    begin_to_move(rig, page)
    fault.happens(rig)
    said(page, fault.said)
    rested = rig.rest() if what != "simulator" else None
    fault.mended(rig)
    if rested is None:
        rested = rig.rest()  # the arm of a new simulator
    page.get_by_test_id("composer").wait_for()
    wait_for(page, lambda: page.get_by_test_id("running").count() == 0, "the end of the command")
    if what != "router":  # its command goes on, as the nodes reach each other without it
        page.wait_for_timeout(2000)
        np.testing.assert_allclose(rig.samples[-1].q, rested, atol=STAYS_RAD)
    works(rig, page)


def test_a_motion_node_that_is_killed_is_unreachable_until_it_is_back(rig: GraphRig, page: Any) -> None:
    before = begin_to_move(rig, page)
    kill(rig.graph.pids()["motion"])
    said(page, NO_STOP)
    rig.wait_ready()
    wait_for(page, lambda: ends(page) > before, "the end of the command")
    rested = rig.rest()
    page.wait_for_timeout(2000)
    np.testing.assert_allclose(rig.samples[-1].q, rested, atol=STAYS_RAD)
    works(rig, page)


def test_a_reload_while_the_arm_moves_ends_nothing(rig: GraphRig, page: Any) -> None:
    were_late, before = late(page), begin_to_move(rig, page)
    page.reload()
    page.get_by_test_id("running").filter(has_text="pick up the red box").wait_for()
    wait_for(page, lambda: ends(page) > before, "the end of the command")
    done = "Picked up the red box." in page.get_by_test_id("entry-ended").last.inner_text()
    assert done or late(page) > were_late


def test_a_line_with_delay_and_loss_talks_stops_and_keeps_the_seat(rig: GraphRig, page: Any, browser: Any) -> None:
    page.close()  # its tab would keep the seat
    with line((rig.port, rig.stop_port), delay_s=0.3, loss=0.05) as far:
        context = browser.new_context()
        slow = context.new_page()
        slow.set_default_timeout(1000 * LONGEST_S)
        slow.goto(f"http://{FAR}:{rig.port}")
        slow.get_by_test_id("composer").wait_for()
        slow.get_by_test_id("role").filter(has_text="operator").wait_for()
        state_is(slow, "ready")
        were_late, before = late(slow), begin_to_move(rig, slow)
        began_s = time.monotonic()
        slow.get_by_test_id("stop").click()
        state_is(slow, "stopped")
        rig.rest()
        print(f"over the line: stopped, as the page shows it, after {time.monotonic() - began_s:.1f} s")
        wait_for(slow, lambda: ends(slow) > before, "the end of the command")
        slow.get_by_test_id("reset").click()
        slow.get_by_test_id("reset-yes").click()
        works(rig, slow)
        assert far.lost > 10
        print(
            f"{far.lost} of {far.pieces} pieces were late by a second; the seat was lost {late(slow) - were_late} times"
        )
        context.close()


def test_a_disk_that_is_full_is_said_and_the_command_is_carried_out(rig: GraphRig, page: Any) -> None:
    agent, before, were_late = rig.graph.pids()["agent"], ends(page), late(page)
    limits = resource.prlimit(agent, resource.RLIMIT_FSIZE)
    resource.prlimit(agent, resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        say(page, "pick up the red box")
        wait_for(page, lambda: ends(page) > before, "the end of the command")
    finally:
        resource.prlimit(agent, resource.RLIMIT_FSIZE, limits)
    said = page.get_by_test_id("entry-ended").last.inner_text()
    assert "Picked up the red box." in said or late(page) > were_late, said
    note = page.get_by_test_id("entry-note").filter(has_text="The report is not whole")
    assert "File too large" in note.last.inner_text()
    works(rig, page)
