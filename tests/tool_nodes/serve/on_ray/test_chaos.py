"""What conversations meet while replicas die, hang and run out of memory; `make test-serve`, minutes.

Every call ends as a result or as a typed error, by its deadline; what comes later is answered as before.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.tool_nodes.serve.conftest import Running, a_folder
from tests.tool_nodes.serve.test_requests import frame
from tool_nodes.results import Cause, ToolError
from tool_nodes.serve.calling import connect, disconnect
from tool_nodes.serve.processes import began
from tool_nodes.serve.status import rows
from tool_nodes.toolbox.images import SessionImage

YAML = """
ports:
  pointer: {backend: obedient, run: serve, replicas: 2, batch: 8, queue: 1000, deadline_s: 60, retries: 4, memory_gb: 2}
  scaled: {port: pointer, backend: obedient, run: serve, replicas: {min: 1, max: 3}, batch: 2}
  hurried: {port: pointer, backend: obedient, run: serve, deadline_s: 6, retries: 1, queue: 2, batch: 1}
  late: {port: pointer, backend: "obedient:8", run: serve, replicas: {min: 0, max: 1}, deadline_s: 240}
cluster: {cpus: 8, store_gb: 0.3}
"""
SMALL = SessionImage(np.zeros((8, 8, 3), np.uint8))
CONVERSATIONS = 200
TURNS = 6
LATE_S = 5.0
"""A call may end so much after its deadline on a machine where 200 threads wait for two processors [s]."""


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with a_folder() as service:
        service.up(YAML)
        yield service


def ask(name: str, words: str, image: SessionImage = SMALL) -> str:
    """How a call ends: "ok", or a code or cause; checks that it ends by its deadline."""
    begun = time.monotonic()
    try:
        value = connect().call(name, image, words).value
        assert len(value) == 1
        end = "ok"
    except ToolError as error:
        end = str(error.cause or error.code)
    entry = connect().entries[name]
    assert time.monotonic() - begun < entry.deadline_s + LATE_S
    assert end in ("ok", *Cause)
    return end


def process(name: str) -> int:
    return int(connect().call(name, SMALL, "process").value[0][0])


def talk(meanwhile: Callable[[], None]) -> Counter[str]:
    """How the calls of 200 conversations end while something happens."""
    begun = threading.Event()

    def conversation(number: int) -> list[str]:
        begun.set()
        return [ask("pointer", "sleep 0.01") for _ in range(TURNS)]

    with ThreadPoolExecutor(CONVERSATIONS) as threads:
        conversations = [threads.submit(conversation, number) for number in range(CONVERSATIONS)]
        begun.wait()
        meanwhile()
        ends = Counter(end for each in conversations for end in each.result())
    assert ends.total() == CONVERSATIONS * TURNS  # nothing is lost
    return ends


def seconds_of_a_call() -> float:
    begun = time.monotonic()
    assert ask("pointer", "sleep 0.01") == "ok"
    return time.monotonic() - begun


def test_killed_replicas_cost_nobody_an_answer(running: Running) -> None:
    def kill() -> None:
        for _ in range(2):
            os.kill(process("pointer"), signal.SIGKILL)
            time.sleep(1.0)

    ends = talk(kill)
    assert set(ends) <= {"ok", "died"}
    assert ends["ok"] > 0.9 * ends.total()
    seconds_of_a_call()


def test_a_hung_replica_is_ended_and_the_next_call_answered(running: Running) -> None:
    old = process("hurried")
    assert ask("hurried", "hang") == "timeout"
    until = time.monotonic() + 60.0
    while began(old) is not None:
        assert time.monotonic() < until, "the process that hangs is still there"
        time.sleep(0.2)
    while ask("hurried", "anything") != "ok":
        assert time.monotonic() < until, "nobody has taken its place"
    assert process("hurried") != old


def test_hung_replicas_do_not_hold_up_conversations(running: Running) -> None:
    def hang() -> None:
        assert ask("hurried", "hang") == "timeout"

    assert set(talk(hang)) == {"ok"}


def test_a_replica_out_of_memory_is_told_and_replaced(running: Running) -> None:
    said: list[str] = []
    ends = talk(lambda: said.append(ask("pointer", "memory")))
    assert said == ["out of memory"]
    assert set(ends) <= {"ok", "out of memory", "died"}
    assert ends["ok"] > 0.9 * ends.total()
    seconds_of_a_call()


def test_a_full_queue_refuses_at_once(running: Running) -> None:
    with ThreadPoolExecutor(20) as threads:
        ends = Counter(threads.map(lambda k: ask("hurried", "sleep 2"), range(20)))
    assert ends["full queue"] > 0
    assert ends["ok"] > 0
    assert set(ends) <= {"ok", "full queue", "timeout"}


def test_a_replica_that_is_slow_to_start_is_waited_for(running: Running) -> None:
    assert ask("late", "anything") == "ok"


def test_a_burst_is_met_with_more_replicas_which_end_after_it(running: Running) -> None:
    def count() -> int:
        (row,) = [row for row in rows() if row["name"] == "scaled"]
        return int(row["replicas"].get("RUNNING", 0))

    seen = [count()]
    stop = threading.Event()

    def press(number: int) -> None:
        while not stop.is_set():
            ask("scaled", "sleep 0.2")

    with ThreadPoolExecutor(30) as threads:
        for number in range(30):
            threads.submit(press, number)
        until = time.monotonic() + 180.0
        while seen[-1] < 3 and time.monotonic() < until:
            time.sleep(0.5)
            seen.append(count())
        stop.set()
    until = time.monotonic() + 180.0
    while seen[-1] > 1 and time.monotonic() < until:
        time.sleep(0.5)
        seen.append(count())
    assert (seen[0], max(seen), seen[-1]) == (1, 3, 1), seen


def test_ten_thousand_pictures_leave_nothing_behind(running: Running) -> None:
    connection = connect()
    base = frame(9, (120, 160))

    def call(number: int) -> str:
        rgb = base.rgb.copy()
        rgb[0, 0] = number % 251, number // 251, 3
        big = np.tile(rgb, (2, 2, 1))
        return ask("pointer", "anything", SessionImage(big))

    with ThreadPoolExecutor(32) as threads:
        assert set(threads.map(call, range(1000))) == {"ok"}
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert set(threads.map(call, range(1000, 10_000))) == {"ok"}
    gc.collect()
    assert len(connection.shared) <= 32
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB; the pictures are 2 GB


def test_a_cluster_that_is_started_anew_is_found_again(running: Running) -> None:
    assert ask("pointer", "anything") == "ok"
    running.toolhand("serve", "down")
    end = ask("pointer", "anything")
    assert end in ("not served", "died", "timeout")
    running.up(YAML)
    assert ask("pointer", "anything") == "ok"
    disconnect()


PILLOW = """
ports:
  pointer: {backend: obedient, run: serve, env: ["pillow==11.0.0"]}
  here: {port: pointer, backend: obedient, run: serve}
cluster: {cpus: 4, store_gb: 0.2}
"""


def test_a_backend_with_another_pillow_runs_beside_the_others() -> None:
    disconnect()
    with a_folder() as service:
        service.up(PILLOW)
        there = connect().call("pointer", SMALL, "pillow").value[0]
        here = connect().call("here", SMALL, "pillow").value[0]
        assert there == (11.0, 0.0) != here
