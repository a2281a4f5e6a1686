from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import Cause, ErrorCode, ToolError
from toolhand.tool_nodes.serve.config import ServedEntry
from toolhand.tool_nodes.serve.requests import PortRequest, SentImage
from toolhand.tool_nodes.serve.runner import Runner, make_backend

ENTRY = ServedEntry("pointer", "pointer", "test", run="serve", batch=8)
IMAGE = SentImage(np.zeros((4, 4, 3), np.uint8), None, None)


class Echo:
    backend = "echo"

    def point(self, image: Any, text: str) -> Answer[list[tuple[float, float]]]:
        match text:
            case "absent":
                raise ToolError(ErrorCode.OBJECT_NOT_FOUND, "It is not there.")
            case "broken":
                raise ZeroDivisionError("no")
            case "large":
                raise MemoryError("9 TB")
            case "slow":
                time.sleep(0.5)
            case "SystemExit":
                raise SystemExit(3)
            case "KeyboardInterrupt":
                raise KeyboardInterrupt
        return Answer([(float(len(text)), 0.0)], self.backend)


class Batches(Echo):
    def __init__(self) -> None:
        self.sizes: list[int] = []

    def batch(self, requests: Any) -> list[Any]:
        self.sizes.append(len(requests))
        replies: list[Any] = []
        for image, text in requests:
            try:
                replies.append(self.point(image, text))
            except ToolError as error:
                replies.append(error)
        return replies


def requests(*words: str, left_s: float = 60.0) -> list[PortRequest]:
    return [PortRequest((IMAGE, word), time.time() + left_s) for word in words]


def runner(backend: Any, ends: list[int] | None = None) -> Runner:
    return Runner(ENTRY, backend, list, [].append if ends is None else ends.append)


@pytest.mark.parametrize("backend", [Echo(), Batches()])
def test_each_request_of_a_batch_has_its_own_answer(backend: Any) -> None:
    one, absent, three = runner(backend).work(requests("a", "absent", "abc"))
    assert (one.value, three.value) == ([(1.0, 0.0)], [(3.0, 0.0)])
    assert absent.code is ErrorCode.OBJECT_NOT_FOUND


def test_a_backend_that_answers_many_is_asked_once() -> None:
    backend = Batches()
    runner(backend).work(requests("a", "b", "c"))
    assert backend.sizes == [3]


def test_what_comes_together_is_no_more_at_once_than_a_batch() -> None:
    backend = Batches()
    replies = runner(backend).work(requests(*(str(k) for k in range(ENTRY.batch + 2))))
    assert backend.sizes == [ENTRY.batch, 2]
    assert len(replies) == ENTRY.batch + 2


@pytest.mark.parametrize("backend", [Echo(), Batches()])
def test_a_request_that_breaks_the_backend_costs_the_others_nothing(backend: Any) -> None:
    one, broken, other = runner(backend).work(requests("a", "broken", "b"))
    assert one.value == other.value == [(1.0, 0.0)]
    assert broken.code is ErrorCode.INTERNAL
    assert str(broken) == "The pointer 'pointer' failed inside: ZeroDivisionError: no."


def test_what_is_too_late_is_not_begun() -> None:
    backend = Batches()
    late, on_time = runner(backend).work([*requests("a", left_s=-1.0), *requests("b")])
    assert (late.code, late.cause) == (ErrorCode.UNAVAILABLE, Cause.TIMEOUT)
    assert on_time.value == [(1.0, 0.0)]
    assert backend.sizes == [1]


@pytest.mark.parametrize("backend", [Echo(), Batches()])
def test_a_process_that_has_run_out_of_memory_says_so_and_takes_nothing_more(backend: Any) -> None:
    ends: list[int] = []
    worker = runner(backend, ends)
    (reply,) = worker.work(requests("large"))
    assert (reply.code, reply.cause) == (ErrorCode.UNAVAILABLE, Cause.OUT_OF_MEMORY)
    (after,) = worker.work(requests("a"))
    assert after.cause is Cause.DIED
    until = time.monotonic() + 20.0
    while not ends and time.monotonic() < until:
        time.sleep(0.05)
    assert ends == [1]


def test_who_asks_brings_the_seed_of_a_backend_that_has_one() -> None:
    class Dice(Echo):
        def __init__(self, seed: int = 0) -> None:
            self.seed = seed

        def seeded(self, seed: int) -> Dice:
            return Dice(seed)

        def point(self, image: Any, text: str) -> Answer[list[tuple[float, float]]]:
            return Answer([(float(self.seed), 0.0)], self.backend)

    asked = [PortRequest((IMAGE, "a"), time.time() + 60.0, seed) for seed in (3, 4, 3)]
    assert [reply.value[0][0] for reply in runner(Dice()).work(asked)] == [3.0, 4.0, 3.0]


def test_an_answer_short_of_one_is_an_error_of_the_backend() -> None:
    class Short(Echo):
        def batch(self, requests: Any) -> list[Any]:
            return []

    replies = runner(Short()).work(requests("a", "b"))
    assert [reply.code for reply in replies] == [ErrorCode.INTERNAL] * 2


@pytest.mark.parametrize("backend", [Echo(), Batches()])
@pytest.mark.parametrize("word", ["SystemExit", "KeyboardInterrupt"])
def test_a_backend_that_would_end_its_process_fails_inside_and_the_process_goes_on(backend: Any, word: str) -> None:
    worker = runner(backend)
    ended, other = worker.work(requests(word, "b"))
    assert (ended.code, word in str(ended)) == (ErrorCode.INTERNAL, True)
    assert other.value == [(1.0, 0.0)]
    assert worker.ending is None


def test_what_cannot_be_answered_in_time_is_refused_at_once_and_not_begun() -> None:
    backend = Batches()
    worker = runner(backend)
    worker.work(requests("slow"))
    busy, on_time = worker.work([*requests("a", left_s=0.1), *requests("b")])
    assert (busy.code, busy.cause) == (ErrorCode.UNAVAILABLE, Cause.FULL_QUEUE)
    assert on_time.value == [(1.0, 0.0)]
    assert backend.sizes == [1, 1]


LATE = """
import time
from tests.tool_nodes.serve.test_runner import ENTRY, IMAGE
from toolhand.tool_nodes.serve import runner
from toolhand.tool_nodes.serve.requests import PortRequest
class Slow:
    def point(self, image, text):
        time.sleep(1.0)
runner.GRACE_S = 0.1
runner.Runner(ENTRY, Slow(), list).work([PortRequest((IMAGE, "a"), time.time() + 0.3)])
print("ended")
"""


def test_a_process_whose_caller_has_left_is_well_and_stays() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "ended\n")


HANGS = """
import time
from dataclasses import replace
from tests.tool_nodes.serve.test_runner import ENTRY, IMAGE
from toolhand.tool_nodes.serve import runner
from toolhand.tool_nodes.serve.requests import PortRequest
class Hangs:
    def point(self, image, text):
        print("begun", flush=True)
        sum(range(10**12))  # holds the interpreter, as native code may
runner.GRACE_S = 0.1
runner.Runner(replace(ENTRY, deadline_s=0.2), Hangs(), list).work([PortRequest((IMAGE, "a"), time.time() + 60.0)])
print("ended")
"""


def test_a_process_that_hangs_ends_itself_and_says_where_it_was() -> None:
    done = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (1, "begun\n")
    assert "in point" in done.stderr


def test_what_is_served_is_found_as_everywhere() -> None:
    backend = make_backend(ServedEntry("detector", "detector", "pixels+drawings"))
    assert runner(backend).describe() == {"backend": "pixels", "takes": frozenset(), "reads_truth": False}
    with pytest.raises(ToolError, match="There is no pointer"):
        make_backend(ServedEntry("pointer", "pointer", "nothing"))
