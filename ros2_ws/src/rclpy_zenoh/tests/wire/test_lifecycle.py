"""Making and closing endpoints hundreds of times leaves nothing behind."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
from cycles import CYCLES, cycle, open_now
from wire_support import LATCHED, RELIABLE, Peer, String, wait_until

from rclpy_zenoh.wire import RouterProcess, SessionOptions, WireSession
from rclpy_zenoh.wire import session as session_module

Rounds = list[tuple[int, int, int]]

SLACK = 4
"""Threads and descriptors that zenoh may have more at one moment than at another."""


@pytest.fixture(scope="module")
def measured(router: RouterProcess) -> dict[str, Rounds]:
    """What a process used after each round of making and closing something, by what it made."""
    if not hasattr(ctypes.CDLL(None), "mallinfo2"):
        pytest.skip("only glibc 2.33 and later tell exactly what is in use")
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("cycles.py")), router.endpoint, "232"],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONMALLOC": "malloc", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
    )
    rounds: dict[str, Rounds] = json.loads(done.stdout)
    return rounds


def growth(rounds: Rounds) -> float:
    """Bytes that each cycle left: a leak is in each round and in all together.

    A table that zenoh doubles is in one of them, and what comes and goes by chance is not left at the end.
    """
    left = [after[0] - before[0] for before, after in pairwise(rounds)]
    return min(median(left), sum(left) / len(left)) / CYCLES


@pytest.mark.parametrize(
    ("heap", "left"),
    [
        pytest.param([0, 9_000, 18_000, 27_000], 90, id="a leak"),
        pytest.param([0, -100, 49_400, 49_300], -1, id="a table that grew once"),
        pytest.param([90_000, 0, 0, 0], -300, id="caches that were filled"),
        pytest.param([0, 29_400, 2_700, 9_000], 30, id="what comes and goes"),
    ],
)
def test_growth_is_what_every_round_leaves(heap: list[int], left: float) -> None:
    assert growth([(used, 8, 21) for used in heap]) == left


def test_400_nodes_with_four_endpoints_each_leave_memory_threads_and_files_as_they_were(
    measured: dict[str, Rounds],
) -> None:
    rounds = measured["node"]
    # A leak of a token or a queue would show. zenoh keeps about 650 bytes of each call until the call's timeout, ten
    # minutes, is over.
    assert growth(rounds) < 1500, f"{growth(rounds):.0f} bytes a cycle: {rounds}"
    assert rounds[-1][1] <= rounds[0][1] + SLACK
    assert rounds[-1][2] <= rounds[0][2] + SLACK


def test_nodes_that_came_and_went_are_in_nobodys_graph(session: WireSession, peer: Peer) -> None:
    for _ in range(20):
        cycle(session)
    assert session.graph.get_service_names_and_types() == []
    wait_until(lambda: peer.ask("nodes", count=1) == [["peer", "/", "/"]])


@pytest.mark.parametrize("kind", ["publisher", "subscription", "service", "client"])
def test_each_kind_of_endpoint_is_freed_whole(measured: dict[str, Rounds], kind: str) -> None:
    assert growth(measured[kind]) < 50, f"{growth(measured[kind]):.0f} bytes an endpoint: {measured[kind]}"


def test_latched_endpoints_come_and_go_too(session: WireSession) -> None:
    before = open_now()
    for number in range(100):
        node = session.create_node("passing")
        node.create_publisher("/map", String, LATCHED).publish(String(data=str(number)))
        subscription = node.create_subscription("/map", String, LATCHED, lambda: None)
        assert wait_until(subscription.take_message)[0].data == str(number)
        node.close()
    after = open_now()
    assert after[0] <= before[0] + SLACK
    assert after[1] <= before[1] + SLACK


def test_sessions_come_and_go_too(options: SessionOptions, session: WireSession) -> None:
    measured = []
    for _ in range(3):
        for _ in range(8):
            passing = WireSession(options)
            cycle(passing)
            passing.close()
        measured.append(open_now())
    assert measured[-1][0] <= measured[0][0] + SLACK
    assert measured[-1][1] <= measured[0][1] + SLACK
    wait_until(lambda: session.graph.get_nodes() == [])


def test_numbers_are_used_again(session: WireSession) -> None:
    tokens = set()
    for _ in range(5):
        node = session.create_node("passing")
        node.create_publisher("/chatter", String, RELIABLE)
        tokens.update(session.graph._entities)
        node.close()
    assert len(tokens) == 2
    assert session.graph.get_nodes() == []


def test_a_forked_child_ends_without_touching_its_parents_session(session: WireSession) -> None:
    child = os.fork()
    if child == 0:
        session_module._close_all()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert session.is_open
